"""What hidden graphs see of the nodes: features of several views at once, or one of a few distinct colors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch

from rwkplus.errors import GraphError, ParameterError, Remedy
from rwkplus.functional.colors import identity_colors, structural_colors
from rwkplus.functional.walks import node_ranks
from rwkplus.io.pyg import from_pyg, is_one_hot, label_numbers
from rwkplus.table import Reader
from rwkplus.table.arrays import GraphArrays, Ints
from rwkplus.types import check_choice

View = Literal["labels", "identity", "gat", "gin", "random-walk"]
VIEWS: tuple[View, ...] = get_args(View)
Paint = Literal["labels", "identity", "structural"]
MAX_COLORS = 512
DECIMALS = 5


@dataclass(frozen=True)
class ViewedGraphs:
    """Distinct graphs, how often each occurs, and node features of all views side by side."""

    own: Tensor  # (N, D0): the graphs' own features
    x: Tensor  # (N, D)
    widths: tuple[int, ...]  # (V,), adding up to D
    edge_index: Tensor  # (2, E)
    edge_weight: Tensor | None  # (E,)
    batch: Tensor  # (N,)
    count: Tensor  # (B,)

    @classmethod
    def of(
        cls,
        batch: Batch,
        views: Sequence[View],
        *,
        generator: torch.Generator,
        dim: int = 16,
        whiten: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> Self:
        """Color the nodes by every view in turn.

        ``"labels"`` are the graphs' own features, ``"identity"`` is the number of a node within its graph; structural
        colors are drawn from ``generator``, ``dim`` of them, perhaps whitened.
        """
        if not views or not set(views) <= set(VIEWS):
            raise ParameterError(f"views must be some of {', '.join(VIEWS)}, got {tuple(views)}.")
        _refuse_edge_labels(batch)
        parts = []
        for view in views:
            if view == "labels":
                parts.append(batch.x)
            elif view == "identity":
                parts.append(identity_colors(batch.batch))
            else:
                colors = structural_colors(
                    batch.edge_index,
                    batch.x.size(0),
                    batch=batch.batch,
                    kind=view,
                    dim=dim,
                    whiten=whiten,
                    generator=generator,
                )
                parts.append(colors)
        weight = batch.get("edge_weight")
        return cls(
            own=batch.x,
            x=torch.cat([part.to(dtype) for part in parts], 1),
            widths=tuple(part.size(1) for part in parts),
            edge_index=batch.edge_index,
            edge_weight=None if weight is None else weight.to(dtype),
            batch=batch.batch,
            count=torch.ones(batch.ptr.numel() - 1, dtype=dtype),
        )

    @property
    def num_graphs(self) -> int:
        """Number of distinct graphs."""
        return self.count.numel()

    def merged(self) -> Self:
        """Keep one of every group of identical graphs and count the others with it: exact for any mean over graphs.

        Identical means equal node features and edges in the given node order; every view follows from these.
        """
        edge_graph = self.batch[self.edge_index[0]]
        first: dict[bytes, int] = {}
        group = torch.empty(self.num_graphs, dtype=torch.long)
        kept = torch.zeros(self.num_graphs, dtype=torch.bool)
        parts = zip(self._members(self.batch), self._members(edge_graph), strict=True)
        for i, (nodes_of, edges_of) in enumerate(parts):
            key = self._fingerprint(nodes_of, edges_of)
            kept[i] = key not in first
            group[i] = first.setdefault(key, len(first))
        nodes, edges = kept[self.batch], kept[edge_graph]
        new_node = nodes.cumsum(0) - 1
        new_graph = kept.cumsum(0) - 1
        return replace(
            self,
            own=self.own[nodes],
            x=self.x[nodes],
            edge_index=new_node[self.edge_index[:, edges]],
            edge_weight=None if self.edge_weight is None else self.edge_weight[edges],
            batch=new_graph[self.batch[nodes]],
            count=self.count.new_zeros(len(first)).index_add(0, group, self.count),
        )

    def _members(self, graph: Tensor) -> tuple[Tensor, ...]:
        """Places of every graph's nodes or edges, cut once for all graphs."""
        sizes: list[int] = torch.bincount(graph, minlength=self.num_graphs).tolist()
        return torch.split(graph.argsort(stable=True), sizes)

    def _fingerprint(self, nodes: Tensor, edges: Tensor) -> bytes:
        edge_index = self.edge_index[:, edges]
        if edge_index.numel():
            edge_index = edge_index - int(nodes[0])
        size = nodes.numel()
        order = (edge_index[0] * size + edge_index[1]).argsort(stable=True)
        parts = [self.own[nodes], edge_index[:, order]]
        if self.edge_weight is not None:
            parts.append(self.edge_weight[edges][order])
        return repr([part.shape for part in parts]).encode() + b"".join(part.numpy().tobytes() for part in parts)


@dataclass(frozen=True)
class PaintedGraphs:
    """Undirected graphs whose nodes carry one of ``C`` colors."""

    arrays: GraphArrays  # label: number of the color
    colors: Tensor  # (C, D), float64: feature row of each color
    names: tuple[str, ...]  # label that a pattern shows for each color

    @property
    def orthonormal(self) -> bool:
        """Whether colors match themselves fully and each other not at all, as one-hot labels do."""
        return bool(torch.allclose(self.colors @ self.colors.T, torch.eye(len(self.colors)).double(), atol=1e-9))


def paint(batch: Batch, view: Paint = "labels", *, random_state: int = 0) -> PaintedGraphs:
    """Color the nodes of checked graphs.

    Args:
        batch: What :func:`rwkplus.io.pyg.as_batch` returned, with one-hot node labels.
        view: ``"labels"`` colors by label; ``"identity"`` by the number of a node within its graph;
            ``"structural"`` by whitened features of a fixed random attention network. The latter two tell nodes
            apart that no walk can, and suit graphs that are alike; a color then shows its most frequent label.
        random_state: Seed of the random network.

    >>> from torch_geometric.data import Batch, Data
    >>> edge = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> paint(Batch.from_data_list([edge])).names
    ('0', '1')
    """
    check_choice("view", view, Paint)
    _check_labels(batch)
    table = from_pyg(batch)
    arrays = Reader.fit(table).read(table)
    names = tuple(batch.get("node_label_names") or map(str, range(batch.x.size(1))))
    labels = label_numbers(batch.x)
    if view == "labels":
        return PaintedGraphs(arrays, torch.eye(batch.x.size(1), dtype=torch.float64), names)
    if view == "identity":
        color = node_ranks(batch.batch)
        colors = torch.eye(int(color.max()) + 1, dtype=torch.float64)
    else:
        generator = torch.Generator().manual_seed(random_state)
        # In float64, so that equal places in different graphs round to equal colors.
        start = identity_colors(batch.batch).double()
        rows = structural_colors(
            batch.edge_index, len(start), generator=generator, batch=batch.batch, x=start, whiten=True
        )
        _, color = torch.unique(rows.round(decimals=DECIMALS), dim=0, return_inverse=True)
        colors = rows.new_empty(int(color.max()) + 1, rows.size(1))
        colors[color.flip(0)] = rows.flip(0)  # of rows that round alike, the first
    if len(colors) > MAX_COLORS:
        raise GraphError(
            f"the view {view!r} gives the nodes {len(colors)} distinct colors, more than {MAX_COLORS}: it suits "
            "databases of similar graphs.",
            Remedy("Use {view}.", view="labels"),
        )
    arrays = replace(arrays, label=color.numpy(), num_labels=len(colors))
    return PaintedGraphs(arrays, colors, _shown(names, color.numpy(), labels.numpy(), len(colors)))


def _shown(names: tuple[str, ...], color: Ints, label: Ints, num_colors: int) -> tuple[str, ...]:
    votes = np.zeros((num_colors, len(names)), np.int64)
    np.add.at(votes, (color, label), 1)
    return tuple(names[label] for label in votes.argmax(1))


def _check_labels(batch: Batch) -> None:
    _refuse_edge_labels(batch)
    if not is_one_hot(batch.x) or bool((batch.x.sum(1) == 0).any()):
        raise GraphError(
            "x must be one-hot: every node of a pattern has exactly one label.",
            "Give every node a label: a column of words, or of numbers named in labels=.",
        )
    source, target = batch.edge_index.numpy()
    weight = np.ones(source.size) if batch.get("edge_weight") is None else batch.edge_weight.double().numpy()
    num_nodes = batch.x.size(0)
    there = np.argsort(source * num_nodes + target, kind="stable")
    back = np.argsort(target * num_nodes + source, kind="stable")
    same = (source[there] == target[back]) & (target[there] == source[back])
    same = same if not same.all() else np.isclose(weight[there], weight[back])
    if not same.all():
        wrong = int(np.argmax(~same))
        raise GraphError(
            f"graph {int(batch.batch[source[there[wrong]]])}: edge_index has an edge without its reverse, or of "
            "another weight. Patterns are undirected.",
            "Add the reverse edges with torch_geometric.transforms.ToUndirected().",
        )


def _refuse_edge_labels(batch: Batch) -> None:
    if batch.get("edge_attr") is not None:
        raise GraphError(
            "the graphs have edge labels (edge_attr), which hidden graphs do not learn.",
            Remedy("Leave them out: {ignore}.", ignore=("edge_attr",)),
        )
