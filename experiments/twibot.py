"""Bot detection on a web-scale graph (Sec. 5.2): GCN, GIN and RWK+Conv in one backbone, with baselines."""

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.pages import mean_and_deviation, ran, table
from experiments.records import RESULTS, add_entries, add_row, finished, read_result, run_folder
from experiments.speed import peak_gigabytes, reset_peak
from rwkplus.cli.console import err, out
from rwkplus.datasets.catalog import cache_folder
from rwkplus.errors import DataError, ParameterError
from rwkplus.large.csr_graph import CSRGraph
from rwkplus.large.web_graph import WebGraph
from rwkplus.training.large_graphs import Cutting, num_classes, parts_of, train_sampled
from rwkplus.training.loop import Settings
from rwkplus.training.processes import is_first_process
from rwkplus.training.run_folder import Checkpoints
from rwkplus.training.targets import Classes, all_scores
from rwkplus.types import Progress

PAPER = {"GCN": 53.7, "RWK+Conv": 55.0}
"""F1 score of bots that the paper reports for TwiBot-22."""
CONVS = {"GCN": "GCNConv", "GIN": "GINConv", "RWK+Conv": "RWKPlusConv"}
CLASS_WEIGHTS = (1.0, 5.0)
SCORES = {
    "f1": "positive_f1",
    "precision": "positive_precision",
    "recall": "positive_recall",
    "roc_auc": "roc_auc",
}
"""Scores of bots by their name in the result file, with the name of the metric."""
CUTTING = Cutting()
SETTINGS = Settings(epochs=20, batch_size=10_000, lr=3e-3, halve_lr_every=10, accelerator="cpu")
BACKBONE = {"hidden_channels": 128, "layers": 2, "steps": 2, "dropout": 0.3}
NOT_OF_A_ROW = ("random_state", "validation", "threads")
"""Settings that a result file does not need to know."""
GUARD_NODES = 200_000
"""Most users that linear guards learn from."""


@dataclass(frozen=True)
class Plan:
    """What to run; all of it stands in the result file.

    Args:
        nodes: Users of the generated graph, unless there is ``data``.
        data: Folder of a graph, such as ``python -m experiments twibot-graph`` makes.
        cutting: How batches are made.
        settings: How networks are trained.
        seeds: Seeds of initial weights and batches.
        hidden_channels: Width of the networks.
    """

    nodes: int = 1_000_000
    data: Path | None = None
    cutting: Cutting = CUTTING
    settings: Settings = SETTINGS
    seeds: Sequence[int] = (0, 1, 2)
    hidden_channels: int = 128

    @property
    def name(self) -> str:
        """Name of the result file."""
        graph = f"generated-{self.nodes}" if self.data is None else self.data.resolve().name
        return f"twibot/{graph}-{self.cutting.cut}"

    def graph(self) -> CSRGraph:
        """Open the graph; one to be generated is drawn once and kept."""
        if self.data is not None:
            return CSRGraph.open(self.data)
        folder = cache_folder() / "web_graphs" / f"{self.nodes}"
        if os.environ.get("LOCAL_RANK", "0") == "0" and not folder.exists():  # once per machine
            WebGraph(nodes=self.nodes).write(folder)
        while not folder.exists():  # it appears when it is complete
            time.sleep(1)
        return CSRGraph.open(folder)

    def config(self, graph: CSRGraph) -> dict[str, Any]:
        """What the result file says about the run."""
        source = f"--nodes {self.nodes}" if self.data is None else f"--data {self.data}"
        settings = {k: v for k, v in self.settings.to_dict().items() if k not in NOT_OF_A_ROW}
        digest = {} if self.data is None else {"digest": graph.digest()}  # a generated one is told by its numbers
        options = f"--cut {self.cutting.cut} --epochs {self.settings.epochs} --hidden {self.hidden_channels}"
        return {
            "command": f"python -m experiments twibot {source} {options}",
            "graph": {"nodes": graph.num_nodes, "directed_edges": graph.num_edges, **graph.facts, **digest},
            "cutting": asdict(self.cutting) | {"num_neighbors": list(self.cutting.num_neighbors)},
            "settings": settings,
            "backbone": BACKBONE | {"hidden_channels": self.hidden_channels, "recompute": self.cutting.cut == "full"},
            "class_weights": list(CLASS_WEIGHTS),
        }


def run_twibot(
    plan: Plan, *, methods: Sequence[str] = tuple(CONVS), on_step: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Train every method with every seed; write and return rows and guards.

    The result file is written after every row, and a row that was interrupted goes on at its last checkpoint. A file
    of other settings, or of another graph, is refused.
    """
    tell = on_step or (lambda _: None)
    tell("graph")
    graph = plan.graph()
    if num_classes(graph, parts_of(graph)) != 2:  # an error before guards are computed and written
        raise DataError(f"y of {plan.data or 'the graph'} must be 1 for bots and 0 for others.")
    config = plan.config(graph)
    values = {"rows": [], "guards": {}} | finished(plan.name, config)
    if not values["guards"] and is_first_process():
        tell("guards")
        values |= add_entries(plan.name, config, {"guards": guard_scores(graph)})
    # Decided once: processes that train together must not disagree because one of them reads the file later.
    done = {(row["method"], row["seed"]) for row in values["rows"]}
    for seed, method in product(plan.seeds, methods):
        if (method, seed) in done:
            continue
        tell(f"{method}, seed {seed}")
        row = _row(plan, graph, config, method, seed, tell)
        values["rows"].append(row)
        if is_first_process():
            values |= add_row(plan.name, config, row, ("method", "seed"))
    return values


def _row(
    plan: Plan, graph: CSRGraph, config: Mapping[str, Any], method: str, seed: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    identity = {name: value for name, value in config.items() if name != "command"}
    path = run_folder(f"{plan.name}-{method}-{seed}", identity, folder=cache_folder() / "runs") / "run.safetensors"
    ends = [time.perf_counter()]

    def after_epoch(now: Progress) -> None:
        ends.append(time.perf_counter())
        tell(f"{method}, seed {seed}, epoch {now.values['epoch']}: {100 * now.values['val_score']:.1f}")

    reset_peak()
    result = train_sampled(
        graph,
        {**config["backbone"], "conv": CONVS[method]},
        settings=replace(plan.settings, random_state=seed),
        cutting=plan.cutting,
        class_weights=CLASS_WEIGHTS,
        checkpoints=Checkpoints(path, {**identity, "method": method, "seed": seed}, seconds=120),
        callback=after_epoch,
    )
    shutil.rmtree(path.parent, ignore_errors=True)
    epochs = np.diff(ends)
    return {
        "method": method,
        "seed": seed,
        "test": _of_bots(result.test),
        "validation": _of_bots(result.validation),
        "best_epoch": result.best_epoch,
        "epoch_s": float(np.median(epochs)) if epochs.size else None,  # killed when nothing was left to train
        "of_it_validation_s": result.run["validation_seconds"] / epochs.size if epochs.size else None,
        "peak_gb": peak_gigabytes(),
    }


def guard_scores(graph: CSRGraph) -> dict[str, dict[str, float]]:
    """Scores on test users of models that see no neighbors: constant answers, features, numbers of neighbors."""
    y, test = np.asarray(graph["y"]), np.nonzero(graph["test_mask"])[0]
    train = np.nonzero(graph["train_mask"])[0]
    if train.size > GUARD_NODES:
        train = np.sort(np.random.default_rng(0).choice(train, GUARD_NODES, replace=False))
    degree = np.log1p(np.diff(graph.indptr)).astype(np.float32)[:, None]
    inputs: dict[str, Callable[[NDArray[np.int64]], NDArray[Any]]] = {
        "features": lambda nodes: graph["x"][nodes],
        "degree": lambda nodes: degree[nodes],
        "features and degree": lambda nodes: np.hstack([graph["x"][nodes], degree[nodes]]),
    }
    scores = {
        "all human": _guarded(np.full(test.size, -1.0), y[test]),
        "all bots": _guarded(np.full(test.size, 1.0), y[test]),
    }
    for name, read in inputs.items():
        weights = dict(enumerate(CLASS_WEIGHTS))
        model = make_pipeline(StandardScaler(), LogisticRegression(class_weight=weights, max_iter=1000))
        model.fit(read(train), y[train])
        scores[name] = _guarded(model.decision_function(read(test)), y[test])
    return scores


def _guarded(margin: NDArray[Any], y: NDArray[Any]) -> dict[str, float]:
    """Scores of a guard that takes users for bots where ``margin`` is more than 0: both ``(n,)``."""
    outputs = np.stack([np.zeros_like(margin), margin], 1)
    return _of_bots(all_scores(Classes((0, 1)), torch.from_numpy(outputs), torch.from_numpy(y)))


def _of_bots(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: scores[metric] for name, metric in SCORES.items()}


CUTS = {"clusters": "clusters of nodes", "neighbors": "sampled neighborhoods", "full": "the whole graph at once"}


def twibot_page(folder: Path = RESULTS) -> str | None:
    """All graphs that have been run."""
    names = sorted(f"twibot/{path.stem}" for path in (folder / "twibot").glob("*.json"))
    if not names:
        return None
    return (
        "# Bot detection\n\n"
        "The layers stand in the same backbone and see the same batches; an error about a bot counts "
        "five times. The epoch with the best F1 score of bots on validation users is kept and judged on test users, "
        "all scores in percent, mean ± standard deviation over seeds.\n\n"
        "TwiBot-22 itself cannot be redistributed: `python -m experiments twibot-graph` makes a graph of its raw "
        "files for whoever has them. The generated graph of the same size stands in for it to show that the command "
        "trains to the end, and what it costs. **The paper's scores are of the real data and not comparable with "
        "those of a generated graph.**\n\n" + "\n".join(_section(read_result(name, folder)) for name in names)
    )


def twibot_table(record: Mapping[str, Any]) -> str:
    """One row per method and guard."""
    real = record["config"]["graph"].get("source") == "TwiBot-22"
    head = ["", *(name.replace("_", "-").upper() for name in SCORES), "paper's F1", "epoch s", "of it validation s"]
    lines = []
    for method in CONVS:
        rows = [row for row in record["values"]["rows"] if row["method"] == method]
        if rows:
            paper = f"{PAPER[method]:.1f}" + ("" if real else " (other data)") if method in PAPER else ""
            seconds = [_median([row[key] for row in rows]) for key in ("epoch_s", "of_it_validation_s")]
            lines.append([method, *_means(rows), paper, *seconds, f"{max(row['peak_gb'] for row in rows):.1f}"])
    for guard, scores in record["values"]["guards"].items():
        lines.append([f"guard: {guard}", *(f"{100 * scores[name]:.1f}" for name in SCORES), "", "", "", ""])
    return table([*head, "peak GB"], lines)


def _section(record: Mapping[str, Any]) -> str:
    config = record["config"]
    graph, settings, backbone = config["graph"], config["settings"], config["backbone"]
    rows = record["values"]["rows"]
    seeds, done = len({row["seed"] for row in rows}), [name for name in CONVS if any(r["method"] == name for r in rows)]
    command = f"{config['command']} --seeds {seeds}" + "".join(f" --layer {n}" for n in done if len(done) < len(CONVS))
    title = graph.get("source") or "Generated graph"
    return (
        f"## {title}: {graph['nodes']:,} users, {graph['directed_edges']:,} directed edges; "
        f"{CUTS[config['cutting']['cut']]}\n\n"
        f"{twibot_table(record)}\n"
        f"{backbone['layers']} layers of {backbone['hidden_channels']} channels, {backbone['steps']} steps, dropout "
        f"{backbone['dropout']}; {settings['epochs']} epochs, learning rate {settings['lr']} halved every "
        f"{settings['halve_lr_every']}, batches of {settings['batch_size']:,} nodes; "
        f"{seeds} seed{'s' * (seeds != 1)}. Linear guards learn from up to {GUARD_NODES:,} users.\n\n"
        f"{ran({**record, 'config': config | {'command': command}})}"
    )


def _median(seconds: list[float | None]) -> str:
    """Of the rows that trained an epoch: one that was killed after its last one has nothing to measure."""
    known = [value for value in seconds if value is not None]
    return f"{np.median(known):.1f}" if known else ""


def _means(rows: list[dict[str, Any]]) -> list[str]:
    return [mean_and_deviation([100 * row["test"][name] for row in rows]) for name in SCORES]


def twibot(
    nodes: Annotated[int, typer.Option(help="Users of the generated graph.", min=100)] = 1_000_000,
    data: Annotated[
        Path | None, typer.Option(help="Folder made by twibot-graph, instead of a generated graph.")
    ] = None,
    cut: Annotated[str, typer.Option(help="Batches: clusters, neighbors or full.")] = "clusters",
    layer: Annotated[
        list[str] | None, typer.Option(help="GCN, GIN or RWK+Conv; may be repeated. \\[default: all]")
    ] = None,
    epochs: Annotated[int, typer.Option(help="Epochs of every training run.", min=1)] = 20,
    seeds: Annotated[int, typer.Option(help="Number of seeds.", min=1)] = 3,
    hidden: Annotated[int, typer.Option(help="Width of the networks.", min=1)] = 128,
    batch_size: Annotated[
        int | None, typer.Option(help="Nodes per batch. \\[default: 10000; 1024 with neighbors]", min=1)
    ] = None,
    neighbors: Annotated[str, typer.Option(help="Neighbors drawn in each hop.")] = "10,5,3,2",
    threads: Annotated[int, typer.Option(help="Threads of torch.", min=1)] = 1,
) -> None:
    """GCN, GIN and RWK+Conv find bots, with baselines (Sec. 5.2); writes twibot/.

    Several processes share the batches under [bold]torchrun --nproc-per-node 2 -m experiments twibot[/].
    """
    methods = layer or list(CONVS)
    unknown = [method for method in methods if method not in CONVS]
    try:
        hops = tuple(int(hop) for hop in neighbors.split(","))
    except ValueError:
        hops = ()
    if unknown or not hops:
        raise ParameterError(
            f"--layer is one of {', '.join(CONVS)} and --neighbors numbers with commas; got {', '.join(methods)} and "
            f"{neighbors!r}."
        )
    size = batch_size or (1024 if cut == "neighbors" else 10_000)
    settings = replace(SETTINGS, epochs=epochs, batch_size=size, threads=threads)
    cutting = Cutting(cut, num_neighbors=hops)  # type: ignore[arg-type]
    plan = Plan(nodes, data, cutting, settings, tuple(range(seeds)), hidden)
    run_twibot(plan, methods=methods, on_step=lambda message: err.print(message))
    if is_first_process():
        out.print(twibot_table(read_result(plan.name)), soft_wrap=True)
