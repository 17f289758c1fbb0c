"""The miner beside that of an earlier commit: ``RWKPLUS_BEFORE=CHECKOUT python -m benchmarks mining_before``.

``CHECKOUT`` is a git worktree of 0dde31f, the last commit with ten controls whatever they show, rewired in Python. Both
run in the same environment, in turns, in processes of their own.
"""

import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

from benchmarks.measure import record
from rwkplus.errors import RWKPlusError

NOW = Path(__file__).parents[1]
SETS = ("MUTAG", "NCI1", "IMDB-BINARY")
REPEATS = 3
WANTED = {"MUTAG": 4.0, "NCI1": 4.0, "IMDB-BINARY": 5.0}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def mine(name, jobs):
    """Mine a data set with default settings; compilation is not counted."""
    from rwkplus.datasets import load_graphs
    from rwkplus.mining import PatternMiner

    warnings.simplefilter("ignore")
    graphs = load_graphs(name)
    PatternMiner(1, n_controls=1).fit(graphs[:20])
    if jobs > 1:
        PatternMiner(1, n_controls=4, n_jobs=jobs).fit(graphs[:20])  # starts the workers
    cpu, wall = time.process_time(), time.perf_counter()
    miner = PatternMiner(n_jobs=jobs).fit(graphs)
    supports = [(pattern.size, len(pattern.edges), pattern.support) for pattern in miner.patterns_]
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "patterns": supports}


def in_turns(name, tasks):
    """Medians of several ways to mine one data set: by code and number of jobs."""
    answers = [[] for _ in tasks]
    for _ in range(REPEATS):
        for (code, jobs), found in zip(tasks, answers, strict=True):
            environ = os.environ | ONE_THREAD | {"PYTHONPATH": str(code)}
            command = [sys.executable, "-P", __file__, name, str(jobs)]
            done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, check=True)
            found.append(json.loads(done.stdout.splitlines()[-1]))
    return [
        {
            "cpu": statistics.median(answer["cpu"] for answer in found),
            "wall": statistics.median(answer["wall"] for answer in found),
            "patterns": found[0]["patterns"],
        }
        for found in answers
    ]


def measured(name, before):
    """One row of the table."""
    old, new, two = in_turns(name, [(before, 1), (NOW, 1), (NOW, 2)])
    ratio = old["cpu"] / new["cpu"]
    return {
        "data": name,
        "before, s": old["cpu"],
        "now, s": new["cpu"],
        "times faster": ratio,
        "wanted": WANTED[name],
        "reached": "yes" if ratio >= WANTED[name] else "no",
        "same patterns": "yes" if old["patterns"] == new["patterns"] else "no",
        "n_jobs=2, times faster": new["wall"] / two["wall"],
    }


def main():
    """Measure and record."""
    before = os.environ.get("RWKPLUS_BEFORE")
    if before is None:
        raise RWKPlusError("RWKPLUS_BEFORE must name a checkout of the code to compare with.")
    record(
        "mining_before",
        "Mining, and before",
        "`PatternMiner()` with default settings: processor seconds of one process on one thread, medians of "
        f"{REPEATS} runs in turns with the code before (0dde31f); compilation not counted. `n_jobs=2` by wall clock, "
        "beside one job of the code now, workers running already.",
        [measured(name, before) for name in SETS],
    )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(mine(sys.argv[1], int(sys.argv[2]))))
    else:
        main()
