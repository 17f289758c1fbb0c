"""Contrast patterns of mutagenic molecules beside the groups that chemists know to make molecules mutagenic."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import networkx as nx
import numpy as np
import typer
from networkx.algorithms.isomorphism import GraphMatcher, categorical_node_match
from numpy.typing import NDArray

from experiments.pages import ran, table
from experiments.progress import progress
from experiments.records import RESULTS, exists, known_rows, read_result, save_result
from rwkplus.cli.console import out
from rwkplus.datasets import load_graphs
from rwkplus.mining import Pattern, PatternMiner

PATTERNS = 10
Group: TypeAlias = tuple[tuple[str, ...], tuple[tuple[int, int, str], ...]]
"""Elements, and bonds; the bond ``~`` is any."""
TOXICOPHORES: dict[str, tuple[Group, ...]] = {
    "nitro": ((("N", "O", "O"), ((0, 1, "~"), (0, 2, "~"))),),
    "aromatic amine": ((("C", "C", "N", "H", "H"), ((0, 1, "="), (0, 2, "-"), (2, 3, "-"), (2, 4, "-"))),),
    "three-ring heterocycle": tuple(
        (("C", "C", hetero), ((0, 1, "-"), (1, 2, "-"), (0, 2, "-"))) for hetero in ("O", "N", "S")
    ),
    "azo": ((("C", "N", "N", "C"), ((0, 1, "-"), (1, 2, "="), (2, 3, "-"))),),
    "nitroso": ((("N", "N", "O"), ((0, 1, "-"), (1, 2, "="))),),
}
"""Variants of every group; amines and nitroso groups in a form that does not hide in another group."""
MUTAGENS = {"MUTAG": "1", "Mutagenicity": "0"}
"""The class of mutagenic molecules."""


def group_graph(group: Group) -> nx.Graph:
    """The group as a labelled graph."""
    graph = nx.Graph()
    graph.add_nodes_from((v, {"label": element}) for v, element in enumerate(group[0]))
    graph.add_edges_from((u, v, {"label": bond}) for u, v, bond in group[1])
    return graph


def has_group(graph: nx.Graph, variants: Sequence[Group]) -> bool:
    """Whether a variant of a group is part of a graph."""
    same = categorical_node_match("label", None)
    return any(
        GraphMatcher(graph, group_graph(group), node_match=same, edge_match=_same_bond).subgraph_is_monomorphic()
        for group in variants
    )


def _same_bond(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return wanted["label"] in ("~", there.get("label"))


def run_toxicophores(dataset: str) -> dict[str, Any]:
    """Mine a data set, look for the known groups in molecules and patterns, and write what was found."""
    graphs = load_graphs(dataset)
    y = np.asarray(graphs.y)
    begin = time.perf_counter()
    mined = PatternMiner(PATTERNS, criterion="contrast", random_state=0).fit(graphs, y.tolist()).patterns_
    seconds = time.perf_counter() - begin
    molecules = graphs.to_networkx()
    has = {
        name: np.array([has_group(molecule, variants) for molecule in molecules])
        for name, variants in TOXICOPHORES.items()
    }
    mutagenic = y == int(MUTAGENS[dataset])
    values = {
        "seconds": seconds,
        "mutagens": int(mutagenic.sum()),
        "others": int((~mutagenic).sum()),
        "hydrogens": any(label == "H" for molecule in molecules for _, label in molecule.nodes(data="label")),
        "groups": {name: [int(part[mutagenic].sum()), int(part[~mutagenic].sum())] for name, part in has.items()},
        "patterns": [_described(pattern, has, MUTAGENS[dataset]) for pattern in mined],
    }
    config = {"command": f"python -m experiments toxicophores --dataset {dataset}", "patterns": PATTERNS}
    save_result(f"toxicophores/{dataset}", config, values)
    return values


def _described(pattern: Pattern, has: Mapping[str, NDArray[np.bool_]], mutagens: str) -> dict[str, Any]:
    """One row: the pattern, its supports, and the known groups that it contains or goes with."""
    drawn = pattern.to_networkx()
    inside = list(pattern.graphs)
    (own,), (other,) = (
        [part for part in pattern.contrast if (part.name == mutagens) is mine] for mine in (True, False)
    )
    return {
        "name": pattern.short_name,
        "smarts": pattern.to_smarts(),
        "nodes": pattern.size,
        "support": [own.support, other.support],
        "q": own.corrected,
        "contains": [name for name, variants in TOXICOPHORES.items() if has_group(drawn, variants)],
        "goes with": {name: float(part[inside].mean()) for name, part in has.items()},
        "jaccard": {name: _jaccard(part, inside) for name, part in has.items()},
    }


def _jaccard(has: NDArray[np.bool_], graphs: Sequence[int]) -> float:
    """Molecules that have both over those that have one."""
    both = int(has[list(graphs)].sum())
    return both / (int(has.sum()) + len(graphs) - both)


def toxicophores_section(folder: Path = RESULTS) -> str | None:
    """Patterns and groups of both sets."""
    there = [name for name in MUTAGENS if exists(f"toxicophores/{name}", folder)]
    if not there:
        return None
    records = {name: read_result(f"toxicophores/{name}", folder) for name in there}
    parts = [f"### {name}\n\n{_set_part(record['values'])}" for name, record in records.items()]
    return (
        "## Mutagenic molecules\n\n"
        f"The first {PATTERNS} contrast patterns (all settings by default, classes of all molecules given) beside "
        "groups that are known to make molecules mutagenic. A pattern *contains* a group if the group, as a labelled "
        "graph, is a part of it: elements and bonds of *nitro* are an N with two O; of an *aromatic amine* an NH2 at "
        "a C with a double bond to a C; of a *three-ring heterocycle* a ring of two C and O, N or S; of *azo* "
        "C-N=N-C; of *nitroso* N-N=O. *Goes with* tells the groups that more than half of the molecules with the "
        "pattern have, for patterns that hold only a part of a group. q is the share of searches on permuted classes, "
        "in as many parts of the molecules as were searched until then, that would find a pattern as telling.\n\n"
        + "\n".join(parts)
        + "\n"
        + ran(*records.values())
    )


def _set_part(values: Mapping[str, Any]) -> str:
    """The patterns of one set, and where the groups stand."""
    mutagens, others = values["mutagens"], values["others"]
    lines = []
    for rank, row in enumerate(values["patterns"], 1):
        beside = {k: v for k, v in row["goes with"].items() if v > 0.5}
        told = ", ".join(f"{name} ({share:.0%})" for name, share in sorted(beside.items(), key=lambda pair: -pair[1]))
        support = [f"{count:,}" for count in row["support"]]
        lines.append(
            [rank, row["name"], f"`{row['smarts']}`", *support, f"{row['q']:.1g}", ", ".join(row["contains"]), told]
        )
    head = ["", "pattern", "SMARTS", f"of {mutagens:,} mutagens", f"of {others:,} others", "q", "contains", "goes with"]
    groups = [_group_line(name, counts, values) for name, counts in values["groups"].items()]
    hydrogens = "" if values["hydrogens"] else " The data have no hydrogens, so that an amine cannot be told."
    return (
        f"{len(lines)} patterns beat chance; {values['seconds']:.0f} s.{hydrogens}\n\n"
        + table(head, lines)
        + "\n"
        + table(["group", "mutagens", "others", "first pattern that contains it", "nearest pattern (Jaccard)"], groups)
    )


def _group_line(name: str, counts: Sequence[int], values: Mapping[str, Any]) -> list[object]:
    rows = values["patterns"]
    ranks = [rank for rank, row in enumerate(rows, 1) if name in row["contains"]]
    near, rank = max(((row["jaccard"][name], rank) for rank, row in enumerate(rows, 1)), default=(0.0, 0))
    return [name, *(f"{count:,}" for count in counts), ranks[0] if ranks else "none", f"{rank} ({near:.2f})"]


def toxicophores(
    dataset: Annotated[list[str] | None, typer.Option(help="MUTAG or Mutagenicity; both by default.")] = None,
) -> None:
    """Contrast patterns of mutagens beside known toxicophores; writes toxicophores/NAME.json."""
    with progress("toxicophores") as advance:
        for name in known_rows(dataset, MUTAGENS):
            tell: Callable[[str], None] = advance
            tell(name)
            run_toxicophores(name)
    out.print(toxicophores_section() or "")
