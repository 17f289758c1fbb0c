"""Drawings of small graphs as SVG or plots, molecules as chemists draw them, and one color per label everywhere.

May import the table; patterns and pages draw with it.
"""

from rwkplus.drawing.displays import (
    ExplanationDisplay,
    GraphsDisplay,
    HiddenGraphsDisplay,
    PatternDisplay,
    ScoresDisplay,
)
from rwkplus.drawing.layout import layout
from rwkplus.drawing.palette import label_colors, needs_legend
from rwkplus.drawing.sketch import draw, graphs_to_draw

__all__ = [
    "ExplanationDisplay",
    "GraphsDisplay",
    "HiddenGraphsDisplay",
    "PatternDisplay",
    "ScoresDisplay",
    "draw",
    "graphs_to_draw",
    "label_colors",
    "layout",
    "needs_legend",
]
