"""How the cost of mining grows with the number of graphs and edges."""

import time

import numpy as np

from benchmarks.measure import record
from experiments.testbeds import planted_database, random_pattern
from rwkplus.mining import PatternMiner

SIZES = (1_000, 2_000, 4_000, 8_000)


def on_copies(num_graphs):
    """Mine a planted database of a given size; search and exact counting both look at all of it."""
    rng = np.random.default_rng(0)
    graphs = planted_database([random_pattern(6, rng)], rng, num_graphs=num_graphs, distortion=0.1)
    edges = sum(graph.number_of_edges() for graph in graphs)
    begin = time.process_time()
    PatternMiner(1, n_controls=0, search_graphs=num_graphs, random_state=0).fit(graphs)
    return {"graphs": num_graphs, "edges": edges, "s": time.process_time() - begin}


def main():
    """Measure and record."""
    on_copies(100)  # compile
    rows = [on_copies(size) for size in SIZES]
    slope = np.polyfit(np.log([row["edges"] for row in rows]), np.log([row["s"] for row in rows]), 1)[0]
    record(
        "mining_growth",
        "Mining: growth with the number of graphs and edges",
        f"One planted pattern of 6 nodes, 10% distortion, searching all graphs. Seconds grow as edges to the power "
        f"{slope:.2f}.",
        rows,
    )


if __name__ == "__main__":
    main()
