"""Randomness of a training run: a function of seed and epoch, never of what ran before or elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def derived_seed(*numbers: int) -> int:
    """Mix numbers, such as seed and epoch, into one well-spread seed."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def generator(*numbers: int) -> torch.Generator:
    """Make a generator of its own for what these numbers name."""
    return torch.Generator().manual_seed(derived_seed(*numbers))


@contextmanager
def isolated(*numbers: int) -> Iterator[None]:
    """Seed torch's global generators inside the block and give them back untouched.

    Initial weights and dropout draw from the global generators; there is no other way to seed them.
    """
    with torch.random.fork_rng():
        reseed(*numbers)
        yield


def reseed(*numbers: int) -> None:
    """Seed the global generators anew; only inside :func:`isolated`.

    ``torch.manual_seed`` would also note a stack trace for every kind of hardware that is not there: a millisecond,
    once per epoch, where an epoch may take ten.
    """
    seed = derived_seed(*numbers)
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
