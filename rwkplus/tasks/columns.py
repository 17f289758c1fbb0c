"""Columns of label numbers, such as element and charge of an atom: which values training saw in each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Batch

from rwkplus.errors import GraphError
from rwkplus.graphs.checks import graph_of_edge, graph_of_node
from rwkplus.types import UnknownLabel

OWNERS: dict[str, Callable[[Batch, int], int]] = {"x": graph_of_node, "edge_attr": graph_of_edge}


@dataclass(frozen=True)
class LabelColumns:
    """Meaning of integers in ``x`` or ``edge_attr``.

    Args:
        field: Which of the two.
        seen: Values of each column, in ascending order.
    """

    field: str
    seen: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, batch: Batch, field: str) -> Self:
        """Note the values of a batch, whose numbers may be stored as floats, or say which cannot be a label."""
        values = batch[field]
        wrong = ((values < 0) | (values >= 2**31)).nonzero()
        if wrong.numel():
            row, column = wrong[0].tolist()
            raise GraphError(
                f"graph {OWNERS[field](batch, row)}: {field} holds {int(values[row, column])} in column {column}; "
                "label numbers count from 0."
            )
        return cls(field, tuple(tuple(column.unique().long().tolist()) for column in values.T))

    @property
    def categories(self) -> list[int]:
        """Values that a network needs room for, column by column."""
        return [1 + max(values, default=0) for values in self.seen]

    def read(self, batch: Batch, unknown_label: UnknownLabel = "ignore") -> Tensor:
        """The numbers as integers; those that training did not see become -1, or are refused."""
        values: Tensor = batch[self.field].long()
        seen = [torch.isin(column, column.new_tensor(known)) for column, known in zip(values.T, self.seen, strict=True)]
        unseen = ~torch.stack(seen, 1)
        if unknown_label == "error" and bool(unseen.any()):
            row, column = unseen.nonzero()[0].tolist()
            raise GraphError(
                f"graph {OWNERS[self.field](batch, row)}: {self.field} holds the label {int(values[row, column])} in "
                f"column {column}, which no fitted graph had. Fit on graphs that have it, or choose "
                "unknown_label='ignore'."
            )
        return values.masked_fill(unseen, -1)

    @classmethod
    def from_dict(cls, values: dict[str, Any] | None) -> Self | None:
        """Read what ``asdict`` and JSON made of it."""
        if values is None:
            return None
        return cls(values["field"], tuple(tuple(map(int, column)) for column in values["seen"]))
