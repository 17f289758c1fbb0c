"""Cross-validate one network after the other, and keep what is finished."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rwkplus.evaluate import guard_scores
from rwkplus.reproduce.results import add_entries, finished, run_folder
from rwkplus.training import FoldResult, GraphDataset, Place, Settings, cross_validate
from rwkplus.training.cross_validation import candidate_place

FOLDS = 5
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
        guards = guard_scores(
            data.graphs, data.y, folds=FOLDS, inner_folds=3, seed=settings.random_state, balanced=alike
        )
        scores = add_entries(name, config, {"scores": {"guards": guards}})["scores"]
    return scores


def _network(fold: FoldResult, candidates: Sequence[Mapping[str, Any]], place: Place) -> Path:
    """Find the network that the validation graphs of a fold chose."""
    chosen = [candidate.items() <= fold.params.items() for candidate in candidates].index(True)
    own = candidate_place(place, fold.fold, chosen if len(candidates) > 1 else None)
    assert own is not None  # there is a place
    return own.folder / "model.safetensors"
