"""Unsupervised pattern mining: the small graphs that describe a database."""

from rwkplus.mining.miner import PatternMiner
from rwkplus.mining.patterns import Occurrence, Pattern

__all__ = ["Occurrence", "Pattern", "PatternMiner"]
