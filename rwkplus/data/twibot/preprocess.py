"""TwiBot-22's four raw files to a graph on disk, in little memory, going on where a killed run stopped."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rwkplus.data.twibot.edges import FOLLOWS, EdgeProgress, gather_edges, read_pairs
from rwkplus.data.twibot.encoders import SentenceEncoder, Vectors, make_encoder
from rwkplus.data.twibot.users import LABELS, METRICS, SPLITS, UserIds, read_column, read_descriptions, read_users
from rwkplus.errors import DataError, ParameterError
from rwkplus.files import damaged, read_json, write_whole
from rwkplus.large.csr_graph import CSRGraph, GraphFiles
from rwkplus.large.undirected import undirected_csr
from rwkplus.types import check_integer

RAW_FILES = ("user.json", "edge.csv", "label.csv", "split.csv")
STATE = "state.json"
NODES = ("x", "y", "user_id", "train_mask", "val_mask", "test_mask")
OnStep = Callable[[str], None]


@dataclass
class _State:
    """How far a run came; written after every piece of work."""

    identity: dict[str, Any]
    users: int = 0
    """Users in all, once they have been read."""
    encoded: int = 0
    """Users whose descriptions are vectors."""
    edges: EdgeProgress = field(default_factory=EdgeProgress)


def preprocess(
    raw: str | Path,
    out: str | Path,
    *,
    encoder: SentenceEncoder | str = "minilm",
    relations: Sequence[str] = FOLLOWS,
    batch_size: int = 1024,
    on_step: OnStep | None = None,
) -> CSRGraph:
    """Make a graph of users: follow edges without direction, descriptions as vectors, scaled public metrics.

    Work is kept in the folder ``OUT.part`` and goes on there if it is interrupted, with another ``batch_size`` if it
    ran out of memory; the folder ``out`` appears when it is complete. Memory holds a few numbers for every user and one
    batch of texts.

    Args:
        raw: Folder with ``user.json``, ``edge.csv``, ``label.csv`` and ``split.csv``.
        out: Folder to make.
        encoder: What makes vectors of descriptions, or its name, see :func:`make_encoder`.
        relations: Edges to keep.
        batch_size: Descriptions at a time.
        on_step: Told what is going on.

    Returns:
        The graph, with ``x`` of the encoder's vectors and four metrics (logarithms, centered and scaled by those of
        training users), ``y`` of 1 for bots, ``user_id`` and the three masks.
    """
    check_integer("batch_size", batch_size, 1)
    tell = on_step or (lambda _: None)
    raw, files = Path(raw), GraphFiles(out)
    missing = [name for name in RAW_FILES if not (raw / name).is_file()]
    if missing:
        raise DataError(f"{raw} has no {', '.join(missing)}; TwiBot-22's raw files are {', '.join(RAW_FILES)}.")
    if isinstance(encoder, str):
        encoder = make_encoder(encoder)
    name = encoder.name
    state, pairs = _open_state(files, _identity(raw, encoder, relations)), files.scratch / "pairs.bin"
    try:
        if state.users == 0:
            tell("users")
            _store_users(raw, files, state)
        users = UserIds(files.existing("user_id"))
        tell("labels and splits")
        y, split = (read_column(raw / f"{part}.csv", part, names, users) for part, names in _COLUMNS)
        if SPLITS["train"] not in split:
            raise DataError(f"{raw / 'split.csv'}, column split: no user is for training.")
        tell("edges")
        gather_edges(raw / "edge.csv", pairs, users, relations, state.edges, lambda: _save(files, state))
    except DataError as error:
        # Nothing to go on with, as files or relations must be others; unless a disk failed for a moment, say.
        if state.encoded == 0 and not isinstance(error.__cause__, OSError):
            shutil.rmtree(files.scratch)
        raise
    if state.encoded < state.users:
        _encode(raw, files, state, encoder, batch_size, tell)
    tell("graph")
    undirected_csr(lambda: read_pairs(pairs), state.users, files.array)
    scaling = _write_nodes(files, y, split)
    facts = {"source": "TwiBot-22", "encoder": name, "relations": list(relations), "metrics": scaling}
    files.finish(["indptr", "indices", *NODES], facts | {"edges": asdict(state.edges)})
    return CSRGraph.open(out)


_COLUMNS = (("label", LABELS), ("split", SPLITS))


def _identity(raw: Path, encoder: SentenceEncoder, relations: Sequence[str]) -> dict[str, Any]:
    """What a run must have in common with one that goes on."""
    found = {name: (raw / name).stat() for name in RAW_FILES}
    sizes = {name: [stat.st_size, stat.st_mtime_ns] for name, stat in found.items()}
    return sizes | {"encoder": [encoder.name, encoder.width], "relations": list(relations)}


def _open_state(files: GraphFiles, identity: dict[str, Any]) -> _State:
    path = files.scratch / STATE
    if not path.exists():
        files.scratch.mkdir(parents=True, exist_ok=True)
        return _State(identity)
    record = read_json(path)
    try:
        begun: dict[str, Any] = dict(record["identity"])
        state = _State(identity, int(record["users"]), int(record["encoded"]), EdgeProgress(**record["edges"]))
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path, f"it does not say how far a run came; remove {files.scratch} to start anew") from error
    different = [name for name in identity if begun.get(name) != identity[name]]
    if different:
        other = " and ".join(f"{name} (by size or time of change)" if name in RAW_FILES else name for name in different)
        raise DataError(
            f"{files.scratch} was begun with other {other}: remove it to start anew, or go on with what it was begun "
            "with."
        )
    return state


def _save(files: GraphFiles, state: _State) -> None:
    write_whole(files.scratch / STATE, json.dumps(asdict(state)))


def _store_users(raw: Path, files: GraphFiles, state: _State) -> None:
    ids, metrics = read_users(raw / "user.json")
    for name, values in {"user_id": ids, "metrics": metrics}.items():
        stored = files.array(name, values.shape, values.dtype)
        stored[:] = values
        stored.flush()
    state.users = ids.size
    _save(files, state)


def _encode(
    raw: Path, files: GraphFiles, state: _State, encoder: SentenceEncoder, batch_size: int, tell: OnStep
) -> None:
    """Write vectors batch by batch; of equal descriptions, such as none at all, one is encoded."""
    if state.encoded == 0:
        files.array("x", (state.users, encoder.width + len(METRICS)), np.float32)
    x = files.existing("x")
    texts = islice(read_descriptions(raw / "user.json"), state.encoded, None)
    while batch := list(islice(texts, batch_size)):
        tell(f"descriptions {state.encoded:,} of {state.users:,}")
        distinct, places = np.unique(np.array(batch, object), return_inverse=True)
        begin, end = state.encoded, state.encoded + len(batch)
        x[begin:end, : encoder.width] = _vectors(encoder, distinct.tolist())[places]
        x.flush()
        state.encoded = end
        _save(files, state)


def _vectors(encoder: SentenceEncoder, texts: list[str]) -> Vectors:
    """What an encoder, which may be the user's own, makes of texts; checked before it is stored."""
    vectors = np.asarray(encoder(texts))
    if vectors.shape != (len(texts), encoder.width):
        raise ParameterError(
            f"the encoder {encoder.name!r} made {vectors.shape} of {len(texts)} texts, expected a row of its width "
            f"{encoder.width} for each of them."
        )
    wrong = np.nonzero(~np.isfinite(vectors).all(1))[0]
    if wrong.size:
        raise ParameterError(f"the encoder {encoder.name!r} made nan or infinity of the text {texts[wrong[0]]!r}.")
    return vectors


def _write_nodes(files: GraphFiles, y: np.ndarray[Any, Any], split: np.ndarray[Any, Any]) -> dict[str, list[float]]:
    """Scaled metrics, classes and masks; return center and scale."""
    x, metrics = files.existing("x"), np.log1p(files.existing("metrics"))
    learned = metrics[split == SPLITS["train"]]
    center, scale = learned.mean(0), learned.std(0)
    x[:, -len(METRICS) :] = (metrics - center) / np.where(scale > 0, scale, 1)
    files.array("y", y.shape, np.int64)[:] = y
    for part in ("train", "val", "test"):
        files.array(f"{part}_mask", split.shape, np.bool_)[:] = split == SPLITS[part]
    return {"center": center.tolist(), "scale": scale.tolist()}
