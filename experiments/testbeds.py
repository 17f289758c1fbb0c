"""The paper's mining testbeds: databases whose patterns are known, and the patterns themselves.

All are undirected networkx graphs with a color in the node attribute ``label``. What the paper leaves open is an
argument: how a ring is colored, which of the two 3-regular graphs on six nodes. The chains of Task 1-2 are in
:mod:`rwkplus.datasets.generators`.
"""

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
