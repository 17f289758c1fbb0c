"""Planted motifs in one large graph: exact recovery with minimum-image support, and time by the number of edges."""

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import networkx as nx
import numpy as np
import typer

from experiments.pages import ran, table
from experiments.planted import named
from experiments.progress import progress
from experiments.records import RESULTS, change_result, exists, finished, read_result
from experiments.recovery import recovered
from experiments.testbeds import planted_graph, random_pattern
from rwkplus.cli.console import out
from rwkplus.errors import RWKPlusWarning
from rwkplus.mining import PatternMiner
from rwkplus.table import GraphTable

FIRST_SEED = 8_000_000
"""Seeds from here on were not used while the search was designed."""

NODES, EDGES, COPIES, SIZE, LABELS = 50_000, 200_000, 200, 5, 5
LARGER = (100_000, 500_000, 1_000_000)
"""Edges of the graphs that time is measured in."""


def run_planted_large(graphs: int, *, on_step: Callable[[str], None] | None = None) -> list[dict[str, Any]]:
    """Mine one graph after the other, then larger ones; write and return one row for each, also of an earlier run."""
    tell = on_step or (lambda _: None)
    config = _config(graphs)
    values = finished("planted_large", config) or {"rows": [], "larger": []}
    mined_graph(FIRST_SEED - 1, 2_000)  # compiles the loops
    for part, sizes, first in (("rows", (EDGES,) * graphs, 0), ("larger", LARGER, graphs)):
        for k in range(len(values[part]), len(sizes)):
            tell(f"{sizes[k]:,} edges, graph {k + 1} of {len(sizes)}")
            values[part].append(mined_graph(FIRST_SEED + first + k, sizes[k]))
            change_result("planted_large", config, lambda there: there.update(values))
    rows: list[dict[str, Any]] = values["rows"]
    return rows


def mined_graph(seed: int, edges: int) -> dict[str, Any]:
    """What is found in one graph, in how many seconds."""
    rng = np.random.default_rng(seed)
    target = random_pattern(SIZE, rng, num_labels=LABELS)
    sizes = {"num_nodes": edges * NODES // EDGES, "num_edges": edges, "copies": max(edges * COPIES // EDGES, 1)}
    graph = planted_graph(target, rng, num_labels=LABELS, **sizes)
    given = GraphTable.of([graph])
    begin, begin_cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RWKPlusWarning)  # that nothing was found is counted
        mined = PatternMiner(1, random_state=0).fit(given).patterns_
    taken = {"seconds": time.perf_counter() - begin, "processor": time.process_time() - begin_cpu}
    exact = recovered([pattern.to_networkx() for pattern in mined], named(target), strict=True)
    counted = exact and mined[0].mni == minimum_image(graph, target)
    return {"seed": seed, "edges": edges, "exact": exact, "mni": bool(counted), **taken}


def minimum_image(graph: nx.Graph, pattern: nx.Graph) -> int:
    """Fewest distinct nodes in one place of a connected pattern, by a search so plain that it can be trusted.

    >>> minimum_image(nx.star_graph(4), nx.path_graph(3))
    1
    """
    order = list(nx.dfs_preorder_nodes(pattern))
    label = {v: graph.nodes[v].get("label") for v in graph}
    asked = [pattern.nodes[v].get("label") for v in order]
    before = [[k for k in range(i) if pattern.has_edge(order[k], v)] for i, v in enumerate(order)]
    images: list[set[int]] = [set() for _ in order]

    def search(placed: list[int]) -> None:
        k = len(placed)
        if k == len(order):
            for image, v in zip(images, placed, strict=True):
                image.add(v)
            return
        for v in graph[placed[before[k][0]]] if k else graph:
            joined = all(v in graph[placed[i]] for i in before[k])
            if label[v] == asked[k] and v not in placed and joined:
                search([*placed, v])

    search([])
    return min(map(len, images))


def _config(graphs: int) -> dict[str, Any]:
    return {
        "command": f"python -m experiments planted-large --graphs {graphs}",
        "graphs": graphs,
        "first_seed": FIRST_SEED,
        "nodes": NODES,
        "edges": EDGES,
        "copies": COPIES,
        "size": SIZE,
        "labels": LABELS,
    }


def planted_large_page(folder: Path = RESULTS) -> str | None:
    """Recovery in one large graph, and time."""
    if not exists("planted_large", folder):
        return None
    record = read_result("planted_large", folder)
    config = record["config"]
    return (
        "# Motifs in one large graph\n\n"
        f"A random graph of {config['nodes']:,} nodes and {config['edges']:,} edges with {config['labels']} labels "
        f"hides {config['copies']} copies of a random motif of {config['size']} nodes, a tree with one more edge: "
        "nodes of the graph get the labels and edges of the motif and keep their own edges, eight on average. The "
        "miner is told neither the motif nor its size, and compares with rewired graphs.\n\n"
        "A motif counts as found if the first pattern is the motif, node for node and edge for edge, and its "
        "minimum-image support is the one that a plain search over all embeddings counts. Seeds from "
        f"{config['first_seed']} on were not used for design.\n\n"
        f"{planted_large_table(folder)}\n"
        "Seconds are those of the whole call, rewired graphs included, on a machine with other work to do; processor "
        "seconds leave that out.\n\n"
        f"{ran(record)}"
    )


def planted_large_table(folder: Path = RESULTS) -> str:
    """Recovery and time by the number of edges."""
    values = read_result("planted_large", folder)["values"]
    lines = []
    for rows in (values["rows"], *([row] for row in values["larger"])):
        exact, counted = (sum(row[name] for row in rows) for name in ("exact", "mni"))
        seconds, processor = ([row[name] for row in rows] for name in ("seconds", "processor"))
        lines.append(
            [
                f"{rows[0]['edges']:,}",
                len(rows),
                f"{exact} ({exact / len(rows):.0%})",
                f"{counted} ({counted / len(rows):.0%})",
                f"{np.mean(seconds):.1f}",
                f"{np.max(seconds):.1f}",
                f"{np.mean(processor):.1f}",
            ]
        )
    heads = ["edges", "graphs", "found exactly", "with its minimum image", "seconds each", "longest", "processor"]
    return table(heads, lines)


def planted_large(
    graphs: Annotated[int, typer.Option(help="Graphs, at seeds not used for design.", min=1)] = 30,
) -> None:
    """Planted motifs in one large graph: exact recovery, and time; writes planted_large.json."""
    with progress("planted-large") as advance:
        run_planted_large(graphs, on_step=advance)
    out.print(planted_large_table())
