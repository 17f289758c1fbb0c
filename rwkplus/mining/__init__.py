"""Unsupervised pattern mining: the small graphs that describe a database."""

from rwkplus.mining.edit_distance import weighted_edit_distance
from rwkplus.mining.files import load_patterns, save_patterns
from rwkplus.mining.miner import PatternMiner
from rwkplus.mining.patterns import Occurrence, Pattern

__all__ = ["Occurrence", "Pattern", "PatternMiner", "load_patterns", "save_patterns", "weighted_edit_distance"]
