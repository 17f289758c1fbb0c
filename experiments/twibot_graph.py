"""TwiBot-22's four raw files to a graph on disk, in little memory, going on where a killed run stopped."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
import typer
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer

from experiments.twibot_files import (
    LABELS,
    METRICS,
    SPLITS,
    Block,
    Index,
    Table,
    UserIds,
    parse_id,
    read_column,
    read_descriptions,
    read_users,
)
from rwkplus.cli.console import check_output, err
from rwkplus.cli.console import out as console
from rwkplus.errors import DataError, MissingExtraError, ParameterError
from rwkplus.files import damaged, read_json, write_atomic
from rwkplus.large.csr_graph import CSRGraph, Edges, GraphFiles, undirected_csr
from rwkplus.types import check_integer

FOLLOWS = ("followers", "following")
COLUMNS = ("source_id", "relation", "target_id")
CHUNK = 1 << 20
PAIR = 16
"""Bytes of an edge in the file of pairs."""


@dataclass
class EdgeProgress:
    """How far the edges have been read, in JSON values."""

    place: int | None = None
    line: int = 2
    kept: int = 0
    """Edges in the file of pairs."""
    unknown: int = 0
    """Edges left out because an end is not among the users."""
    relations: dict[str, int] = field(default_factory=dict)


def gather_edges(
    table: Path,
    pairs: Path,
    users: UserIds,
    relations: Sequence[str],
    progress: EdgeProgress,
    save: Callable[[], None],
    *,
    block_size: int | None = None,
) -> None:
    """Append the wanted edges to a file of pairs of numbers, from where ``progress`` is; ``save`` it after blocks.

    If the file holds less than ``progress`` says, as a machine that stopped may leave it, edges are read anew.
    """
    rows = Table(table, COLUMNS) if block_size is None else Table(table, COLUMNS, size=block_size)
    with pairs.open("ab") as file:
        if file.tell() < progress.kept * PAIR:
            vars(progress).update(vars(EdgeProgress()))
        file.truncate(progress.kept * PAIR)  # what a killed run wrote after it saved
        for block in rows.blocks(progress.place, progress.line):
            ends = _ends(block, set(relations), progress.relations)
            found = users.find(ends)
            known = np.min(found, axis=1) >= 0
            _check_last(block, known)
            found[known].tofile(file)
            file.flush()
            os.fsync(file.fileno())  # on the disk before the note that says so
            progress.place, progress.line = block.end, block.next_line
            progress.kept += int(known.sum())
            progress.unknown += int((~known).sum())
            save()
    if not any(relation in progress.relations for relation in relations):
        raise DataError(
            f"{table}, column relation: there is no {' or '.join(relations)}; there are: "
            f"{', '.join(progress.relations) or 'no rows'}."
        )


def read_pairs(pairs: Path) -> Iterator[Edges]:
    """Sources and targets, chunk by chunk."""
    count = pairs.stat().st_size // PAIR
    for begin in range(0, count, CHUNK):
        chunk = np.fromfile(pairs, np.int64, 2 * min(CHUNK, count - begin), offset=PAIR * begin).reshape(-1, 2)
        yield chunk[:, 0], chunk[:, 1]


def _ends(block: Block, relations: set[str], seen: dict[str, int]) -> Index:
    """Ids at both ends of the wanted edges: ``(n, 2)``."""
    for name, count in Counter(row[1] for row in block.rows).items():
        seen[name] = seen.get(name, 0) + count
    wanted = [row for row in block.rows if row[1] in relations]
    ends = np.array([(parse_id(row[0]), parse_id(row[2])) for row in wanted], np.int64).reshape(-1, 2)
    if (ends < 0).any():
        place, side = np.argwhere(ends < 0)[0].tolist()
        row = wanted[place]
        what = f"{row[1]} must join users, 'u' and a number, got {row[2 * side]!r}"
        raise block.error(block.rows.index(row), COLUMNS[2 * side], what)
    return ends


def _check_last(block: Block, known: NDArray[np.bool_]) -> None:
    """An unknown user in a last line without its break, a block of its own, is a known one, cut off."""
    if not block.complete and not known.all():
        raise block.error(0, COLUMNS[2], f"{block.rows[0][2]!r} is no user: the file is cut off")


Vectors = NDArray[np.float32]
MINILM, HASHING = "sentence-transformers/all-MiniLM-L6-v2", "hashing"


class SentenceEncoder(Protocol):
    """Turns texts into vectors."""

    name: str
    width: int

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Vectors ``(len(texts), width)``."""


def make_encoder(name: str = MINILM) -> SentenceEncoder:
    """Make an encoder.

    Args:
        name: Any model that ``sentence-transformers`` reads: a name on the Hugging Face Hub, downloaded once, or a
            folder, which works offline; or ``"hashing"``, counts of words and letters that understand nothing.
    """
    return HashingEncoder() if name == HASHING else TransformerEncoder(name)


class TransformerEncoder:
    """A network of ``sentence-transformers``."""

    def __init__(self, name: str) -> None:
        try:
            library = import_module("sentence_transformers")
        except ImportError as error:
            raise MissingExtraError(
                "descriptions become vectors by a sentence encoder, which is an extra: pip install 'rwkplus[text]'. "
                "The encoder 'hashing' needs none, but does not understand texts."
            ) from error
        try:
            with _without_bars():
                self._model = library.SentenceTransformer(name)
        except (OSError, ValueError) as error:
            raise DataError(
                f"there is no sentence encoder {name!r} here, and it could not be downloaded.",
                "Download it elsewhere with its method save(FOLDER), and give that folder.",
            ) from error
        self.name = name
        self.width = int(self._model.get_embedding_dimension())

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Vectors of the texts."""
        vectors: Vectors = self._model.encode(list(texts), show_progress_bar=False, convert_to_numpy=True)
        return vectors.astype(np.float32, copy=False)


class HashingEncoder:
    """Counts of short letter sequences, hashed into 384 numbers; for tests and machines without the extra."""

    name, width = HASHING, 384

    def __init__(self) -> None:
        self._hash = HashingVectorizer(n_features=self.width, analyzer="char_wb", ngram_range=(3, 4))

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Vectors of the texts."""
        vectors: Vectors = self._hash.transform(texts).toarray().astype(np.float32)
        return vectors


@contextmanager
def _without_bars() -> Iterator[None]:
    logging = import_module("transformers.utils.logging")
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


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
    encoder: SentenceEncoder | str = MINILM,
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
    facts = {"source": "TwiBot-22", "encoder": encoder.name, "relations": list(relations), "metrics": scaling}
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
    write_atomic(files.scratch / STATE, json.dumps(asdict(state)))


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


def twibot_graph(
    raw: Annotated[Path, typer.Argument(help="Folder with user.json, edge.csv, label.csv and split.csv.")],
    out_folder: Annotated[Path, typer.Option("--out", help="Folder to make.")],
    encoder: Annotated[
        str,
        typer.Option(
            help="Sentence encoder of descriptions: any that sentence-transformers reads, by its name on the Hugging "
            "Face Hub or its folder, which works offline; or hashing, which understands nothing."
        ),
    ] = MINILM,
    relation: Annotated[
        list[str] | None, typer.Option(help="Edges to keep; may be repeated. \\[default: followers, following]")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Descriptions at a time.", min=1)] = 1024,
) -> None:
    """Make a graph of TwiBot-22's raw files, for [bold]python -m experiments twibot --data[/].

    Needs little memory. A run that was killed goes on where it stopped when it is started again.
    """
    check_output(out_folder, None, folder=True)
    graph = preprocess(
        raw,
        out_folder,
        encoder=encoder,
        relations=relation or FOLLOWS,
        batch_size=batch_size,
        on_step=lambda message: err.print(message),
    )
    bots, edges = graph["y"].mean(), graph.facts["edges"]
    console.print(
        f"{out_folder}: {graph.num_nodes:,} users, {bots:.1%} of them bots; {graph.num_edges:,} directed edges from "
        f"{edges['kept']:,} follows ({edges['unknown']:,} with an unknown end left out); "
        f"{graph['x'].shape[1]} features.",
        soft_wrap=True,
    )
