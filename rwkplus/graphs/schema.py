"""What the colors of fitted graphs mean, so that later graphs are read the same way or refused."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Batch

from rwkplus.errors import GraphError, RWKPlusWarning
from rwkplus.graphs.checks import graph_of_edge, graph_of_node
from rwkplus.graphs.features import is_one_hot
from rwkplus.types import UnknownLabel

NEW_NAMES = {"x": "new_node_labels", "edge_attr": "new_edge_labels"}
"""Fields with the names of columns behind the fitted ones."""


@dataclass(frozen=True)
class Colors:
    """Width and meaning of the rows of ``x`` or ``edge_attr``."""

    field: str
    width: int
    discrete: bool
    names: tuple[str, ...] | None
    seen: tuple[bool, ...]

    @classmethod
    def of(cls, batch: Batch, field: str, names_field: str) -> "Colors | None":
        """Describe a field of the batch, or None where graphs do not have it."""
        values = batch.get(field)
        if values is None:
            return None
        names = batch.get(names_field)
        if names is not None and len(names) != values.size(1):
            raise GraphError(f"{names_field} has {len(names)} names but {field} has {values.size(1)} columns.")
        seen = tuple((values != 0).any(0).tolist())
        return cls(field, values.size(1), is_one_hot(values), names, seen)

    def name(self, column: int) -> str:
        """Readable name of a discrete color."""
        return str(column) if self.names is None else self.names[column]


@dataclass(frozen=True)
class Schema:
    """The colors of nodes and edges, and whether edges have weights."""

    nodes: Colors
    edges: Colors | None
    weighted: bool

    @classmethod
    def of(cls, batch: Batch) -> "Schema":
        """Read the schema off a checked batch."""
        nodes = Colors.of(batch, "x", "node_label_names")
        assert nodes is not None  # the door demands x
        return cls(nodes, Colors.of(batch, "edge_attr", "edge_label_names"), batch.get("edge_weight") is not None)

    @property
    def discrete(self) -> bool:
        """Whether nodes, and edges where they have colors, carry labels rather than measurements."""
        return self.nodes.discrete and (self.edges is None or self.edges.discrete)

    def conform(self, batch: Batch, unknown_label: UnknownLabel) -> Batch:
        """Bring later graphs to the fitted columns, by name where there are names.

        Labels that fitting did not see are kept as colors of their own (``"new"``: they match nothing
        that was fitted, but each other), blanked (``"ignore"``: no walk passes) or refused (``"error"``).
        """
        self._fill_in_for_no_edges(batch)
        later = Schema.of(batch)
        if later.weighted != self.weighted:
            raise GraphError(
                f"the fitted graphs {'had' if self.weighted else 'had no'} edge_weight, these "
                f"{'have' if later.weighted else 'have none'}. Give weights to both (ones are neutral) or to neither."
            )
        if (later.edges is None) != (self.edges is None):
            raise GraphError(
                f"the fitted graphs {'had no' if self.edges is None else 'had'} edge_attr, these "
                f"{'have none' if later.edges is None else 'have'}. Treat both the same, or ignore=('edge_attr',)."
            )
        _align(batch, self.nodes, later.nodes, unknown_label, graph_of_node)
        if self.edges is not None and later.edges is not None:
            _align(batch, self.edges, later.edges, unknown_label, graph_of_edge)
        return batch

    def warn_of_strangers(self, batch: Batch) -> None:
        """Warn where no label of conformed graphs was fitted: nothing matches, however alike they are."""
        for colors in (self.nodes, self.edges):
            if colors is not None and colors.discrete:
                _warn_of_strangers(colors, _unknown(colors, batch[colors.field])[1], batch[colors.field])

    def _fill_in_for_no_edges(self, batch: Batch) -> None:
        """Graphs without any edge cannot show what theirs would carry."""
        if batch.edge_index.size(1) > 0:
            return
        if self.edges is not None and batch.get("edge_attr") is None:
            batch.edge_attr = batch.x.new_zeros(0, self.edges.width)
        if self.weighted and batch.get("edge_weight") is None:
            batch.edge_weight = batch.x.new_zeros(0)


def _align(
    batch: Batch,
    fitted: Colors,
    later: Colors,
    unknown_label: UnknownLabel,
    owner: Callable[[Batch, int], int],
) -> None:
    if later.discrete and later.names is not None and not fitted.discrete and fitted.names is None:
        raise GraphError(
            f"graph 0: {fitted.field} holds labels, the fitted graphs had measurements. Give both the same; of files "
            "that have both, node_features chooses (--node-features)."
        )
    if fitted.names is not None and later.names is not None:
        columns = _columns_by_name(fitted.names, later.names)
        batch[NEW_NAMES[fitted.field]] = tuple(name for name in later.names if name not in fitted.names)
    elif fitted.width == later.width:
        columns = list(range(later.width))
    else:
        raise GraphError(
            f"graph 0: {fitted.field} has {later.width} columns, the fitted graphs had {fitted.width}. "
            "Encode both with the same columns."
        )
    if fitted.discrete and not later.discrete:
        row = next(row for row, color in enumerate(batch[fitted.field]) if not is_one_hot(color))
        raise GraphError(
            f"graph {owner(batch, row)}: {fitted.field} holds other values than the one-hot labels of the fitted "
            "graphs. Encode both alike."
        )
    values: Tensor = batch[fitted.field]
    if columns != list(range(values.size(1))) or values.size(1) < fitted.width:
        aligned = values.new_zeros(values.size(0), max(fitted.width, max(columns, default=-1) + 1))
        aligned[:, columns] = values
        values = aligned
    batch[fitted.field] = values
    if fitted.discrete and unknown_label != "new":
        _treat_unknown(batch, fitted, values, unknown_label, owner)


def _columns_by_name(fitted: tuple[str, ...], later: tuple[str, ...]) -> list[int]:
    """Column of each later name: the fitted one, or a new one behind them."""
    column = {name: i for i, name in enumerate(fitted)}
    return [column.setdefault(name, len(column)) for name in later]


def _unknown(fitted: Colors, values: Tensor) -> tuple[Tensor, Tensor]:
    """Columns that no fitted graph used ``(D,)``, and the rows that do."""
    columns = torch.ones(values.size(1), dtype=torch.bool, device=values.device)
    columns[: fitted.width] = ~torch.tensor(fitted.seen, dtype=torch.bool, device=values.device)
    return columns, (values[:, columns] != 0).any(1).nonzero().flatten()


def _warn_of_strangers(fitted: Colors, rows: Tensor, values: Tensor) -> None:
    if 0 < rows.numel() == values.size(0):
        warnings.warn(
            f"no label in {fitted.field} was there when the estimator was fitted: are these graphs of the same kind, "
            "and their labels spelled the same way?",
            RWKPlusWarning,
            stacklevel=4,
        )


def _treat_unknown(
    batch: Batch, fitted: Colors, values: Tensor, policy: UnknownLabel, owner: Callable[[Batch, int], int]
) -> None:
    unknown, rows = _unknown(fitted, values)
    if rows.numel() == 0:
        return
    if policy == "error":
        raise GraphError(
            f"graph {owner(batch, int(rows[0]))}: {fitted.field} holds a label that no fitted graph had. "
            "Fit on graphs that have it, or choose unknown_label='ignore'."
        )
    _warn_of_strangers(fitted, rows, values)
    batch[fitted.field] = values.masked_fill(unknown, 0.0)
