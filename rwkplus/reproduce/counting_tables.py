"""The page about counting subgraphs."""

from pathlib import Path
from typing import Any

from rwkplus.data.counting import TARGETS
from rwkplus.reproduce.counting import METHODS, PAPER, SUBGRAPH_NETWORKS
from rwkplus.reproduce.markdown import mean_and_deviation, table
from rwkplus.reproduce.results import exists, ran
from rwkplus.result_files import RESULTS, read_result

GUARDS = ("mean", "size", "histogram")


def counting_page(folder: Path = RESULTS) -> str | None:
    """All targets that have been run."""
    if not exists("counting", folder):
        return None
    record = read_result("counting", folder)
    config = record["config"]
    parts, settings = config["graphs"], config["settings"]
    return (
        "# Counting subgraphs\n\n"
        f"{parts['train']} random graphs to train, {parts['validation']} to validate, {parts['test']} to test; nodes "
        "see their one-hot degrees. One network per target; the validation graphs choose the epoch, and the number of "
        f"steps (2 or 3) at the first seed. {settings['epochs']} epochs of Adam, learning rate {settings['lr']}, "
        f"halved every {settings['halve_lr_every']} epochs, batches of {settings['batch_size']}.\n\n"
        "Mean absolute error of the test graphs divided by the standard deviation of the training counts, mean ± "
        "standard deviation over seeds.\n\n"
        f"{counting_table(folder)}\n"
        "- RWK- and RWK+, with and without StepNorm, are the paper's networks: KerGNN on egonets of one hop, mean over "
        "walks, BatchNorm, ReLU.\n"
        "- *Linear and fixed scales* gives the kernels one-hot degrees as they are, sums walks, and leaves out "
        "StepNorm, ReLU and BatchNorm, whose statistics change from batch to batch; scales are set by the first "
        "batch.\n\n"
        "**Closed walks are representation by construction**, not generalization. With c_i(v) = (A^i)_vv and degree d, "
        "all counts are linear in closed walks labelled by degrees, which is what the row computes:\n\n"
        "- triangles: Σ c_3 / 6\n"
        "- tailed triangles: Σ c_3 (d - 2) / 2\n"
        "- stars: Σ C(d, 3)\n"
        "- 4-cycles: (Σ c_4 - 2 Σ d² + Σ d) / 8\n\n"
        "The same holds for open walks on egonets where they do well: triangles are edges between neighbors, tailed "
        "triangles weigh these by degrees. The guard *histogram*, a linear map of degree counts, is exact on stars for "
        "the same reason. Open walks cannot see 4-cycles.\n\n"
        f"{ran(record)}"
    )


def counting_table(folder: Path = RESULTS) -> str:
    """One row per method: paper and ours for every target; guards below."""
    errors = read_result("counting", folder)["values"]["errors"]
    most = max(len(runs) for part in errors.values() for name, runs in part.items() if name in METHODS)
    rows = []
    for method in METHODS:
        if method in PAPER:
            rows.append([f"{method} (paper)", *(f"{value:.4f}" for value in PAPER[method])])
        runs = [errors.get(target, {}).get(method, []) for target in TARGETS]
        rows.append([method, *(_errors(part, most) for part in runs)])
    rows.append(["subgraph networks (published)", *(f"{value:.3f}" for value in SUBGRAPH_NETWORKS)])
    for guard in GUARDS:
        values = [errors[target]["guards"][guard] if target in errors else None for target in TARGETS]
        rows.append([f"guard: {guard}", *("" if value is None else f"{value:.4f}" for value in values)])
    return table(["error / std", *TARGETS], rows)


def _errors(runs: list[dict[str, Any]], most: int) -> str:
    """Mean and deviation; where an experiment was interrupted, of how many seeds."""
    few = f" ({len(runs)} of {most} seeds)" if 0 < len(runs) < most else ""
    return mean_and_deviation([run["error"] for run in runs], 4) + few
