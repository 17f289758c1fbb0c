"""Discrete labels of any kind to one-hot columns with names."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rwkplus.errors import GraphError


@dataclass(frozen=True)
class Vocabulary:
    """Distinct labels in a fixed order, each with the column it lights up."""

    column: dict[Hashable, int]
    names: tuple[str, ...]

    @classmethod
    def of(cls, labels: Iterable[Hashable]) -> "Vocabulary":
        """Collect the distinct labels; numbers sort as numbers, everything else by name."""
        try:
            distinct = set(labels)
        except TypeError as error:
            raise GraphError(f"labels must be hashable values such as strings or integers: {error}.") from error
        ordered = sorted(distinct, key=_order)
        names = tuple(str(label) for label in ordered)
        if len(set(names)) < len(names):  # 1 and "1" are different labels
            names = tuple(repr(label) for label in ordered)
        return cls({label: i for i, label in enumerate(ordered)}, names)

    def one_hot(self, labels: Sequence[Hashable]) -> Tensor:
        """One row per label."""
        columns = torch.tensor([self.column[label] for label in labels], dtype=torch.long)
        return torch.nn.functional.one_hot(columns, len(self.names)).to(torch.get_default_dtype())


def _order(label: Hashable) -> tuple[str, float, str]:
    number = float(label) if isinstance(label, int | float) else 0.0
    return type(label).__name__, number, str(label)
