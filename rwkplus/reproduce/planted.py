"""Exact recovery of planted patterns whose size is not told, and false alarms where nothing is planted."""

import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import networkx as nx
import numpy as np

from experiments.recovery import recovered
from rwkplus.data.planted import planted_database, random_pattern
from rwkplus.mining import PatternMiner
from rwkplus.result_files import save_result

SIZES = (4, 6, 8, 10)
DISTORTIONS = (0.0, 0.1, 0.2)
FIRST_SEED = 6_000_000
"""Seeds from here on were not used while the miner was designed."""

ALARM_SEED, ALARM_DATABASES = 9_000_000, 100
"""The same for databases without a pattern."""


def run_planted(databases: int, *, on_step: Callable[[str], None] | None = None) -> list[dict[str, Any]]:
    """Mine planted databases cell by cell; write and return one row per cell."""
    tell = on_step or (lambda _: None)
    rows = []
    for cyclic, count, size, distortion in _cells():
        shape = "cyclic" if cyclic else "tree"
        tell(f"{count} {shape} of {size}, {distortion:.0%}")
        begin = time.perf_counter()
        found = [_recovered(FIRST_SEED + i, cyclic, count, size, distortion) for i in range(databases)]
        rows.append(
            {
                "patterns": count,
                "shape": shape,
                "size": size,
                "distortion": distortion,
                "databases": databases,
                "recovered": sum(found),
                "share": sum(found) / databases,
                "seconds each": (time.perf_counter() - begin) / databases,
            }
        )
        _save(rows, databases, None)
    tell("false alarms")
    _save(rows, databases, count_false_alarms())
    return rows


def count_false_alarms() -> int:
    """Databases without a pattern in which the miner, with its control, finds one all the same."""
    return sum(_false_alarm(ALARM_SEED + i) for i in range(ALARM_DATABASES))


def _cells() -> Iterator[tuple[bool, int, int, float]]:
    for cyclic, size, distortion in product((True, False), SIZES, DISTORTIONS):
        yield cyclic, 1, size, distortion
    for cyclic, size, distortion in product((True, False), SIZES, (0.0, 0.1)):
        yield cyclic, 3, size, distortion


def _recovered(seed: int, cyclic: bool, count: int, size: int, distortion: float) -> bool:
    """Whether every planted pattern is among as many mined ones, node for node and edge for edge."""
    rng = np.random.default_rng(seed)
    targets = [random_pattern(size, rng, cyclic=cyclic) for _ in range(count)]
    graphs = planted_database(targets, rng, distortion=distortion)
    mined = PatternMiner(count, n_controls=0, random_state=0).fit(graphs).patterns_
    found = [pattern.to_networkx() for pattern in mined]
    return all(recovered(found, _named(target), strict=True) for target in targets)


def _false_alarm(seed: int) -> bool:
    graphs = planted_database([], np.random.default_rng(seed))
    return bool(PatternMiner(1, random_state=0).fit(graphs).patterns_)


def _named(target: nx.Graph) -> nx.Graph:
    """The graph with its labels as text, which those of patterns are."""
    named = target.copy()
    nx.set_node_attributes(named, {v: str(label) for v, label in target.nodes(data="label")}, "label")
    return named


def _save(rows: list[dict[str, Any]], databases: int, alarms: int | None) -> None:
    config = {
        "command": f"rwkplus reproduce planted --databases {databases}",
        "databases": databases,
        "first_seed": FIRST_SEED,
        "alarm_databases": ALARM_DATABASES,
        "alarm_seed": ALARM_SEED,
        "graphs": 100,
        "labels": 4,
        "background nodes": [10, 20],
    }
    save_result("planted", config, {"rows": rows, "false alarms": alarms})
