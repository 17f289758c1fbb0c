"""Graphs as typed columns, and how fitted estimators read them; imports NumPy and SciPy, no other room."""

from rwkplus.table.columns import Categories, Column, Numbers, Text
from rwkplus.table.graph_table import Graphs, GraphTable
from rwkplus.table.reader import Reader

__all__ = ["Categories", "Column", "GraphTable", "Graphs", "Numbers", "Reader", "Text"]
