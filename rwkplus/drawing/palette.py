"""Colors of labels, the same on all pages and plots, and colors of text that can be read on them."""

from collections.abc import Iterable
from functools import lru_cache
from zlib import crc32

PALETTE = (
    "#3567c4", "#cc3b33", "#2f8f4e", "#d97a1d", "#6d3f99", "#2a8c8c", "#c9a227", "#b0417f", "#8a4b2a", "#4aa3d8",
    "#7fae2e", "#27407a", "#e07a9b", "#7a6a1f", "#7d5fc0", "#1f6b5c", "#e2593b", "#9c2f4f",
)  # fmt: skip
"""Neighbors differ in hue: numbers, which often are labels, follow this order."""
ELEMENTS = {
    "C": "#5b6770", "N": PALETTE[0], "O": PALETTE[1], "S": PALETTE[6], "P": PALETTE[3], "F": PALETTE[10],
    "Cl": PALETTE[2], "Br": PALETTE[8], "I": PALETTE[4], "H": "#9aa4ab", "Na": PALETTE[14], "K": PALETTE[14],
    "B": PALETTE[12], "Si": PALETTE[13], "Se": PALETTE[16],
}  # fmt: skip
"""Colors in which chemists expect the elements."""
NONE = "#8a969e"
"""Color of nodes without a label."""
SHORT = 3
"""Letters of a label that fits into a round node."""
MARKS = "#fff3cc", "#4a3c00"
"""Background of what is marked, in light and dark surroundings: the hardest to read colored letters on."""
ENOUGH = 4.5
"""Contrast of text by WCAG 2, level AA."""


def label_colors(labels: Iterable[str]) -> dict[str, str]:
    """Choose a color for every label; the color of a label does not depend on the page it is on.

    Elements have the colors of chemistry, numbers follow the palette, and words are spread over it by a checksum. Of
    two words that meet, the later one in the alphabet takes the next color that is free.

    >>> label_colors(["O", "C"])
    {'C': '#5b6770', 'O': '#cc3b33'}
    >>> label_colors(["account", "O"])["account"] == label_colors(["account", "bank"])["account"]
    True
    """
    ordered = sorted(set(labels))
    colors = {label: color for label in ordered if (color := _fixed(label)) is not None}
    for label in ordered:
        if label not in colors:
            place = crc32(label.encode(errors="surrogatepass"))
            ways = [PALETTE[(place + k) % len(PALETTE)] for k in range(len(PALETTE))]
            taken = set(colors.values())
            colors[label] = next((color for color in ways if color not in taken), ways[0])
    return {label: colors[label] for label in ordered}


def _fixed(label: str) -> str | None:
    if not label:
        return NONE
    if label.isascii() and label.isdigit():
        return PALETTE[int(label[-9:]) % len(PALETTE)]
    return ELEMENTS.get(label)


def needs_legend(labels: Iterable[str]) -> bool:
    """Whether a label is too long to stand in its node, so that colors have to be explained.

    >>> needs_legend(["C", "Cl"]), needs_legend(["customer"])
    (False, True)
    """
    return any(len(label) > SHORT for label in labels)


def contrast(one: str, other: str) -> float:
    """Contrast of two colors by WCAG 2, from 1 to 21.

    >>> contrast("#ffffff", "#000000")
    21.0
    """
    dark, light = sorted((_luminance(one), _luminance(other)))
    return round((light + 0.05) / (dark + 0.05), 6)


def ink(color: str) -> str:
    """Black or white, whichever can be read better on a color.

    >>> ink("#3567c4"), ink("#c9a227")
    ('#fff', '#000')
    """
    return "#fff" if contrast(color, "#ffffff") >= ENOUGH else "#000"


@lru_cache
def legible(color: str) -> str:
    """A color for text, darker where the page is light and lighter where it is dark, as a value of CSS.

    >>> legible("#3567c4")
    'light-dark(#3567c4,#90abdf)'
    """
    light, dark = (_until_read(color, mark, end) for mark, end in zip(MARKS, (0, 255), strict=True))
    return f"light-dark({light},{dark})"


def _until_read(color: str, ground: str, end: int) -> str:
    mixed = color
    for step in range(21):
        parts = [round(part + (end - part) * step / 20) for part in rgb(color)]
        mixed = "#" + "".join(f"{part:02x}" for part in parts)
        if contrast(mixed, ground) >= ENOUGH:
            break
    return mixed


def rgb(color: str) -> list[int]:
    """Red, green and blue, from 0 to 255.

    >>> rgb("#ff8000")
    [255, 128, 0]
    """
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]


def _luminance(color: str) -> float:
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in (part / 255 for part in rgb(color))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
