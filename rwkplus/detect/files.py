"""Detectors in one safetensors file: arrays, and in the header all else as JSON. Never a pickle."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from rwkplus.detect.base import GraphDetector, check_contamination
from rwkplus.errors import DataError
from rwkplus.mining.files import from_json, write_whole

FORMAT = "rwkplus detector, version 1"


def save_detector(detector: GraphDetector, path: str | Path) -> Path:
    """Write a fitted detector, whole or not at all; folders are made."""
    header, arrays = detector._packed()
    plain = {name: value for name, value in detector.get_params(deep=False).items() if name not in header}
    try:
        record = {"format": FORMAT, "detector": type(detector).__name__, "parameters": plain, "learned": header}
        text = json.dumps(record | {"threshold": detector.threshold_})
    except (TypeError, ValueError) as error:
        raise DataError(f"the parameters of {type(detector).__name__} cannot be written as JSON: {error}.") from error
    arrays["decision_scores"] = detector.decision_scores_
    whole = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    return write_whole(path, save(whole, metadata={"rwkplus": text}))


def load_detector(path: str | Path) -> GraphDetector:
    """Read what :meth:`GraphDetector.save` wrote; nothing in the file is executed."""
    if not Path(path).is_file():
        raise DataError(f"there is no file {path}.")
    try:
        with safe_open(path, framework="numpy") as file:
            record = json.loads((file.metadata() or {}).get("rwkplus", "{}"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, OSError) as error:
        raise DataError(f"{path} is no detector saved by rwkplus, or is not complete: {error}.") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise DataError(f"{path} does not hold a detector: expected the format {FORMAT!r}.")
    try:
        return _filled(record, arrays)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RuntimeError) as error:
        raise DataError(f"{path} is damaged or was changed by hand: {error}.") from error


def _filled(record: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> GraphDetector:
    detector = _detectors()[record["detector"]]()
    detector.set_params(**from_json(record["parameters"]))
    check_contamination(detector.contamination)
    detector._unpack(record["learned"], arrays)
    detector.decision_scores_ = arrays["decision_scores"]
    detector.threshold_ = float(record["threshold"])
    return detector


def _detectors() -> dict[str, type[GraphDetector]]:
    from rwkplus.detect.pattern import PatternDetector
    from rwkplus.detect.surprise import SurpriseDetector
    from rwkplus.detect.walk_kernel import WalkKernelDetector

    return {kind.__name__: kind for kind in (PatternDetector, SurpriseDetector, WalkKernelDetector)}
