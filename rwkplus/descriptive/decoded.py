"""Candidates from gradient descent: the hidden graphs of a kernel convolution network, decoded."""

import numpy as np
from numpy.typing import NDArray

from rwkplus.descriptive.gradient import ExplainedPatterns, explained_patterns
from rwkplus.mining.settings import LARGEST_HIDDEN
from rwkplus.mining.shape import Shape
from rwkplus.ops.embeddings import Ints
from rwkplus.table import GraphTable

BANKS = 4
"""Hidden graphs that are trained together."""

RESTARTS = 8
GRAPHS = 60
"""Graphs to train on, drawn at random."""


def decoded_shapes(
    labelled: GraphTable, chosen: Ints, sizes: tuple[int, int], seed: int
) -> tuple[list[Shape], NDArray[np.float64]]:
    """Train hidden graphs of each size on some of the graphs; return connected parts, without edge labels.

    Returns:
        Distinct shapes, and the explained share of walk features by epoch of the largest size.
    """
    some = np.sort(np.random.default_rng(seed).permutation(chosen)[:GRAPHS])
    graphs = labelled[some].to_pyg()
    found: dict[tuple[int, int, int], Shape] = {}
    history: NDArray[np.float64] = np.empty(0)
    for size in range(max(3, sizes[0]), min(sizes[1], LARGEST_HIDDEN) + 1):
        trained = explained_patterns(
            graphs, BANKS, size, restarts=RESTARTS, epochs=80, kicks=0, random_state=seed, ignore=("edge_attr",)
        )
        history = trained.history
        for shape in _shapes(trained):
            found.setdefault(shape.fingerprint, shape)
    return list(found.values()), history


def _shapes(trained: ExplainedPatterns) -> list[Shape]:
    shapes = []
    for adjacency, colors in zip(trained.adjacency, trained.colors, strict=True):
        for adj, labels in zip(adjacency, colors, strict=True):
            edges = tuple((int(i), int(j), 0) for i, j in np.argwhere(np.triu(adj)))
            shape = Shape(tuple(int(label) for label in labels), edges)
            if edges and shape.is_connected:
                shapes.append(shape)
    return shapes
