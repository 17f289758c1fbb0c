"""One file per source of graphs, both ways, behind one function."""

from rwkplus.io.sources import read_graphs

__all__ = ["read_graphs"]
