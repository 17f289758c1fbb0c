"""Accuracy of walk kernels with an SVM beside Weisfeiler-Leman and trivial guards, in the same folds."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from torch_geometric.data import Data

from rwkplus.data import load
from rwkplus.errors import MissingExtraError
from rwkplus.evaluate import guard_scores, nested_cross_validation
from rwkplus.evaluate.nested import COSTS
from rwkplus.io.pyg import label_numbers
from rwkplus.kernels import RandomWalkKernel
from rwkplus.reproduce.results import add_entries, finished

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
    graphs = load(dataset).to_pyg()
    y = np.array([int(graph.y) for graph in graphs])
    config = {
        "command": f"rwkplus reproduce kernels --dataset {dataset} --seeds {len(seeds)} --inner-folds {inner_folds}",
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
            nested_cross_validation(grams, y, folds=FOLDS, inner_folds=inner_folds, seed=seed, n_jobs=jobs)
            for seed in seeds
        ]
        scores = {method: [run.accuracy for run in runs]}
        choices = {method: [run.chosen for run in runs]}
        accuracy = add_entries(name, config, {"accuracy": scores, CHOSEN: choices})["accuracy"]
    if not any(method.startswith("guard") for method in accuracy):
        guards = [guard_scores(graphs, y, folds=FOLDS, inner_folds=inner_folds, seed=seed) for seed in seeds]
        by_name = {f"guard: {guard}": [scores[guard] for scores in guards] for guard in guards[0]}
        accuracy = add_entries(name, config, {"accuracy": by_name})["accuracy"]
    return accuracy
