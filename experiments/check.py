"""Run a small row of every page again and compare it with the result file."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, SupportsFloat

import numpy as np
import typer

from experiments import anomaly, classification, counting, detection, kernels, scalability, smarts, testbeds
from experiments.cross_validated import FOLDS
from experiments.data_sets import graph_sizes
from experiments.mining_explained import TASK_1
from experiments.mining_rows import WITH
from experiments.mining_tasks import chosen_testbeds, measure
from experiments.molecules import EXPERIMENTS, Plan, molecule_guards
from experiments.nodes import SETTINGS, prepared
from experiments.pages import table
from experiments.planted import FIRST_SEED, all_recovered
from experiments.planted_large import mined_graph
from experiments.planted_payments import FIRST_SEED as FIRST_PAYMENTS
from experiments.planted_payments import agreement_with
from experiments.progress import progress
from experiments.provenance import UNKNOWN
from experiments.records import RESULTS, known_rows, read_result
from experiments.recovery import recovered
from experiments.runtime import Worker, pubmed_topology
from experiments.toxicophores import PATTERNS
from rwkplus.cli.console import out
from rwkplus.cli.run_record import environment
from rwkplus.datasets import load_graphs
from rwkplus.datasets.node_sets import node_split
from rwkplus.descriptive.gradient import explained_patterns
from rwkplus.descriptive.rwk_cn import DescriptiveKCN
from rwkplus.errors import DataError, RWKPlusError
from rwkplus.kernels.evaluation import nested_cross_validation
from rwkplus.mining import PatternMiner
from rwkplus.models.gnn import GNN
from rwkplus.training import GraphDataset, Settings
from rwkplus.training.cross_validation import fold_settings, tested
from rwkplus.training.estimators import Job
from rwkplus.training.nodes import train_nodes

SAME, NEAR, OFF = "same", "within noise", "differs"


class Found(NamedTuple):
    """A number of a result file, and the same measured now."""

    row: str
    then: SupportsFloat
    now: SupportsFloat
    noise: float = 0.0
    """One standard error of networks and times, which other machines cannot repeat to the last digit."""

    @property
    def verdict(self) -> str:
        """Whether both agree.

        >>> Found("", 0.5, 0.5).verdict, Found("", 0.5, 0.6, 0.1).verdict, Found("", 0.5, 0.6).verdict
        ('same', 'within noise', 'differs')
        """
        then, now = float(self.then), float(self.now)
        if math.isclose(then, now, rel_tol=1e-6):
            return SAME
        return NEAR if abs(then - now) <= 2 * self.noise else OFF


def _kernels(folder: Path) -> Found:
    config, values = _read("kernel_quality/MUTAG", folder)
    graphs = load_graphs("MUTAG").to_pyg()
    grams = {steps: kernels.METHODS["RWK+"](graphs, steps) for steps in config["steps"]}
    y = np.array([int(graph.y) for graph in graphs])
    run = nested_cross_validation(
        grams, y, folds=config["folds"], inner_folds=config["inner_folds"], random_state=config["seeds"][0]
    )
    return Found("MUTAG, RWK+, first seed", np.mean(values["accuracy"]["RWK+"][0]), np.mean(run.accuracy))


def _detection(folder: Path) -> Found:
    config, values = _read("detection/MUTAG", folder)
    graphs = load_graphs("MUTAG").to_pyg()
    y = np.array([int(graph.y) for graph in graphs])
    now = detection.kernel_aurocs(detection.KERNELS[detection.OURS](graphs), y, "nearest", config["seeds"])
    return Found(f"MUTAG, {detection.DEFAULT}", np.mean(values["auroc"][detection.DEFAULT]), np.mean(now))


def _planted(folder: Path) -> Found:
    config, values = _read("planted", folder)
    (row,) = _rows(values["rows"], patterns=1, shape="cyclic", size=4, distortion=0.2)
    found = [all_recovered(FIRST_SEED + i, True, 1, 4, 0.2) for i in range(config["databases"])]
    return Found("1 cyclic, 4 nodes, 20% distortion", row["share"], np.mean(found))


def _planted_payments(folder: Path) -> Found:
    config, values = _read("planted_payments", folder)
    (row,) = _rows(values["rows"], kind="directed", patterns=1, shape="tree", size=4, distortion=0.1)
    databases = range(FIRST_PAYMENTS, FIRST_PAYMENTS + config["databases"])
    found = [agreement_with(seed, False, False, 1, 4, 0.1).exact for seed in databases]
    return Found("directed, 1 tree, 4 nodes, 10% distortion", row["exact"], sum(found))


def _planted_large(folder: Path) -> Found:
    _, values = _read("planted_large", folder)
    first = values["rows"][0]
    return Found("first graph, exact", first["exact"], mined_graph(first["seed"], first["edges"])["exact"])


def _contrast(folder: Path) -> Found:
    _, values = _read("toxicophores/MUTAG", folder)
    graphs = load_graphs("MUTAG")
    mined = PatternMiner(PATTERNS, criterion="contrast", random_state=0).fit(graphs, np.asarray(graphs.y).tolist())
    then = sum(sum(pattern["support"]) for pattern in values["patterns"])
    return Found("MUTAG, support of all patterns", then, sum(pattern.support for pattern in mined.patterns_))


def _mining_explained(folder: Path) -> Found:
    config, values = _read("mining_explained/task-1-1", folder)
    seed, restarts = config["seeds"][0], config["restarts per seed"]
    graphs = testbeds.bipartite_graphs(seed=seed)
    found = explained_patterns(graphs, 1, 4, n_restarts=restarts, random_state=seed, **TASK_1)
    targets = [testbeds.butterfly(), testbeds.three_star("red"), testbeds.three_star("blue")]
    hits = [any(recovered(found.to_networkx(r), t, strict=True) for t in targets) for r in range(restarts)]
    return Found("task 1-1, first seed", values["rows"][0]["by seed"][0], 100 * np.mean(hits))


def _mining_tasks(folder: Path) -> Found:
    record = read_result("mining_tasks/task-2-1", folder)
    config, bed = record["config"], chosen_testbeds("task-2-1", True)[0]
    row = next(row for row in bed.rows if row.name == "RWK+CN, 2 steps")
    (then,) = _rows(record["values"]["rows"], testbed=bed.name, row=row.name)
    restarts, seed = config["restarts"], config["seed"]
    settings = {"n_restarts": restarts, "random_state": seed} | row.settings
    model = DescriptiveKCN(row.k, bed.size, **settings).fit(bed.graphs(config["graphs"], seed))
    now = measure(bed, (list(zip(model.weights_[r], model.labels(r), strict=True)) for r in range(restarts)))
    return _means(f"{bed.name}, {row.name}", record, then["faithful"][WITH], now[WITH])


def _smarts(folder: Path) -> Found:
    from rdkit import Chem

    _, values = _read("smarts", folder)
    row = next(row for row in values["rows"] if row["set"] == "ogbg-molhiv")
    query = Chem.MolFromSmarts(row["smarts"])
    molecules = map(Chem.MolFromSmiles, smarts.readable(smarts.SETS["ogbg-molhiv"]()))
    found = sum(molecule.HasSubstructMatch(query) for molecule in molecules)
    return Found(f"ogbg-molhiv, {row['name']}, support by RDKit", row["support by RDKit"], found)


def _speed(folder: Path) -> Found:
    _, values = _read("benchmarks/rwk_plus_conv", folder)
    name = "RWKPlusConv, 2 steps"
    (row,) = _rows(values["rows"], layer=name)
    return Found(f"{name}, MB kept", row["kept MB"], Worker(name, pubmed_topology()).megabytes())


def _classification(folder: Path) -> Found:
    record = read_result("classification/MUTAG", folder)
    data = GraphDataset(classification.without_edge_colors(load_graphs("MUTAG").to_pyg()))
    folds = record["values"]["scores"]["GIN"]
    now = _tested_again(data, "gin", folds, record["config"]["settings"], "accuracy")
    return _means("MUTAG, GIN", record, [fold["accuracy"] for fold in folds], now)


def _anomaly(folder: Path) -> Found:
    record, method = read_result("anomaly/UACC257", folder), "iGAD + RWK"
    screen = anomaly.load_screen("UACC257")
    data = GraphDataset(anomaly.without_bonds(screen.graphs), screen.y, balance="logits")
    folds = record["values"]["scores"][method]
    now = _tested_again(data, "igad", folds, record["config"]["settings"], "recall")
    return _means(f"UACC257, {method}", record, [fold["scores"]["recall"] for fold in folds], now)


def _tested_again(
    data: GraphDataset, model: str, folds: Sequence[Mapping[str, Any]], settings: Mapping[str, Any], score: str
) -> list[float]:
    """Test scores of the candidates that the folds of a file have chosen, trained until the epochs they have chosen."""
    scores = []
    for kept, (i, (train, test)) in zip(folds, enumerate(data.folds(FOLDS, settings["random_state"])), strict=True):
        own = replace(fold_settings(Settings(**settings), i), epochs=kept["epoch"] + 1)
        scores.append(tested(data, Job.split(data, model, kept["params"], train, own).run(), i, test).test[score])
    return scores


def _means(row: str, record: Mapping[str, Any], then: Sequence[float], now: Sequence[float]) -> Found:
    """The mean over folds, seeds or initializations, with its standard error unless its digits can be had again."""
    noise = 0.0 if can_be_repeated(record) else float(np.std(then, ddof=1)) / math.sqrt(len(then))
    return Found(f"{row}, mean of {len(then)}", np.mean(then), np.mean(now), noise)


def can_be_repeated(record: Mapping[str, Any]) -> bool:
    """Whether a file is of known code, and of a processor and versions as here: networks then repeat exactly."""
    same = all(record["environment"][part] == environment()[part] for part in ("cpu", "versions"))
    return same and all(run["commit"] and not run["dirty"] for run in record.get("runs", [UNKNOWN]))


def _counting(folder: Path) -> Found:
    _, values = _read("counting", folder)
    data = counting.load_counting()
    now = counting.guard_errors(data, data.counts[:, 0])["size"]
    return Found("triangle, guard: size", values["errors"]["triangle"]["guards"]["size"], now)


def _scalability(folder: Path) -> Found:
    config, values = _read("scalability", folder)
    (row,) = _rows(values["rows"], varied="graphs", size=0.125)
    data = scalability.network_data(config["dataset"])
    index = np.arange(row["graphs"])
    networks = {way: scalability.timed_network(data, way, 8, 2) for way in ("RWK-", "RWK+")}
    epochs = {way: scalability.Epoch(data, network, index, way) for way, network in networks.items()}
    now = scalability.interleaved(epochs, config["turns"])
    return Found("an eighth of NCI1, RWK+ / RWK-", row["RWK+"] / row["RWK-"], now["RWK+"] / now["RWK-"], 0.25)


def _nodes(folder: Path) -> Found:
    record, data = read_result("nodes/Cora", folder), prepared("Cora")
    rows = _rows(record["values"]["rows"], method="RWKPlusConv")
    now = []
    for row in rows:
        train, validation, test = node_split(data.y.numpy(), row["seed"])
        trained = train_nodes(
            GNN,
            data,
            train=train,
            validation=validation,
            model_params={"conv": "RWKPlusConv", "steps": record["config"]["steps"], **row["candidate"]},
            settings=replace(SETTINGS, epochs=row["epoch"] + 1, random_state=row["seed"]),
        )
        now.append(trained.scores(data, nodes=test)["accuracy"])
    return _means("Cora, RWKPlusConv", record, [row["accuracy"] for row in rows], now)


def _molecules(folder: Path) -> Found:
    _, values = _read("molecules/zinc", folder)
    now = molecule_guards(Plan(EXPERIMENTS["zinc"]).molecules, "mae")["atoms"]
    return Found("ZINC, guard: atoms", values["scores"]["guards"]["atoms"], now)


def _data_sets(folder: Path) -> Found:
    _, values = _read("data_sets", folder)
    (row,) = _rows(values["rows"], set="MUTAG")
    return Found("MUTAG, edges", row["edges"], graph_sizes(load_graphs("MUTAG"))["edges"])


def _read(name: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    record = read_result(name, folder)
    return record["config"], record["values"]


def _rows(rows: Sequence[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    return [row for row in rows if wanted.items() <= row.items()]


CHECKS: dict[str, Callable[[Path], Found]] = {
    "kernels": _kernels,
    "planted": _planted,
    "planted payments": _planted_payments,
    "planted_large": _planted_large,
    "contrast": _contrast,
    "mining_explained": _mining_explained,
    "mining_tasks": _mining_tasks,
    "smarts": _smarts,
    "speed": _speed,
    "classification": _classification,
    "counting": _counting,
    "scalability": _scalability,
    "anomaly": _anomaly,
    "detection": _detection,
    "nodes": _nodes,
    "molecules": _molecules,
    "data_sets": _data_sets,
}
"""A small row of every page in docs/results but twibot, whose graph alone takes longer than all of these."""


def check_table(found: Mapping[str, Found | RWKPlusError]) -> str:
    """One row per page."""
    lines = []
    for page, row in found.items():
        told = ["", "", "", f"not run: {row}"] if isinstance(row, RWKPlusError) else _told(row)
        lines.append([page, *told])
    return table(["page", "row", "file", "now", "verdict"], lines)


def _told(row: Found) -> list[str]:
    return [row.row, f"{float(row.then):.6g}", f"{float(row.now):.6g}", row.verdict]


def check(
    page: Annotated[list[str] | None, typer.Option(help="Page; may be repeated. \\[default: all but twibot]")] = None,
) -> None:
    """Run a small row of every page and compare it with the result file; exit with 2 if one differs."""
    found: dict[str, Found | RWKPlusError] = {}
    names = known_rows(page, CHECKS)
    with progress("check", total=len(names)) as advance:
        for name in names:
            advance(name)
            try:
                found[name] = CHECKS[name](RESULTS)
            except RWKPlusError as error:
                found[name] = error
    out.print(check_table(found), soft_wrap=True)
    wrong = [name for name, row in found.items() if isinstance(row, RWKPlusError) or row.verdict == OFF]
    if wrong:
        raise DataError(f"of {len(names)} rows, {len(wrong)} differ or did not run: {', '.join(wrong)}.")
