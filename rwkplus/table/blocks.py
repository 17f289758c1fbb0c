"""Work cut into blocks of whole graphs, for one process or many."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from joblib import Parallel, delayed

from rwkplus.errors import GraphError
from rwkplus.table.arrays import GraphArrays
from rwkplus.table.graph_table import GraphTable
from rwkplus.table.reader import Reader
from rwkplus.types import UnknownLabel

T = TypeVar("T")


@dataclass(frozen=True)
class ReadGraphs:
    """Graphs and how to read them: arrays are made where and when they are needed."""

    table: GraphTable
    reader: Reader
    unknown_label: UnknownLabel = "new"
    first: int = 0
    """Number of the first graph among all of which these are a block, for errors."""

    def __len__(self) -> int:
        return len(self.table)

    def arrays(self, *, labels: bool = True) -> GraphArrays:
        """All graphs, with labels or with features."""
        try:
            return self.reader.read(self.table, self.unknown_label, labels=labels)
        except GraphError:
            if self.first == 0:
                raise
            return self.reader.read(self.table.with_names(self.first), self.unknown_label, labels=labels)

    def blocks(self, max_nodes: int) -> "Iterator[ReadGraphs]":
        """Cut into blocks of at most ``max_nodes`` nodes, or of one larger graph."""
        first = self.first
        for block in self.table.blocks(max_nodes):
            yield replace(self, table=block, first=first)
            first += len(block)


def map_blocks(
    function: "Callable[[ReadGraphs], T]", graphs: ReadGraphs, max_nodes: int, n_jobs: int | None
) -> Iterator[T]:
    """Yield ``function(block)`` for every block, in order; any joblib backend works, Dask and Ray included.

    Blocks of a table on disk travel to workers as path and range.
    """
    if graphs.table.num_nodes <= max_nodes:
        return iter([function(graphs)])
    found: Iterator[T] = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(function)(block) for block in graphs.blocks(max_nodes)
    )
    return found
