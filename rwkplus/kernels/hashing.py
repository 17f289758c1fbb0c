"""Stateless numbers for label sequences, for features of a fixed width (the hashing trick)."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rwkplus.graphs.arrays import GraphArrays
from rwkplus.kernels.node_colors import ColorTable
from rwkplus.kernels.sequence_tree import Level, SequenceTree

Hashes = NDArray[np.uint64]


def hashes(vocabulary: SequenceTree | ColorTable, graphs: GraphArrays) -> Iterator[Hashes]:
    """Yield, length by length, a 64-bit hash of every feature: the same sequence hashes alike everywhere.

    Args:
        vocabulary: The features.
        graphs: Graphs whose labels they are made of.
    """
    if isinstance(vocabulary, ColorTable):
        for step, keys in enumerate(vocabulary.keys):
            yield _mix(keys.astype(np.uint64) + np.uint64(step))
        return
    before = np.zeros(1, np.uint64)
    for length, level in enumerate(vocabulary.sequences):
        yield _extend(before, level, graphs)
        if length < len(vocabulary.prefixes):
            before = _extend(before, vocabulary.prefixes[length], graphs)


def _extend(before: Hashes, level: Level, graphs: GraphArrays) -> Hashes:
    hashed = before[level.prefix]
    for code in (graphs.edge_label_code[level.edge], graphs.label_code[level.label]):
        hashed = _mix(hashed + (code + np.uint64(2)))
    return hashed


def _mix(values: Hashes) -> Hashes:
    """Finalizer of splitmix64: every input bit reaches every output bit."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
