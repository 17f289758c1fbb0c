"""Unsupervised pattern mining: the small graphs that describe a database."""

from rwkplus.mining.edit_distance import weighted_edit_distance
from rwkplus.mining.miner import PatternMiner
from rwkplus.mining.patterns import Occurrence, Pattern, load_patterns, save_patterns

__all__ = ["Occurrence", "Pattern", "PatternMiner", "load_patterns", "save_patterns", "weighted_edit_distance"]
