"""Targets of whole graphs, as files give them and as learners want them."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch_geometric.data import Data

from rwkplus.errors import DataError

LARGEST = 2**63


def typed(words: Sequence[str]) -> list[Any] | None:
    """Read words as whole numbers, else as numbers, else as names of classes.

    Words of which hardly any occurs twice are names of the graphs themselves, and no targets: None.
    """
    written = not any("_" in word for word in words)  # Python takes 1_1 for 11, everyone else for a name
    for kind in (int, float) if written else ():
        try:
            numbers = [kind(word) for word in words]
        except ValueError:
            continue
        if kind is int and any(abs(number) >= LARGEST for number in numbers):
            break  # identifiers
        return numbers
    return list(words) if len(set(words)) <= len(words) / 2 else None


def set_targets(graphs: Sequence[Data], targets: Sequence[Any]) -> None:
    """Let ``y`` be a tensor of one number, or the name of a class."""
    for i, (graph, target) in enumerate(zip(graphs, targets, strict=True)):
        if isinstance(target, float) and not math.isfinite(target):
            raise DataError(f"graph {i}: the target {target} is no number to learn. Give another, or drop the graph.")
        if isinstance(target, int) and abs(target) >= LARGEST:
            raise DataError(f"the target {target} is too large for a whole number of 64 bits: make it a name.")
        graph.y = target if isinstance(target, str) else torch.tensor([target])
        if isinstance(target, float) and not bool(graph.y.isfinite()):
            raise DataError(f"the target {target:g} is too large for {graph.y.dtype}: choose another unit.")


def classes_of(graphs: Sequence[Data]) -> list[int] | list[str] | None:
    """Class of every graph, a whole number or a name; None where one has none."""
    found = []
    for graph in graphs:
        y = graph.get("y")
        whole = isinstance(y, torch.Tensor) and y.numel() == 1 and not y.is_floating_point()
        if not whole and not isinstance(y, str):
            return None
        found.append(int(y) if whole else y)
    return found
