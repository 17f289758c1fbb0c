"""Mining testbeds, those of the paper and random ones: databases whose patterns are known, and the patterns themselves.

All are undirected networkx graphs with a color, or a number, in the node attribute ``label``. What the paper leaves
open is an argument: how a ring is colored, which of the two 3-regular graphs on six nodes. The chains of Task 1-2 are
in :mod:`rwkplus.datasets.generators`.
"""

from collections.abc import Sequence

import networkx as nx
import numpy as np

from rwkplus.datasets.generators import COLORS, P1, P2
from rwkplus.errors import ParameterError
from rwkplus.types import check_integer

FIRST_SEED = 1000
"""Databases and initializations with seeds below were used for design, those from here on only for reporting."""


def bipartite_graphs(num_graphs: int = 100, seed: int = 0) -> list[nx.Graph]:
    """Complete bipartite graphs with sides of 5 to 7 nodes, one red and one blue (Task 1-1)."""
    check_integer("num_graphs", num_graphs, 1)
    rng = np.random.default_rng(seed)
    return [_complete_bipartite(*map(int, sides)) for sides in rng.integers(5, 8, size=(num_graphs, 2))]


def butterfly() -> nx.Graph:
    """The bipartite core of Task 1-1: two red nodes, two blue ones, every edge between them."""
    return _complete_bipartite(2, 2)


def three_star(core: str = "red") -> nx.Graph:
    """The other answer of Task 1-1: a core of one color with three neighbors of the other."""
    star = _complete_bipartite(1, 3)
    if core == "red":
        return star
    swapped = {"red": "blue", "blue": "red"}
    return _colored(star, [swapped[color] for _, color in star.nodes(data="label")])


def chain_patterns() -> tuple[nx.Graph, nx.Graph]:
    """The two triangles of Task 1-2: P1 red-red-blue, P2 purple-purple-green."""
    return _colored(nx.cycle_graph(3), P1), _colored(nx.cycle_graph(3), P2)


def tailed_triangle() -> nx.Graph:
    """A triangle with a pendant (Task 2-1): the node of degree 3 green, the pendant blue, the others red."""
    return _colored(nx.Graph([(0, 1), (0, 2), (1, 2), (0, 3)]), ["green", "red", "red", "blue"])


def ring(colors: str = "RBRBRB") -> nx.Graph:
    """A ring with one color letter per node: ``"RBRBRB"`` fits Task 2-1, ``"RRBRRB"`` Task 2-2.

    >>> ring("RRBRRB").nodes[2]["label"]
    'blue'
    """
    if len(colors) < 3 or not set(colors) <= COLORS.keys():
        raise ParameterError(f"colors must be at least three of the letters {', '.join(COLORS)}, got {colors!r}.")
    return _colored(nx.cycle_graph(len(colors)), [COLORS[letter] for letter in colors])


def prism() -> nx.Graph:
    """The 3-regular graph on six nodes that has triangles, all of one color (Task 2-2)."""
    return _colored(nx.circular_ladder_graph(3), ["red"] * 6)


def complete_bipartite_33() -> nx.Graph:
    """The 3-regular graph on six nodes without triangles, all of one color (Task 2-2)."""
    return _colored(nx.complete_bipartite_graph(3, 3), ["red"] * 6)


def copies(graph: nx.Graph, num_graphs: int = 100) -> list[nx.Graph]:
    """A database of identical graphs (Task 2)."""
    check_integer("num_graphs", num_graphs, 1)
    return [graph.copy() for _ in range(num_graphs)]


def _complete_bipartite(left: int, right: int) -> nx.Graph:
    # Built plainly: networkx's generator would add a node attribute of its own.
    edges = [(u, left + v) for u in range(left) for v in range(right)]
    graph = nx.Graph()
    graph.add_nodes_from(range(left + right))
    graph.add_edges_from(edges)
    return _colored(graph, ["red"] * left + ["blue"] * right)


def _colored(graph: nx.Graph, colors: list[str] | tuple[str, ...]) -> nx.Graph:
    """A plain copy whose only node attribute is the color, given in node order."""
    colored = nx.Graph()
    colored.add_nodes_from((v, {"label": color}) for v, color in zip(sorted(graph), colors, strict=True))
    colored.add_edges_from(graph.edges)
    return colored


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


def planted_graph(
    pattern: nx.Graph,
    rng: np.random.Generator,
    *,
    copies: int = 200,
    num_nodes: int = 50_000,
    num_edges: int = 200_000,
    num_labels: int = 5,
) -> nx.Graph:
    """Hide copies of a pattern in one large random graph: some of its nodes get the pattern's labels and edges.

    Args:
        pattern: A graph on nodes 0, 1, ... with node attribute ``label``.
        rng: Source of all randomness.
        copies: Copies, which share no node.
        num_nodes: Nodes of the graph.
        num_edges: Edges of the graph, those of copies included; but for these, ends are drawn at random.
        num_labels: Labels of the other nodes, 0, 1, ...

    Example:
        >>> rng = np.random.default_rng(0)
        >>> graph = planted_graph(random_pattern(5, rng), rng, copies=3, num_nodes=100, num_edges=200)
        >>> len(graph), graph.number_of_edges()
        (100, 200)
    """
    if copies * len(pattern) > num_nodes or not copies * pattern.number_of_edges() <= num_edges <= 2 * num_nodes**2 / 5:
        raise ParameterError(f"{copies} copies do not fit into {num_nodes} nodes and {num_edges} edges.")
    label = rng.integers(num_labels, size=num_nodes)
    place = rng.permutation(num_nodes)[: copies * len(pattern)].reshape(copies, len(pattern))
    label[place] = [pattern.nodes[v]["label"] for v in range(len(pattern))]
    graph = nx.Graph()
    graph.add_nodes_from((v, {"label": own}) for v, own in enumerate(label.tolist()))
    for u, v in pattern.edges:
        graph.add_edges_from(place[:, [u, v]].tolist())
    while (missing := num_edges - graph.number_of_edges()) > 0:
        graph.add_edges_from((u, v) for u, v in rng.integers(num_nodes, size=(missing, 2)).tolist() if u != v)
    return graph


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
