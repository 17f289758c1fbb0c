"""Charts of a report as SVG: curves and histograms, in the colors of the page."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

LINE = "var(--accent,#3567c4)"
USUAL, BEYOND = "var(--usual,#8a969e)", "var(--odd,#cc3b33)"
"""Colors of bars on either side of a threshold."""


def curve(values: Sequence[float], *, top: float | None = None, percent: bool = False, dots: bool = True) -> str:
    """Draw values over 1, 2, ... as a line that begins at 0.

    Args:
        values: Numbers of at least 0.
        top: Value at the upper end; the largest by default.
        percent: Write values as percentages.
        dots: Mark every value and number it; without, only the last is numbered.

    >>> curve([0.5, 0.75], top=1.0, percent=True).count("<circle")
    3
    """
    width, height, left, foot = 360.0, 160.0, 44.0, 24.0
    top = top or max(values, default=0.0) or 1.0
    points = [0.0, *values]
    step = (width - left - 10) / max(len(points) - 1, 1)
    places = [(left + i * step, height - foot - value / top * (height - 40)) for i, value in enumerate(points)]
    parts = [f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="curve">']
    for share in (0, 0.5, 1):
        y = height - foot - share * (height - 40)
        text = f"{share * top:.0%}" if percent else f"{share * top:.3g}" if top < 1000 else f"{share * top:,.0f}"
        parts.append(
            f'<line x1="{left}" x2="{width - 10}" y1="{y}" y2="{y}" stroke="currentColor" opacity=".25"/>'
            f'<text x="{left - 6}" y="{y + 4}" text-anchor="end" font-size="11" fill="currentColor">{text}</text>'
        )
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline points="{line}" fill="none" stroke-width="2.5" style="stroke:{LINE}"/>')
    for i, (x, y) in enumerate(places):
        if dots:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" style="fill:{LINE}"/>')
        if dots or i == len(values):
            parts.append(
                f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle" font-size="11" fill="currentColor">{i}</text>'
            )
    return "".join([*parts, "</svg>"])


def histogram(values: ArrayLike, threshold: float, *, bins: int = 40) -> str:
    """Draw how many values lie where; those above the threshold in red.

    >>> histogram([0.1, 2.0, 5.0], 1.0).count("<rect")
    3
    """
    width, height, left, foot, head = 520.0, 180.0, 36.0, 24.0, 18.0
    values = np.asarray(values, dtype=float)
    low, high = float(min(values.min(), threshold)), float(max(values.max(), threshold))
    high = high if high > low else low + 1.0
    edges = np.linspace(low, high, bins + 1)
    usual, beyond = (np.histogram(part, edges)[0] for part in (values[values <= threshold], values[values > threshold]))
    most = max(int((usual + beyond).max()), 1)
    step, floor, right = (width - left - 10) / bins, height - foot, width - 10

    def bar(k: int, bottom: int, count: int, color: str) -> str:
        scale = (floor - head) / most
        y = floor - (bottom + count) * scale
        return (
            f'<rect x="{left + k * step + 0.5:.1f}" y="{y:.1f}" width="{step - 1:.1f}" height="{count * scale:.1f}" '
            f'style="fill:{color}"/>'
        )

    parts = [f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="histogram of scores">']
    parts += [bar(k, 0, int(count), USUAL) for k, count in enumerate(usual) if count]
    parts += [bar(k, int(usual[k]), int(count), BEYOND) for k, count in enumerate(beyond) if count]
    place = left + (threshold - low) / (high - low) * (right - left)
    parts.append(
        f'<path d="M{left} {floor}H{right}" stroke="currentColor"/>'
        f'<path d="M{place:.1f} {head - 4}V{floor}" stroke="currentColor" stroke-dasharray="4 3"/>'
        f'<text x="{min(max(place, left + 10), width - 60):.1f}" y="10" text-anchor="middle" font-size="11" '
        f'fill="currentColor">threshold {threshold:.3g}</text>'
        f'<text x="{left - 4}" y="{head + 4}" text-anchor="end" font-size="11" fill="currentColor">{most}</text>'
        f'<text x="{left}" y="{height - 8}" font-size="11" fill="currentColor">{low:.3g}</text>'
        f'<text x="{right}" y="{height - 8}" text-anchor="end" font-size="11" fill="currentColor">{high:.3g}</text>'
    )
    return "".join([*parts, "</svg>"])
