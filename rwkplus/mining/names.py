"""Names of patterns: their form, and what stands where in it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import Any

import networkx as nx

BONDS = frozenset("-=#:~")
"""Labels of edges that are written as they are."""
MOST_RINGS = 7
"""Independent rings up to which all ways to read a graph are compared."""
PLAIN = "-"


def describe(graph: nx.Graph) -> str:
    """Say in a few words what a connected graph with attribute ``label`` looks like.

    The name does not depend on how nodes are numbered. Forms are paths, stars, trees (from their center), rings, what
    is attached to them or joins two of their nodes (numbered from the first that is named), and cliques.

    An edge is ``-``, or ``→`` in its direction, or the sign of a bond. Where labels of edges differ, they stand in the
    edge, as in ``a -card→ b`` or ``a -card- b``; where all are the same, they are told once, at the end, and so are
    conditions. Others stand in brackets behind what they are about: ``account [balance < 0]``.

    Args:
        graph: Of any class of networkx. Edges may have a ``label``; nodes and edges may have ``conditions``, a text.

    Example:
        >>> graph = nx.cycle_graph(3)
        >>> nx.set_node_attributes(graph, {0: "red", 1: "red", 2: "blue"}, "label")
        >>> describe(graph)
        'triangle blue-red-red'
        >>> graph = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (4, 0)])
        >>> nx.set_node_attributes(graph, dict(enumerate(["shop", "mule", "mule", "exchange", "person"])), "label")
        >>> describe(graph)
        '4-ring exchange → shop → mule → mule → (back) with ← person at shop'
    """
    common = _common(graph, "label")
    shared = None if common is None or str(common) in BONDS else str(common)
    asked = _common(graph, "conditions")
    if asked is not None:
        graph = graph.copy()
        nx.set_edge_attributes(graph, None, "conditions")
    name = _Reading(graph, shared).name
    told = ", ".join(str(part) for part in (shared, asked) if part is not None)
    return f"{name} (all {told})" if told else name


def _common(graph: nx.Graph, attribute: str) -> object:
    """What all of several edges have in common; None where they differ."""
    values = {value for _, _, value in graph.edges(data=attribute)}
    return values.pop() if len(values) == 1 and graph.number_of_edges() > 1 else None


@dataclass(frozen=True)
class _Reading:
    """A graph as it is read out: at most one connection between two nodes, whatever edges there are."""

    graph: nx.Graph
    shared: str | None
    """The label of all edges, which is not repeated."""

    @cached_property
    def plain(self) -> nx.Graph:
        """Which nodes are joined."""
        plain = nx.Graph(self.graph.edges())
        plain.add_nodes_from(self.graph)
        return plain

    @cached_property
    def nodes(self) -> dict[Any, str]:
        """Label and conditions of every node."""
        return {v: _with_conditions(str(own.get("label", v)), own) for v, own in self.graph.nodes(data=True)}

    @cached_property
    def links(self) -> dict[tuple[Any, Any], str]:
        """What stands between two nodes, in the direction of reading."""
        found: dict[tuple[Any, Any], list[str]] = {}
        for u, v, own in self.graph.edges(data=True):
            label = own.get("label")
            words = "" if label is None or str(label) == self.shared else str(label)
            words = _with_conditions(words, own).strip()
            for a, b, forth in ((u, v, True), (v, u, False)):
                found.setdefault((a, b), []).append(_edge(words, self.graph.is_directed(), forth))
        return {ends: _together(edges) for ends, edges in found.items()}

    @property
    def name(self) -> str:
        size, edges = len(self.graph), self.plain.number_of_edges()
        if size == 1:
            return f"node {''.join(self.nodes.values())}"
        if edges == size - 1:
            return self._tree()
        core = nx.k_core(self.plain, 2)
        few = edges - size < MOST_RINGS
        missing = nx.complement(core)
        alike = len(set(self.links.values())) == 1 and len(core) > 3
        if alike and missing.number_of_edges() <= (0 if few else len(core) // 2):
            return self._clique(core, missing)
        if few:
            return self._ring(core)
        return f"graph with {edges} edges of {_listed(self.nodes.values())} ({self._digest()})"

    def _tree(self) -> str:
        degree = dict(self.plain.degree)
        ends = [v for v in self.plain if degree[v] == 1]
        if len(ends) == 2:
            orders = (nx.shortest_path(self.plain, *way) for way in (ends, ends[::-1]))
            return f"path {_first(self._along(order) for order in orders)}"
        kind = "star" if len(ends) == len(self.plain) - 1 else "tree"
        return f"{kind} {_first(self._rooted(v, self._branches(v)) for v in nx.center(self.plain))}"

    def _clique(self, core: nx.Graph, missing: nx.Graph) -> str:
        hosts = [(self.nodes[v], self._branches(v, stop=set(core))) for v in core]
        parts = sorted(f"{_listed(map(_unlinked, own))} at {host}" for host, own in hosts if own)
        link = next(iter(self.links.values())).strip()
        name = f"{len(core)}-clique {_listed(self.nodes[v] for v in core)}"
        name += "" if link == PLAIN else f" (all {link})"
        pairs = [PLAIN.join(sorted((self.nodes[u], self.nodes[v]))) for u, v in missing.edges]
        return name + (f" without {_listed(pairs)}" if pairs else "") + _with(parts)

    def _ring(self, core: nx.Graph) -> str:
        """The longest ring, read so that its name comes first in the alphabet, and what else there is."""
        cycles = list(nx.simple_cycles(core))
        longest = max(map(len, cycles))
        ways = (
            self._around([*cycle[k:], *cycle[:k]][::step])
            for cycle in cycles
            if len(cycle) == longest
            for k in range(longest)
            for step in (1, -1)
        )
        return min(ways, key=lambda way: way.rank).told

    def _around(self, order: list[Any]) -> "_Ring":
        place = {v: k for k, v in enumerate(order, start=1)}
        steps = [self.links[u, v] for u, v in zip(order, [*order[1:], order[0]], strict=True)]
        alike = {*steps, self.links[order[0], order[-1]]} == {steps[0]}
        text = self._along(order) + ("" if alike else f"{steps[-1]}(back)")
        chords = sorted(tuple(sorted((place[u], place[v]))) for u, v in self.plain.subgraph(order).edges)
        chords = [(i, j) for i, j in chords if j - i not in (1, len(order) - 1)]
        joined = [([i, j], f"{i}{self.links[order[i - 1], order[j - 1]]}{j}") for i, j in chords]
        attached: dict[int, list[str]] = {}
        closed: list[int] = []  # nodes of further rings through one node of this one
        for part in nx.connected_components(self.plain.subgraph(self.plain.nodes - place.keys())):
            ends, told = self._part(part, place)
            if len(ends) == 1:
                attached.setdefault(ends[0], []).append(_unlinked(told))
            else:
                joined.append((ends, f"{ends[0]}{told}"))
                bare = all(self.plain.degree[v] == 2 for v in part)
                closed += [len(part)] if bare and ends[0] == ends[-1] else []
        names = [self.nodes[v] for v in order]
        form = _ring_of(len(order))
        if len(joined) == 1 and chords:
            far = chords[0][1] - chords[0][0]
            form = f"fused {' and '.join(map(_ring_of, sorted((far + 1, len(order) - far + 1))))}"
        elif len(joined) == len(closed) == 1:
            form = f"{form} and {_ring_of(1 + closed[0])} sharing a node:"
        return _Ring(
            form,
            text,
            names,
            alike,
            [text for _, text in sorted(joined)],
            {k: sorted(own) for k, own in sorted(attached.items())},
        )

    def _part(self, part: set[Any], place: dict[Any, int]) -> tuple[list[int], str]:
        """Positions of the ring that a part is joined to, and how it reads from the first of them."""
        links = [(place[u], u, v) for v in part for u in self.plain[v] if u in place]
        ends = sorted(k for k, _, _ in links)
        inside = self.graph.subgraph(part)
        if self.plain.subgraph(part).number_of_edges() >= len(part):
            others = ", ".join(map(str, ends[1:]))
            link = _first(self.links[u, v] for k, u, v in links if k == ends[0])
            return ends, f"{link}({_Reading(inside, self.shared).name}{f' at {others}' if others else ''})"
        ways = (self.links[u, v] + self._branch(v, u, place) for k, u, v in links if k == ends[0])
        return ends, _first(ways)

    def _branch(self, v: Any, parent: Any, place: dict[Any, int]) -> str:  # noqa: ANN401
        """What hangs on a node, seen from its parent; nodes of a ring are told by their place."""
        return self._rooted(v, self._branches(v, parent, place), chain=True)

    def _branches(
        self,
        v: Any,  # noqa: ANN401
        parent: Any = None,  # noqa: ANN401
        place: dict[Any, int] | None = None,
        stop: Iterable[Any] = (),
    ) -> list[str]:
        place, stop = place or {}, set(stop)
        texts = [
            self.links[v, w] + (str(place[w]) if w in place else self._branch(w, v, place))
            for w in self.plain[v]
            if w != parent and w not in stop
        ]
        return sorted(texts, key=_in_order)

    def _rooted(self, v: Any, branches: list[str], *, chain: bool = False) -> str:  # noqa: ANN401
        if not branches:
            return self.nodes[v]
        if chain and len(branches) == 1:
            return self.nodes[v] + branches[0]
        return f"{self.nodes[v]}({_listed(map(_unlinked, branches))})"

    def _along(self, order: list[Any]) -> str:
        links = (self.links[u, v] for u, v in pairwise(order))
        return self.nodes[order[0]] + "".join(link + self.nodes[v] for link, v in zip(links, order[1:], strict=True))

    def _digest(self) -> str:
        """Tells apart what has the same words."""
        plain = self.plain.copy()
        nx.set_node_attributes(plain, {v: ascii(text) for v, text in self.nodes.items()}, "text")
        links = {(u, v): ascii(sorted((self.links[u, v], self.links[v, u]))) for u, v in plain.edges}
        nx.set_edge_attributes(plain, links, "text")
        found = nx.weisfeiler_lehman_graph_hash(plain, node_attr="text", edge_attr="text")
        return sha256(found.encode()).hexdigest()[:4]


@dataclass(frozen=True)
class _Ring:
    """One way to read a ring."""

    form: str
    text: str
    names: list[str]
    alike: bool
    """Whether all its edges are."""
    joined: list[str]
    attached: dict[int, list[str]]

    @property
    def rank(self) -> tuple[str, list[str], list[tuple[int, list[str]]]]:
        """What comes first of several readings."""
        return _in_order(self.text), self.joined, list(self.attached.items())

    @property
    def told(self) -> str:
        """The name."""
        name = f"{self.form} {self.text}" + (f", joined {', '.join(self.joined)}" if self.joined else "")
        uniform = self.alike and len(set(self.names)) == 1 and not self.joined
        if uniform and len(self.attached) == 1:
            return f"{name} with {_listed(*self.attached.values())} attached"
        return name + _with([f"{_listed(own)} at {self._host(k)}" for k, own in self.attached.items()])

    def _host(self, k: int) -> str:
        name = self.names[k - 1]
        return name if self.names.count(name) == 1 else str(k)


def _ring_of(size: int) -> str:
    return "triangle" if size == 3 else f"{size}-ring"


def _with(parts: list[str]) -> str:
    return f" with {', '.join(parts)}" if parts else ""


def _with_conditions(words: str, own: dict[str, Any]) -> str:
    return f"{words} [{own['conditions']}]" if own.get("conditions") else words


def _edge(words: str, directed: bool, forth: bool) -> str:
    if not directed:
        return words if words in BONDS else f" -{words}- " if words else PLAIN
    head = f"-{words}" if words else ""
    return f" {head}→ " if forth else f" ←{head[1:]}{'-' if words else ''} "


def _together(edges: list[str]) -> str:
    """Several edges between the same nodes."""
    if sorted(edges) == [" ← ", " → "]:
        return " ⇄ "
    return edges[0] if len(edges) == 1 else f" {'/'.join(sorted(edge.strip() for edge in edges))} "


def _in_order(text: str) -> str:
    """Sorts readings along the edges before those against them."""
    return text.replace("→", "\x01")


def _first(texts: Iterable[str]) -> str:
    return min(texts, key=_in_order)


def _unlinked(text: str) -> str:
    """A branch without the plain edge that it begins with."""
    return text.removeprefix(PLAIN).lstrip()


def _listed(words: Iterable[str]) -> str:
    counted = Counter(sorted(words, key=_in_order))
    return ", ".join(word if times == 1 else f"{times} x {word}" for word, times in counted.items())
