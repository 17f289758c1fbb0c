"""Structural colors: node features from a frozen, randomly initialized graph network, driven by a generator."""

import math
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import elu, leaky_relu, normalize, relu

from rwkplus.errors import ParameterError
from rwkplus.functional.walks import node_ranks, sparse_product

StructuralColors = Literal["gat", "gin", "random-walk"]


def structural_colors(
    edge_index: Int[Tensor, "2 E"],
    num_nodes: int,
    *,
    generator: torch.Generator,
    batch: Int[Tensor, " N"] | None = None,
    x: Float[Tensor, "N _D"] | None = None,
    kind: StructuralColors = "gat",
    dim: int = 16,
    layers: int = 2,
    whiten: bool = False,
) -> Float[Tensor, "N dim"]:
    """Color nodes by their place in the graph. All graphs of a call share the same random weights.

    Args:
        edge_index: Directed edges of all graphs; give undirected edges twice.
        num_nodes: Number of nodes of all graphs.
        generator: Source of the random weights: the same state gives the same colors.
        batch: Graph of each node; one graph by default.
        x: Input features; the number of a node within its graph (identity) by default, as in the paper.
        kind: ``"gat"`` attention, ``"gin"`` sums, ``"random-walk"`` probabilities to return after 1 to ``dim`` steps
            (no weights, no input).
        dim: Number of colors.
        layers: Layers of the network.
        whiten: Make the colors' directions equally strong and mutually orthogonal, and each node's colors of length 1.
            Where there are no more distinct nodes than ``dim``, colors are then as different from one another as those
            of the identity.

    Example:
        >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> structural_colors(edges, 3, generator=torch.Generator().manual_seed(0), dim=4).shape
        torch.Size([3, 4])
    """
    if dim < 1 or layers < 1:
        raise ParameterError(f"dim and layers must be at least 1, got {dim} and {layers}.")
    if batch is None:
        batch = torch.zeros(num_nodes, dtype=torch.long, device=edge_index.device)
    if kind == "random-walk":
        colors = return_probabilities(edge_index, batch, dim)
    elif kind in ("gat", "gin"):
        layer = _attend if kind == "gat" else _isomorphism
        colors = identity_colors(batch) if x is None else x
        for i in range(layers):
            colors = layer(colors, edge_index, dim, generator)
            colors = elu(colors) if i < layers - 1 else colors
    else:
        raise ParameterError(f"kind must be gat, gin or random-walk, got {kind!r}.")
    return _whitened(colors) if whiten else colors


def identity_colors(batch: Int[Tensor, " N"]) -> Float[Tensor, "N W"]:
    """One-hot number of each node within its graph; the nodes of a graph stand together in ``batch``.

    >>> identity_colors(torch.tensor([0, 0, 1]))
    tensor([[1., 0.],
            [0., 1.],
            [1., 0.]])
    """
    rank = node_ranks(batch)
    width = int(rank.max()) + 1 if rank.numel() else 0
    return torch.zeros(rank.numel(), width, device=batch.device).scatter_(1, rank.unsqueeze(1), 1.0)


def return_probabilities(
    edge_index: Int[Tensor, "2 E"], batch: Int[Tensor, " N"], steps: int
) -> Float[Tensor, "N steps"]:
    """Probability that a walk of 1, 2, ... ``steps`` edges returns to its first node.

    At each step a walk takes one of the edges that lead on, parallel ones included, each as likely as the others.

    >>> triangle = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    >>> return_probabilities(triangle, torch.zeros(3, dtype=torch.long), 3)[0]
    tensor([0.0000, 0.5000, 0.2500])
    """
    # All graphs start their i-th node in column i: walks never leave their graph.
    start = identity_colors(batch)
    degree = torch.bincount(edge_index[0], minlength=batch.numel()).clamp(min=1)
    weight = 1 / degree[edge_index[0]].to(start.dtype)
    reached, columns = start, []
    for _ in range(steps):
        reached = sparse_product(edge_index, reached, weight)
        columns.append((reached * start).sum(1))
    return torch.stack(columns, 1)


def _whitened(colors: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
    """Replace the singular values of ``colors`` by 1, then scale every row that is not zero to length 1."""
    u, s, vh = torch.linalg.svd(colors, full_matrices=False)
    kept = s > s.max() * 1e-5 if s.numel() else s > 0
    return normalize(u[:, kept] @ vh[kept], dim=1)


def _attend(x: Tensor, edge_index: Tensor, dim: int, generator: torch.Generator) -> Tensor:
    """One head of graph attention (Velickovic et al. 2018); every node also attends to itself."""
    h = x @ _glorot(x.size(1), dim, generator).to(x)
    to_source, to_target = (h @ _glorot(dim, 1, generator).to(x) for _ in range(2))
    loops = torch.arange(x.size(0), device=x.device).expand(2, -1)
    source, target = index = torch.cat([edge_index, loops], 1)
    logits = leaky_relu(to_source[source] + to_target[target], 0.2).squeeze(1)
    # A shift by the largest of each softmax, over the neighbors of a source, keeps its sum above 0.
    largest = logits.new_full((x.size(0),), -math.inf).scatter_reduce(0, source, logits, "amax")
    strength = (logits - largest[source]).exp()
    total = strength.new_zeros(x.size(0)).index_add(0, source, strength)
    return sparse_product(index, h, strength / total[source])


def _isomorphism(x: Tensor, edge_index: Tensor, dim: int, generator: torch.Generator) -> Tensor:
    """One layer of GIN (Xu et al. 2019) with a perceptron of two layers."""
    h = x + sparse_product(edge_index, x)
    h = relu(h @ _glorot(x.size(1), dim, generator).to(x))
    return h @ _glorot(dim, dim, generator).to(x)


def _glorot(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    bound = math.sqrt(6 / (rows + columns))
    draw = torch.rand(rows, columns, generator=generator, device=generator.device, dtype=torch.float64)
    return (2 * draw - 1) * bound
