"""Markdown tables in ``docs/results`` from the files in ``results``: no figure is typed by hand."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rwkplus.evaluate import corrected_paired_test
from rwkplus.reproduce.anomaly_tables import anomaly_page
from rwkplus.reproduce.classification_tables import classification_page
from rwkplus.reproduce.counting_tables import counting_page
from rwkplus.reproduce.detection_tables import detection_page
from rwkplus.reproduce.kernel_quality import DATASETS, METHODS
from rwkplus.reproduce.markdown import cells, rows_table
from rwkplus.reproduce.mining_tables import mining_task_page
from rwkplus.reproduce.molecule_sets_tables import molecule_sets_page
from rwkplus.reproduce.nodes_tables import nodes_page
from rwkplus.reproduce.results import RESULTS, describe, read_result
from rwkplus.reproduce.scalability_tables import scalability_page
from rwkplus.reproduce.twibot_tables import twibot_page

PEER = "Weisfeiler-Leman (GraKeL)"
EXPLAINED_TASKS = ("task-1-1", "task-1-2", "task-2")


def write_tables(docs: Path, folder: Path = RESULTS) -> list[Path]:
    """Write every page whose result files exist; return their paths."""
    pages: dict[str, Callable[[Path], str | None]] = {
        "kernels": _kernel_page,
        "planted": _planted_page,
        "mining_explained": _explained_page,
        "speed": _speed_page,
        "mining_tasks": mining_task_page,
        "classification": classification_page,
        "counting": counting_page,
        "scalability": scalability_page,
        "anomaly": anomaly_page,
        "detection": detection_page,
        "nodes": nodes_page,
        "molecules": molecule_sets_page,
        "twibot": twibot_page,
    }
    written = []
    for name, page in pages.items():
        text = page(folder)
        if text is not None:
            docs.mkdir(parents=True, exist_ok=True)
            path = docs / f"{name}.md"
            path.write_text(text)
            written.append(path)
    return written


def quality_table(datasets: Sequence[str], folder: Path = RESULTS) -> str:
    """Accuracy of every method and guard by data set, and how our best compares with Weisfeiler-Leman."""
    records = {name: read_result(f"kernel_quality/{name}", folder)["values"]["accuracy"] for name in datasets}
    rows = [*METHODS, *(name for name in next(iter(records.values())) if name.startswith("guard"))]
    lines = [cells("accuracy in %", *datasets), cells(*["---"] * (len(datasets) + 1))]
    for method in rows:
        means = []
        for accuracy in records.values():
            per_seed = 100 * np.mean(accuracy[method], axis=1)
            means.append(f"{per_seed.mean():.1f} ± {per_seed.std():.1f}")
        lines.append(cells(method, *means))
    for method in list(METHODS)[:-1]:
        differences = []
        for accuracy in records.values():
            mine, peer = np.ravel(accuracy[method]), np.ravel(accuracy[PEER])
            p = corrected_paired_test(mine, peer, test_share=1 / 9)
            differences.append(f"{100 * (mine - peer).mean():+.1f} (p = {p:.2g})")
        lines.append(cells(f"{method} minus Weisfeiler-Leman", *differences))
    return "\n".join(lines) + "\n"


def _kernel_page(folder: Path) -> str | None:
    datasets = [name for name in DATASETS if (folder / "kernel_quality" / f"{name}.json").exists()]
    if not datasets:
        return None
    records = {name: read_result(f"kernel_quality/{name}", folder) for name in datasets}
    record = records[datasets[0]]
    config = record["config"]
    commands = ", ".join(f"`{part['config']['command']}`" for part in records.values())
    inner = ", ".join(f"{name} {records[name]['config']['inner_folds']}" for name in datasets)
    return (
        "# Walk kernels with a support vector machine\n\n"
        f"{config['folds']}-fold nested cross-validation, {len(config['seeds'])} seeds. Walk length (or iterations, "
        f"{config['steps'][0]} to {config['steps'][-1]}) and the SVM's cost "
        f"({', '.join(f'{cost:g}' for cost in config['costs'])}) are chosen by cross-validation inside "
        f"each training part (folds: {inner}). All kernels are "
        "normalized and see node labels only; data sets without labels get one-hot degrees. Mean ± standard "
        "deviation over seeds; differences are paired over all folds, with p-values from the t-test corrected for "
        "overlapping training sets (Nadeau and Bengio 2003).\n\n"
        f"{quality_table(datasets, folder)}\n"
        "Guards see no structure: the majority class, the numbers of nodes and edges, the sums of node and edge "
        f"colors. {_guard_warning(records)}\n\n"
        f"Commands: {commands}. "
        f"Ran on {describe(record['environment'])}.\n"
    )


def planted_table(folder: Path = RESULTS) -> str:
    """Recovery by shape, size and distortion."""
    rows = read_result("planted", folder)["values"]["rows"]
    distortions = sorted({row["distortion"] for row in rows})
    lines = [cells("patterns", "nodes", *(f"{d:.0%} distortion" for d in distortions), "seconds each")]
    lines.append(cells(*["---"] * (len(distortions) + 3)))
    for kind in dict.fromkeys((row["patterns"], row["shape"], row["size"]) for row in rows):
        found = {r["distortion"]: r for r in rows if (r["patterns"], r["shape"], r["size"]) == kind}
        shares = [f"{100 * found[d]['share']:.0f}%" if d in found else "" for d in distortions]
        seconds = np.mean([row["seconds each"] for row in found.values()])
        lines.append(cells(f"{kind[0]} {kind[1]}", kind[2], *shares, f"{seconds:.1f}"))
    return "\n".join(lines) + "\n"


def _planted_page(folder: Path) -> str | None:
    if not (folder / "planted.json").exists():
        return None
    record = read_result("planted", folder)
    config, alarms = record["config"], record["values"]["false alarms"]
    return (
        "# Planted patterns\n\n"
        f"Every graph of a database of {config['graphs']} hides a copy of one or three random patterns in a random "
        f"background of {config['background nodes'][0]} to {config['background nodes'][1]} nodes with "
        f"{config['labels']} labels; distortion is the probability of each edge of a copy to be missing. The miner is "
        "told the number of patterns, not their size. A database counts as recovered if every planted pattern is found "
        "exactly, node for "
        f"node and edge for edge; {config['databases']} databases per cell, with seeds from {config['first_seed']} on, "
        "not used for design.\n\n"
        f"{planted_table(folder)}\n"
        "Small trees are the hardest: a tree of four nodes is complete in 73% of the copies at 10% distortion and in "
        "51% at 20%, hardly more often than the background holds such trees by chance. "
        "Recovery is measured without the control, which would only say whether there is anything to recover. "
        f"{_alarm_sentence(alarms, config)}"
        f"Command: `{config['command']}`. Ran on {describe(record['environment'])}.\n"
    )


def _alarm_sentence(alarms: int | None, config: dict[str, Any]) -> str:
    if alarms is None:
        return ""
    databases = config["alarm_databases"]
    return f"With the control, false alarms on databases without a pattern: {alarms} of {databases}.\n\n"


def _guard_warning(records: dict[str, dict[str, Any]]) -> str:
    """Name the data sets on which a guard does as well as every kernel."""
    telling = []
    for name, record in records.items():
        means = {method: np.mean(scores) for method, scores in record["values"]["accuracy"].items()}
        guard = max((method for method in means if method.startswith("guard")), key=lambda method: means[method])
        if means[guard] >= max(means[method] for method in METHODS):
            telling.append(f"{name} ({guard.removeprefix('guard: ')}, {100 * means[guard]:.1f})")
    if not telling:
        return "No guard does as well as the best kernel."
    return (
        f"**A guard does as well as every kernel on {', '.join(telling)}**: accuracy there says little about structure."
    )


def _explained_page(folder: Path) -> str | None:
    tasks = [task for task in EXPLAINED_TASKS if (folder / "mining_explained" / f"{task}.json").exists()]
    if not tasks:
        return None
    parts = [
        "# Our gradient miner on the paper's tasks\n",
        "`explained_patterns` on databases and initializations with seeds not used for design. Accuracies are shares "
        "of single restarts in percent, strict: every label and every edge. Distances are exact edit distances; an "
        "untrained graph and copying an input graph stand beside, since Task 2's databases are copies of the target.\n",
    ]
    for task in tasks:
        record = read_result(f"mining_explained/{task}", folder)
        config = record["config"]
        settings = ", ".join(f"{key} {value}" for key, value in config["settings"].items())
        restarts = f"Seeds {config['seeds']}, {config['restarts per seed']} restarts each"
        parts.append(f"## {task}\n\n{restarts}; {settings}.\n")
        parts.append(rows_table(record["values"]["rows"]))
        parts.append(f"Command: `{config['command']}`. Ran on {describe(record['environment'])}.\n")
    return "\n".join(parts)


def _speed_page(folder: Path) -> str | None:
    paths = sorted((folder / "benchmarks").glob("*.json"))
    if not paths:
        return None
    parts = ["# Speed and memory\n"]
    for path in paths:
        record = read_result(f"benchmarks/{path.stem}", folder)
        config = record["config"]
        parts.append(f"## {config['title']}\n\n{config['about']}\n")
        parts.append(rows_table(record["values"]["rows"]))
        parts.append(f"Command: `{config['command']}`. Ran on {describe(record['environment'])}.\n")
    return "\n".join(parts)
