"""Counting small subgraphs (Sec. 5.1): the paper's four rows, what is best with open walks, and closed walks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from torch_geometric.data import Data

from experiments.pages import mean_and_deviation, ran, table
from experiments.progress import progress
from experiments.records import RESULTS, change_result, exists, finished, known_rows, read_result
from rwkplus.cli.console import out
from rwkplus.datasets.catalog import DATA_VARIABLE, data_folder
from rwkplus.errors import DataError, ParameterError
from rwkplus.io.pyg import one_hot_degree
from rwkplus.kernels.evaluation import sizes_and_histograms
from rwkplus.training import GraphDataset, Settings
from rwkplus.training.cross_validation import tested
from rwkplus.training.estimators import Job
from rwkplus.training.targets import metric_for

TARGETS = ("triangle", "tailed triangle", "star", "4-cycle")
FILE = Path("SUBGRAPHCOUNT") / "counting.npz"


class CountingData(NamedTuple):
    """Graphs with one-hot degrees, counts ``(B, 4)`` in the order of :data:`TARGETS`, and the published split."""

    graphs: list[Data]
    counts: NDArray[np.float64]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def load_counting(path: str | Path | None = None) -> CountingData:
    """Read the data set from a file, by default ``SUBGRAPHCOUNT/counting.npz`` below ``RWKPLUS_DATA``."""
    if path is None:
        folder = data_folder()
        if folder is None:
            raise ParameterError(f"give the path of counting.npz, or set {DATA_VARIABLE} to the folder of data sets.")
        path = folder / FILE
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
        counts = parts["counts"].astype(np.float64)
        splits = [parts[f"{name}_idx"].astype(np.int64).reshape(-1) for name in ("train", "val", "test")]
        graphs = _graphs(parts["num_nodes"], parts["edges"], parts["ptr"])
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{path} is not the counting data: {error}.") from error
    return CountingData(one_hot_degree(graphs), counts, *splits)


def count_subgraphs(adjacency: NDArray[np.float64]) -> NDArray[np.float64]:
    """Count triangles, tailed triangles, stars of three leaves and 4-cycles of a simple undirected graph."""
    square = adjacency @ adjacency
    degree = adjacency.sum(1)
    closed = np.einsum("ij,ji->i", square, adjacency)  # closed walks of three edges at every node
    fourth = float((square**2).sum())
    return np.array(
        [
            closed.sum() / 6,
            (closed * (degree - 2)).sum() / 2,
            (degree * (degree - 1) * (degree - 2)).sum() / 6,
            (fourth - 2 * (degree**2).sum() + degree.sum()) / 8,
        ]
    )


def _graphs(num_nodes: NDArray[np.int64], edges: NDArray[np.int64], ptr: NDArray[np.int64]) -> list[Data]:
    graphs = []
    for i, nodes in enumerate(num_nodes.tolist()):
        part = torch.from_numpy(edges[:, ptr[i] : ptr[i + 1]].astype(np.int64))
        graphs.append(Data(edge_index=torch.cat([part, part.flip(0)], 1), num_nodes=nodes))
    return graphs


PAPER: Mapping[str, tuple[float, ...]] = {
    "RWK-": (0.1170, 0.1346, 0.1333, 0.2153),
    "RWK- with StepNorm": (0.1065, 0.1251, 0.0999, 0.2140),
    "RWK+": (0.1206, 0.1246, 0.1750, 0.2078),
    "RWK+ with StepNorm": (0.0802, 0.1240, 0.1312, 0.1884),
}
"""Mean absolute errors over standard deviations that the paper reports, in the order of the targets."""
SUBGRAPH_NETWORKS = (0.012, 0.011, 0.015, 0.013)
"""What published subgraph networks reach."""

EGONETS = {"hops": 1, "max_nodes": 7, "layers": 1}
"""An egonet of one hop has at most seven nodes here."""
PAPER_NODES = 6
"""The paper's cap, which drops a neighbor of every node that has six."""
EXACT = {"norm": "fixed", "mlp_channels": None}
SUMS = {
    "hidden_channels": None,
    "step_norm": None,
    "activation": None,
    "combine": "concat",
    "aggr": "sum",
    "include_zero_step": True,
}


Method = tuple[str, list[dict[str, Any]]]
"""Registered name of a network, and the parameters that validation chooses from."""


def _kergnn(kernel: str, step_norm: str | None) -> Method:
    return "kergnn", [EGONETS | {"kernel": kernel, "step_norm": step_norm, "steps": steps} for steps in (2, 3)]


KERNELS: dict[str, Method] = {
    "RWK-": _kergnn("rwk-", None),
    "RWK- with StepNorm": _kergnn("rwk-", "propagate"),
    "RWK+": _kergnn("rwk+", None),
    "RWK+ with StepNorm": _kergnn("rwk+", "propagate"),
}


def capped(name: str) -> str:
    """Name of the row with the paper's egonets."""
    return f"{name}, egonets of {PAPER_NODES}"


METHODS: dict[str, Method] = {
    **{
        capped(name): (model, [params | {"max_nodes": PAPER_NODES} for params in candidates])
        for name, (model, candidates) in KERNELS.items()
    },
    **KERNELS,
    "RWK+, linear and fixed scales": (
        "kergnn",
        [EGONETS | EXACT | SUMS | {"steps": 2}],
    ),
    "closed walks, linear and fixed scales": (
        "rwnn",
        [EXACT | {"kernel": "rwk-", "walks": "closed", "steps": 4, "hidden_nodes": 3, "adjacency": "sigmoid"}],
    ),
}


def run_counting(
    *,
    epochs: int = 500,
    seeds: int = 3,
    methods: Sequence[str] = tuple(METHODS),
    targets: Sequence[str] = TARGETS,
    data: CountingData | None = None,
    on_step: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Train every method for every target; write and return scaled test errors by target and method.

    Where a method has several candidates, the validation graphs choose one at the first seed, and the others keep it.
    The result file is written after every run; an interrupted experiment goes on where it stopped.
    """
    tell = on_step or (lambda _: None)
    data = data or load_counting()
    settings = Settings(epochs=epochs, batch_size=128, lr=1e-2, halve_lr_every=max(1, epochs // 5), threads=1)
    config = {
        "command": f"python -m experiments counting --epochs {epochs} --seeds {seeds}",
        "graphs": {"train": len(data.train), "validation": len(data.validation), "test": len(data.test)},
        "settings": settings.to_dict(),
    }
    errors: dict[str, Any] = finished("counting", config).get("errors", {})
    for target in targets:
        column = data.counts[:, TARGETS.index(target)]
        if "guards" not in errors.get(target, {}):
            errors = _add(config, target, "guards", guard_errors(data, column))
        graphs = GraphDataset(data.graphs, column, task="counting")
        for method in methods:
            tell(f"{target}: {method}")
            for seed in range(len(errors[target].get(method, [])), seeds):
                runs = errors[target].get(method, [])
                model, candidates = METHODS[method]
                if runs:
                    candidates = [runs[0]["params"]]
                jobs = [
                    Job(graphs, model, params, data.train, data.validation, replace(settings, random_state=seed))
                    for params in candidates
                ]
                errors = _add(config, target, method, [*runs, _best_run(jobs, data)])
    return errors


def _add(config: Mapping[str, Any], target: str, row: str, found: object) -> dict[str, Any]:
    """Put a row into the result file, beside what other processes have put there; return all of them."""

    def add(values: dict[str, Any]) -> None:
        values.setdefault("errors", {}).setdefault(target, {})[row] = found

    errors: dict[str, Any] = change_result("counting", config, add)["errors"]
    return errors


def _best_run(jobs: Sequence[Job], data: CountingData) -> dict[str, Any]:
    """Train all, and test the one with the least validation error."""
    metric = metric_for(jobs[0].data.whole, "mae")
    best = max((job.run() for job in jobs), key=lambda result: metric.rank(result.validation["mae"]))
    std = float(np.std(jobs[0].data.y[data.train]))
    fold = tested(jobs[0].data, best, 0, data.test)
    return {
        "error": fold.test["mae"] / std,
        "validation": fold.validation["mae"] / std,
        "epoch": fold.best_epoch,
        "params": fold.params,
        "s": fold.seconds,
    }


def guard_errors(data: CountingData, y: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float]:
    """Scaled errors of the training mean and of linear maps of sizes and of degree histograms."""
    size, histogram = sizes_and_histograms(data.graphs)
    guards = {"mean": (size, DummyRegressor()), "size": (size, None), "histogram": (histogram, None)}
    scores = {}
    for name, (features, model) in guards.items():
        fitted = (model or LinearRegression()).fit(features[data.train], y[data.train])
        scores[name] = float(np.abs(fitted.predict(features[data.test]) - y[data.test]).mean() / y[data.train].std())
    return scores


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
        "walks, BatchNorm, ReLU. Egonets are whole, of up to seven nodes; the paper's have up to six, which "
        f"{_about_capped(record['values']['errors'])}.\n"
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
        f"the same reason.{_about_cycles(record['values']['errors'])}\n\n"
        f"{ran(record)}"
    )


def _about_cycles(errors: Mapping[str, Any]) -> str:
    """How near networks with open walks come to the number of 4-cycles."""
    open_walks = [name for name in METHODS if not name.startswith("closed")]
    rows = [[run["error"] for run in errors.get(TARGETS[-1], {}).get(name, [])] for name in open_walks]
    means = [np.mean(row) for row in rows if row]
    return f" No row with open walks comes below {min(means):.2f} on 4-cycles." if means else ""


def _about_capped(errors: Mapping[str, Any]) -> str:
    """What the page says of the paper's egonets, as far as they have been run."""
    missing = [name for name in map(capped, KERNELS) if not all(name in errors.get(target, {}) for target in TARGETS)]
    if not missing:
        return "drops a neighbor of nodes that have six; these rows are beside"
    options = " ".join(f"--method '{name}'" for name in missing)
    return (
        "drops a neighbor of nodes that have six. Rows with these are not complete; "
        f"`python -m experiments counting {options}` adds them"
    )


def counting_table(folder: Path = RESULTS) -> str:
    """One row per method: paper and ours for every target; guards below."""
    errors = read_result("counting", folder)["values"]["errors"]
    most = max(len(runs) for part in errors.values() for name, runs in part.items() if name in METHODS)
    rows = []
    for method in sorted(METHODS, key=_place):
        if method in PAPER:
            rows.append([f"{method} (paper)", *(f"{value:.4f}" for value in PAPER[method])])
        runs = [errors.get(target, {}).get(method, []) for target in TARGETS]
        if any(runs):
            rows.append([method, *(_errors(part, most) for part in runs)])
    rows.append(["subgraph networks (published)", *(f"{value:.3f}" for value in SUBGRAPH_NETWORKS)])
    for guard in GUARDS:
        values = [errors[target]["guards"][guard] if target in errors else None for target in TARGETS]
        rows.append([f"guard: {guard}", *("" if value is None else f"{value:.4f}" for value in values)])
    return table(["error / std", *TARGETS], rows)


def _place(method: str) -> int:
    """Rows with the paper's egonets come after those with whole ones, and these after the paper's values."""
    whole = next((name for name in KERNELS if method == capped(name)), method)
    return 2 * list(METHODS).index(whole) + (whole != method)


def _errors(runs: list[dict[str, Any]], most: int) -> str:
    """Mean and deviation; where an experiment was interrupted, of how many seeds."""
    few = f" ({len(runs)} of {most} seeds)" if 0 < len(runs) < most else ""
    return mean_and_deviation([run["error"] for run in runs], 4) + few


def counting(
    epochs: Annotated[int, typer.Option(help="Epochs of every training run.", min=1)] = 500,
    seeds: Annotated[int, typer.Option(help="Initializations, seeded 0, 1, ...", min=1)] = 3,
    method: Annotated[
        list[str] | None, typer.Option(help="Row of the table; may be repeated. \\[default: all]")
    ] = None,
) -> None:
    """Counts of four small subgraphs by KerGNN and closed walks (Sec. 5.1); writes counting.json."""
    methods = known_rows(method, METHODS)
    with progress("counting", total=len(methods) * len(TARGETS)) as advance:
        run_counting(epochs=epochs, seeds=seeds, methods=methods, on_step=advance)
    out.print(counting_table(), soft_wrap=True)
