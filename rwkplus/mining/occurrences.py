"""From embeddings, which count every symmetry of a pattern, to occurrences, which do not."""

import numpy as np

from rwkplus.mining.shape import Shape
from rwkplus.ops.embeddings import Ints


def distinct_occurrences(shape: Shape, embeddings: Ints) -> Ints:
    """Keep one embedding of each occurrence: two with the same nodes and edges differ by a symmetry only."""
    if not len(embeddings):
        return embeddings
    base = int(embeddings.max()) + 1
    ends = np.array([[i, j] for i, j, _ in shape.edges])
    images = np.sort(embeddings[:, ends], axis=2)
    edges = np.sort(images[:, :, 0] * base + images[:, :, 1], axis=1)
    _, first = np.unique(edges, axis=0, return_index=True)
    return embeddings[np.sort(first)]
