"""Timing and recording shared by the benchmarks."""

import statistics
import time

from threadpoolctl import threadpool_limits

from experiments.provenance import started
from experiments.records import save_result

started()  # what runs is the code of this moment, not that of the end


def cpu_seconds(function, repeats=5):
    """Median CPU time of a call on one thread, and its last result."""
    times = []
    with threadpool_limits(1):
        for _ in range(repeats):
            begin = time.process_time()
            result = function()
            times.append(time.process_time() - begin)
    return statistics.median(times), result


def record(name, title, about, rows):
    """Write the result file and print the rows."""
    config = {"title": title, "about": about, "command": f"python -m benchmarks {name}"}
    path = save_result(f"benchmarks/{name}", config, {"rows": rows})
    print(f"{title}  ({path})")
    for row in rows:
        print(
            "   "
            + "  ".join(
                f"{key}: {value:.5g}" if isinstance(value, float) else f"{key}: {value}" for key, value in row.items()
            )
        )
