"""Accuracy of walk kernels with an SVM beside Weisfeiler-Leman and trivial guards, in the same folds."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from rwkplus.data import load
from rwkplus.errors import MissingExtraError
from rwkplus.evaluate import guard_scores, nested_cross_validation
from rwkplus.evaluate.nested import COSTS
from rwkplus.graphs.features import label_numbers
from rwkplus.kernels import RandomWalkKernel
from rwkplus.reproduce.results import save_result

DATASETS = ("MUTAG", "ENZYMES", "PROTEINS", "IMDB-BINARY", "NCI1")
STEPS = (1, 2, 3, 4, 5, 6)
FOLDS = 10

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


def weisfeiler_lehman(graphs: Sequence[Data], steps: int) -> Array:
    """GraKeL's Weisfeiler-Leman subtree kernel, normalized."""
    try:
        from grakel import Graph
        from grakel.kernels import VertexHistogram, WeisfeilerLehman
    except ImportError as error:
        raise MissingExtraError("the comparison needs GraKeL: pip install 'rwkplus[bench]'.") from error
    theirs = []
    for graph in graphs:
        edges = {tuple(edge) for edge in graph.edge_index.t().tolist()}
        labels = dict(enumerate(label_numbers(graph.x).tolist()))
        theirs.append(Graph(edges, node_labels=labels, graph_format="dictionary"))
    kernel = WeisfeilerLehman(n_iter=steps, base_graph_kernel=VertexHistogram, normalize=True)
    return np.asarray(kernel.fit_transform(theirs))


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
    """Run every method and guard on one data set; write and return accuracy per method, seed and fold."""
    tell = on_step or (lambda _: None)
    graphs = load(dataset)
    y = np.array([int(graph.y) for graph in graphs])
    scores: dict[str, list[list[float]]] = {}
    chosen: dict[str, list[object]] = {}
    for name, gram_of in METHODS.items():
        tell(f"{dataset}: {name}")
        grams = {steps: gram_of(graphs, steps) for steps in STEPS}
        runs = [
            nested_cross_validation(grams, y, folds=FOLDS, inner_folds=inner_folds, seed=seed, n_jobs=jobs)
            for seed in seeds
        ]
        scores[name] = [run.accuracy for run in runs]
        chosen[name] = [run.chosen for run in runs]
    for seed in seeds:
        for name, accuracy in guard_scores(graphs, y, folds=FOLDS, inner_folds=inner_folds, seed=seed).items():
            scores.setdefault(f"guard: {name}", []).append(accuracy)
    config = {
        "command": f"rwkplus reproduce kernels --dataset {dataset} --seeds {len(seeds)} --inner-folds {inner_folds}",
        "dataset": dataset,
        "graphs": len(graphs),
        "seeds": list(seeds),
        "folds": FOLDS,
        "inner_folds": inner_folds,
        "steps": STEPS,
        "costs": COSTS,
    }
    save_result(f"kernel_quality/{dataset}", config, {"accuracy": scores, "chosen (steps, C)": chosen})
    return scores
