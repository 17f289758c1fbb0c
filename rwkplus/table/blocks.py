"""Work cut into blocks of whole graphs, for one process or many."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from joblib import Parallel, delayed

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

    def __len__(self) -> int:
        return len(self.table)

    def arrays(self, *, labels: bool = True) -> GraphArrays:
        """All graphs, with labels or with features."""
        return self.reader.read(self.table, self.unknown_label, labels=labels)

    def blocks(self, max_nodes: int) -> "Iterator[ReadGraphs]":
        """Cut into blocks of at most ``max_nodes`` nodes, or of one larger graph."""
        table = self.table.with_names()  # lest errors number the graphs of a block from 0
        return (replace(self, table=block) for block in table.blocks(max_nodes))


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
