"""The shape of a pattern while it is searched for: labels and edges as plain tuples."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rwkplus.loops.embeddings import MatchPlan


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
    def search_order(self) -> list[int]:
        """Positions in the order of search: from the first on, always the one with most edges to those before."""
        order = [0]
        while len(order) < self.size:
            rest = [v for v in range(self.size) if v not in order]
            order.append(max(rest, key=lambda v: int(self.joined[v, order].sum())))
        return order

    @cached_property
    def plan(self) -> MatchPlan:
        """The shape as :func:`rwkplus.loops.embeddings.find_embeddings` looks for it: every embedding."""
        return self._plan([-1] * self.size)

    @cached_property
    def occurrence_plan(self) -> MatchPlan:
        """Like :attr:`plan`, but interchangeable positions take their nodes in ascending order.

        That leaves one embedding of a clique or star where there would be factorially many.
        """
        before = []
        for k, v in enumerate(self.search_order):
            twins = [place for place, u in enumerate(self.search_order[:k]) if self._interchangeable(u, v)]
            before.append(max(twins, default=-1))
        return self._plan(before)

    def _interchangeable(self, i: int, j: int) -> bool:
        """Whether swapping two positions leaves the shape as it is; such positions form classes."""
        if self.labels[i] != self.labels[j]:
            return False
        swap = {i: j, j: i}
        swapped = {(*sorted((swap.get(u, u), swap.get(v, v))), edge) for u, v, edge in self.edges}
        return swapped == {(*sorted((u, v)), edge) for u, v, edge in self.edges}

    def _plan(self, before: list[int]) -> MatchPlan:
        order = self.search_order
        label_of = {(i, j): edge for i, j, edge in self.edges} | {(j, i): edge for i, j, edge in self.edges}
        links = [
            [(place, label_of[u, v]) for place, u in enumerate(order[:k]) if (u, v) in label_of]
            for k, v in enumerate(order)
        ]
        anchors = [(-1, -1), *(part[0] for part in links[1:])]
        checks = [part[1:] for part in links]
        flat = [check for part in checks for check in part]
        return MatchPlan(
            np.array([self.labels[v] for v in order]),
            np.array([place for place, _ in anchors]),
            np.array([edge for _, edge in anchors]),
            np.concatenate([[0], np.cumsum([len(part) for part in checks])]).astype(np.int64),
            np.array([place for place, _ in flat], np.int64),
            np.array([edge for _, edge in flat], np.int64),
            np.array(before, np.int64),
        )
