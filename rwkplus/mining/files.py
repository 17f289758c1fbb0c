"""Patterns in a JSON file, miners in a safetensors file: complete, never a pickle."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from rwkplus.errors import DataError
from rwkplus.files import damaged, from_json, read_json, read_tensors, write_tensors, write_whole
from rwkplus.mining.patterns import Pattern
from rwkplus.table import Reader
from rwkplus.types import seed_of

if TYPE_CHECKING:
    from rwkplus.mining.miner import PatternMiner

FORMAT = "rwkplus patterns, version 2"
FIRST_FORMAT = "rwkplus patterns, version 1"
MINER_FORMAT = "rwkplus miner, version 2"
FITTED = ("control_", "training_", "explained_", "saved_")


def save_patterns(patterns: Sequence[Pattern], path: str | Path) -> Path:
    """Write patterns to a file, whole or not at all; folders are made."""
    record = {"format": FORMAT, "patterns": [pattern.to_dict() for pattern in patterns]}
    return write_whole(path, json.dumps(record))


def load_patterns(path: str | Path) -> list[Pattern]:
    """Read what :func:`save_patterns` wrote."""
    record = read_json(path)
    if not isinstance(record, dict) or record.get("format") not in (FORMAT, FIRST_FORMAT):
        raise DataError(f"{path} does not hold patterns: expected the format {FORMAT!r}.")
    if not isinstance(record.get("patterns"), list):
        raise DataError(f"{path} has no list of patterns. Is the file complete?")
    return [Pattern.from_dict(values) for values in record["patterns"]]


def save_miner(miner: "PatternMiner", path: str | Path) -> Path:
    """Write a fitted miner: arrays as tensors, all else as JSON in the header."""
    header, tensors = pack_miner(miner)
    return write_tensors(path, {"format": MINER_FORMAT} | header, tensors)


def pack_miner(miner: "PatternMiner") -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return everything fitted as JSON values and arrays."""
    tensors: dict[str, NDArray[Any]] = {name: getattr(miner, name) for name in FITTED}
    header = {
        "reader": miner.reader_.to_dict(),
        "parameters": saved_params(miner, miner.seed_),
        "threshold": miner.threshold_,
        "interrupted": miner.interrupted_,
        "patterns": [pattern.to_dict() for pattern in miner.patterns_],
    }
    return header, tensors


def saved_params(miner: "PatternMiner", seed: int) -> dict[str, Any]:
    """Parameters as JSON values; for ``random_state``, the seed that was drawn."""
    params: dict[str, Any] = miner.get_params()
    return params | {"random_state": seed}


def load_miner(miner: "PatternMiner", path: str | Path) -> "PatternMiner":
    """Fill a miner with what :func:`save_miner` wrote."""
    header, tensors = read_tensors(path, "miner", MINER_FORMAT, "numpy")
    try:
        return unpack_miner(miner, header, tensors)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(path, error) from error


def unpack_miner(miner: "PatternMiner", header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> "PatternMiner":
    """Fill a miner with what :func:`pack_miner` returned."""
    miner.set_params(**from_json(header["parameters"]))
    for name in FITTED:
        setattr(miner, name, tensors[name])
    miner.threshold_ = float(header["threshold"])
    miner.seed_ = seed_of(miner.random_state)
    miner.interrupted_ = bool(header.get("interrupted", False))
    miner.reader_ = Reader.from_dict(header["reader"])
    miner.patterns_ = [Pattern.from_dict(values) for values in header["patterns"]]
    for pattern in miner.patterns_:
        _ = pattern.shape(miner.reader_).plan  # raises where labels or edges are wrong
    return miner
