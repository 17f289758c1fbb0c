"""Atoms and bonds of molecules as arrays, in one pass over what RDKit reads (extra: ``chem``)."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError, ParameterError
from rwkplus.table import Categories, Column

ATOM = ("element", "charge", "aromatic", "hydrogens", "degree", "isotope", "chirality", "ring")
BOND = ("type", "stereo", "conjugated", "ring")
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


class Choice(NamedTuple):
    """What describes atoms and bonds."""

    atom: tuple[str, ...]
    bond: tuple[str, ...]

    @classmethod
    def of(cls, atom: Sequence[str], bond: Sequence[str]) -> "Choice":
        """Refuse what cannot be chosen."""
        for name, chosen, known in (("atom", atom, ATOM), ("bond", bond, BOND)):
            for own in chosen:
                if own not in known:
                    raise ParameterError(f"{name} must be some of {', '.join(known)}; got {own!r}.")
            if len(set(chosen)) < len(chosen):
                raise ParameterError(f"{name}={tuple(chosen)!r} names something twice.")
        return cls(tuple(atom), tuple(bond))


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


def _chirality(atom: Any) -> int:  # noqa: ANN401
    return {"R": 1, "S": 2}.get(atom.GetProp("_CIPCode"), 0) if atom.HasProp("_CIPCode") else 0


def _stereo(bond: Any) -> int:  # noqa: ANN401
    return {"STEREOE": 1, "STEREOTRANS": 1, "STEREOZ": 2, "STEREOCIS": 2}.get(str(bond.GetStereo()), 0)


def _bond_type(bond: Any) -> int:  # noqa: ANN401
    return {"SINGLE": 0, "DOUBLE": 1, "TRIPLE": 2, "AROMATIC": 3}.get(str(bond.GetBondType()), len(BONDS) - 1)


Value = Callable[[Any], int]
ATOM_VALUES: Mapping[str, Value] = {
    "element": lambda atom: atom.GetAtomicNum(),
    "charge": lambda atom: atom.GetFormalCharge(),
    "aromatic": lambda atom: atom.GetIsAromatic(),
    "hydrogens": lambda atom: atom.GetTotalNumHs(),
    "degree": lambda atom: atom.GetDegree(),
    "isotope": lambda atom: atom.GetIsotope(),
    "chirality": _chirality,
    "ring": lambda atom: atom.IsInRing(),
}
BOND_VALUES: Mapping[str, Value] = {
    "type": _bond_type,
    "stereo": _stereo,
    "conjugated": lambda bond: bond.GetIsConjugated(),
    "ring": lambda bond: bond.IsInRing(),
}


def read_block(molecules: Sequence[Any], choice: Choice) -> Block:
    """Read SMILES strings or molecules; what RDKit cannot read is left out and told."""
    from rdkit import rdBase

    with rdBase.BlockLogs():
        chunks = [
            _read_chunk(molecules[start : start + CHUNK], choice, quick=choice == (("element",), ("type",)))
            for start in range(0, len(molecules), CHUNK)
        ]
    return joined(chunks)


def joined(blocks: Sequence[Block]) -> Block:
    """Put blocks below one another."""
    starts = np.cumsum([0, *(block.given for block in blocks)]).tolist()
    bad = [start + i for start, block in zip(starts, blocks, strict=False) for i in block.bad]
    arrays = (np.concatenate(parts) for parts in zip(*(block[2:] for block in blocks), strict=True))
    return Block(starts[-1], bad, *arrays)


def column_of(name: str, values: Ints) -> tuple[str, Column]:
    """The column of one choice."""
    called = "label" if name in MAIN else name
    if name in NAMES:
        return called, Categories.numbered(values, NAMES[name])
    distinct = np.flatnonzero(np.bincount(values - values.min(initial=0))) + values.min(initial=0)
    if name == "element":
        from rdkit import Chem

        symbol = {number: Chem.GetPeriodicTable().GetElementSymbol(number) for number in distinct.tolist()}
        distinct = np.array(sorted(symbol, key=symbol.__getitem__), dtype=np.int64)
        names = [symbol[number] for number in distinct.tolist()]
    else:
        names = [str(number) for number in distinct.tolist()]
    code = np.zeros(int(distinct.max(initial=0) - distinct.min(initial=0)) + 1, np.int32)
    code[distinct - distinct.min(initial=0)] = np.arange(distinct.size)
    return called, Categories.numbered(code[values - distinct.min(initial=0)], names)


class _AtomicNumbers(dict[str, int]):
    """Atomic numbers of atoms as SMILES write them, found by RDKit; -1 for elements with unusual bonds."""

    def __missing__(self, token: str) -> int:
        from rdkit import Chem

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


def _read_chunk(molecules: Sequence[Any], choice: Choice, *, quick: bool) -> Block:
    """Read some molecules; if ``quick``, elements from their text and bonds from matrices where that is safe."""
    from rdkit.Chem import Mol, MolFromSmiles

    chunk = _Chunk(choice)
    for i, given in enumerate(molecules):
        text = given if isinstance(given, str) else ""
        molecule = MolFromSmiles(text) if isinstance(given, str) else given
        if not isinstance(molecule, Mol):
            chunk.bad.append(i)
            continue
        elements = _elements(text, molecule.GetNumAtoms()) if quick else None
        if elements is None:
            _add_any(chunk, molecule)
        else:
            chunk.add_plain(molecule, elements)
    block = chunk.block(len(molecules))
    return _read_chunk(molecules, choice, quick=False) if block is None else block


def _add_any(chunk: "_Chunk", molecule: Any) -> None:  # noqa: ANN401
    try:
        chunk.add(molecule)
    except RuntimeError as error:  # RDKit's about what it has not computed
        raise GraphError(
            "RDKit has not computed hydrogens or rings of a molecule: call Chem.SanitizeMol(molecule) first, or choose "
            "less with atom= and bond=."
        ) from error


class _Chunk:
    """Collects atoms and bonds of molecules that come one after the other."""

    def __init__(self, choice: Choice) -> None:
        from rdkit.Chem import GetAdjacencyMatrix

        self.adjacency = GetAdjacencyMatrix
        self.atom_values = [ATOM_VALUES[name] for name in choice.atom]
        self.bond_values = [BOND_VALUES[name] for name in choice.bond]
        self.bad: list[int] = []
        self.nodes: list[int] = []
        self.atoms: list[int] = []  # rows of all atoms, one after the other
        self.bonds: list[int] = []  # rows: number of the molecule, both ends, values
        self.plain: list[int] = []  # numbers of the molecules below
        self.matrices: list[NDArray[np.float64]] = []
        self.num_bonds = 0

    def add(self, molecule: Any) -> None:  # noqa: ANN401
        """Read any molecule, atom by atom and bond by bond."""
        number, size = len(self.nodes), molecule.GetNumAtoms()
        self.nodes.append(size)
        atoms = [molecule.GetAtomWithIdx(i) for i in range(size)]
        self.atoms += [value(atom) for atom in atoms for value in self.atom_values]
        rows = []
        for i in range(molecule.GetNumBonds()):
            bond = molecule.GetBondWithIdx(i)
            ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            rows.append((number, min(ends), max(ends), *(value(bond) for value in self.bond_values)))
        for row in sorted(rows):
            self.bonds += row

    def add_plain(self, molecule: Any, elements: list[int]) -> None:  # noqa: ANN401
        """Read a molecule of known elements without unusual bonds."""
        self.plain.append(len(self.nodes))
        self.nodes.append(len(elements))
        self.atoms += elements
        self.matrices.append(self.adjacency(molecule, True))
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
