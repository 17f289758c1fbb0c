"""One backbone for every graph convolution, so that comparisons differ in nothing but the layer; and PyG's GIN."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import MLP, GCNConv, GINConv, GINEConv, global_add_pool, global_mean_pool
from torch_geometric.nn import models as pyg_models

from rwkplus.errors import GraphError, ParameterError, Remedy, ShapeError
from rwkplus.models.registry import Network, graphs_of
from rwkplus.nn.rwk_plus_conv import RWKPlusConv
from rwkplus.nn.transforms import ClosedWalks
from rwkplus.tensors import is_transformed
from rwkplus.types import check_choice, check_integer, check_share

Conv = Literal["RWKPlusConv", "GCNConv", "GINConv", "GINEConv"]
Level = Literal["node", "graph"]
Pool = Literal["sum", "mean"]
LEVELS = 1 << 16
"""Of shares to drop: a random number for each entry has 16 bits."""
POOLS = {"sum": global_add_pool, "mean": global_mean_pool}


class GNN(Network):
    """Encoder; graph convolutions, each with BatchNorm, ReLU, dropout and residual; MLP for nodes or pooled graphs.

    Args:
        in_channels: Features of a node, or columns of integers if there are ``categories``.
        out_channels: Outputs for each node or graph.
        conv: The convolution. ``GINEConv`` needs edge features, ``RWKPlusConv`` can match them, the others cannot.
        level: Outputs for every ``"node"`` or every ``"graph"``.
        hidden_channels: Width of all layers.
        layers: Number of convolutions.
        steps: Walk length of ``RWKPlusConv``.
        combine: What it returns of them, the ``"last"`` or their ``"sum"``.
        initial_scale: Factor on its initial parameters; below 1 they learn faster, and BatchNorm makes up for it.
        dropout: Share of activations dropped.
        input_dropout: Share of input features dropped; for ``categories`` of their vectors' entries.
        residual: Whether the input of a layer is added to its output.
        feed_forward: Whether BatchNorm, ReLU and a linear layer follow every convolution, as in ``GINConv``.
        pool: ``"sum"`` or ``"mean"`` over the nodes of a graph.
        categories: For discrete nodes, the number of values in each column of ``x``; every value learns a vector.
        closed_walks: For graphs, also read how likely walks of up to so many edges return to each node, which tells
            rings apart (:class:`rwkplus.nn.ClosedWalks`); 0 for not.
        edge_channels: Width of continuous ``edge_attr``.
        edge_categories: For discrete edges, the number of values in each column of ``edge_attr``.
        normalize: Whether ``RWKPlusConv`` and ``GCNConv`` normalize the adjacency; otherwise they add up neighbors.
        add_self_loops: Whether nodes are their own neighbors in these two: by default for nodes if they normalize, not
            for graphs.
        cached: Whether they prepare the adjacency only once, for training on a single graph.
        recompute: Whether ``RWKPlusConv`` walks again in the backward pass to save memory.

    Example:
        >>> path = Data(x=torch.rand(3, 5), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> GNN(5, 2, level="node", hidden_channels=8).eval()(path).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        conv: Conv = "RWKPlusConv",
        level: Level = "graph",
        hidden_channels: int = 128,
        layers: int = 2,
        steps: int = 2,
        combine: Literal["last", "sum"] = "last",
        initial_scale: float = 1.0,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        residual: bool = True,
        feed_forward: bool = False,
        pool: Pool = "sum",
        categories: Sequence[int] | None = None,
        closed_walks: int = 0,
        edge_channels: int | None = None,
        edge_categories: Sequence[int] | None = None,
        normalize: bool = True,
        add_self_loops: bool | None = None,
        cached: bool = False,
        recompute: bool = False,
    ) -> None:
        super().__init__()
        sizes = {"in_channels": in_channels, "out_channels": out_channels, "hidden_channels": hidden_channels}
        for name, size in (sizes | {"layers": layers}).items():
            check_integer(name, size, 1)
        for name, value, choices in (("conv", conv, Conv), ("level", level, Level), ("pool", pool, Pool)):
            check_choice(name, value, choices)
        check_choice("combine", combine, ("last", "sum"))
        check_share("dropout", dropout)
        check_share("input_dropout", input_dropout)
        _check_nodes(in_channels, categories, closed_walks, level)
        edge_dim = sum(edge_categories) if edge_categories is not None else edge_channels
        _check_edges(conv, edge_channels, edge_categories)
        self.in_channels, self.level, self.pool, self.residual = in_channels, level, pool, residual
        self.dropout, self.input_dropout, self.initial_scale = dropout, input_dropout, initial_scale
        self.categories, self.edge_channels, self.edge_categories = categories, edge_channels, edge_categories
        self.weighted = conv in ("RWKPlusConv", "GCNConv")
        fields = {"x": True, "edge_attr": edge_dim is not None, "edge_weight": self.weighted}
        self.reads = tuple(field for field, read in fields.items() if read)
        embedded = None if categories is None else Embeddings(categories, hidden_channels, "x")
        self.encoder = embedded or MLP([in_channels, hidden_channels], plain_last=False)
        self.pre_transform = ClosedWalks(closed_walks) if closed_walks else None
        self.walk_encoder = MLP([closed_walks, hidden_channels], plain_last=False) if closed_walks else None
        self.edge_encoder = (
            None if edge_dim is None else _edge_encoder(conv, edge_dim, edge_categories, hidden_channels)
        )
        loops = normalize and level == "node" if add_self_loops is None else add_self_loops
        edges = {"normalize": normalize, "add_self_loops": loops, "cached": cached}
        walks = {"steps": steps, "combine": combine, "edge_dim": edge_dim, "recompute": recompute}
        self.convs = nn.ModuleList(_conv(conv, hidden_channels, edges, walks) for _ in range(layers))
        self.norms = nn.ModuleList(_norm(hidden_channels, feed_forward) for _ in range(layers))
        # Sums over nodes are as large as graphs: heads without BatchNorm learn from them far more slowly.
        norm = "batch_norm" if level == "graph" else None
        self.head = MLP([hidden_channels, hidden_channels, out_channels], norm=norm, dropout=float(dropout))
        self._scale()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        super().reset_parameters()
        self._scale()

    @torch.no_grad()
    def _scale(self) -> None:
        for conv in self.convs:
            if isinstance(conv, RWKPlusConv):
                conv.hidden_x.weight.mul_(self.initial_scale)
                conv.hidden_adj.mul_(self.initial_scale)

    def forward(self, data: Data) -> Tensor:
        """Outputs of every node ``(N, out_channels)`` or of every graph ``(B, out_channels)``."""
        edges = {}
        if self.weighted and data.get("edge_weight") is not None:
            edges["edge_weight"] = data.edge_weight
        if self.edge_encoder is not None:
            if data.get("edge_attr") is None:
                raise ParameterError("the network was made for edge features but the graphs have no edge_attr.")
            edges["edge_attr"] = self.edge_encoder(data.edge_attr)
        x = self._encode(data)
        if self.pre_transform is not None and self.walk_encoder is not None:
            x = x + self.walk_encoder(self.pre_transform.of(data).to(x.dtype))
        for conv, norm in zip(self.convs, self.norms, strict=True):
            y = dropout(norm(conv(x, data.edge_index, **edges)).relu(), self.dropout, self.training)
            x = x + y if self.residual else y
        if self.level == "graph":
            x = POOLS[self.pool](x, *graphs_of(data))
        outputs: Tensor = self.head(x)
        return outputs

    def _encode(self, data: Data) -> Tensor:
        if self.categories is not None:
            if data.get("x") is None:
                raise GraphError("the graphs have no x, but the network was made for columns of categories.")
            return dropout(self.encoder(data.x), self.input_dropout, self.training)
        x = self.node_features(data)
        encoded: Tensor = self.encoder(_thinned(x, self.input_dropout) if self.training and self.input_dropout else x)
        return encoded


class GIN(Network):
    """PyG's GIN with a sum over nodes and the head of the kernel networks: the yardstick beside them.

    Args:
        in_channels: Node features.
        out_channels: Outputs per graph.
        hidden_channels: Width of all layers.
        layers: Rounds of message passing.
        dropout: Share of activations dropped.
        norm: ``"batch_norm"``, ``"graph_norm"``, any other of PyG's names, or None.

    Example:
        >>> path = Data(x=torch.rand(3, 5), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> GIN(5, 2).eval()(path).shape
        torch.Size([1, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 16,
        layers: int = 2,
        dropout: float = 0.0,
        norm: str | None = "batch_norm",
    ) -> None:
        super().__init__()
        check_integer("layers", layers, 1)
        check_integer("hidden_channels", hidden_channels, 1)
        check_share("dropout", dropout)
        self.in_channels = in_channels
        self.layers = pyg_models.GIN(in_channels, hidden_channels, layers, dropout=float(dropout), norm=norm)
        self.head = MLP([hidden_channels, hidden_channels, out_channels], dropout=float(dropout), norm=norm)

    def forward(self, batch: Data) -> Tensor:
        """Outputs of every graph: ``(B, out_channels)``."""
        x = self.layers(self.node_features(batch), batch.edge_index)
        outputs: Tensor = self.head(global_add_pool(x, *graphs_of(batch)))
        return outputs


class _Columns(nn.Module):
    """Number the values of all columns through: integers ``(N, F)``, each column after the one before it.

    -1 marks a blank, a value that nobody has seen: it gets the number after all others and stands for nothing.
    Messages call the input ``field``.
    """

    def __init__(self, categories: Sequence[int], field: str) -> None:
        super().__init__()
        if not categories or min(categories) < 1:
            raise ParameterError(f"categories of {field} must be numbers of at least 1, got {list(categories)}.")
        self.categories = tuple(categories)
        self.field = field
        self.blank = sum(categories)
        self.first = [0, *accumulate(categories)][:-1]

    def _numbered(self, values: Tensor) -> Tensor:
        """Check and shift the values."""
        values = values.view(-1, 1) if values.dim() == 1 else values
        if values.is_floating_point() or values.size(1) != len(self.categories):
            raise ShapeError(
                f"{self.field} is {tuple(values.shape)} of {values.dtype}; expected a column of integers for each of "
                f"the {len(self.categories)} categories {list(self.categories)}."
            )
        values = values.long()
        if not torch.compiler.is_compiling():
            self._check_range(values)
        return torch.where(values < 0, self.blank, values + values.new_tensor(self.first))

    def _check_range(self, values: Tensor) -> None:
        wrong = ((values < -1) | (values >= values.new_tensor(self.categories))).nonzero()
        if wrong.numel():
            row, column = wrong[0].tolist()
            raise GraphError(
                f"{self.field} holds {int(values[row, column])} in row {row} of column {column}, which has "
                f"{self.categories[column]} categories, counted from 0; -1 is a blank."
            )


class Embeddings(_Columns):
    """A learned vector for every value of every column, added up over the columns; blanks add nothing.

    >>> Embeddings([3, 2], channels=4, field="x")(torch.tensor([[0, 1], [2, 0]])).shape
    torch.Size([2, 4])
    """

    def __init__(self, categories: Sequence[int], channels: int, field: str) -> None:
        super().__init__(categories, field)
        self.table = nn.EmbeddingBag(self.blank + 1, channels, mode="sum", padding_idx=self.blank)

    def reset_parameters(self) -> None:
        """Draw all vectors anew."""
        self.table.reset_parameters()

    def forward(self, values: Tensor) -> Tensor:
        """Vectors ``(N, channels)`` of integers ``(N, F)``."""
        vectors: Tensor = self.table(self._numbered(values))
        return vectors


class OneHots(_Columns):
    """The columns as one-hot colors side by side; blanks have none.

    >>> OneHots([2, 3], field="edge_attr")(torch.tensor([[1, 0], [-1, 2]]))
    tensor([[0., 1., 1., 0., 0.],
            [0., 0., 0., 0., 1.]])
    """

    def forward(self, values: Tensor) -> Tensor:
        """Colors ``(N, sum of categories)`` of integers ``(N, F)``."""
        hot = self._numbered(values)
        colors = torch.zeros(hot.size(0), self.blank + 1, device=hot.device)
        return colors.scatter_(1, hot, 1.0)[:, :-1]  # without the blanks


def dropout(x: Tensor, share: float, training: bool = True) -> Tensor:
    """What :func:`torch.nn.functional.dropout` does, with the share of dropped entries rounded to 1/65536.

    It reads 16 random bits for each entry, several times faster on CPUs than torch's Bernoulli draws.

    Example:
        >>> dropout(torch.ones(2), 0.5, training=False), dropout(torch.ones(2), 1.0)
        (tensor([1., 1.]), tensor([0., 0.]))
    """
    if not training or share == 0:
        return x
    if share == 1:
        return x * 0
    if x.device.type != "cpu" or torch.compiler.is_compiling() or is_transformed():
        return functional.dropout(x, share)
    dropped = min(round(share * LEVELS), LEVELS - 1)
    words = torch.randint(-(1 << 63), (1 << 63) - 1, (-(-x.numel() // 4),), device="cpu")  # four entries each
    kept = words.view(torch.int16)[: x.numel()].view(x.shape) >= dropped - LEVELS // 2
    return x * kept.to(x.dtype).mul_(LEVELS / (LEVELS - dropped))


def _thinned(x: Tensor, share: float) -> Tensor:
    """Drop features; of a sparse matrix, which torch's dropout does not know, those that are not zero anyway."""
    if x.layout == torch.strided:
        return dropout(x, share)
    x = x.to_sparse_csr()
    values = dropout(x.values(), share)
    return torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), values, x.shape, check_invariants=False)


def _conv(conv: Conv, channels: int, edges: dict[str, Any], walks: dict[str, Any]) -> nn.Module:
    makers: dict[str, Callable[[], nn.Module]] = {
        "RWKPlusConv": lambda: RWKPlusConv(channels, channels, **walks, **edges),
        "GCNConv": lambda: GCNConv(channels, channels, **edges),
        "GINConv": lambda: GINConv(MLP([channels] * 3), train_eps=True),
        "GINEConv": lambda: GINEConv(MLP([channels] * 3), train_eps=True),
    }
    return makers[conv]()


def _norm(channels: int, feed_forward: bool) -> nn.Module:
    """BatchNorm, after a linear layer if channels are to be mixed."""
    norm = nn.BatchNorm1d(channels)
    if not feed_forward:
        return norm
    return nn.Sequential(nn.BatchNorm1d(channels), nn.ReLU(), nn.Linear(channels, channels), norm)


def _edge_encoder(conv: Conv, edge_dim: int, categories: Sequence[int] | None, channels: int) -> nn.Module:
    """What each convolution wants: vectors as wide as the nodes', or colors to compare."""
    if conv == "GINEConv":
        return nn.Linear(edge_dim, channels) if categories is None else Embeddings(categories, channels, "edge_attr")
    return nn.Identity() if categories is None else OneHots(categories, "edge_attr")


def _check_nodes(in_channels: int, categories: Sequence[int] | None, closed_walks: int, level: Level) -> None:
    if categories is not None and len(categories) != in_channels:
        raise ParameterError(f"x has in_channels={in_channels} columns but there are {len(categories)} categories.")
    check_integer("closed_walks", closed_walks, 0)
    if closed_walks and level == "node":
        raise ParameterError(
            "closed_walks are for whole graphs: parts of a sampled one have others.",
            Remedy("Use {model_params}.", model_params={"closed_walks": 0}),
        )


def _check_edges(conv: Conv, channels: int | None, categories: Sequence[int] | None) -> None:
    if channels is not None and categories is not None:
        raise ParameterError("edges are either continuous, edge_channels, or discrete, edge_categories.", "Give one.")
    given = channels is not None or categories is not None
    if given and conv in ("GCNConv", "GINConv"):
        raise ParameterError(
            f"{conv} cannot use edge features.",
            Remedy("Leave them out with {ignore}.", ignore=("edge_attr",)),
            "Or take GINEConv or RWKPlusConv.",
        )
    if not given and conv == "GINEConv":
        raise ParameterError(
            "GINEConv needs edge features, edge_channels or edge_categories.",
            Remedy("Give one of them, or use {model_params}.", model_params={"conv": "GINConv"}),
        )
