"""Random payments between accounts, and planted patterns of them: directed, with channels and amounts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import networkx as nx
import numpy as np
from networkx.algorithms.isomorphism import DiGraphMatcher, categorical_edge_match, categorical_node_match

from experiments.testbeds import planted_database, random_pattern
from rwkplus.mining import Pattern
from rwkplus.mining.pattern_parts import Condition

CHANNELS = ("card", "wire")
MEDIAN, SPREAD = 100.0, 1.0
"""Of the log-normal amounts of usual payments."""
HIGH = (5_000.0, 9_000.0)
"""Range of conspicuous amounts; of usual ones, one in twenty thousand reaches it."""
RARE = 0.1
"""Share of usual amounts that may meet the condition of a pattern that counts as recovered."""


@dataclass
class Planted:
    """A pattern of payments, and the amounts that its copies have."""

    graph: nx.DiGraph
    """With ``label`` on nodes and edges, and ``high`` on edges."""
    amounts: dict[tuple[int, int], list[float]] = field(default_factory=dict)
    """Of conspicuous payments, by edge."""


@dataclass
class Payments:
    """A database and the truth about it."""

    graphs: list[nx.DiGraph]
    planted: list[Planted]
    usual: list[float]
    """Amounts of all payments that are not conspicuous."""


def payment_pattern(size: int, rng: np.random.Generator, *, cyclic: bool, attributed: bool) -> nx.DiGraph:
    """Draw a pattern; if ``attributed``, about half of its payments are conspicuous."""
    graph = _directed(random_pattern(size, rng, cyclic=cyclic), rng)
    edges = list(graph.edges)
    high = {int(k) for k in rng.permutation(len(edges))[: (len(edges) + 1) // 2]} if attributed else set()
    nx.set_edge_attributes(graph, {edge: k in high for k, edge in enumerate(edges)}, "high")
    return graph


def payment_database(
    patterns: Sequence[nx.DiGraph],
    rng: np.random.Generator,
    *,
    attributed: bool,
    num_graphs: int = 100,
    distortion: float = 0.0,
    background: tuple[int, int] = (10, 20),
) -> Payments:
    """Hide a copy of every pattern in every graph of random payments; each edge is missing with some probability."""
    payments = Payments([], [Planted(pattern) for pattern in patterns], [])
    for bare in planted_database([], rng, num_graphs=num_graphs, background=background):
        graph = _directed(bare, rng)
        for planted in payments.planted:
            _plant(graph, planted, distortion, len(bare), rng)
        for _, _, edge in graph.edges(data=True):
            edge["label"] = edge.get("label") or str(rng.choice(CHANNELS))
            source = edge.pop("of", None)
            if attributed:
                edge["amount"] = _amount(source is not None, rng)
                amounts = payments.usual if source is None else source[0].amounts.setdefault(source[1], [])
                amounts.append(edge["amount"])
        payments.graphs.append(graph)
    return payments


def _directed(graph: nx.Graph, rng: np.random.Generator) -> nx.DiGraph:
    """The graph with a direction and a channel of every edge."""
    directed = nx.DiGraph()
    directed.add_nodes_from(graph.nodes(data=True))
    for u, v in graph.edges:
        ends = (u, v) if rng.random() < 0.5 else (v, u)
        directed.add_edge(*ends, label=str(rng.choice(CHANNELS)))
    return directed


def _plant(graph: nx.DiGraph, planted: Planted, distortion: float, size: int, rng: np.random.Generator) -> None:
    """Add a distorted copy, and tie it to the ``size`` background nodes as undirected ones are."""
    first = len(graph)
    graph.add_nodes_from((first + v, {"label": label}) for v, label in planted.graph.nodes(data="label"))
    for u, v, edge in planted.graph.edges(data=True):
        if rng.random() >= distortion:
            source = {"of": (planted, (u, v))} if edge["high"] else {}
            graph.add_edge(first + u, first + v, label=edge["label"], **source)
    copy = range(first, len(graph))
    for _ in range(int(rng.integers(1, 4))):
        _tie(graph, int(rng.integers(size)), copy[int(rng.integers(len(copy)))], rng)
    for part in list(nx.weakly_connected_components(graph)):
        if 0 not in part:
            ends = sorted(part)
            _tie(graph, int(rng.integers(size)), ends[int(rng.integers(len(ends)))], rng)


def _tie(graph: nx.DiGraph, background: int, node: int, rng: np.random.Generator) -> None:
    graph.add_edge(*((background, node) if rng.random() < 0.5 else (node, background)))


def _amount(high: bool, rng: np.random.Generator) -> float:
    drawn = rng.uniform(*HIGH) if high else MEDIAN * np.exp(SPREAD * rng.standard_normal())
    return round(float(drawn), 2)


class Agreement(NamedTuple):
    """In how far a mined pattern is the planted one."""

    graph: bool
    """Nodes, labels, directions and channels are the same."""
    planted: bool
    """Moreover, every conspicuous payment has a right condition; others may have conditions, too."""
    exact: bool
    """Moreover, no other payment has a condition."""


NO_AGREEMENT = Agreement(False, False, False)


def agreement(pattern: Pattern, planted: Planted, usual: Sequence[float]) -> Agreement:
    """Compare a mined pattern with a planted one, by the way to lay one on the other that suits best.

    A condition is right if every amount that was planted there meets it, and at most a tenth of the usual ones.
    """
    found = nx.DiGraph()
    found.add_nodes_from((v, {"label": label}) for v, label in enumerate(pattern.labels))
    conditions = pattern.edge_conditions or ((),) * len(pattern.edges)
    for (u, v, channel), own in zip(pattern.edges, conditions, strict=True):
        found.add_edge(u, v, label=channel, conditions=own)
    if any(pattern.node_conditions) or found.number_of_edges() != len(pattern.edges):
        return NO_AGREEMENT
    target = planted.graph.copy()
    nx.set_node_attributes(target, {v: str(label) for v, label in target.nodes(data="label")}, "label")
    same_nodes, same_edges = categorical_node_match("label", None), categorical_edge_match("label", None)
    matcher = DiGraphMatcher(found, target, node_match=same_nodes, edge_match=same_edges)
    ways = [_judged(found, places, planted, usual) for places in matcher.isomorphisms_iter()]
    return max(ways, key=sum, default=NO_AGREEMENT)


def _judged(found: nx.DiGraph, places: dict[int, int], planted: Planted, usual: Sequence[float]) -> Agreement:
    """Judge the conditions of a pattern, given the places that its nodes have in the planted one."""
    right = bare = True
    for u, v, conditions in found.edges(data="conditions"):
        place = (places[u], places[v])
        if planted.graph.edges[place]["high"]:
            right &= bool(conditions) and all(_fits(part, planted.amounts[place], usual) for part in conditions)
        else:
            bare &= not conditions
    return Agreement(True, right, right and bare)


def _fits(condition: Condition, there: Sequence[float], usual: Sequence[float]) -> bool:
    """Whether all amounts of one kind, and few of the other, meet a condition."""
    low = -np.inf if condition.low is None else condition.low
    high = np.inf if condition.high is None else condition.high
    all_there, few = ((np.array(amounts) >= low) & (np.array(amounts) < high) for amounts in (there, usual))
    return bool(all_there.all() and few.mean() <= RARE)
