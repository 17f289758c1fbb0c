"""Mine the patterns of a database of graphs, look at them, and tell classes apart by them.

Run: python examples/01_patterns.py
"""

from pathlib import Path

from rwkplus.datasets import planted_molecules
from rwkplus.mining import PatternMiner
from rwkplus.reports import write_mining_report

graphs = planted_molecules()  # or networkx graphs, data frames, SMILES, PyG graphs, a file
y = graphs.y

miner = PatternMiner(n_patterns=7, criterion="blocks", n_controls=3, random_state=0).fit(graphs, y)
for pattern in miner.patterns_:
    odds = pattern.contrast[1]  # of class 1
    print(f"{pattern}; odds ratio of class 1: {odds.odds_ratio:.2f}, p = {odds.corrected:.1g}")
print(f"{miner.score(planted_molecules(50, random_state=1)):.0%} of the edges of unseen molecules lie in an occurrence")

page = write_mining_report(Path("patterns") / "report.html", miner, graphs, "planted molecules")
print(f"look at {page}")
