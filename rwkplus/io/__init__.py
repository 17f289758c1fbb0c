"""One file per source of graphs, both ways, behind one function; may import tables, and each source its own library."""

from rwkplus.io.sources import WrittenGraphs, read_graphs, write_graphs

__all__ = ["WrittenGraphs", "read_graphs", "write_graphs"]
