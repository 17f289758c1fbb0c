"""Molecules: SMILES strings, RDKit molecules, ``.smi`` and ``.sdf`` files (extra: ``chem``)."""

import codecs
import math
import warnings
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import DataError, GraphError, MissingExtraError, RWKPlusWarning
from rwkplus.files import read_text
from rwkplus.io.atoms_and_bonds import BLOCK, Block, Choice, column_of, joined, read_block
from rwkplus.io.options import ReadOptions
from rwkplus.table import Column, GraphTable, Numbers, Text
from rwkplus.table.graph_table import pointers
from rwkplus.table.infer import target_column

TAKES = ("atom", "bond", "ignore", "on_error", "n_jobs")
SHOWN = 5
"""Unreadable molecules that an error lists."""
WIDTH = 60
"""Characters of a SMILES that an error shows."""
LARGEST = 2**63
"""Whole numbers from here on are identifiers."""
CHUNK = 1 << 20
"""Bytes of a file that are checked at a time."""


class Molecules(NamedTuple):
    """A table, and which of the given molecules are in it."""

    table: GraphTable
    kept: NDArray[np.int64]  # (B,)


def from_molecules(
    molecules: Iterable[Any],
    options: ReadOptions = ReadOptions(),  # noqa: B008
    *,
    lines: Sequence[int] | None = None,
    path: str | Path | None = None,
) -> GraphTable:
    """Read SMILES strings or RDKit molecules; atoms are nodes, bonds are undirected edges.

    Elements are the column ``label`` of the nodes, bond types (``-``, ``=``, ``#``, ``:`` for aromatic, ``~`` for any
    other) that of the edges; ``atom`` and ``bond`` choose further columns. Hydrogens stay implicit. The strings are not
    kept: graphs have their order, and they would take half as much memory again.

    Args:
        molecules: Strings, or molecules of RDKit.
        options: ``atom``, ``bond``, ``ignore``, ``on_error`` and ``n_jobs``.
        lines: Where each molecule stands in its file, for errors.
        path: That file.

    Example:
        >>> from_molecules(["CCO", "N#N"])
        GraphTable: 2 undirected graphs, 5 nodes, 3 edges
          nodes  label: 3 labels (C, N, O)
          edges  label: 5 labels (-, =, #, :, ~)
    """
    if lines is None:
        options.check("molecules", TAKES)
    return read_molecules(molecules, options, lines=lines, path=path).table


def read_molecules(
    molecules: Iterable[Any],
    options: ReadOptions = ReadOptions(),  # noqa: B008
    *,
    lines: Sequence[int] | None = None,
    path: str | Path | None = None,
) -> Molecules:
    """Read like :func:`from_molecules`, and say which were kept: all but unreadable ones that are skipped.

    Options that say nothing about molecules are passed over: they may be about the file that the molecules are from.
    """
    choice = Choice.of(options.atom, options.bond)
    if isinstance(molecules, str):
        raise GraphError(f"expected several SMILES, got the single one {molecules!r}: put it into a list.")
    molecules = molecules if isinstance(molecules, list) else list(molecules)
    if not molecules:
        raise GraphError("the list of molecules is empty: give at least one.")
    _check_rdkit()
    block = joined(_blocks(molecules, choice, options.n_jobs))
    place = "molecule" if lines is None else "line"
    bad = [f"{place} {i if lines is None else lines[i]}: {_short(molecules[i])}" for i in block.bad]
    if bad:
        hint = " Is the first line a header? Remove it." if lines is not None and block.bad[0] == 0 else ""
        _tell(bad, len(molecules), options, path, hint)
    return Molecules(_table(block, choice, options), np.delete(np.arange(len(molecules)), block.bad))


def _table(block: Block, choice: Choice, options: ReadOptions) -> GraphTable:
    table = GraphTable(
        pointers(block.nodes),
        pointers(block.edges),
        block.source,
        block.target,
        {},
        _columns(choice.atom, block.atoms),
        _columns(choice.bond, block.bonds),
    )
    return table.without(options.ignore)


def read_smi(path: str | Path, options: ReadOptions = ReadOptions()) -> GraphTable:  # noqa: B008
    """Read a file with a SMILES in every line; what follows it is the target, unless it names the molecule.

    Names are told from targets by hardly any occurring twice; numbers are targets. Whoever has numbers for names writes
    a CSV file with columns ``smiles`` and ``name``.
    """
    options.check("a file of SMILES", TAKES)
    lines = enumerate(read_text(path).splitlines(), start=1)
    rows = [(number, line.split(maxsplit=1)) for number, line in lines if line.strip()]
    if not rows:
        raise DataError(f"{path} holds no SMILES.")
    columns = _second_words(rows, path)
    numbers, words = [number for number, _ in rows], [own[0] for _, own in rows]
    table, kept = read_molecules(words, options, lines=numbers, path=path)
    return options.applied(table.with_columns(graphs={name: column.take(kept) for name, column in columns.items()}))


def read_sdf(path: str | Path, options: ReadOptions = ReadOptions()) -> GraphTable:  # noqa: B008
    """Read a file of molecules with their data: titles are names, data fields are columns of the graphs.

    A field that ``y`` names is a target. Of the others, those with a number in every molecule are numbers, and the rest
    is text.
    """
    options.check("a file of molecules", (*TAKES, "y"))
    choice = Choice.of(options.atom, options.bond)
    _check_text(path)
    _check_rdkit()
    blocks, records = _read_records(Path(path), choice)
    if not blocks:
        raise DataError(f"{path} holds no molecules.")
    block = joined(blocks)
    if block.bad:
        _tell([f"record {i + 1}" for i in block.bad], block.given, options, path)
    fields = _data_fields(records, options, path)
    return options.applied(_table(block, choice, options).with_columns(graphs=fields))


Properties = dict[str, str]
TITLE = "_Name"
"""What RDKit calls the first line of a molecule."""


def _read_records(path: Path, choice: Choice) -> tuple[list[Block], list[Properties]]:
    """Molecules as arrays, and the title and data of those that can be read."""
    from rdkit import Chem, rdBase

    blocks: list[Block] = []
    records: list[Properties] = []
    with path.open("rb") as file, rdBase.BlockLogs():
        supplier = Chem.ForwardSDMolSupplier(file)
        while batch := list(islice(supplier, BLOCK)):
            blocks.append(read_block(batch, choice))
            records += [_properties(molecule) for molecule in batch if molecule is not None]
    return blocks, records


def _properties(molecule: Any) -> Properties:  # noqa: ANN401
    title = {TITLE: molecule.GetProp(TITLE)} if molecule.HasProp(TITLE) else {}
    given = title | molecule.GetPropsAsDict(autoConvertStrings=False)
    return {name: str(value).strip() for name, value in given.items()}


def _check_rdkit() -> None:
    try:
        import rdkit.Chem  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("reading molecules needs RDKit: pip install 'rwkplus[chem]'.") from error


def _blocks(molecules: Sequence[Any], choice: Choice, n_jobs: int | None) -> list[Block]:
    """Read in blocks, in several processes if wanted; molecules that RDKit has read already stay in this one."""
    parts = (molecules[start : start + BLOCK] for start in range(0, len(molecules), BLOCK))
    if len(molecules) <= BLOCK or not isinstance(molecules[0], str):
        return [read_block(part, choice) for part in parts]
    from joblib import Parallel, delayed

    blocks: list[Block] = Parallel(n_jobs=n_jobs)(delayed(read_block)(part, choice) for part in parts)
    return blocks


def _columns(names: Sequence[str], values: NDArray[np.int32]) -> dict[str, Column]:
    return dict(column_of(name, values[:, k]) for k, name in enumerate(names))


def _tell(bad: Sequence[str], total: int, options: ReadOptions, path: str | Path | None, hint: str = "") -> None:
    """Raise an error about all unreadable molecules, or warn that they are left out."""
    shown = "; ".join(bad[:SHOWN]) + (f" and {len(bad) - SHOWN:,} more" if len(bad) > SHOWN else "")
    where = "" if path is None else f"{path}: "
    count = f"{len(bad):,} of {total:,} molecules"
    if options.on_error == "skip" and len(bad) < total:
        warnings.warn(f"{where}{count} are left out, RDKit cannot read them: {shown}.", RWKPlusWarning, stacklevel=4)
        return
    message = f"{where}RDKit cannot read {count}: {shown}. Correct or remove them, or choose on_error='skip'.{hint}"
    raise GraphError(message) if path is None else DataError(message)


def _short(molecule: object) -> str:
    text = repr(molecule)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."


# What files say beside the molecules


def _second_words(rows: Sequence[tuple[int, list[str]]], path: str | Path) -> dict[str, Column]:
    """Targets or names, told apart by whether they are numbers or occur several times."""
    seconds = [words[1].strip() for _, words in rows if len(words) > 1]
    if not seconds:
        return {}
    targets = _typed(seconds)
    if targets is None:
        return {"name": Text.of(words[-1].strip() for _, words in rows)}  # without a name, the SMILES
    if len(seconds) < len(rows):
        alone, beside = (next(n for n, words in rows if len(words) == count) for count in (1, 2))
        raise DataError(f"{path}, line {alone}: a target is missing behind the SMILES; line {beside} has one.")
    for (number, _), target in zip(rows, targets, strict=True):
        if isinstance(target, float) and not math.isfinite(target):
            raise DataError(f"{path}, line {number}: the target {target} is no number to learn. Remove the molecule.")
    return {"y": target_column("y", targets)}


def _typed(words: Sequence[str]) -> list[Any] | None:
    """Read words as whole numbers, else as numbers, else as names of classes.

    Words of which hardly any occurs twice are names of the molecules themselves, and no targets: None.
    """
    written = not any("_" in word for word in words)  # Python takes 1_1 for 11, everyone else for a name
    for kind in (int, float) if written else ():
        try:
            numbers = [kind(word) for word in words]
        except ValueError:
            continue
        if kind is int and any(abs(number) >= LARGEST for number in numbers):
            break  # identifiers
        return numbers
    return list(words) if len(set(words)) <= len(words) / 2 else None


def _check_text(path: str | Path) -> None:
    """Refuse a file that is no text before RDKit is imported, without holding it in memory."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    blank = True
    try:
        with Path(path).open("rb") as file:
            while chunk := file.read(CHUNK):
                blank = blank and not chunk.strip()
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise DataError(f"cannot read {path}: it is not text in UTF-8; save it as such.") from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from error
    if blank:
        raise DataError(f"{path} holds no molecules.")


def _data_fields(records: Sequence[Properties], options: ReadOptions, path: str | Path) -> dict[str, Column]:
    names = [own.get(TITLE, "") for own in records]
    columns: dict[str, Column] = {"name": Text.of(names)} if all(names) else {}
    for name in dict.fromkeys(name for own in records for name in own if name != TITLE):
        if name in options.ignore or f"graphs.{name}" in options.ignore:
            continue
        values = [own.get(name) or None for own in records]
        columns[name] = _target_of(name, values, path) if name in options.targets else _field_of(values)
    for name in options.targets:
        if name not in columns and options.y != "y":
            raise DataError(f"{path}: no molecule has a data field {name!r} to be the target: y={options.y!r}.")
    return columns


def _field_of(values: Sequence[str | None]) -> Column:
    words = [value for value in values if value is not None]
    numbers = _typed(words) if len(words) == len(values) else None
    if numbers is None or isinstance(numbers[0], str):
        return Text.of(values)
    return Numbers(np.array(numbers))


def _target_of(name: str, values: Sequence[str | None], path: str | Path) -> Column:
    words = [value for value in values if value is not None]
    typed = iter(_typed(words) or words)
    targets = [None if value is None else next(typed) for value in values]
    for i, target in enumerate(targets):
        if isinstance(target, float) and not math.isfinite(target):
            raise DataError(f"{path}, record {i + 1}: the target {name!r} is {target}: remove it.")
    return target_column(name, targets)
