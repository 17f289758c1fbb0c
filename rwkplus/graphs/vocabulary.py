"""Discrete labels of any kind to one-hot columns with names."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

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
        times = Counter(str(label) for label in ordered)
        # 1 and "1" are different labels; no other one is written differently because of them.
        names = tuple(repr(label) if isinstance(label, str) and times[label] > 1 else str(label) for label in ordered)
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise GraphError(f"several distinct labels are written {twice}: use labels with distinct names.")
        return cls({label: i for i, label in enumerate(ordered)}, names)

    def one_hot(self, labels: Sequence[Hashable]) -> Tensor:
        """One row per label."""
        rows = torch.zeros(len(labels), len(self.names))
        rows[torch.arange(len(labels)), [self.column[label] for label in labels]] = 1
        return rows


def _order(label: Hashable) -> tuple[str, Real | int, str]:
    return type(label).__name__, label if isinstance(label, Real) else 0, str(label)
