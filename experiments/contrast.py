"""Planted contrasts: a pattern of some members of a rare class, beside patterns that say nothing of classes."""

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import networkx as nx
import numpy as np
import typer
from networkx.algorithms.isomorphism import GraphMatcher, categorical_node_match
from scipy.stats import fisher_exact

from experiments.pages import ran, table
from experiments.planted import named
from experiments.progress import progress
from experiments.records import RESULTS, exists, read_result, save_result
from experiments.recovery import recovered
from experiments.testbeds import planted_database, random_pattern
from rwkplus.cli.console import out
from rwkplus.errors import RWKPlusWarning
from rwkplus.loops.embeddings import Ints
from rwkplus.mining import PatternMiner, describe
from rwkplus.table import GraphTable

CELLS = tuple((cyclic, size) for cyclic in (True, False) for size in (4, 5, 6))
GRAPHS, POSITIVE, CARRIERS = 2_000, 0.05, 0.3
"""Graphs of a database, share of the rare class, and share of its members that carry the pattern to be found."""
OTHERS, OTHERS_SIZE, OTHERS_SHARE = 3, 5, 0.6
"""Patterns that say nothing: their number, their nodes, and the share of all graphs that carry each."""
FIRST_SEED = 12_000_000
"""Seeds from here on were not used while the miner was designed."""


class Contrasted(NamedTuple):
    """A database with classes, and what tells them apart."""

    graphs: list[nx.Graph]
    y: Ints
    target: nx.Graph


def contrasted_database(rng: np.random.Generator, size: int, *, cyclic: bool, num_graphs: int = GRAPHS) -> Contrasted:
    """Hide a pattern in some graphs of a rare class, and others in graphs of both."""
    target = random_pattern(size, rng, cyclic=cyclic)
    others = [random_pattern(OTHERS_SIZE, rng) for _ in range(OTHERS)]
    y = (np.arange(num_graphs) < POSITIVE * num_graphs).astype(np.int64)
    graphs = []
    for positive in y:
        planted = [pattern for pattern in others if rng.random() < OTHERS_SHARE]
        if positive and rng.random() < CARRIERS:
            planted.append(target)
        graphs += planted_database(planted, rng, num_graphs=1)
    return Contrasted(graphs, y, target)


def run_contrast(databases: int, *, on_step: Callable[[str], None] | None = None) -> list[dict[str, Any]]:
    """Mine contrasted databases cell by cell; write and return one row per cell."""
    tell = on_step or (lambda _: None)
    rows: list[dict[str, Any]] = []
    for cyclic, size in CELLS:
        shape = "cyclic" if cyclic else "tree"
        tell(f"{shape} of {size}")
        cases = [_case(FIRST_SEED + i, size, cyclic) for i in range(databases)]
        rows.append(
            {
                "shape": shape,
                "size": size,
                "databases": databases,
                "first": sum(case["first"] for case in cases),
                "among": sum(case["among"] for case in cases),
                "silent": sum(case["silent"] for case in cases),
                "seconds each": sum(case["seconds"] for case in cases) / databases,
                "misses": [case["miss"] for case in cases if case["miss"]],
            }
        )
        _save(rows, databases)
    return rows


def _case(seed: int, size: int, cyclic: bool) -> dict[str, Any]:
    """Mine a database with its classes, and again with permuted ones."""
    rng = np.random.default_rng(seed)
    graphs, y, target = case = contrasted_database(rng, size, cyclic=cyclic)
    table = GraphTable.of(graphs)
    begin = time.perf_counter()
    mined = _mined(table, y)
    seconds = time.perf_counter() - begin
    right = [recovered([pattern], named(target), strict=True) for pattern in mined]
    first = bool(right) and right[0]
    return {
        "first": first,
        "among": any(right),
        "silent": not _mined(table, rng.permutation(y)),
        "seconds": seconds,
        "miss": None if first else {"seed": seed, **_missed(case, mined)},
    }


def _missed(case: Contrasted, mined: list[nx.Graph]) -> dict[str, Any]:
    """What was planted and what was found, and whether classes differ in what was planted at all."""
    same = categorical_node_match("label", None)
    has = [GraphMatcher(graph, case.target, node_match=same).subgraph_is_monomorphic() for graph in case.graphs]
    counts = np.array([[np.sum(np.equal(has, there)[case.y == k]) for there in (True, False)] for k in (1, 0)])
    return {
        "target": describe(named(case.target)),
        "support": counts[:, 0].tolist(),
        "p": float(fisher_exact(counts).pvalue),
        "found": [describe(pattern) for pattern in mined],
    }


def _mined(graphs: GraphTable, y: Ints) -> list[nx.Graph]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RWKPlusWarning)  # that there is nothing, which is counted
        miner = PatternMiner(2, criterion="contrast", random_state=0).fit(graphs, y.tolist())
    return [pattern.to_networkx() for pattern in miner.patterns_]


def _save(rows: list[dict[str, Any]], databases: int) -> None:
    config = {
        "command": f"python -m experiments contrast --databases {databases}",
        "databases": databases,
        "first_seed": FIRST_SEED,
        "graphs": GRAPHS,
        "positive": POSITIVE,
        "carriers": CARRIERS,
        "others": OTHERS,
        "others_size": OTHERS_SIZE,
        "others_share": OTHERS_SHARE,
    }
    save_result("contrast", config, {"rows": rows})


def contrast_section(folder: Path = RESULTS) -> str | None:
    """How often the pattern is found, and how often nothing is where there is nothing."""
    if not exists("contrast", folder):
        return None
    record = read_result("contrast", folder)
    config = record["config"]
    return (
        "# Contrasts between classes\n\n"
        "## Planted contrasts\n\n"
        f"Of {config['graphs']:,} graphs, {config['positive']:.0%} are of a rare class, and {config['carriers']:.0%} "
        f"of these hide a random pattern. {config['others']} other cyclic patterns of {config['others_size']} nodes "
        f"are hidden in {config['others_share']:.0%} of all graphs each, whatever their class. Backgrounds have 10 to "
        "20 nodes of 4 labels, so that small trees are there by chance as well.\n\n"
        'The miner (`criterion="contrast"`, two patterns at most, all else by default) gets graphs and classes, not '
        "the size. Counted is how often the pattern is found first and exactly, node for node and edge for edge; how "
        "often it is the first or the second; and how often nothing is found after classes have been permuted. Seeds "
        f"from {config['first_seed']} on, not used for design.\n\n"
        f"{contrast_table(folder)}\n"
        f"{_miss_list(record['values']['rows'])}"
        f"{ran(record)}"
    )


def contrast_table(folder: Path = RESULTS) -> str:
    """One line for every shape and size."""
    rows = read_result("contrast", folder)["values"]["rows"]
    head = ["pattern", "nodes", "databases", "found first", "found", "nothing if permuted", "seconds each"]
    lines = []
    for row in rows:
        shares = [f"{row[key] / row['databases']:.0%}" for key in ("first", "among", "silent")]
        lines.append([row["shape"], row["size"], row["databases"], *shares, f"{row['seconds each']:.1f}"])
    return table(head, lines)


def _miss_list(rows: list[dict[str, Any]]) -> str:
    """What was found instead."""
    misses = [miss for row in rows for miss in row["misses"]]
    if not misses:
        return ""
    lines = [
        [miss["seed"], miss["target"], *miss["support"], f"{miss['p']:.1g}", "; ".join(miss["found"]) or "nothing"]
        for miss in misses
    ]
    head = ["seed", "planted", "of the rare class", "of the others", "p", "found"]
    return (
        "Databases in which it was not the first, with the graphs of either class that have what was planted, by "
        f"chance or not, and Fisher's exact test of these two numbers:\n\n{table(head, lines)}\n"
    )


def contrast(
    databases: Annotated[int, typer.Option(help="Databases per cell, at seeds not used for design.", min=1)] = 30,
) -> None:
    """Planted contrasts: exact recovery, and silence on permuted classes; writes contrast.json."""
    with progress("contrast") as advance:
        run_contrast(databases, on_step=advance)
    out.print(contrast_table())
