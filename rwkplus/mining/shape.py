"""The shape of a pattern while it is searched for: labels and edges as plain tuples."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rwkplus.ops.embeddings import MatchPlan


@dataclass(frozen=True)
class Shape:
    """A connected labelled graph on positions 0, 1, ...; edges are ``(i, j, label)`` with ``i < j``."""

    labels: tuple[int, ...]
    edges: tuple[tuple[int, int, int], ...]

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.labels)

    def with_edge(self, i: int, j: int, edge: int) -> "Shape":
        """Close a cycle."""
        return Shape(self.labels, (*self.edges, (i, j, edge)))

    def with_node(self, i: int, edge: int, label: int) -> "Shape":
        """Hang a new node on position ``i``."""
        return Shape((*self.labels, label), (*self.edges, (i, self.size, edge)))

    def without_edge(self, k: int) -> "Shape | None":
        """Remove an edge, and the node it leaves alone; None where the rest falls apart or is too small."""
        edges = self.edges[:k] + self.edges[k + 1 :]
        kept = sorted({v for i, j, _ in edges for v in (i, j)})
        if len(kept) < max(self.size - 1, 2):
            return None
        place = {v: p for p, v in enumerate(kept)}
        rest = Shape(tuple(self.labels[v] for v in kept), tuple((place[i], place[j], edge) for i, j, edge in edges))
        return rest if rest.is_connected else None

    @cached_property
    def joined(self) -> NDArray[np.bool_]:
        """Which positions share an edge."""
        joined = np.zeros((self.size, self.size), bool)
        for i, j, _ in self.edges:
            joined[i, j] = joined[j, i] = True
        return joined

    @property
    def is_connected(self) -> bool:
        """Whether every node can be reached from the first."""
        reached = {0}
        for _ in self.labels:
            reached |= {w for i, j, _ in self.edges for v, w in ((i, j), (j, i)) if v in reached}
        return len(reached) == self.size

    @cached_property
    def fingerprint(self) -> tuple[int, int, int]:
        """Alike for isomorphic shapes; different ones share it only where color refinement is blind."""
        around: list[list[tuple[int, int]]] = [[] for _ in self.labels]
        for i, j, edge in self.edges:
            around[i].append((edge, j))
            around[j].append((edge, i))
        colors = [hash((label, -1)) for label in self.labels]
        for _ in range(min(self.size, 6)):
            colors = [hash((colors[v], *sorted((e, colors[w]) for e, w in around[v]))) for v in range(self.size)]
        return hash(tuple(sorted(colors))), self.size, len(self.edges)

    @cached_property
    def plan(self) -> MatchPlan:
        """An order of search: from the first node on, most constrained nodes first."""
        order, anchors = [0], [(-1, -1)]
        checks: list[list[tuple[int, int]]] = [[]]
        edge_of = {(i, j): e for i, j, e in self.edges} | {(j, i): e for i, j, e in self.edges}
        while len(order) < self.size:
            rest = [v for v in range(self.size) if v not in order]
            links = {v: [(p, edge_of[u, v]) for p, u in enumerate(order) if (u, v) in edge_of] for v in rest}
            following = max(rest, key=lambda v: len(links[v]))
            order.append(following)
            anchors.append(links[following][0])
            checks.append(links[following][1:])
        flat = [check for part in checks for check in part]
        return MatchPlan(
            np.array([self.labels[v] for v in order]),
            np.array([a for a, _ in anchors]),
            np.array([e for _, e in anchors]),
            np.concatenate([[0], np.cumsum([len(part) for part in checks])]).astype(np.int64),
            np.array([p for p, _ in flat], np.int64),
            np.array([e for _, e in flat], np.int64),
        )

    @cached_property
    def search_order(self) -> list[int]:
        """Position of each column of an embedding found with :attr:`plan`."""
        order = [0]
        while len(order) < self.size:
            rest = [v for v in range(self.size) if v not in order]
            order.append(max(rest, key=lambda v: int(self.joined[v, order].sum())))
        return order
