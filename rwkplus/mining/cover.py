"""Which edges of the database the occurrences of a pattern use, and how many occurrences share none."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.occurrences import find_occurrences
from rwkplus.mining.shape import Shape
from rwkplus.ops.embeddings import Ints, find_entries, pack


def used_entries(database: MiningDatabase, shape: Shape, embeddings: Ints) -> Ints:
    """Entry of the adjacency for every embedding and edge of the shape, -1 where a distorted copy lacks it.

    Both directions of an edge are given by the entry in the row of its smaller node: ``(count, edges)``.
    """
    first, second, label = np.array(shape.edges).T
    rows = database.rows
    used: Ints = find_entries(rows.indptr, rows.neighbor, rows.edge_label, embeddings, first, second, label)
    return used


def covered(database: MiningDatabase, used: Ints) -> NDArray[np.bool_]:
    """Mark the entries of the adjacency, in both directions, that occurrences use."""
    marked = np.zeros(database.rows.neighbor.size, bool)
    marked[used[used >= 0]] = True
    forward = np.flatnonzero(marked)
    back = database.entry_keys(reverse=True)[forward]
    marked[np.searchsorted(database.entry_keys(), back)] = True
    return marked


def explained(database: MiningDatabase, shapes: Iterable[Shape], n_jobs: int | None = None) -> NDArray[np.bool_]:
    """Mark the entries of the adjacency that lie in an occurrence of one of the shapes."""
    marked = np.zeros(database.rows.neighbor.size, bool)
    for shape in shapes:
        marked |= covered(database, used_entries(database, shape, find_occurrences(database, shape, n_jobs).rows))
    return marked


def disjoint(database: MiningDatabase, used: Ints) -> NDArray[np.bool_]:
    """Choose occurrences that share no edge, first come first served."""
    chosen: NDArray[np.bool_] = pack(used, database.rows.neighbor.size)
    return chosen
