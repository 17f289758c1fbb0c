"""Unsupervised pattern mining: the subgraphs that describe a database, with exact support.

May import kernels, the table and loops; candidates by gradient come from :mod:`rwkplus.descriptive`, when asked for.
"""

from rwkplus.mining.edit_distance import weighted_edit_distance
from rwkplus.mining.miner import PatternMiner
from rwkplus.mining.names import describe
from rwkplus.mining.pattern_parts import Condition, Occurrence
from rwkplus.mining.patterns import Pattern, load_patterns, save_patterns

__all__ = [
    "Condition",
    "Occurrence",
    "Pattern",
    "PatternMiner",
    "describe",
    "load_patterns",
    "save_patterns",
    "weighted_edit_distance",
]
