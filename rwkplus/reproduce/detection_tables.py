"""The page about anomaly detection without labels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rwkplus.reproduce.detection import COUNTS, DATASETS, DEFAULT, FOREST, KERNELS, METHODS, PEER, STEPS, TRAIN_SHARE
from rwkplus.reproduce.markdown import table
from rwkplus.reproduce.planted_detection import DATABASES, DETECTORS, NAME
from rwkplus.reproduce.results import existing, exists, ran
from rwkplus.result_files import RESULTS, read_result

KINDS = ("wrong color", "missing ring edge", "foreign motif")


def detection_page(folder: Path = RESULTS) -> str | None:
    """What has been run: one class as the anomaly of another, and planted anomalies."""
    names = existing(DATASETS, "detection", folder)
    parts = ["# Anomaly detection without labels\n"]
    if names:
        parts.append(_class_section(names, folder))
    if exists(NAME, folder):
        parts.append(_planted_section(folder))
    return "\n".join(parts) if len(parts) > 1 else None


def class_table(names: Sequence[str], folder: Path = RESULTS) -> str:
    """Mean AUROC in percent by kernel, method and data set."""
    scores = {name: read_result(f"detection/{name}", folder)["values"]["auroc"] for name in names}
    rows = []
    for row in (*(f"{kernel}, {method}" for kernel in KERNELS for method in METHODS), *COUNTS, "surprise"):
        if all(row in part for part in scores.values()):
            means = [100 * float(np.mean(part[row])) for part in scores.values()]
            label = f"**{row}**" if row == DEFAULT else row
            rows.append([label, *(f"{mean:.1f}" for mean in [*means, float(np.mean(means))])])
    return table(["AUROC in %", *names, "mean"], rows)


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


def _class_section(names: Sequence[str], folder: Path) -> str:
    records = [read_result(f"detection/{name}", folder) for name in names]
    return (
        "## One class as the anomaly of another\n\n"
        f"Every class in turn is the usual one: {TRAIN_SHARE:.0%} of it are learned from, the rest and all graphs of "
        f"the other classes are judged; {len(records[0]['config']['seeds'])} draws. Means over classes and draws; both "
        "directions count, so a detector that only likes small graphs ends near 50.\n\n"
        f"- Kernels are normalized, of {STEPS} steps or iterations, and see node labels (or one-hot degrees) only. "
        f"`{PEER}` is GraKeL's `WeisfeilerLehman` over `VertexHistogram`.\n"
        "- Kernels get the same methods and the same splits: distance to the nearest graph, scikit-learn's one-class "
        "SVM, isolation forest (on the rows of the matrix) and local outlier factor with default settings, and a "
        "Gaussian kernel density.\n"
        f"- *{FOREST.capitalize()}*: the same isolation forest on the counts of colors behind both kernels, moved "
        "towards 1 by the share of colors that no training graph has; so does `WalkKernelDetector` with its forest.\n"
        "- Guards see the numbers of nodes and edges, or the counts of labels, through a Gaussian kernel.\n"
        "- *Surprise* is `SurpriseDetector`, which needs no kernel.\n"
        "- The default of `WalkKernelDetector`, in bold, was chosen on other data sets before: Mutagenicity, MCF-7, "
        "IMDB-MULTI and reddit10k.\n\n"
        f"{class_table(names, folder)}\n"
        f"{ran(*records)}"
    )


def _planted_section(folder: Path) -> str:
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
