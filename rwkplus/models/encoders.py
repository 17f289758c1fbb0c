"""Discrete features, columns of integers, as vectors for networks."""

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn

from rwkplus.errors import GraphError, ParameterError, ShapeError


class Columns(nn.Module):
    """Number the values of all columns through: integers ``(N, F)``, each column after the one before it.

    -1 marks a blank, a value that nobody has seen: it gets the number after all others and stands for nothing.

    Args:
        categories: Number of values in each column; they count from 0.
        field: Name of the input, for messages.
    """

    def __init__(self, categories: Sequence[int], field: str) -> None:
        super().__init__()
        if not categories or min(categories) < 1:
            raise ParameterError(f"categories of {field} must be numbers of at least 1, got {list(categories)}.")
        self.categories = tuple(categories)
        self.field = field
        self.blank = sum(categories)
        self.first = [0, *accumulate(categories)][:-1]

    def forward(self, values: Tensor) -> Tensor:
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


class Embeddings(nn.Module):
    """A learned vector for every value of every column, added up over the columns; blanks add nothing."""

    def __init__(self, categories: Sequence[int], channels: int, field: str) -> None:
        super().__init__()
        self.columns = Columns(categories, field)
        blank = self.columns.blank
        self.table = nn.EmbeddingBag(blank + 1, channels, mode="sum", padding_idx=blank)

    def reset_parameters(self) -> None:
        """Draw all vectors anew."""
        self.table.reset_parameters()

    def forward(self, values: Tensor) -> Tensor:
        """Vectors ``(N, channels)`` of integers ``(N, F)``."""
        vectors: Tensor = self.table(self.columns(values))
        return vectors


class OneHots(nn.Module):
    """The columns as one-hot colors side by side; blanks have none."""

    def __init__(self, categories: Sequence[int], field: str) -> None:
        super().__init__()
        self.columns = Columns(categories, field)
        self.width = sum(categories)

    def forward(self, values: Tensor) -> Tensor:
        """Colors ``(N, sum of categories)`` of integers ``(N, F)``."""
        hot = self.columns(values)
        colors = torch.zeros(hot.size(0), self.width + 1, device=hot.device)
        return colors.scatter_(1, hot, 1.0)[:, :-1]  # without the blanks
