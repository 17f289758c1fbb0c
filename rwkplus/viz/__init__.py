"""Pictures: small graphs and curves as SVG."""

from rwkplus.viz.histogram import histogram
from rwkplus.viz.svg import curve, draw, label_colors, legend

__all__ = ["curve", "draw", "histogram", "label_colors", "legend"]
