"""Accuracy of walk kernels with an SVM beside Weisfeiler-Leman and trivial baselines, in the same folds."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from torch_geometric.data import Data

from experiments.cross_validated import corrected_paired_test
from experiments.pages import existing, mean_and_deviation, mostly, ran, table
from experiments.progress import progress
from experiments.records import RESULTS, add_entries, finished, read_result
from rwkplus.cli.console import out
from rwkplus.cli.options import Jobs
from rwkplus.datasets import load_graphs
from rwkplus.errors import MissingExtraError
from rwkplus.io.pyg import label_numbers
from rwkplus.kernels import RandomWalkKernel
from rwkplus.kernels.evaluation import COSTS, baseline_scores, nested_cross_validation

DATASETS = ("MUTAG", "ENZYMES", "PROTEINS", "IMDB-BINARY", "NCI1")
STEPS = (1, 2, 3, 4, 5, 6)
FOLDS = 10
CHOSEN = "chosen (steps, C)"

Array = NDArray[np.float64]
GramOf = Callable[[Sequence[Data], int], Array]


def _ours(kernel: str, assignment: str = "optimal") -> GramOf:
    def gram(graphs: Sequence[Data], steps: int) -> Array:
        # Edge labels are left out: GraKeL's Weisfeiler-Leman does not read them, and all see the same input.
        estimator = RandomWalkKernel(
            kernel,  # type: ignore[arg-type]
            steps,
            assignment=assignment,  # type: ignore[arg-type]
            normalize=True,
            ignore=("edge_attr",),
        )
        return estimator.fit_transform(graphs)

    return gram


def grakel_graphs(graphs: Sequence[Data]) -> list[Any]:
    """The same nodes, edges and node labels in GraKeL's form."""
    try:
        from grakel import Graph
    except ImportError as error:
        raise MissingExtraError("the comparison needs GraKeL: pip install 'rwkplus[bench]'.") from error
    theirs = []
    for graph in graphs:
        edges = {tuple(edge) for edge in graph.edge_index.t().tolist()}
        labels = dict(enumerate(label_numbers(graph.x).tolist()))
        theirs.append(Graph(edges, node_labels=labels, graph_format="dictionary"))
    return theirs


def weisfeiler_lehman(graphs: Sequence[Data], steps: int) -> Array:
    """GraKeL's Weisfeiler-Leman subtree kernel, normalized."""
    theirs = grakel_graphs(graphs)  # first: it says what to install where GraKeL is missing
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    kernel = WeisfeilerLehman(n_iter=steps, base_graph_kernel=VertexHistogram, normalize=True)
    return np.asarray(kernel.fit_transform(theirs))


def weisfeiler_lehman_counts(graphs: Sequence[Data], steps: int) -> csr_matrix:
    """The colors that GraKeL's kernel has counted, whose inner products it is before it is normalized."""
    theirs = grakel_graphs(graphs)
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    kernel = WeisfeilerLehman(n_iter=steps, base_graph_kernel=VertexHistogram).fit(theirs)
    return hstack([csr_matrix(level.X) for level in kernel.X.values()], format="csr")


METHODS: dict[str, GramOf] = {
    "node-centric, optimal assignment": _ours("node-centric"),
    "node-centric, Dirac": _ours("node-centric", "dirac"),
    "RWK+": _ours("rwk+"),
    "RWK-": _ours("rwk-"),
    "Weisfeiler-Leman (GraKeL)": weisfeiler_lehman,
}


def run_kernel_quality(
    dataset: str,
    seeds: Sequence[int],
    *,
    inner_folds: int = 5,
    jobs: int = 1,
    on_step: Callable[[str], None] | None = None,
) -> dict[str, list[list[float]]]:
    """Run every method and guard on one data set; write and return accuracy per method, seed and fold.

    The result file is written after every method; an interrupted run goes on where it stopped.
    """
    tell = on_step or (lambda _: None)
    graphs = load_graphs(dataset).to_pyg()
    y = np.array([int(graph.y) for graph in graphs])
    config = {
        "command": f"python -m experiments kernels --dataset {dataset} --seeds {len(seeds)} "
        f"--inner-folds {inner_folds}",
        "dataset": dataset,
        "graphs": len(graphs),
        "seeds": list(seeds),
        "folds": FOLDS,
        "inner_folds": inner_folds,
        "steps": list(STEPS),
        "costs": list(COSTS),
    }
    name = f"kernel_quality/{dataset}"
    accuracy: dict[str, list[list[float]]] = finished(name, config).get("accuracy", {})
    for method, gram_of in METHODS.items():
        tell(f"{dataset}: {method}")
        if method in accuracy:
            continue
        grams = {steps: gram_of(graphs, steps) for steps in STEPS}
        runs = [
            nested_cross_validation(grams, y, folds=FOLDS, inner_folds=inner_folds, random_state=seed, n_jobs=jobs)
            for seed in seeds
        ]
        scores = {method: [run.accuracy for run in runs]}
        choices = {method: [run.chosen for run in runs]}
        accuracy = add_entries(name, config, {"accuracy": scores, CHOSEN: choices})["accuracy"]
    if not any(method.startswith("guard") for method in accuracy):
        guards = [baseline_scores(graphs, y, folds=FOLDS, inner_folds=inner_folds, random_state=seed) for seed in seeds]
        by_name = {f"guard: {guard}": [scores[guard] for scores in guards] for guard in guards[0]}
        accuracy = add_entries(name, config, {"accuracy": by_name})["accuracy"]
    return accuracy


PEER = "Weisfeiler-Leman (GraKeL)"


def kernel_page(folder: Path = RESULTS) -> str | None:
    """All data sets that have been run."""
    datasets = existing(DATASETS, "kernel_quality", folder)
    if not datasets:
        return None
    records = {name: read_result(f"kernel_quality/{name}", folder) for name in datasets}
    config = records[datasets[0]]["config"]
    inner = mostly({name: record["config"]["inner_folds"] for name, record in records.items()})
    return (
        "# Walk kernels with a support vector machine\n\n"
        f"{config['folds']}-fold nested cross-validation, {len(config['seeds'])} seeds. Walk length (or iterations, "
        f"{config['steps'][0]} to {config['steps'][-1]}) and the SVM's cost "
        f"({', '.join(f'{cost:g}' for cost in config['costs'])}) are chosen inside each training part, by "
        f"cross-validation in {inner} folds. All kernels are normalized and see node labels only; data sets without "
        "labels get one-hot degrees.\n\n"
        "Mean ± standard deviation over seeds; differences are paired over all folds, with p-values from the t-test "
        "corrected for overlapping training sets (Nadeau and Bengio 2003).\n\n"
        f"{quality_table(datasets, folder)}\n"
        "Guards see no structure: the majority class, the numbers of nodes and edges, the sums of node and edge "
        f"colors. {_guard_warning(records)}\n\n"
        f"{ran(*records.values())}"
    )


def quality_table(datasets: Sequence[str], folder: Path = RESULTS) -> str:
    """Accuracy of every method and guard by data set, and how ours compare with Weisfeiler-Leman."""
    scores = [read_result(f"kernel_quality/{name}", folder)["values"]["accuracy"] for name in datasets]
    guards = [name for name in scores[0] if name.startswith("guard")]
    rows = [
        [method, *(mean_and_deviation(100 * np.mean(accuracy[method], axis=1)) for accuracy in scores)]
        for method in (*METHODS, *guards)
    ]
    rows += [
        [f"{method} minus Weisfeiler-Leman", *(_difference(accuracy, method) for accuracy in scores)]
        for method in METHODS
        if method != PEER
    ]
    return table(["accuracy in %", *datasets], rows)


def _difference(accuracy: dict[str, list[list[float]]], method: str) -> str:
    mine, peer = np.ravel(accuracy[method]), np.ravel(accuracy[PEER])
    p = corrected_paired_test(mine, peer, test_share=1 / (FOLDS - 1))
    return f"{100 * (mine - peer).mean():+.1f} (p = {p:.2g})"


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


def kernels(
    dataset: Annotated[
        list[str] | None, typer.Option(help="Data set; may be repeated. \\[default: five TU sets]")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Repetitions of the cross-validation, seeded 0, 1, ...", min=1)] = 3,
    inner_folds: Annotated[int, typer.Option(help="Folds inside each training part.", min=2)] = 5,
    jobs: Jobs = 1,
) -> None:
    """Walk kernels with an SVM beside Weisfeiler-Leman and baselines; writes kernel_quality/."""
    names = tuple(dataset or DATASETS)
    with progress("kernels", total=len(names) * len(METHODS)) as advance:
        for name in names:
            run_kernel_quality(name, range(seeds), inner_folds=inner_folds, jobs=jobs, on_step=advance)
    out.print(quality_table(names))
