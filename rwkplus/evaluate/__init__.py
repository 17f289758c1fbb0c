"""How good is it, honestly: nested validation, trivial guards."""

from rwkplus.data.splits import stratified_folds
from rwkplus.evaluate.guards import guard_scores, sizes_and_histograms
from rwkplus.evaluate.nested import NestedScores, nested_cross_validation

__all__ = [
    "NestedScores",
    "guard_scores",
    "nested_cross_validation",
    "sizes_and_histograms",
    "stratified_folds",
]
