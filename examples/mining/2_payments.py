"""
Rings of payments
=================

What do frauds have that other cases lack? The payments in this made-up data set have a direction, a channel and an
amount. One case in ten is a fraud, and some cases have not been judged yet. A ring of transfers is hidden in most
frauds, and the task is to find it. Needs ``rwkplus[plot]``.
"""

# %%
# From data frames
# ----------------
# Three tables, as from a database. ``multigraph=True`` keeps several payments between the same two accounts apart.

import matplotlib.pyplot as plt
import numpy as np

from rwkplus import GraphTable, PatternMiner, load_graphs

cases, accounts, payments = load_graphs("payment-cases").to_pandas()
print(payments.head(3).to_string(), accounts.head(3).to_string(), cases.head(3).to_string(), sep="\n\n")
transfers = GraphTable.of(payments, nodes=accounts, graphs=cases, y="fraud", directed=True, multigraph=True)
print(transfers)

# %%
# Contrast the classes
# --------------------
# ``criterion="contrast"`` finds what one class has more often. Amounts are cut into intervals, which can become
# conditions of a pattern. Cases that have not been judged do not count.

miner = PatternMiner(1, criterion="contrast", random_state=0).fit(transfers, transfers.y)
ring = miner.patterns_[0]
print(ring)
for part in ring.contrast:
    print(f"{part.name:3}: {part.support} of {part.graphs} cases, q = {part.corrected:.1g}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained", width_ratios=(3, 2))
ring.plot(left)
right.barh(
    [part.name for part in ring.contrast], [part.support / part.graphs for part in ring.contrast], color="#3567c4"
)
right.set_xlim(0, 1)
right.set_xlabel("share of cases that have the ring")
right.set_ylabel("fraud")
plt.show()

# %%
# Find the accounts involved
# --------------------------
# Occurrences refer to cases and accounts by their ids. Which of the cases that have not been judged contain the ring?

print(miner.occurrences_frame().head(4).to_string())
unknown = np.flatnonzero([fraud is None for fraud in transfers.y])
suspicious = sorted(set(ring.graphs) & set(unknown.tolist()))
print("not judged yet:", len(unknown), "- with the ring:", [transfers.graph_id(i) for i in suspicious])

# %%
# Export a query for a graph database
# -----------------------------------

print(ring.to_cypher())
