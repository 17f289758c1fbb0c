"""Where the nodes of a drawing lie: as far apart as there are edges between them, untangled, wider than high."""

from collections.abc import Collection, Iterator
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Place = tuple[float, float]
Places = NDArray[np.float64]  # (n, 2)
EDGE = 46.0
"""Length of an edge, in pixels."""
ROOM = 1.8
"""How much longer edges are between nodes that need room."""
FEW, APART = 16, 0.85
"""Nodes up to which the closest ones are so far from each other, in lengths of edges."""
STEPS, STILL = 150, 2e-3
NEAR = 0.3
"""A node that is nearer to an edge of others than this share of an edge's length seems to lie on it."""


def layout(graph: nx.Graph, apart: Collection[Any] = ()) -> dict[Any, Place]:
    """Places of the nodes in pixels, from (0, 0) to the right and down; the same for the same graph.

    Nodes in ``apart`` have more room between them.

    >>> layout(nx.path_graph(2))
    {0: (0.0, 0.0), 1: (46.0, 0.0)}
    """
    plain = nx.Graph(graph)
    plain.remove_edges_from(list(nx.selfloop_edges(plain)))
    nodes = list(plain)
    if len(nodes) < 2:
        return dict.fromkeys(nodes, (0.0, 0.0))
    number = {v: i for i, v in enumerate(nodes)}
    edges = np.array([(number[u], number[v]) for u, v in plain.edges], dtype=np.int64).reshape(-1, 2)
    goal = _distances(plain)
    wide = np.array([v in apart for v in nodes])
    goal[wide[:, None] & wide] *= ROOM
    ways = [_spread(start, goal) for start in _starts(plain, goal)]
    places = _turned(min(ways, key=lambda way: (_tangles(way, edges), _stress(way, goal))))
    if len(nodes) <= FEW:
        places *= max(1.0, APART / max(nearest(places), APART / 2))
    if graph.is_directed() and sum(places[number[v], 0] - places[number[u], 0] for u, v in graph.edges()) < 0:
        places[:, 0] *= -1  # arrows lead to the right
    places = (places - places.min(0)) * EDGE
    return {v: (float(x), float(y)) for v, (x, y) in zip(nodes, places.round(6) + 0.0, strict=True)}


def _distances(graph: nx.Graph) -> Places:
    """Edges between nodes ``(n, n)``; parts that no edge joins lie beside each other."""
    number = {v: i for i, v in enumerate(graph)}
    steps = np.full((len(graph), len(graph)), np.inf)
    for u, reached in nx.all_pairs_shortest_path_length(graph):
        for v, count in reached.items():
            steps[number[u], number[v]] = count
    reach = np.where(np.isfinite(steps), steps, 0).max(1)
    return np.where(np.isfinite(steps), steps, 1.2 + (reach[:, None] + reach) / 2)


def _starts(graph: nx.Graph, goal: Places) -> Iterator[Places]:
    """Where to begin: by classical scaling, on a circle and, where no edges need to cross, without crossings."""
    n = len(goal)
    center = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-center @ goal**2 @ center / 2)
    some = np.random.default_rng(0).normal(scale=1e-2, size=(n, 2))  # nodes that are alike must not lie on each other
    yield vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0)) + some
    angles = 2 * np.pi * np.arange(n) / n
    yield np.stack([np.cos(angles), np.sin(angles)], 1) * n / 6 + some
    planar, drawing = nx.check_planarity(graph)
    if planar:
        found = nx.combinatorial_embedding_to_pos(drawing)
        raw = np.array([found[v] for v in graph], dtype=float)
        yield raw * goal.mean() / max(float(np.ptp(raw)), 1e-9) * 2 + some


def _spread(places: Places, goal: Places) -> Places:
    """Move nodes until their distances are about as they should be: stress majorization."""
    weight = np.divide(1.0, goal**2, out=np.zeros_like(goal), where=goal > 0)
    inverse = np.linalg.pinv(np.diag(weight.sum(1)) - weight)
    wanted = weight * goal
    for _ in range(STEPS):
        apart = _apart(places)
        pull = -np.divide(wanted, apart, out=np.zeros_like(goal), where=apart > 1e-9)
        np.fill_diagonal(pull, -pull.sum(1))
        moved = inverse @ (pull @ places)
        change, places = float(np.abs(moved - places).max()), moved
        if change < STILL:
            break
    return places


def _stress(places: Places, goal: Places) -> float:
    apart = _apart(places)
    wrong = np.divide(apart - goal, goal, out=np.zeros_like(goal), where=goal > 0)
    return round(float((wrong**2).sum()), 3)


def _apart(places: Places) -> Places:
    found: Places = np.hypot(*(places[:, None] - places).T)
    return found


def nearest(places: Places) -> float:
    """Distance of the two closest of several nodes.

    >>> nearest(np.array([[0.0, 0.0], [3.0, 4.0]]))
    5.0
    """
    apart = _apart(places)
    np.fill_diagonal(apart, np.inf)
    return float(apart.min())


def _tangles(places: Places, edges: NDArray[np.int64]) -> float:
    """How hard a drawing is to read: crossings, edges through nodes, and nodes upon each other."""
    apart = _apart(places)
    close = np.triu(apart < 2 * NEAR, 1).sum()
    return float(_crossings(places, edges) + 2 * (distance_to_edges(places, edges) < NEAR).sum() + 4 * close)


def _crossings(places: Places, edges: NDArray[np.int64]) -> int:
    if not len(edges):
        return 0
    a, b = places[edges[:, 0]], places[edges[:, 1]]
    own = (edges[:, None, :, None] == edges[None, :, None, :]).any((2, 3))
    sides = [_side(a[:, None], b[:, None], end[None]) for end in (a, b)]
    apart = sides[0] * sides[1] < 0
    return int((apart & apart.T & ~own).sum() // 2)


def _side(a: Places, b: Places, c: Places) -> Places:
    u, v = b - a, c - a
    found: Places = u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
    return found


def distance_to_edges(places: Places, edges: NDArray[np.int64]) -> Places:
    """Distance of every node to every edge ``(n, E)``, infinite to its own.

    >>> distance_to_edges(np.array([[0, 0], [2, 0], [1, 1.0]]), np.array([[0, 1]]))[:, 0]
    array([inf, inf,  1.])
    """
    a, along = places[edges[:, 0]], places[edges[:, 1]] - places[edges[:, 0]]
    length = np.maximum((along**2).sum(1), 1e-9)
    share = np.clip(((places[:, None] - a) * along).sum(2) / length, 0, 1)
    far = np.sqrt(((places[:, None] - a - share[..., None] * along) ** 2).sum(2))
    far[edges.T, np.arange(len(edges))] = np.inf
    found: Places = far
    return found


def _turned(places: Places) -> Places:
    """Turn the longest direction into the horizontal."""
    places = places - places.mean(0)
    values, axes = np.linalg.eigh(places.T @ places)
    if values[1] < 1.05 * values[0]:  # round
        return places
    wide = places @ axes[:, ::-1]
    wide *= np.where(wide[0] > 0, -1, 1)  # the first node to the left and up
    found: Places = wide
    return found
