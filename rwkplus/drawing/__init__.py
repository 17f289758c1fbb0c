"""Drawings of small graphs as SVG, molecules as chemists draw them, and one color per label wherever it appears.

May import the table; patterns and pages draw with it.
"""

from rwkplus.drawing.layout import layout
from rwkplus.drawing.palette import label_colors, needs_legend
from rwkplus.drawing.sketch import draw, graphs_to_draw

__all__ = ["draw", "graphs_to_draw", "label_colors", "layout", "needs_legend"]
