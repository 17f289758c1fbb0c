"""Every formula of the paper, once: tensors in, tensors out, no state and no processes (extra: ``nn``).

Imports :mod:`rwkplus.tensors` and errors, nothing else of this library.
"""

import rwkplus.tensors  # noqa: F401
from rwkplus.functional.colors import return_probabilities, structural_colors
from rwkplus.functional.kernels import (
    Egonets,
    WalkOptions,
    classical_rwk,
    color_similarity,
    egonet_scores,
    rwk_minus,
    rwk_plus,
)
from rwkplus.functional.objectives import diversity_penalty, sparsity_penalty
from rwkplus.functional.reference import product_graph, rwk_plus_by_product_graph
from rwkplus.functional.walks import bank_propagation, rwk_plus_conv, sparse_product, walk_steps

__all__ = [
    "Egonets",
    "WalkOptions",
    "bank_propagation",
    "classical_rwk",
    "color_similarity",
    "diversity_penalty",
    "egonet_scores",
    "product_graph",
    "return_probabilities",
    "rwk_minus",
    "rwk_plus",
    "rwk_plus_by_product_graph",
    "rwk_plus_conv",
    "sparse_product",
    "sparsity_penalty",
    "structural_colors",
    "walk_steps",
]
