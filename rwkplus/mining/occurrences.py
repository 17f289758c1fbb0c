"""Occurrences of a pattern in a database: each once, whatever its symmetries, in the user's own ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from joblib import Parallel, delayed

from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.shape import Shape
from rwkplus.ops.embeddings import Ints, find_embeddings
from rwkplus.table import GraphTable
from rwkplus.table.columns import Array

LISTED = 2_000
"""Embeddings listed per graph at most: a dense graph without labels has millions, which nobody reads."""


BLOCK_NODES = 100_000
"""Nodes of the graphs that are searched at a time."""


class Occurrence(NamedTuple):
    """One place where a pattern occurs."""

    graph: Any  #: what the user calls the graph: its name, or its number in the database
    nodes: tuple[Any, ...]  #: ids of its nodes, or their numbers, in the order of the pattern's nodes


@dataclass(frozen=True, eq=False)
class Occurrences(Sequence[Occurrence]):
    """All places where a pattern occurs; arrays, of which an item is made when it is asked for."""

    graph: Ints  # (count,): numbers of graphs, ascending
    nodes: Ints  # (count, n): numbers of nodes within their graph
    graph_names: Array | None = None  # (count,)
    node_ids: Array | None = None  # (count, n)

    @classmethod
    def of(cls, table: GraphTable, graph: Ints, nodes: Ints) -> "Occurrences":
        """Look up what the user calls graphs and nodes."""
        names, ids = table.graphs.get("name"), table.nodes.get("id")
        return cls(
            graph,
            nodes,
            None if names is None else names.values()[graph],
            None if ids is None else ids.values()[table.node_ptr[graph][:, None] + nodes],
        )

    def __len__(self) -> int:
        return self.graph.size

    @overload
    def __getitem__(self, index: int) -> Occurrence: ...
    @overload
    def __getitem__(self, index: slice) -> list[Occurrence]: ...
    def __getitem__(self, index: int | slice) -> Occurrence | list[Occurrence]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        graph = (self.graph if self.graph_names is None else self.graph_names)[index]
        nodes = (self.nodes if self.node_ids is None else self.node_ids)[index]
        return Occurrence(graph.item() if isinstance(graph, np.integer) else graph, tuple(nodes.tolist()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        more = ", ..." if len(self) > 2 else ""
        return f"<{len(self)} occurrences: {', '.join(map(repr, self[:2]))}{more}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: numbers, and ids where there are any."""
        ids = {"graph_names": self.graph_names, "node_ids": self.node_ids}
        numbers = {"graphs": self.graph.tolist(), "nodes": self.nodes.tolist()}
        return numbers | {name: part.tolist() for name, part in ids.items() if part is not None}

    @classmethod
    def from_dict(cls, values: dict[str, Any] | list[list[int]], size: int) -> "Occurrences":
        """Read what :meth:`to_dict` returned; anything else raises ``KeyError``, ``TypeError`` or ``ValueError``."""
        if isinstance(values, list):  # rows of numbers, as version 0.1 wrote them
            values = {"graphs": [row[0] for row in values], "nodes": [row[1:] for row in values]}
        graph = np.array(values["graphs"], dtype=np.int64).reshape(-1)
        nodes = np.array(values["nodes"], dtype=np.int64).reshape(-1, size)
        if len(nodes) != len(graph) or (graph < 0).any() or (nodes < 0).any() or (np.diff(graph) < 0).any():
            raise ValueError("its occurrences do not fit together")
        names, ids = (
            _objects(values.get(name), shape) for name, shape in (("graph_names", graph), ("node_ids", nodes))
        )
        return cls(graph, nodes, names, ids)


def _objects(values: Any, like: Ints) -> Array | None:  # noqa: ANN401
    """Ids as an array of objects of the same shape; JSON has lists where ids were tuples."""
    if values is None:
        return None
    flat = [part for row in values for part in row] if like.ndim == 2 else list(values)
    if len(flat) != like.size or len(values) != len(like):
        raise ValueError("its ids do not fit its occurrences")
    objects = np.empty(like.size, dtype=object)
    objects[:] = [tuple(part) if isinstance(part, list) else part for part in flat]
    return objects.reshape(like.shape)


class Found(NamedTuple):
    """Where a shape occurs."""

    rows: Ints  # (count, n): nodes of the database, in the order of the shape's positions
    exhaustive: bool  # False where a graph has more than could be listed; its support counts all the same


def find_occurrences(database: MiningDatabase, shape: Shape, n_jobs: int | None = None) -> Found:
    """List the occurrences of a shape in every graph, in blocks that processes or threads can share."""
    if database.rows.label.size <= BLOCK_NODES:
        return _find_in_block(0, database, shape)
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(  # the search holds no lock
        delayed(_find_in_block)(first, block, shape) for first, block in database.blocks(BLOCK_NODES)
    )
    return Found(np.concatenate([part.rows for part in parts]), all(part.exhaustive for part in parts))


def _find_in_block(first: int, database: MiningDatabase, shape: Shape) -> Found:
    """Occurrences in a block whose first node has this number."""
    found = find_embeddings(database.rows, shape.occurrence_plan, LISTED)
    _, times = np.unique(database.rows.graph[found[:, 0]], return_counts=True)
    embeddings = np.empty_like(found)
    embeddings[:, shape.search_order] = found
    return Found(distinct_occurrences(shape, embeddings) + first, bool(times.max(initial=0) < LISTED))


def distinct_occurrences(shape: Shape, embeddings: Ints) -> Ints:
    """Keep one embedding of each occurrence: two with the same labelled edges differ by a symmetry only."""
    if not len(embeddings):
        return embeddings
    base = int(embeddings.max()) + 1
    ends, label = np.split(np.array(shape.edges), [2], axis=1)
    images = np.sort(embeddings[:, ends], axis=2)
    labels = int(label.max()) + 1
    edges = np.sort((images[:, :, 0] * base + images[:, :, 1]) * labels + label.ravel(), axis=1)
    _, first = np.unique(edges, axis=0, return_index=True)
    return embeddings[np.sort(first)]
