"""Patterns in the words of other tools: RDKit, Cypher and matplotlib."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from rwkplus.drawing import label_colors
from rwkplus.errors import DataError, MissingExtraError
from rwkplus.mining.pattern_parts import Condition

if TYPE_CHECKING:
    from rwkplus.mining.patterns import Pattern

BONDS = {None: "~", "-": "-", "=": "=", "#": "#", ":": ":", "~": "!-&!=&!#&!:"}
"""SMARTS of the labels that bonds have; without labels, all bonds are alike."""
ORDERS = {"-": "SINGLE", "=": "DOUBLE", "#": "TRIPLE", ":": "AROMATIC"}


def query_molecule(pattern: "Pattern") -> Any:  # noqa: ANN401
    """The pattern as a query molecule of RDKit, atoms in the order of its nodes."""
    chem = _rdkit()
    numbers = _atomic_numbers(pattern, chem)
    molecule = chem.RWMol()
    for number in numbers:
        molecule.AddAtom(chem.AtomFromSmarts(f"[#{number}]"))
    for k, (i, j, bond) in enumerate(pattern.edges):
        molecule.AddBond(i, j, chem.BondType.SINGLE)
        molecule.ReplaceBond(k, chem.BondFromSmarts(BONDS[bond]))
    return molecule.GetMol()


def smarts(pattern: "Pattern") -> str:
    """The query molecule as text."""
    return str(_rdkit().MolToSmarts(query_molecule(pattern)))


def smiles(pattern: "Pattern") -> str:
    """SMILES of the molecule that has the pattern's atoms and bonds and nothing else but hydrogens."""
    query, chem = query_molecule(pattern), _rdkit()
    from rdkit import rdBase

    molecule = chem.RWMol()
    for number in _atomic_numbers(pattern, chem):
        molecule.AddAtom(chem.Atom(number))
    for i, j, bond in pattern.edges:
        molecule.AddBond(i, j, getattr(chem.BondType, ORDERS.get(bond or "", "ZERO")))
        for part in (molecule.GetBondBetweenAtoms(i, j), molecule.GetAtomWithIdx(i), molecule.GetAtomWithIdx(j)):
            part.SetIsAromatic(bond == ":" or part.GetIsAromatic())
    with rdBase.BlockLogs():
        sound = not chem.SanitizeMol(molecule, catchErrors=True)
        text = str(chem.MolToSmiles(molecule)) if sound else ""
        again = chem.MolFromSmiles(text)
    size = (pattern.size, len(pattern.edges))
    alike = again is not None and (again.GetNumAtoms(), again.GetNumBonds()) == size
    usual = all(bond in ORDERS for _, _, bond in pattern.edges)
    if not usual or not alike or not again.HasSubstructMatch(query):
        raise DataError("the pattern is a part of molecules, not a molecule itself.", "to_smarts() writes it.")
    return text


def _rdkit() -> Any:  # noqa: ANN401
    try:
        from rdkit import Chem
    except ImportError as error:
        raise MissingExtraError("molecules need RDKit.", "Install it: pip install 'rwkplus[chem]'.") from error
    return Chem


def _atomic_numbers(pattern: "Pattern", chem: Any) -> list[int]:  # noqa: ANN401
    """Elements of the nodes, unless something about the pattern makes no molecule."""
    table = chem.GetPeriodicTable()
    numbers = {table.GetElementSymbol(number): number for number in range(119)}
    orders = {bond for _, _, bond in pattern.edges}
    if not set(pattern.labels) <= numbers.keys() or not orders <= BONDS.keys():
        words = sorted({*pattern.labels} - numbers.keys()) or sorted(map(str, orders - BONDS.keys()))
        raise DataError(f"{', '.join(map(repr, words[:5]))}: no elements or bonds, so this is no part of a molecule.")
    pairs = {frozenset((i, j)) for i, j, _ in pattern.edges}
    if pattern.directed or len(pairs) < len(pattern.edges):
        raise DataError("edges have directions or run side by side, so this is no part of a molecule.")
    if any(pattern.node_conditions) or any(pattern.edge_conditions):
        raise DataError("the pattern has conditions on attributes, which SMARTS and SMILES cannot tell.")
    return [numbers[label] for label in pattern.labels]


def cypher(pattern: "Pattern") -> str:
    """A query that finds the pattern in a graph database."""
    if "" in pattern.labels or "" in {label for _, _, label in pattern.edges}:
        raise DataError("a label is empty, which graph databases do not allow.", "Name it before mining.")
    told: set[int] = set()
    places = []
    for k, (i, j, label) in enumerate(pattern.edges):
        kind = "" if label is None else f":{_quoted(label)}"
        first, second = (_cypher_node(pattern, v, told) for v in (i, j))
        places.append(f"{first}-[r{k}{kind}]-{'>' if pattern.directed else ''}{second}")
    places = places or [_cypher_node(pattern, 0, told)]
    asked = [f"n{i} <> n{j}" for i, j in combinations(range(pattern.size), 2)]
    asked += _cypher_conditions("n", pattern.node_conditions) + _cypher_conditions("r", pattern.edge_conditions)
    where = [f"WHERE {' AND '.join(asked)}"] if asked else []
    returned = ", ".join(f"n{i}" for i in range(pattern.size))
    return "\n".join([f"MATCH {', '.join(places)}", *where, f"RETURN {returned}"])


def _cypher_node(pattern: "Pattern", v: int, told: set[int]) -> str:
    """A node, with its label where it comes first."""
    label = "" if v in told else f":{_quoted(pattern.labels[v])}"
    told.add(v)
    return f"(n{v}{label})"


def _cypher_conditions(letter: str, conditions: Sequence[Sequence[Condition]]) -> list[str]:
    return [
        f"{letter}{k}.{_quoted(attribute)} {sign} {int(end) if float(end).is_integer() else float(end)!r}"
        for k, own in enumerate(conditions)
        for attribute, low, high in own
        for sign, end in ((">=", low), ("<", high))
        if end is not None
    ]


def _quoted(name: str) -> str:
    r"""A name that may hold anything: databases read ``\uXXXX`` before they look for backticks."""
    name = name.replace("\\u", "\\u005Cu").replace("`", "``")
    return "`" + "".join(letter if letter.isprintable() else _escaped(letter) for letter in name) + "`"


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[k : k + 4]}" for k in range(0, len(units), 4))


def plot(pattern: "Pattern", ax: Any = None) -> Any:  # noqa: ANN401
    """Draw the pattern into axes of matplotlib."""
    from rwkplus.drawing.plots import plot_graph

    return plot_graph(pattern.to_networkx(), label_colors(pattern.labels), ax)
