"""Sources of graphs, a file per kind, both ways, behind one function; may import tables, and each its own library."""

from rwkplus.io.sources import WrittenGraphs, read_graphs, write_graphs

__all__ = ["WrittenGraphs", "read_graphs", "write_graphs"]
