"""One file per source of graphs, both ways, behind one function; may import tables, and each source its own library."""

from rwkplus.io.sources import read_graphs

__all__ = ["read_graphs"]
