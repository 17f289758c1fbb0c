"""Slow, obviously right oracles. Reading them is proving them; property tests hold the fast paths to them.

The product graph, built as RWK+ is defined, is also the paper's naive baseline.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import networkx as nx
import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, einsum

from rwkplus.errors import ShapeError
from rwkplus.functional.kernels import color_similarity, count_graphs
from rwkplus.functional.walks import sparse_product


def walks(graph: nx.Graph, steps: int) -> Iterator[tuple[object, ...]]:
    """Yield every walk of ``steps`` edges as the tuple of its nodes.

    >>> list(walks(nx.path_graph(3), 1))
    [(0, 1), (1, 0), (1, 2), (2, 1)]
    """
    paths: list[tuple[object, ...]] = [(v,) for v in graph]
    for _ in range(steps):
        paths = [(*p, u) for p in paths for u in graph[p[-1]]]
    yield from paths


def walk_colors(graph: nx.Graph, walk: tuple[object, ...]) -> tuple[object, ...]:
    """Colors met along a walk: node, edge, node, ...; edges without a color count as alike."""
    colors: list[object] = [graph.nodes[walk[0]]["color"]]
    for u, v in pairwise(walk):
        colors += [graph.edges[u, v].get("color"), graph.nodes[v]["color"]]
    return tuple(colors)


def walk_weight(graph: nx.Graph, walk: tuple[object, ...]) -> float:
    """Product of the edge weights along a walk.

    >>> walk_weight(nx.Graph([(0, 1, {"weight": 2.0})]), (0, 1, 0))
    4.0
    """
    return float(np.prod([graph.edges[e].get("weight", 1.0) for e in pairwise(walk)]))


def count_label_sequences(graph: nx.Graph, steps: int, *, closed: bool = False) -> Counter[tuple[object, ...]]:
    """Count the walks of ``steps`` edges by the colors they meet: the feature map of the kernel."""
    counts: Counter[tuple[object, ...]] = Counter()
    for walk in walks(graph, steps):
        if not closed or walk[0] == walk[-1]:
            counts[walk_colors(graph, walk)] += walk_weight(graph, walk)  # type: ignore[assignment]
    return counts


def count_matching_walks(g: nx.Graph, h: nx.Graph, steps: int) -> float:
    """Weigh the pairs of ``steps``-edge walks on ``g`` and ``h`` with equal colors throughout (Eq. 4).

    >>> edge = nx.path_graph(2)
    >>> nx.set_node_attributes(edge, {0: "C", 1: "O"}, "color")
    >>> count_matching_walks(edge, edge, 1)
    2.0
    """
    pairs = ((p, q) for p in walks(g, steps) for q in walks(h, steps) if walk_colors(g, p) == walk_colors(h, q))
    return sum((walk_weight(g, p) * walk_weight(h, q) for p, q in pairs), 0.0)


def node_walk_color(graph: nx.Graph, node: object, steps: int) -> frozenset[tuple[tuple[object, ...], int]]:
    """Return the multiset of color sequences of the walks of ``steps`` edges that begin at ``node``."""
    counts = Counter(walk_colors(graph, walk) for walk in walks(graph, steps) if walk[0] == node)
    return frozenset(counts.items())


def dense_rwk(
    adj_g: NDArray[np.float64],
    x_g: NDArray[np.float64],
    adj_h: NDArray[np.float64],
    x_h: NDArray[np.float64],
    steps: int,
    *,
    match_all: bool = True,
    closed: bool = False,
) -> list[float]:
    """Kernel of one pair of graphs from the dense Kronecker product, by its definition (Eq. 6 and 9).

    >>> edge, x = np.array([[0.0, 1.0], [1.0, 0.0]]), np.ones((2, 1))
    >>> dense_rwk(edge, x, edge, x, steps=2)
    [4.0, 4.0]
    """
    s = (x_h @ x_g.T).flatten(order="F")  # vec stacks columns: pairs ordered by node of G, then of H
    return product_scores(np.kron(adj_g, adj_h), s, steps, match_all=match_all, closed=closed)


def product_scores(
    product: NDArray[np.floating], s: NDArray[np.floating], steps: int, *, match_all: bool, closed: bool
) -> list[float]:
    """Scores from the adjacency of a product graph, colors left out, and the similarities of its pairs."""
    scores = []
    for i in range(1, steps + 1):
        if match_all:
            power = np.linalg.matrix_power(np.outer(s, s) * product, i)
        else:
            power = np.outer(s, s) * np.linalg.matrix_power(product, i)
        scores.append(float(np.trace(power) if closed else power.sum()))
    return scores


def product_graph(
    x: Float[Tensor, "N D"],
    edge_index: Int[Tensor, "2 E"],
    hidden_x: Float[Tensor, "K M D"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    edge_weight: Float[Tensor, " E"] | None = None,
    edge_attr: Float[Tensor, "E C"] | None = None,
    hidden_edge_attr: Float[Tensor, "K M M C"] | None = None,
) -> tuple[Int[Tensor, "2 P"], Float[Tensor, " P"]]:
    r"""Edges and weights of :math:`\mathbf{s}\mathbf{s}^\top \odot A_{G \otimes H}` over the ``N K M`` pairs.

    Takes :math:`O(E K M^2)` time and memory (Eq. 8).

    >>> loop, one = torch.tensor([[0], [0]]), torch.ones(1, 1, 1)
    >>> edges, weight = product_graph(torch.ones(1, 1), loop, hidden_x=one, hidden_adj=3 * one)
    >>> edges.tolist(), weight.tolist()
    ([[0], [0]], [3.0])
    """
    if (edge_attr is None) != (hidden_edge_attr is None):
        raise ShapeError("edge colors need both edge_attr and hidden_edge_attr.", "Give the other one, or neither.")
    num_hidden, size = hidden_x.shape[:2]
    s = color_similarity(x, hidden_x)
    source, target = edge_index
    weight = einsum("ekl,ekm,klm->eklm", s[source], s[target], hidden_adj)
    if edge_weight is not None:
        weight = weight * edge_weight.view(-1, 1, 1, 1)
    if edge_attr is not None and hidden_edge_attr is not None:
        weight = weight * einsum("ec,klmc->eklm", edge_attr, hidden_edge_attr)
    pair = torch.arange(s.numel(), device=x.device).view(-1, num_hidden, size)
    begin = pair[source].unsqueeze(-1).expand_as(weight)
    end = pair[target].unsqueeze(-2).expand_as(weight)
    return torch.stack([begin.flatten(), end.flatten()]), weight.flatten()


def rwk_plus_by_product_graph(
    x: Float[Tensor, "N D"],
    edge_index: Int[Tensor, "2 E"],
    batch: Int[Tensor, " N"],
    hidden_x: Float[Tensor, "K M D"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    steps: int,
    edge_weight: Float[Tensor, " E"] | None = None,
    edge_attr: Float[Tensor, "E C"] | None = None,
    hidden_edge_attr: Float[Tensor, "K M M C"] | None = None,
) -> Float[Tensor, "T B K"]:
    r"""Evaluate :math:`\mathbf{1}^\top (\mathbf{s}\mathbf{s}^\top \odot A_{G \otimes H})^i \mathbf{1}` literally.

    The same numbers as :func:`rwkplus.functional.rwk_plus`, at :math:`O(E K M^2)` time and memory.
    """
    pairs, weight = product_graph(
        x,
        edge_index,
        hidden_x,
        hidden_adj,
        edge_weight=edge_weight,
        edge_attr=edge_attr,
        hidden_edge_attr=hidden_edge_attr,
    )
    num_graphs = count_graphs(batch)
    num_hidden, size = hidden_x.shape[:2]
    walks = x.new_ones(x.size(0) * num_hidden * size)
    scores = []
    for _ in range(steps):
        walks = sparse_product(pairs, walks, weight)
        per_node = walks.view(-1, num_hidden, size).sum(-1)
        scores.append(x.new_zeros(num_graphs, num_hidden).index_add(0, batch, per_node))
    return torch.stack(scores)
