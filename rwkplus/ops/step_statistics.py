"""What StepNorm knows of a step, and how gradients pass through it: one number per hidden graph K."""

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch import distributed as dist

Floats = NDArray[np.floating[Any]]


class StepNormState(NamedTuple):
    """What StepNorm knows of each step and hidden graph, and how it is to be used."""

    weight: Float[Tensor, "T K"]
    bias: Float[Tensor, "T K"]
    mean: Float[Tensor, "T K"]
    """Used outside of training, and so is the variance."""

    var: Float[Tensor, "T K"]
    training: bool
    """Take mean and variance of the walks at hand."""

    sync: bool
    """Take them over all processes."""

    eps: float
    """Added to variances."""


def moments_of_step(means: Floats, squares: Floats, rows: int, sync: bool) -> tuple[Floats, Floats, int]:
    """Join the moments of hidden nodes to those of hidden graphs: mean, variance, number of values.

    Args:
        means: Of each hidden node over all rows ``(K, M)``.
        squares: Sums of the squared deviations from them ``(K, M)``.
        rows: How many rows these are of.
        sync: Over all processes.
    """
    number = rows * means.shape[1]
    center, values = average(rows * means.sum(1), number, sync)
    spread, _ = average((squares + rows * (means - center[:, None]) ** 2).sum(1), number, sync)
    return center, spread, values


def gradient_lines(
    total: Floats,
    product: Floats,
    slope: Floats,
    inverse: Floats,
    mean: Floats,
    number: int,
    training: bool,
    sync: bool,
) -> Floats:
    """Lines ``(3, K)`` that turn gradients before the sigmoid into those of what was reached.

    That is ``lines[0] * gradient + count * (lines[1] * reached + lines[2])``; the last two are how each row acts
    through mean and variance, and nothing where these are not taken of the rows at hand.

    Args:
        total: Sums of the gradients ``(K,)``.
        product: Sums of their products with the deviations from the mean.
        slope: Weight times ``inverse``.
        inverse: One over the standard deviation.
        mean: Of what was reached.
        number: How many values there are.
        training: Whether mean and variance are taken of the rows at hand.
        sync: Over all processes.
    """
    lines = np.stack([slope, np.zeros_like(total), np.zeros_like(total)])
    if training:
        (total, product), _ = average(np.stack([total, product]), number, sync)
        lines[1] = -slope * inverse**2 * product
        lines[2] = -slope * total - lines[1] * mean
    return lines


def average(total: Floats, count: int, sync: bool) -> tuple[Floats, int]:
    """Divide sums by a count, both taken over all processes if wanted."""
    if sync:
        both = torch.from_numpy(np.append(total.ravel(), count))
        dist.all_reduce(both)
        total, count = both[:-1].numpy().reshape(total.shape), int(both[-1])
    return total / max(count, 1), count
