"""Random numbers named by what they are for, in compiled loops.

A stream belongs to a key and a node, whatever was drawn before or elsewhere: what is sampled depends neither on the
order of nodes nor on the number of processes. The generator is SplitMix64 (Steele, Lea and Flood 2014).
"""

from typing import Any

import numpy as np
from numba import njit

STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
HALF, HIGH, LOW = np.uint64(32), np.uint64(30), np.uint64(27)
LAST, BITS = np.uint64(31), np.uint64(11)


def new_key(*numbers: int) -> np.uint64:
    """Mix numbers, such as seed, epoch and batch, into the key of many streams.

    >>> new_key(0, 1) == new_key(0, 1), new_key(0, 1) == new_key(1, 0)
    (np.True_, np.False_)
    """
    return np.uint64(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


@njit(cache=True, nogil=True, inline="always")
def mix(bits: Any) -> Any:
    """Scramble 64 bits; one to one.

    >>> int(mix(np.uint64(1))) != int(mix(np.uint64(2)))
    True
    """
    bits = (bits ^ (bits >> HIGH)) * FIRST
    bits = (bits ^ (bits >> LOW)) * SECOND
    return bits ^ (bits >> LAST)


@njit(cache=True, nogil=True, inline="always")
def stream(key: Any, number: Any) -> Any:
    """State of the stream that belongs to ``number``."""
    return mix(key + STEP * mix(np.uint64(number) + STEP))


@njit(cache=True, nogil=True, inline="always")
def advance(state: Any) -> Any:
    """The next state; :func:`below` and :func:`uniform` read it."""
    return state + STEP


@njit(cache=True, nogil=True, inline="always")
def below(state: Any, bound: Any) -> Any:
    """A number from 0 to ``bound - 1``; ``bound`` is less than 2**32, and the bias less than ``bound / 2**32``.

    >>> state = stream(new_key(0), 7)
    >>> 0 <= below(advance(state), 3) < 3
    True
    """
    return np.int64(((mix(state) >> HALF) * np.uint64(bound)) >> HALF)


@njit(cache=True, nogil=True, inline="always")
def uniform(state: Any) -> Any:
    """A number from 0 to 1, without 1.

    >>> 0 <= uniform(stream(np.uint64(3), 7)) < 1
    True
    """
    return np.float64(mix(state) >> BITS) * 2.0**-53
