"""Stateless numbers for label sequences, for features of a fixed width (the hashing trick)."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rwkplus.kernels.node_colors import ColorTable
from rwkplus.kernels.sequence_tree import Level, SequenceTree
from rwkplus.loops.random_streams import STEP, mix
from rwkplus.table.arrays import GraphArrays

Hashes = NDArray[np.uint64]


def hashes(vocabulary: SequenceTree | ColorTable, graphs: GraphArrays) -> Iterator[Hashes]:
    """Yield, length by length, a 64-bit hash of every feature: the same sequence hashes alike everywhere.

    Args:
        vocabulary: The features.
        graphs: Graphs whose labels they are made of.
    """
    if isinstance(vocabulary, ColorTable):
        for step, keys in enumerate(vocabulary.keys):
            yield mix(keys.astype(np.uint64) + np.uint64(step) + STEP)
        return
    before = np.zeros(1, np.uint64)
    for length, level in enumerate(vocabulary.sequences):
        yield _extend(before, level, graphs)
        if length < len(vocabulary.prefixes):
            before = _extend(before, vocabulary.prefixes[length], graphs)


def _extend(before: Hashes, level: Level, graphs: GraphArrays) -> Hashes:
    hashed = before[level.prefix]
    for code in (graphs.edge_label_code[level.edge], graphs.label_code[level.label]):
        hashed = mix(hashed + (code + np.uint64(2)) + STEP)
    return hashed
