"""The miner on real data: seconds, memory, and how cost grows with graphs and edges."""

import multiprocessing
import time
import warnings

import numpy as np

from benchmarks.measure import peak_gigabytes, record
from rwkplus.data import load
from rwkplus.data.planted import planted_database, random_pattern
from rwkplus.errors import RWKPlusWarning
from rwkplus.mining import PatternMiner

REAL = (
    ("MUTAG", "blocks", 6, "auto"),
    ("MUTAG", "maximal", 6, "auto"),
    ("NCI1", "maximal", 20, (3, 10)),
    ("NCI1", "blocks", 20, (3, 10)),
    ("ENZYMES", "blocks", 6, "auto"),
    ("ENZYMES", "maximal", 6, "auto"),
    ("IMDB-BINARY", "blocks", 6, "auto"),
    ("IMDB-BINARY", "maximal", 6, "auto"),
)
GROWTH = (1_000, 2_000, 4_000, 8_000)


def on_real_data(name, criterion, number, size):
    """Mine a data set with all controls; every process starts with the imports done."""
    graphs = load(name)
    PatternMiner(1, n_controls=0).fit(graphs[:10])  # compile
    begin = time.perf_counter()
    patterns = PatternMiner(number, size, criterion=criterion, random_state=0).fit(graphs).patterns_
    return {
        "data": name,
        "graphs": len(graphs),
        "criterion": criterion,
        "patterns": len(patterns),
        "s": time.perf_counter() - begin,
        "GB": peak_gigabytes(),
        "first three (graphs)": ", ".join(f"{p.short_name} ({p.support})" for p in patterns[:3]),
    }


def on_copies(num_graphs):
    """Mine a planted database of a given size; search and exact counting both look at all of it."""
    rng = np.random.default_rng(0)
    graphs = planted_database([random_pattern(6, rng)], rng, num_graphs=num_graphs, distortion=0.1)
    edges = sum(graph.number_of_edges() for graph in graphs)
    PatternMiner(1, n_controls=0).fit(graphs[:10])
    begin = time.process_time()
    PatternMiner(1, n_controls=0, search_graphs=num_graphs, random_state=0).fit(graphs)
    return {"data": "planted", "graphs": num_graphs, "edges": edges, "s": time.process_time() - begin}


def alone(function, *arguments):
    """Run in a process of its own, so that memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def main():
    """Measure and record."""
    warnings.simplefilter("ignore", RWKPlusWarning)
    record(
        "mining_scale",
        "Mining real data",
        "Wall-clock seconds of one process, ten rewired control databases included, compilation not; peak memory of "
        "the process; supports count all graphs.",
        [alone(on_real_data, *task) for task in REAL],
    )
    rows = [alone(on_copies, size) for size in GROWTH]
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
