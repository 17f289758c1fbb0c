"""Occurrences of a pattern in a database: each once, whatever its symmetries."""

from typing import NamedTuple

import numpy as np

from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.shape import Shape
from rwkplus.ops.embeddings import Ints, find_embeddings

LISTED = 2_000
"""Embeddings listed per graph at most: a dense graph without labels has millions, which nobody reads."""


class Occurrences(NamedTuple):
    """Where a shape occurs."""

    rows: Ints  # (count, n): nodes, in the order of the shape's positions
    exhaustive: bool  # False where a graph has more than could be listed; its support counts all the same


def find_occurrences(database: MiningDatabase, shape: Shape) -> Occurrences:
    """List the occurrences of a shape in every graph."""
    found = find_embeddings(database.rows, shape.occurrence_plan, LISTED)
    most = np.bincount(database.rows.graph[found[:, 0]]).max(initial=0)
    embeddings = np.empty_like(found)
    embeddings[:, shape.search_order] = found
    return Occurrences(distinct_occurrences(shape, embeddings), bool(most < LISTED))


def distinct_occurrences(shape: Shape, embeddings: Ints) -> Ints:
    """Keep one embedding of each occurrence: two with the same labelled edges differ by a symmetry only."""
    if not len(embeddings):
        return embeddings
    base = int(embeddings.max()) + 1
    ends, label = np.split(np.array(shape.edges), [2], axis=1)
    images = np.sort(embeddings[:, ends], axis=2)
    labels = int(label.max()) + 1
    edges = np.sort((images[:, :, 0] * base + images[:, :, 1]) * labels + label.ravel(), axis=1)
    _, first = np.unique(edges, axis=0, return_index=True)
    return embeddings[np.sort(first)]
