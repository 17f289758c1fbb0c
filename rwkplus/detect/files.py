"""Detectors in one safetensors file: arrays, and in the header all else as JSON. Never a pickle."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rwkplus.detect.base import GraphDetector, check_contamination
from rwkplus.files import damaged, from_json, read_tensors, write_tensors

FORMAT = "rwkplus detector, version 2"


def save_detector(detector: GraphDetector, path: str | Path) -> Path:
    """Write a fitted detector, whole or not at all; folders are made."""
    header, arrays = detector._packed()
    plain = {name: value for name, value in detector.get_params(deep=False).items() if name not in header}
    if "random_state" in plain:
        plain["random_state"] = detector.seed_  # what was drawn, where it was left to chance
    record: dict[str, Any] = {"format": FORMAT, "detector": type(detector).__name__}
    record |= {"parameters": plain, "learned": header, "threshold": detector.threshold_}
    return write_tensors(path, record, arrays | {"decision_scores": detector.decision_scores_})


def load_detector(path: str | Path) -> GraphDetector:
    """Read what :meth:`GraphDetector.save` wrote; nothing in the file is executed."""
    record, arrays = read_tensors(path, "detector", FORMAT, "numpy")
    try:
        return _filled(record, arrays)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RuntimeError) as error:
        raise damaged(path, error) from error


def _filled(record: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> GraphDetector:
    detector = _detectors()[record["detector"]]()
    detector.set_params(**from_json(record["parameters"]))
    check_contamination(detector.contamination)
    detector._unpack(record["learned"], arrays)
    detector.decision_scores_ = arrays["decision_scores"]
    detector.threshold_ = float(record["threshold"])
    if detector.decision_scores_.ndim != 1 or not np.isfinite([*detector.decision_scores_, detector.threshold_]).all():
        raise ValueError("its scores are no row of numbers")
    return detector


def _detectors() -> dict[str, type[GraphDetector]]:
    from rwkplus.detect.pattern import PatternDetector
    from rwkplus.detect.surprise import SurpriseDetector
    from rwkplus.detect.walk_kernel import WalkKernelDetector

    return {kind.__name__: kind for kind in (PatternDetector, SurpriseDetector, WalkKernelDetector)}
