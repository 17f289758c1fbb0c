"""The miner on real data: seconds and memory."""

import multiprocessing
import time
import warnings

from benchmarks.measure import record
from experiments.speed import peak_gigabytes
from rwkplus.datasets import load_graphs
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


def on_real_data(name, criterion, number, size):
    """Mine a data set with all controls; every process starts with the imports done."""
    graphs = load_graphs(name)
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


if __name__ == "__main__":
    main()
