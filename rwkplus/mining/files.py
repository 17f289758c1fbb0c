"""Patterns in a JSON file: readable, complete, never a pickle."""

import json
from collections.abc import Sequence
from pathlib import Path

from rwkplus.errors import DataError
from rwkplus.mining.patterns import Pattern

FORMAT = "rwkplus patterns, version 1"


def save_patterns(patterns: Sequence[Pattern], path: str | Path) -> Path:
    """Write patterns to a file, whole or not at all; folders are made."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(path.name + ".new")
    scratch.write_text(json.dumps({"format": FORMAT, "patterns": [pattern.to_dict() for pattern in patterns]}))
    scratch.replace(path)
    return path


def load_patterns(path: str | Path) -> list[Pattern]:
    """Read what :func:`save_patterns` wrote."""
    try:
        record = json.loads(Path(path).read_text())
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}.") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise DataError(f"{path} does not hold patterns: expected the format {FORMAT!r}.")
    return [Pattern.from_dict(values) for values in record["patterns"]]
