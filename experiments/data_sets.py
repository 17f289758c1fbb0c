"""Sizes of the data sets at hand, beside those that the paper reports in its Tables 12 to 16."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch_geometric.utils import is_undirected, remove_self_loops, to_undirected

from experiments.counting import load_counting
from experiments.molecules import MOLECULE_SETS
from experiments.pages import ran, table
from experiments.progress import progress
from experiments.records import RESULTS, exists, read_result, save_result
from experiments.runtime import pubmed_topology
from rwkplus.cli.console import out
from rwkplus.datasets import load_graphs
from rwkplus.datasets.catalog import Entry, find
from rwkplus.datasets.node_sets import load_nodes
from rwkplus.errors import RWKPlusError
from rwkplus.table import GraphTable

Sizes = dict[str, float]


class Published(NamedTuple):
    """A table of the paper."""

    title: str
    measures: Sequence[str]
    sizes: Mapping[str, Sequence[float]]
    """By name, in the order of the measures."""


GRAPHS = ("graphs", "classes", "nodes", "edges")
TABLES: Mapping[int, Published] = {
    12: Published(
        "Graph anomaly detection",
        ("graphs", "anomalies", "nodes", "edges"),
        {
            "MCF-7": (27_770, 2_294, 26.4, 28.5),
            "MOLT-4": (39_765, 3_140, 26.1, 28.1),
            "PC-3": (27_509, 1_568, 26.4, 28.5),
            "SW-620": (40_532, 2_410, 26.1, 28.1),
            "NCI-H23": (40_353, 2_057, 26.1, 28.1),
            "OVCAR-8": (40_516, 2_079, 26.1, 28.1),
            "P388": (41_472, 2_298, 22.1, 23.6),
            "SF-295": (40_271, 2_025, 26.1, 28.1),
            "SN12C": (40_004, 1_955, 26.1, 28.1),
            "UACC257": (39_988, 1_643, 26.1, 28.1),
        },
    ),
    13: Published("Substructure counting", ("graphs", "nodes", "edges"), {"counting": (5_000, 18.8, 62.6)}),
    14: Published(
        "Graph classification",
        GRAPHS,
        {
            "MUTAG": (188, 2, 17.9, 19.8),
            "DD": (1_178, 2, 284.3, 715.7),
            "NCI1": (4_110, 2, 29.9, 32.3),
            "PROTEINS": (1_113, 2, 39.1, 72.8),
            "Mutagenicity": (4_337, 2, 30.3, 30.8),
            "Tox21_AhR_training": (8_169, 2, 18.1, 18.5),
            "ENZYMES": (600, 6, 32.6, 62.1),
            "IMDB-BINARY": (1_000, 2, 19.8, 96.5),
            "IMDB-MULTI": (1_500, 3, 13.0, 65.9),
            "reddit10k": (10_155, 2, 23.9, 25.0),
        },
    ),
    15: Published(
        "Node classification",
        ("nodes", "edges", "classes"),
        {
            "Cora": (2_709, 5_429, 7),
            "CiteSeer": (3_327, 4_732, 6),
            "PubMed": (19_717, 44_338, 3),
            "Chameleon": (2_277, 36_101, 5),
            "Squirrel": (5_201, 216_933, 5),
            "Actor": (29_926, 7_600, 5),
        },
    ),
    16: Published(
        "Graph regression and classification",
        ("graphs", "nodes", "edges"),
        {"zinc": (12_000, 17.9, 19.8), "molhiv": (41_127, 25.5, 27.5), "molpcba": (437_929, 26.0, 28.1)},
    ),
}
NOTES: Mapping[int, str] = {
    12: "The balanced screens at hand have all actives and as many inactives, and no compounds of several parts; the "
    "full screens are counted where they lie in the folder of data sets. Experiments draw from the balanced ones as "
    "many actives as make them as rare as in the published screen.",
    13: "The paper counts edges in both directions here, and once in its other tables; so do we.",
    14: "The paper drew its own REDDIT of 10,155 threads; reddit10k has other threads of the same collection.",
    15: "Edges are told as they come: citations undirected and without copies, the others directed, with self-loops. "
    "Published counts of citations include copies. The paper's Squirrel and Actor lack self-loops (140 and 93). "
    "**Actor's columns are swapped in the paper**: its 29,926 are edges, its 7,600 nodes. Of PubMed, only the topology "
    "is at hand.",
    16: "**ZINC's averages in the paper are those of MUTAG** (Table 14).",
}


def run_data_sets(*, on_step: Callable[[str], None] | None = None) -> list[dict[str, Any]]:
    """Measure every set of every table; write and return a row for each, without sizes where it is not at hand."""
    rows = []
    for number, published in TABLES.items():
        for name in published.sizes:
            if on_step is not None:
                on_step(name)
            rows.append({"table": number, "set": name, **_measured(number, name)})
    save_result("data_sets", {"command": "python -m experiments data-sets"}, {"rows": rows})
    return rows


def _measured(number: int, name: str) -> dict[str, Any]:
    try:
        found, sizes = READERS[number](name)
    except RWKPlusError:
        return {"at hand": ""}
    return {"at hand": found} | sizes


def _screen(name: str) -> tuple[str, Sizes]:
    full = name if find(Entry(name, "")) is not None else ""
    graphs = load_graphs(full or f"{name}_balanced")
    sizes = graph_sizes(graphs)
    return full or "balanced", sizes | {"anomalies": int(np.sum(np.asarray(graphs.y) == 1))}


def graph_sizes(graphs: GraphTable) -> Sizes:
    """Number of graphs and classes, and averages of nodes and edges."""
    count = len(graphs)
    means = {"nodes": graphs.num_nodes / count, "edges": graphs.num_edges / count}
    return {"graphs": count, "classes": len(np.unique(np.asarray(graphs.y)))} | means


def _counting(name: str) -> tuple[str, Sizes]:
    graphs = load_counting().graphs
    nodes, edges = (np.mean([getattr(graph, part) for graph in graphs]) for part in ("num_nodes", "num_edges"))
    return name, {"graphs": len(graphs), "nodes": float(nodes), "edges": float(edges)}


def _nodes(name: str) -> tuple[str, Sizes]:
    data = pubmed_topology() if name == "PubMed" else load_nodes(name)
    edges = data.edge_index
    if is_undirected(edges):
        edges = to_undirected(remove_self_loops(edges)[0])[:, ::2]
    sizes: Sizes = {"nodes": int(data.num_nodes or 0), "edges": edges.size(1)}
    return name, sizes | ({} if data.y is None else {"classes": len(data.y.unique())})


def _molecules(name: str) -> tuple[str, Sizes]:
    graphs = MOLECULE_SETS[name](None).graphs
    nodes, edges = (np.mean([getattr(graph, part) for graph in graphs]) for part in ("num_nodes", "num_edges"))
    return name, {"graphs": len(graphs), "nodes": float(nodes), "edges": float(edges) / 2}


READERS: Mapping[int, Callable[[str], tuple[str, Sizes]]] = {
    12: _screen,
    13: _counting,
    14: lambda name: (name, graph_sizes(load_graphs(name, without_labels="nothing"))),
    15: _nodes,
    16: _molecules,
}
"""What is at hand of a set, and its sizes, by table."""


def data_sets_page(folder: Path = RESULTS) -> str | None:
    """All tables."""
    if not exists("data_sets", folder):
        return None
    record = read_result("data_sets", folder)
    sections = [
        f"## Table {number}: {published.title.lower()}\n\n{data_sets_table(number, record['values']['rows'])}\n"
        f"{NOTES[number]}\n"
        for number, published in TABLES.items()
    ]
    return "\n".join(
        [
            "# Data sets\n\nWhat is at hand, counted; where the paper's appendix has another number, that is told.\n",
            *sections,
            ran(record),
        ]
    )


def data_sets_table(number: int, rows: Sequence[Mapping[str, Any]]) -> str:
    """One row per set of a table of the paper."""
    published = TABLES[number]
    lines = []
    for row in rows:
        if row["table"] == number:
            paper = published.sizes[row["set"]]
            cells = [_cell(row.get(measure), value) for measure, value in zip(published.measures, paper, strict=True)]
            lines.append([row["set"], row["at hand"] or "no", *cells])
    return table(["set", "at hand", *published.measures], lines)


def _cell(found: float | None, paper: float) -> str:
    """Our number, with the paper's where it is another to the digits that it has."""
    told = f"{paper:,}"
    if found is None:
        return f"(paper: {told})"
    ours = f"{round(found, 1) if isinstance(paper, float) else found:,}"
    return ours if ours == told else f"{ours} (paper: {told})"


def data_sets() -> None:
    """Sizes of all data sets beside the paper's (Tables 12 to 16); writes data_sets.json."""
    with progress("data sets", total=sum(len(published.sizes) for published in TABLES.values())) as advance:
        rows = run_data_sets(on_step=advance)
    for number, published in TABLES.items():
        out.print(f"{published.title}\n{data_sets_table(number, rows)}", soft_wrap=True)
