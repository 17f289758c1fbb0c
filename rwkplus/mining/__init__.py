"""Unsupervised pattern mining: the subgraphs that describe a database, with exact support.

May import kernels, the table and loops; candidates by gradient come from :mod:`rwkplus.descriptive`, when asked for.
"""

from rwkplus.mining.edit_distance import weighted_edit_distance
from rwkplus.mining.miner import PatternMiner
from rwkplus.mining.patterns import Occurrence, Pattern, load_patterns, save_patterns

__all__ = ["Occurrence", "Pattern", "PatternMiner", "load_patterns", "save_patterns", "weighted_edit_distance"]
