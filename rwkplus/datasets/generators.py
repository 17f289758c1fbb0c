"""Generated databases with known patterns, to test miners on: planted copies, and chains of colored triangles."""

from collections.abc import Sequence
from typing import Literal

import networkx as nx
import numpy as np

from rwkplus.errors import ParameterError
from rwkplus.types import check_choice, check_integer

Linking = Literal["rand", "apexbase", "base"]
COLORS = {"R": "red", "B": "blue", "P": "purple", "G": "green"}
P1, P2 = ("red", "red", "blue"), ("purple", "purple", "green")
P1_SHARE = 0.6
BRIDGES = {"apexbase": (2, 0), "base": (1, 0)}
"""Node of a triangle and of the next that a bridge joins: 0 and 1 share a color, 2 is alone in its color."""


def random_pattern(size: int, rng: np.random.Generator, *, cyclic: bool = True, num_labels: int = 4) -> nx.Graph:
    """Draw a connected labelled graph: a random tree, with one more edge per four nodes if ``cyclic``.

    Example:
        >>> random_pattern(6, np.random.default_rng(0)).number_of_edges()
        6
    """
    if size < 2 or (cyclic and size < 3):
        raise ParameterError(f"a pattern needs at least {3 if cyclic else 2} nodes, got {size}.")
    return _random_graph(size, max(1, size // 4) if cyclic else 0, num_labels, rng)


def planted_database(
    patterns: Sequence[nx.Graph],
    rng: np.random.Generator,
    *,
    num_graphs: int = 100,
    distortion: float = 0.0,
    num_labels: int = 4,
    background: tuple[int, int] = (10, 20),
) -> list[nx.Graph]:
    """Hide a copy of every pattern in every graph of a random database.

    Args:
        patterns: Graphs with node attribute ``label``; none for a database without any pattern.
        rng: Source of all randomness.
        num_graphs: Graphs to make.
        distortion: Probability of each edge of a copy to be left out.
        num_labels: Labels of background nodes, 0, 1, ...
        background: Range of the number of background nodes; they form a random tree with one more edge per
            five nodes.

    Returns:
        Connected graphs. Every copy is joined to the background by one to three random edges, and every
        part that distortion cuts off by another.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> graphs = planted_database([random_pattern(5, rng)], rng, num_graphs=3)
        >>> [len(graph) for graph in graphs]
        [21, 25, 22]
    """
    if not 0 <= distortion < 1:
        raise ParameterError(f"distortion must be at least 0 and below 1, got {distortion!r}.")
    graphs = []
    for _ in range(num_graphs):
        size = int(rng.integers(background[0], background[1], endpoint=True))
        graph = _random_graph(size, size // 5, num_labels, rng)
        for pattern in patterns:
            _plant(graph, pattern, distortion, size, rng)
        graphs.append(graph)
    return graphs


def _random_graph(size: int, more_edges: int, num_labels: int, rng: np.random.Generator) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from((v, {"label": int(rng.integers(num_labels))}) for v in range(size))
    graph.add_edges_from((v, int(rng.integers(v))) for v in range(1, size))
    free = list(nx.non_edges(graph))
    graph.add_edges_from(free[i] for i in rng.permutation(len(free))[:more_edges])
    return graph


def _plant(graph: nx.Graph, pattern: nx.Graph, distortion: float, size: int, rng: np.random.Generator) -> None:
    """Add a distorted copy of the pattern and tie it to the ``size`` background nodes."""
    place = {v: len(graph) + i for i, v in enumerate(pattern)}
    graph.add_nodes_from((place[v], {"label": label}) for v, label in pattern.nodes(data="label"))
    graph.add_edges_from((place[u], place[v]) for u, v in pattern.edges if rng.random() >= distortion)
    copy = list(place.values())
    for _ in range(int(rng.integers(1, 4))):
        graph.add_edge(int(rng.integers(size)), copy[int(rng.integers(len(copy)))])
    for part in list(nx.connected_components(graph)):
        if 0 not in part:
            ends = sorted(part)
            graph.add_edge(int(rng.integers(size)), ends[int(rng.integers(len(ends)))])


def triangle_chains(num_graphs: int = 100, linking: Linking = "rand", random_state: int = 0) -> list[nx.Graph]:
    """Chains of 3 to 5 triangles joined by bridges, each red-red-blue (60%) or purple-purple-green (Task 1-2).

    Args:
        num_graphs: Number of chains.
        linking: Which nodes a bridge joins: ``"rand"`` any, ``"apexbase"`` the lone color of a triangle and the
            pair of the next, ``"base"`` the pairs of both, leaving a triangle by another node than it was entered.
        random_state: Seed of lengths, colors and bridges.

    Example:
        >>> (chain,) = triangle_chains(1)
        >>> chain.number_of_nodes() // 3, chain.nodes[2]["label"]
        (5, 'blue')
    """
    check_integer("num_graphs", num_graphs, 1)
    check_choice("linking", linking, Linking)
    rng = np.random.default_rng(random_state)
    return [_chain(linking, rng) for _ in range(num_graphs)]


def _chain(linking: Linking, rng: np.random.Generator) -> nx.Graph:
    triangles = [P1 if draw < P1_SHARE else P2 for draw in rng.random(rng.integers(3, 6))]
    chain = nx.Graph()
    for i, colors in enumerate(triangles):
        chain.add_nodes_from((3 * i + j, {"label": color}) for j, color in enumerate(colors))
        chain.add_edges_from((3 * i + j, 3 * i + (j + 1) % 3) for j in range(3))
        if i:
            out, into = rng.integers(0, 3, 2).tolist() if linking == "rand" else BRIDGES[linking]
            chain.add_edge(3 * (i - 1) + out, 3 * i + into)
    return chain
