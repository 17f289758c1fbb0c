"""Cross-validate one network after another, keep what is finished, and compare methods over the same folds."""

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from experiments.records import add_entries, finished, run_folder
from rwkplus.errors import ParameterError
from rwkplus.kernels.evaluation import baseline_scores
from rwkplus.training import FoldResult, GraphDataset, Place, Settings, cross_validate
from rwkplus.training.cross_validation import candidate_place

FOLDS = 5
GUARDS = ("majority", "size", "histogram")
MATCHED, BEATEN, MISSED = "matched", "beaten", "missed"
Methods = Mapping[str, tuple[str, Sequence[Mapping[str, Any]]]]
"""Name of each row, with the registered name of its network and the parameters that validation chooses from."""


def run_methods(
    name: str,
    config: Mapping[str, Any],
    data: GraphDataset,
    methods: Methods,
    settings: Settings,
    *,
    keep: Callable[[FoldResult, Path], dict[str, Any]],
    jobs: int = 1,
    on_step: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Return what is kept of every fold, by method, and the scores of guards, which see the same graphs.

    ``keep`` gets the scores of a fold, and the file of the network that was chosen there.

    The result file is written after every method; an interrupted run goes on in the epoch where it stopped. Networks
    of finished methods are removed, lest one who deletes the result file to start anew gets the old ones.
    """
    tell = on_step or (lambda _: None)
    config = {**config, "folds": FOLDS, "settings": settings.to_dict()}
    scores: dict[str, Any] = finished(name, config).get("scores", {})
    for method, (model, candidates) in methods.items():
        tell(f"{name.rpartition('/')[2]}: {method}")
        if method not in scores:
            place = Place(run_folder(f"{name}/{method}", config, candidates), resume=True)
            found = cross_validate(
                model, data, model_params=candidates, folds=FOLDS, settings=settings, place=place, n_jobs=jobs
            )
            kept = [keep(fold, _network(fold, candidates, place)) for fold in found.folds]
            scores = add_entries(name, config, {"scores": {method: kept}})["scores"]
            shutil.rmtree(place.folder)
    if "guards" not in scores:
        alike = data.balance == "logits"  # rare classes weigh as much as others
        guards = baseline_scores(
            data.graphs, data.y, folds=FOLDS, inner_folds=3, random_state=settings.random_state, balanced=alike
        )
        scores = add_entries(name, config, {"scores": {"guards": guards}})["scores"]
    return scores


def _network(fold: FoldResult, candidates: Sequence[Mapping[str, Any]], place: Place) -> Path:
    """Find the network that the validation graphs of a fold chose."""
    chosen = [candidate.items() <= fold.params.items() for candidate in candidates].index(True)
    own = candidate_place(place, fold.fold, chosen if len(candidates) > 1 else None)
    assert own is not None  # there is a place
    return own.folder / "model.safetensors"


def corrected_paired_test(first: ArrayLike, second: ArrayLike, test_share: float) -> float:
    """Two-sided p-value that two methods differ, over the same folds of repeated cross-validation.

    The variance is corrected for overlapping training sets (Nadeau and Bengio 2003); a plain paired
    t-test over folds finds differences that are not there.

    Args:
        first: Scores of one method, fold by fold.
        second: Scores of the other on the same folds.
        test_share: Test graphs per training graph, 1/9 for ten folds.
    """
    a, b = np.ravel(first), np.ravel(second)
    if a.size != b.size or a.size < 2:
        raise ParameterError(
            f"a paired test needs scores of both methods on the same folds, at least two; got {a.size} and {b.size}."
        )
    difference = a - b
    variance = difference.var(ddof=1)
    if variance == 0:
        return 1.0 if difference.mean() == 0 else 0.0
    t = difference.mean() / math.sqrt((1 / difference.size + test_share) * variance)
    return float(2 * stats.t.sf(abs(t), difference.size - 1))


def verdict(
    ours: Sequence[float], paper: float, deviation: float = 0.0, count: int = 1, *, smaller: bool = False
) -> str:
    """Matched within two standard errors, both combined; beaten or missed outside of them.

    >>> verdict([75.0, 77.0], 76.5), verdict([80.0, 82.0], 76.5), verdict([80.0, 82.0], 76.5, smaller=True)
    ('matched', 'beaten', 'missed')
    """
    spread = np.var(ours, ddof=1) / len(ours) if len(ours) > 1 else 0.0
    difference = float(np.mean(ours)) - paper
    if abs(difference) <= 2 * math.sqrt(spread + deviation**2 / count):
        return MATCHED
    return BEATEN if (difference < 0) == smaller else MISSED


def compared_over_sets(plus: ArrayLike, plain: ArrayLike) -> str:
    """On how many sets the first scores are ahead of the second, in percent, with paired tests over sets.

    >>> compared_over_sets([0.8, 0.9, 0.7], [0.7, 0.9, 0.75])
    'ahead on 1 of 3, by +1.67 on average (paired over sets: t-test p = 0.74, Wilcoxon p = 1)'
    """
    plus, plain = np.ravel(plus), np.ravel(plain)
    p_values = f"t-test p = {stats.ttest_rel(plus, plain).pvalue:.2g}, Wilcoxon p = {_wilcoxon(plus, plain):.2g}"
    gain = 100 * (plus - plain).mean()
    return f"ahead on {(plus > plain).sum()} of {plus.size}, by {gain:+.2f} on average (paired over sets: {p_values})"


def _wilcoxon(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(stats.wilcoxon(first, second).pvalue) if np.any(first != second) else 1.0
