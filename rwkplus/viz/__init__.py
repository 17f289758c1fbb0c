"""Seeing: patterns and their occurrences as pictures and pages."""

from rwkplus.viz.report import mining_report, write_report
from rwkplus.viz.svg import curve, draw, label_colors

__all__ = ["curve", "draw", "label_colors", "mining_report", "write_report"]
