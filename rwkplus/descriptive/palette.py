"""The distinct colors of a database's nodes under a view: what a node of a mined pattern can be."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch

from rwkplus.errors import GraphError, Remedy
from rwkplus.functional.colors import identity_colors, structural_colors
from rwkplus.functional.walks import node_ranks
from rwkplus.io.pyg import from_pyg, is_one_hot, label_numbers
from rwkplus.table import Reader
from rwkplus.table.arrays import GraphArrays, Ints
from rwkplus.types import check_choice

Paint = Literal["labels", "identity", "structural"]
MAX_COLORS = 512
DECIMALS = 5


@dataclass(frozen=True)
class PaintedGraphs:
    """Undirected graphs whose nodes carry one of ``C`` colors."""

    arrays: GraphArrays  # label: number of the color
    colors: Tensor  # (C, D), float64: feature row of each color
    names: tuple[str, ...]  # label that a pattern shows for each color

    @property
    def orthonormal(self) -> bool:
        """Whether colors match themselves fully and each other not at all, as one-hot labels do.

        >>> from torch_geometric.data import Batch, Data
        >>> edge = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
        >>> paint(Batch.from_data_list([edge])).orthonormal
        True
        """
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
    _check(batch)
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


def _check(batch: Batch) -> None:
    if batch.get("edge_attr") is not None:
        raise GraphError(
            "the graphs have edge labels (edge_attr), which hidden graphs do not learn.",
            Remedy("Leave them out: {ignore}.", ignore=("edge_attr",)),
        )
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
