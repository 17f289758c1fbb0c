"""Molecules: SMILES, RDKit molecules, tables of them, ``.smi`` and ``.sdf`` files (extra: ``chem``)."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import DataError, GraphError, MissingExtraError
from rwkplus.files import opened_text, read_text
from rwkplus.io.rows import (
    Cells,
    RowErrors,
    RowLocator,
    find_column,
    integer_labels,
    require_column,
    to_column,
    to_list,
)
from rwkplus.io.sources import ReadOptions
from rwkplus.table import Categories, Column, GraphTable, Numbers, Text
from rwkplus.table.columns import pointers, short_repr, target_column

try:
    from rdkit import Chem, rdBase
except ImportError:  # told once a file has been looked at
    Chem = None  # type: ignore[assignment]

ACCEPTED = ("atom", "bond", "ignore", "on_error", "n_jobs")
LARGEST = 2**63
"""Whole numbers from here on are identifiers."""
CHARACTERS = 1 << 20
"""Of a file that are checked at a time."""
BONDS = ("-", "=", "#", ":", "~")
"""Single, double, triple, aromatic and any other bond; labels of edges in this order, whatever molecules there are."""
TRUTH = ("False", "True")
NAMES = {
    "type": BONDS, "stereo": ("no stereo", "E", "Z"), "conjugated": TRUTH, "ring": TRUTH, "aromatic": TRUTH,
    "chirality": ("achiral", "R", "S"),
}  # fmt: skip
"""Labels of choices that always have the same ones; the others have the numbers that occur."""
MAIN = ("element", "type")
"""Choices whose column is called ``label``."""

BLOCK = 4096
"""Molecules that a worker gets at a time."""
CHUNK = 256
"""Molecules whose bonds are collected as matrices before they become rows."""
LARGE = 250
"""Atoms from which on a matrix of all pairs is no shortcut."""
PLAIN = frozenset({1, 5, 6, 7, 8, 9, 14, 15, 16, 17, 34, 35, 53})
"""Elements between which plain SMILES have no bonds but single, double, triple and aromatic ones."""
TOKENS = re.compile(r"\[[^\]]*\]|Cl|Br|[A-Za-z*]")
"""Atoms of a SMILES."""
MOST_TOKENS = 10_000
"""Ways to write an atom that are remembered."""
UNUSUAL = re.compile(r"[>~$|\s]")
"""Coordinate, unspecified and quadruple bonds, extensions and names."""
CODE_OF_ORDER = np.array([4, 4, 0, 3, 1, 4, 2, 4])
"""Number of the bond type by twice the bond order."""

Ints = NDArray[np.int32]
HEADER = "Is the first line a header? Remove it."


class Block(NamedTuple):
    """Some molecules as arrays; atoms and bonds have a column for each choice."""

    given: int
    bad: list[int]
    """Which of them cannot be read."""
    nodes: NDArray[np.int64]  # (B,): atoms of each molecule
    edges: NDArray[np.int64]  # (B,)
    source: Ints  # (E,)
    target: Ints  # (E,)
    atoms: Ints  # (N, choices)
    bonds: Ints  # (E, choices)


def from_molecules(molecules: Iterable[Any], options: ReadOptions = ReadOptions()) -> GraphTable:
    """Read SMILES strings or RDKit molecules; atoms are nodes, bonds are undirected edges.

    Elements are the column ``label`` of the nodes, bond types (``-``, ``=``, ``#``, ``:`` for aromatic, ``~`` for any
    other) that of the edges; ``atom`` and ``bond`` choose further columns. Hydrogens stay implicit. The strings are not
    kept: graphs have their order, and they would take half as much memory again.

    Example:
        >>> from_molecules(["CCO", "N#N"])
        GraphTable: 2 undirected graphs, 5 nodes, 3 edges
          nodes  label: 3 labels (C, N, O)
          edges  label: 5 labels (-, =, #, :, ~)
    """
    options.check("molecules", ACCEPTED)
    if isinstance(molecules, str):
        raise GraphError(f"expected several SMILES, got the single one {molecules!r}: put it into a list.")
    molecules = molecules if isinstance(molecules, list) else list(molecules)
    if not molecules:
        raise GraphError("the list of molecules is empty: give at least one.")
    places = RowLocator("", "molecule", lambda row: (row, f"molecule {row}"), len(molecules))
    return _read(molecules, {}, options, RowErrors({"graphs": places}, options.on_error))


def from_table(columns: Mapping[str, Cells], options: ReadOptions, errors: RowErrors) -> GraphTable:
    """Read the molecules of a table, one a row, and carry its other columns along: they describe the graphs.

    Options name columns as :func:`rwkplus.io.rows.resolve_names` does; ``errors`` names the rows.
    """
    options.check("a table of molecules", (*ACCEPTED, "smiles", "graph", "y", "labels", "attributes"))
    smiles = require_column(options.smiles, columns, "smiles", errors.table("graphs"))
    molecules = to_list(columns[smiles])
    empty = np.flatnonzero([molecule is None for molecule in molecules])
    errors.add("graphs", empty, f"column {smiles!r} is empty")
    kept = {name: cells for name, cells in columns.items() if name != smiles and not options.ignores(name, "graphs")}
    described = _described(kept, options)
    about_atoms = [name for name in options.ignore if find_column(name, columns) is None]
    return options.mark_columns(_read(molecules, described, replace(options, ignore=about_atoms), errors))


def _described(columns: Mapping[str, Cells], options: ReadOptions) -> dict[str, Column]:
    """Columns of the graphs; one that names all of them is called ``name``."""
    described: dict[str, Column] = {}
    for column in ("name", options.graph, "id"):
        found = find_column(column, columns)
        if found is not None and found not in options.targets and "name" not in described:
            names = to_list(columns[found])
            if all(name is not None for name in names):
                described["name"] = Text.of(map(str, names))
                columns = {name: cells for name, cells in columns.items() if name != found}
    return described | {name: to_column(name, cells, "graphs", options) for name, cells in columns.items()}


def read_smi(path: str | Path, options: ReadOptions = ReadOptions()) -> GraphTable:
    r"""Read a file with a SMILES in every line; what follows it is the target, unless it names the molecule.

    Names are told from targets by hardly any occurring twice; numbers are targets. Whoever has numbers for names writes
    a CSV file with columns ``smiles`` and ``name``.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "molecules.smi"
        ...     _ = file.write_text("CCO 1\nCC 0\n")
        ...     read_smi(file).y
        array([1, 0])
    """
    options.check("a file of SMILES", ACCEPTED)
    lines = enumerate(read_text(path).splitlines(), start=1)
    rows = [(number, line.split(maxsplit=1)) for number, line in lines if line.strip()]
    if not rows:
        raise DataError(f"{path} holds no SMILES.")
    places = RowLocator(str(path), "line", lambda row: (rows[row][0], f"line {rows[row][0]}"), len(rows))
    errors = RowErrors({"graphs": places}, options.on_error)
    words = [own[0] for _, own in rows]
    return options.mark_columns(_read(words, _second_words(rows, path), options, errors))


def read_sdf(path: str | Path, options: ReadOptions = ReadOptions()) -> GraphTable:
    """Read a file of molecules with their data: titles are names, data fields are columns of the graphs.

    A field that ``y`` names is a target. Of the others, those with a number in every molecule are numbers, and the rest
    is text.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from rdkit import Chem
        >>> with TemporaryDirectory() as folder:
        ...     with Chem.SDWriter(f"{folder}/molecules.sdf") as writer:
        ...         writer.write(Chem.MolFromSmiles("CCO"))
        ...     read_sdf(f"{folder}/molecules.sdf")
        GraphTable: 1 undirected graph, 3 nodes, 2 edges
          nodes  label: 2 labels (C, O)
          edges  label: 5 labels (-, =, #, :, ~)
    """
    options.check("a file of molecules", (*ACCEPTED, "y"))
    _check_text(path)
    _check_rdkit()
    blocks, records = _read_records(Path(path), options)
    if not blocks:
        raise DataError(f"{path} holds no molecules.")
    block = _joined(blocks)
    places = RowLocator(str(path), "record", lambda row: (row + 1, f"record {row + 1}"), block.given)
    errors = RowErrors({"graphs": places}, options.on_error)
    _settle(np.arange(block.given), block, errors, lambda row: "RDKit cannot read it")
    fields = _data_fields(records, options, path)
    return options.mark_columns(_table(block, options).with_columns(graphs=fields))


# Molecules as tables


def _read(molecules: list[Any], columns: Mapping[str, Column], options: ReadOptions, errors: RowErrors) -> GraphTable:
    """Read molecules but those that are known to be wrong; columns describe them."""
    rows = np.setdiff1d(np.arange(len(molecules)), errors.settle().get("graphs", ()))
    if not rows.size:
        raise errors.nothing_left()
    _check_rdkit()
    good = molecules if rows.size == len(molecules) else [molecules[row] for row in rows]
    block = _joined(_blocks(good, options))
    rows = _settle(rows, block, errors, lambda row: f"RDKit cannot read {short_repr(molecules[row])}")
    table = _table(block, options)
    return table.with_columns(graphs={name: column.take(rows) for name, column in columns.items()})


def _settle(
    rows: NDArray[np.int64], block: Block, errors: RowErrors, message: Callable[[int], str]
) -> NDArray[np.int64]:
    """Raise an error about molecules of a block that cannot be read, or warn and return the rows of the others."""
    bad = rows[block.bad]
    header = [HEADER] if errors.places["graphs"].unit == "line" and 0 in bad else []
    errors.add("graphs", bad, lambda i: message(bad[i]), "Correct or remove what cannot be read.", *header)
    errors.settle()
    if len(block.bad) == block.given:
        raise errors.nothing_left()
    errors.warn()
    return np.delete(rows, block.bad)


def _table(block: Block, options: ReadOptions) -> GraphTable:
    table = GraphTable(
        pointers(block.nodes),
        pointers(block.edges),
        block.source,
        block.target,
        {},
        dict(_column(name, block.atoms[:, k]) for k, name in enumerate(options.atom)),
        dict(_column(name, block.bonds[:, k]) for k, name in enumerate(options.bond)),
    )
    return table.without(options.ignore)


def _check_rdkit() -> None:
    if Chem is None:
        raise MissingExtraError("reading molecules needs RDKit: pip install 'rwkplus[chem]'.")


def _blocks(molecules: Sequence[Any], options: ReadOptions) -> list[Block]:
    """Read in blocks, in several processes if wanted; molecules that RDKit has read already stay in this one."""
    parts = (molecules[start : start + BLOCK] for start in range(0, len(molecules), BLOCK))
    if len(molecules) <= BLOCK or not isinstance(molecules[0], str):
        return [read_block(part, options) for part in parts]
    from joblib import Parallel, delayed

    blocks: list[Block] = Parallel(n_jobs=options.n_jobs)(delayed(read_block)(part, options) for part in parts)
    return blocks


# What files say beside the molecules


Properties = dict[str, str]
TITLE = "_Name"
"""What RDKit calls the first line of a molecule."""


def _read_records(path: Path, options: ReadOptions) -> tuple[list[Block], list[Properties]]:
    """Molecules as arrays, and the title and data of those that can be read."""
    blocks: list[Block] = []
    records: list[Properties] = []
    with path.open("rb") as file, rdBase.BlockLogs():
        supplier = Chem.ForwardSDMolSupplier(file)
        while batch := list(islice(supplier, BLOCK)):
            blocks.append(read_block(batch, options))
            records += [_properties(molecule) for molecule in batch if molecule is not None]
    return blocks, records


def _properties(molecule: Any) -> Properties:  # noqa: ANN401
    title = {TITLE: molecule.GetProp(TITLE)} if molecule.HasProp(TITLE) else {}
    given = title | molecule.GetPropsAsDict(autoConvertStrings=False)
    return {name: str(value).strip() for name, value in given.items()}


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
        raise DataError(f"{path}, line {alone}: a target is missing after the SMILES; line {beside} has one.")
    for (number, _), target in zip(rows, targets, strict=True):
        if isinstance(target, float) and not math.isfinite(target):
            raise DataError(f"{path}, line {number}: the target {target} is not a finite number. Remove the molecule.")
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
    """Refuse a file that is no text, without holding it in memory."""
    blank = True
    with opened_text(path) as file:
        while chunk := file.read(CHARACTERS):
            blank = blank and not chunk.strip()
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
            there = f"There are {', '.join(map(repr, columns))}." if columns else "There are none."
            raise DataError(f"{path}: no molecule has a data field {name!r} to be the target.", there)
    return columns


def _field_of(values: Sequence[str | None]) -> Column:
    numbers = None if None in values else _typed(values)  # type: ignore[arg-type]
    return Text.of(values) if numbers is None or isinstance(numbers[0], str) else Numbers(np.array(numbers))


def _target_of(name: str, values: Sequence[str | None], path: str | Path) -> Column:
    words = [value for value in values if value is not None]
    typed = iter(_typed(words) or words)
    targets = [None if value is None else next(typed) for value in values]
    for i, target in enumerate(targets):
        if isinstance(target, float) and not math.isfinite(target):
            raise DataError(f"{path}, record {i + 1}: the target {name!r} is {target}: remove it.")
    return target_column(name, targets)


# Atoms and bonds as arrays, in one pass over what RDKit reads


CHIRALITY = {"R": 1, "S": 2}
STEREO = {"STEREOE": 1, "STEREOTRANS": 1, "STEREOZ": 2, "STEREOCIS": 2}
BOND_TYPE = {"SINGLE": 0, "DOUBLE": 1, "TRIPLE": 2, "AROMATIC": 3}
Value = Callable[[Any], int]
ATOM_VALUES: Mapping[str, Value] = {
    "element": lambda atom: atom.GetAtomicNum(),
    "charge": lambda atom: atom.GetFormalCharge(),
    "aromatic": lambda atom: atom.GetIsAromatic(),
    "hydrogens": lambda atom: atom.GetTotalNumHs(),
    "degree": lambda atom: atom.GetDegree(),
    "isotope": lambda atom: atom.GetIsotope(),
    "chirality": lambda atom: CHIRALITY.get(atom.GetProp("_CIPCode"), 0) if atom.HasProp("_CIPCode") else 0,
    "ring": lambda atom: atom.IsInRing(),
}
BOND_VALUES: Mapping[str, Value] = {
    "type": lambda bond: BOND_TYPE.get(str(bond.GetBondType()), len(BONDS) - 1),
    "stereo": lambda bond: STEREO.get(str(bond.GetStereo()), 0),
    "conjugated": lambda bond: bond.GetIsConjugated(),
    "ring": lambda bond: bond.IsInRing(),
}


def read_block(molecules: Sequence[Any], options: ReadOptions) -> Block:
    """Read SMILES strings or molecules; what RDKit cannot read is left out and told.

    >>> block = read_block(["CCO", "C1C"], ReadOptions())
    >>> block.bad, block.atoms.ravel().tolist()
    ([1], [6, 6, 8])
    """
    quick = (*options.atom, *options.bond) == MAIN
    with rdBase.BlockLogs():
        chunks = [
            _read_chunk(molecules[start : start + CHUNK], options, quick=quick)
            for start in range(0, len(molecules), CHUNK)
        ]
    return _joined(chunks)


def _joined(blocks: Sequence[Block]) -> Block:
    """Put blocks below one another."""
    starts = np.cumsum([0, *(block.given for block in blocks)]).tolist()
    bad = [start + i for start, block in zip(starts, blocks, strict=False) for i in block.bad]
    arrays = (np.concatenate(parts) for parts in zip(*(block[2:] for block in blocks), strict=True))
    return Block(starts[-1], bad, *arrays)


def _column(name: str, values: Ints) -> tuple[str, Column]:
    """The column of one choice."""
    called = "label" if name in MAIN else name
    if name in NAMES:
        return called, Categories.numbered(values, NAMES[name])
    column = integer_labels(values)
    if name == "element":
        symbols = [Chem.GetPeriodicTable().GetElementSymbol(int(number)) for number in column.names]
        order = np.argsort(symbols)
        rank = np.argsort(order).astype(column.codes.dtype)
        column = Categories.numbered(rank[column.codes], [symbols[k] for k in order])
    return called, column


class _AtomicNumbers(dict[str, int]):
    """Atomic numbers of atoms as SMILES write them, found by RDKit; -1 for elements with unusual bonds."""

    def __missing__(self, token: str) -> int:
        molecule = Chem.MolFromSmiles(token, sanitize=False)
        single = molecule is not None and molecule.GetNumAtoms() == 1
        number = molecule.GetAtomWithIdx(0).GetAtomicNum() if single else -1
        if len(self) >= MOST_TOKENS:  # atoms may be numbered
            self.clear()
        self[token] = number if number in PLAIN else -1
        return self[token]


NUMBERS = _AtomicNumbers()


def _elements(text: str, size: int) -> list[int] | None:
    """Atomic numbers in the order of a SMILES, if that is the order of its molecule and no bond is unusual."""
    if not text or size > LARGE or UNUSUAL.search(text):
        return None
    tokens = TOKENS.findall(text)
    if len(tokens) != size:  # hydrogens that RDKit made implicit
        return None
    numbers = [NUMBERS[token] for token in tokens]
    return None if -1 in numbers else numbers


def _read_chunk(molecules: Sequence[Any], options: ReadOptions, *, quick: bool) -> Block:
    """Read some molecules; if ``quick``, elements from their text and bonds from matrices where that is safe."""
    chunk = _Chunk(options)
    for i, given in enumerate(molecules):
        text = given if isinstance(given, str) else ""
        molecule = Chem.MolFromSmiles(text) if isinstance(given, str) else given
        if not isinstance(molecule, Chem.Mol):
            chunk.bad.append(i)
            continue
        elements = _elements(text, molecule.GetNumAtoms()) if quick else None
        if elements is None:
            chunk.add(molecule)
        else:
            chunk.add_plain(molecule, elements)
    block = chunk.block(len(molecules))
    return _read_chunk(molecules, options, quick=False) if block is None else block


class _Chunk:
    """Collects atoms and bonds of molecules that come one after the other."""

    def __init__(self, options: ReadOptions) -> None:
        self.atom_values = [ATOM_VALUES[name] for name in options.atom]
        self.bond_values = [BOND_VALUES[name] for name in options.bond]
        self.bad: list[int] = []
        self.nodes: list[int] = []
        self.atoms: list[int] = []  # rows of all atoms, one after the other
        self.bonds: list[int] = []  # rows: number of the molecule, both ends, values
        self.plain: list[int] = []  # numbers of the molecules below
        self.matrices: list[NDArray[np.float64]] = []
        self.num_bonds = 0

    def add(self, molecule: Any) -> None:  # noqa: ANN401
        """Read any molecule, atom by atom and bond by bond."""
        number, size, rows = len(self.nodes), molecule.GetNumAtoms(), []
        self.nodes.append(size)
        try:
            atoms = [molecule.GetAtomWithIdx(i) for i in range(size)]
            self.atoms += [value(atom) for atom in atoms for value in self.atom_values]
            for i in range(molecule.GetNumBonds()):
                bond = molecule.GetBondWithIdx(i)
                ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
                rows.append((number, min(ends), max(ends), *(value(bond) for value in self.bond_values)))
        except RuntimeError as error:  # RDKit's about what it has not computed
            raise GraphError(
                "RDKit has not computed hydrogens or rings of a molecule.",
                "Call Chem.SanitizeMol(molecule) first, or choose less in atom and bond.",
            ) from error
        for row in sorted(rows):
            self.bonds += row

    def add_plain(self, molecule: Any, elements: list[int]) -> None:  # noqa: ANN401
        """Read a molecule of known elements without unusual bonds."""
        self.plain.append(len(self.nodes))
        self.nodes.append(len(elements))
        self.atoms += elements
        self.matrices.append(Chem.GetAdjacencyMatrix(molecule, True))
        self.num_bonds += molecule.GetNumBonds()

    def block(self, given: int) -> Block | None:
        """All of it as arrays; None if matrices lack a bond, as they do those of order zero."""
        width = len(self.bond_values)
        rows = np.array(self.bonds, dtype=np.int32).reshape(-1, 3 + width)
        if self.matrices:
            plain = self._plain_bonds()
            if len(plain) != self.num_bonds:
                return None
            rows = np.concatenate([rows, plain]) if rows.size else plain
            rows = rows[np.argsort(rows[:, 0], kind="stable")] if len(self.plain) < len(self.nodes) else rows
        atoms = np.array(self.atoms, dtype=np.int32).reshape(sum(self.nodes), len(self.atom_values))
        edges = np.bincount(rows[:, 0], minlength=len(self.nodes))
        nodes = np.array(self.nodes, dtype=np.int64)
        return Block(given, self.bad, nodes, edges, rows[:, 1], rows[:, 2], atoms, rows[:, 3:])

    def _plain_bonds(self) -> Ints:
        """Bonds of the matrices, sorted by molecule and ends ``(E, 4)``."""
        orders = np.concatenate([matrix.ravel() for matrix in self.matrices])
        places = np.flatnonzero(orders)
        sizes = np.array([len(matrix) for matrix in self.matrices])
        first = np.concatenate([[0], (sizes**2).cumsum()])
        which = np.searchsorted(first, places, side="right") - 1
        source, target = np.divmod(places - first[which], sizes[which])
        once = source < target
        twice = np.minimum(2 * orders[places[once]], len(CODE_OF_ORDER) - 1).astype(np.int64)
        columns = (np.array(self.plain)[which[once]], source[once], target[once], CODE_OF_ORDER[twice])
        return np.stack(columns, 1).astype(np.int32)
