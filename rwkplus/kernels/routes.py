"""Which way to a Gram matrix is cheaper: explicit label sequences, or Algorithm 1 on blocks of pairs."""

import numpy as np

from rwkplus.kernels import blocks as pairwise
from rwkplus.table.arrays import Floats, GraphArrays

# Rough nanoseconds on one core, read off runs on MUTAG, NCI1 and ENZYMES; only their ratio matters.
_PER_WALK = 60.0
_PER_GRAM_ENTRY = 20.0
_PER_PAIR_CELL = 0.7


def cheaper_route(graphs: GraphArrays, steps: int, *, closed: bool) -> str:
    """Choose by estimated cost. Sequences grow exponentially with the steps, Algorithm 1 linearly."""
    nodes, edges, count = float(graphs.num_nodes), float(graphs.source.size), float(graphs.num_graphs)
    explicit = _PER_WALK * _number_of_walks(graphs, steps) + _PER_GRAM_ENTRY * count**2
    blocks = _PER_PAIR_CELL * steps * 2 * nodes * edges
    if closed:  # one pass per start node and graph pair
        blocks *= float(np.diff(graphs.node_ptr).max()) ** 2
    largest = float(np.diff(graphs.node_ptr).max())
    fits_pairwise = largest**2 <= pairwise.MAX_PAIR_CELLS
    return "blocks" if blocks < explicit and fits_pairwise else "explicit"


def _number_of_walks(graphs: GraphArrays, steps: int) -> float:
    """Walks of up to ``steps`` edges: no graph has more label sequences than walks."""
    reached: Floats = np.ones(graphs.num_nodes)
    total = 0.0
    for _ in range(steps):
        reached = np.bincount(graphs.source, reached[graphs.target], graphs.num_nodes).astype(float)
        total += reached.sum()
    return total
