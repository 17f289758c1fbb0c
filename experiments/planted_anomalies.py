"""Planted anomalies: are they found, and does the drawn part contain what is wrong?"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import networkx as nx
import numpy as np
import typer
from sklearn.metrics import roc_auc_score
from torch_geometric.data import Data

from experiments.pages import ran, table
from experiments.progress import progress
from experiments.records import add_row, exists, finished, read_result
from rwkplus.cli.console import out
from rwkplus.datasets import anomalous_chains, anomalous_molecules
from rwkplus.datasets.generators import SHARE, Anomaly, AnomalyDataset
from rwkplus.detect import GraphDetector, PatternDetector, SurpriseDetector, WalkKernelDetector
from rwkplus.kernels.evaluation import sizes_and_histograms
from rwkplus.table.arrays import Floats

DATABASES: Mapping[str, Callable[[int, int], AnomalyDataset]] = {
    "molecules": anomalous_molecules,
    "triangle chains": anomalous_chains,
}
DETECTORS: Mapping[str, Callable[[], GraphDetector]] = {
    "surprise": lambda: SurpriseDetector(SHARE),
    "walk kernel, nearest": lambda: WalkKernelDetector(SHARE),
    "patterns": lambda: PatternDetector(SHARE),
}
FIRST_SEED = 2000
"""Databases below this seed were looked at while the detectors were made."""
NAME = "detection/planted"
KEY = ("database", "seed", "detector")
DRAWS = 20


def run_planted_anomalies(
    databases: int = 10, num_graphs: int = 1000, *, on_step: Callable[[str], None] | None = None
) -> list[dict[str, Any]]:
    """Search spoiled databases with every detector; write and return one row per database and detector.

    A database judges itself: detectors are fitted to all graphs, anomalies included, and know only their share. The
    file is written after every row; an interrupted run goes on where it stopped.
    """
    tell = on_step or (lambda _: None)
    seeds = list(range(FIRST_SEED, FIRST_SEED + databases))
    config = {
        "command": f"python -m experiments planted-anomalies --databases {databases} --graphs {num_graphs}",
        "seeds": seeds,
        "graphs": num_graphs,
        "share": SHARE,
    }
    rows: list[dict[str, Any]] = finished(NAME, config).get("rows", [])
    done = {tuple(row[part] for part in KEY) for row in rows}
    for name, make in DATABASES.items():
        for seed in seeds:
            table, anomalies = make(num_graphs, seed)
            graphs = table.to_pyg()
            for kind in (*DETECTORS, "guard: size", "guard: histogram"):
                if (name, seed, kind) in done:
                    continue
                tell(f"{name} {seed}: {kind}")
                judge = _guard if kind.startswith("guard") else _detect
                row = {"database": name, "seed": seed, "detector": kind, **judge(kind, graphs, anomalies)}
                rows = add_row(NAME, config, row, KEY)["rows"]
    return rows


def _detect(kind: str, graphs: Sequence[Data], anomalies: Sequence[Anomaly | None]) -> dict[str, Any]:
    detector = DETECTORS[kind]()
    judged = detector.fit_judge(graphs)
    hits = [(i, planted) for i in np.flatnonzero(judged.flagged).tolist() if (planted := anomalies[i]) is not None]
    found = detector.explain([graphs[i] for i, _ in hits]) if hits else []
    rng = np.random.default_rng(0)
    covered, drawn, chance = [], [], []
    for (i, planted), why in zip(hits, found, strict=True):
        covered.append(set(planted.nodes) <= set(why.part))
        drawn.append(len(why.part) / graphs[i].num_nodes)
        chance.append(_by_chance(graphs[i], len(why.part), set(planted.nodes), rng))
    return {
        **_aurocs(-judged.scores, anomalies),
        "flagged": int(judged.flagged.sum()),
        "hits": len(hits),
        "covered": int(np.sum(covered)),
        "drawn": float(np.mean(drawn)) if hits else None,
        "covered by chance": float(np.mean(chance)) if hits else None,
    }


def _guard(kind: str, graphs: Sequence[Data], anomalies: Sequence[Anomaly | None]) -> dict[str, Any]:
    """Distance from the mean in standard deviations: what size, or the counts of labels, give away."""
    features = sizes_and_histograms(graphs)[0 if kind == "guard: size" else 1]
    spread = features.std(0)
    far = np.linalg.norm((features - features.mean(0)) / np.where(spread > 0, spread, 1), axis=1)
    return _aurocs(far, anomalies)


def _aurocs(scores: Floats, anomalies: Sequence[Anomaly | None]) -> dict[str, float]:
    """AUROC over all anomalies, and over each kind by itself."""
    wrong = np.array([anomaly is not None for anomaly in anomalies])
    kinds = np.array([anomaly.kind if anomaly else "" for anomaly in anomalies])
    result = {"auroc": float(roc_auc_score(wrong, scores))}
    for kind in sorted(set(kinds[wrong])):
        kept = ~wrong | (kinds == kind)
        result[kind] = float(roc_auc_score(wrong[kept], scores[kept]))
    return result


def _by_chance(graph: Data, size: int, planted: set[int], rng: np.random.Generator) -> float:
    """How often a connected part of this size, grown from a random node, contains all that was planted."""
    network = nx.Graph(graph.edge_index.t().tolist())
    hits = 0
    for _ in range(DRAWS):
        start = list(network)[rng.integers(len(network))]
        reached = [start, *(v for _, v in nx.bfs_edges(network, start))]
        hits += planted <= set(reached[:size])
    return hits / DRAWS


KINDS = ("wrong color", "missing ring edge", "foreign motif")


def planted_table(rows: Sequence[dict[str, Any]]) -> str:
    """Means over databases by kind of database and detector."""
    head = ["database", "detector", "AUROC", *KINDS, "flagged that are planted", "part covers it", "by chance", "drawn"]
    detectors = dict.fromkeys(row["detector"] for row in rows)
    return table(head, ([base, name, *_planted_row(rows, base, name)] for base in DATABASES for name in detectors))


def _planted_row(rows: Sequence[dict[str, Any]], database: str, detector: str) -> list[str]:
    chosen = [row for row in rows if row["database"] == database and row["detector"] == detector]
    aurocs = [_mean([row[key] for row in chosen], ".3f") for key in ("auroc", *KINDS)]
    if detector not in DETECTORS:
        return [*aurocs, "", "", "", ""]
    hits = sum(row["hits"] for row in chosen)
    covered = sum(row["covered"] for row in chosen)
    with_hits = [row for row in chosen if row["hits"]]
    shares = [_mean([row[key] for row in with_hits], ".0%") for key in ("covered by chance", "drawn")]
    found = f"{hits} of {sum(row['flagged'] for row in chosen)}"
    if not any(row["drawn"] for row in with_hits):  # a detector that judges graphs as a whole
        return [*aurocs, found, "", "", ""]
    return [*aurocs, found, f"{covered / max(hits, 1):.1%}", *shares]


def _mean(values: Sequence[float], form: str) -> str:
    return format(float(np.mean(values)), form) if values else ""


def planted_section(folder: Path) -> str | None:
    """What the page of :mod:`experiments.detection` says about planted anomalies."""
    if not exists(NAME, folder):
        return None
    record = read_result(NAME, folder)
    config = record["config"]
    return (
        "## Planted anomalies\n\n"
        f"{len(config['seeds'])} databases of {config['graphs']} graphs of either kind, at seeds not used for design, "
        f"{config['share']:.0%} of them spoiled: a node of a ring has a wrong color, a ring lacks an edge, or a "
        "foreign motif is attached. Detectors are fitted to the whole database, anomalies included, and judge each "
        "graph by the others.\n\n"
        "- *AUROC*: over all anomalies, then by kind.\n"
        "- *Flagged that are planted*: how many of the flagged graphs are.\n"
        "- *Part covers it*: of the flagged graphs that are planted, how often the drawn part (unusual nodes and their "
        "neighbors) covers all that is wrong.\n"
        "- *By chance*: how often a connected part of the same size, grown from a random node, does.\n"
        "- *Drawn*: the share of nodes drawn; nothing for guards, which point at no node.\n"
        "- Guards: distance from the mean size, and from the mean counts of labels, in standard deviations.\n\n"
        f"{planted_table(record['values']['rows'])}\n"
        f"{ran(record)}"
    )


def planted_anomalies(
    databases: Annotated[int, typer.Option(help="Databases of each kind, at seeds not used for design.", min=1)] = 10,
    graphs: Annotated[int, typer.Option(help="Graphs per database.", min=60)] = 1000,
) -> None:
    """Planted anomalies: found, and explained by the right part; writes detection/planted.json."""
    with progress("planted anomalies") as advance:
        rows = run_planted_anomalies(databases, graphs, on_step=advance)
    out.print(planted_table(rows), soft_wrap=True)
