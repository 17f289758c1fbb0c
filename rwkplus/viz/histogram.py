"""Histograms as SVG."""

import numpy as np
from numpy.typing import ArrayLike

WIDTH, HEIGHT, LEFT, FOOT, HEAD = 520.0, 180.0, 36.0, 24.0, 18.0
USUAL, BEYOND = "#8a969e", "#cc3b33"


def histogram(values: ArrayLike, threshold: float, *, bins: int = 40) -> str:
    """Draw how many values lie where; those above the threshold in red."""
    values = np.asarray(values, dtype=float)
    low, high = float(min(values.min(), threshold)), float(max(values.max(), threshold))
    high = high if high > low else low + 1.0
    edges = np.linspace(low, high, bins + 1)
    usual, beyond = (np.histogram(part, edges)[0] for part in (values[values <= threshold], values[values > threshold]))
    most = max(int((usual + beyond).max()), 1)
    width, floor = (WIDTH - LEFT - 10) / bins, HEIGHT - FOOT

    def bar(k: int, bottom: int, count: int, color: str) -> str:
        scale = (floor - HEAD) / most
        y = floor - (bottom + count) * scale
        return (
            f'<rect x="{LEFT + k * width + 0.5:.1f}" y="{y:.1f}" width="{width - 1:.1f}" height="{count * scale:.1f}" '
            f'fill="{color}"/>'
        )

    parts = [f'<svg viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="histogram of scores">']
    parts += [bar(k, 0, int(count), USUAL) for k, count in enumerate(usual) if count]
    parts += [bar(k, int(usual[k]), int(count), BEYOND) for k, count in enumerate(beyond) if count]
    caption = f"threshold {threshold:.3g}"
    place = LEFT + (threshold - low) / (high - low) * (WIDTH - LEFT - 10)
    parts.append(
        f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{floor}" y2="{floor}" stroke="#444"/>'
        f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{HEAD - 4}" y2="{floor}" stroke="#444" stroke-dasharray="4 3"/>'
        f'<text x="{min(max(place, LEFT + 10), WIDTH - 60):.1f}" y="10" text-anchor="middle" font-size="11" '
        f'fill="#444">{caption}</text>'
        f'<text x="{LEFT - 4}" y="{HEAD + 4}" text-anchor="end" font-size="11" fill="#444">{most}</text>'
        f'<text x="{LEFT}" y="{HEIGHT - 8}" font-size="11" fill="#444">{low:.3g}</text>'
        f'<text x="{WIDTH - 10}" y="{HEIGHT - 8}" text-anchor="end" font-size="11" fill="#444">{high:.3g}</text>'
    )
    return "".join([*parts, "</svg>"])
