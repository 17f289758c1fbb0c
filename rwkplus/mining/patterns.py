"""Mined patterns: small graphs, with everything known about where they occur, and ways to hand them on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import networkx as nx
import numpy as np

from rwkplus.drawing import draw, label_colors
from rwkplus.errors import DataError, MissingExtraError
from rwkplus.files import plain_number, read_json, visible, write_atomic
from rwkplus.mining.contrast import ClassContrast, MeanDifference
from rwkplus.mining.names import describe
from rwkplus.mining.pattern_parts import FORMAT, FORMATS, Condition, Occurrences, StoredPattern
from rwkplus.table import GraphTable

if TYPE_CHECKING:
    from torch_geometric.data import Data

BONDS = {None: "~", "-": "-", "=": "=", "#": "#", ":": ":", "~": "!-&!=&!#&!:"}
"""SMARTS of the labels that bonds have; without labels, all bonds are alike."""
ORDERS = {"-": "SINGLE", "=": "DOUBLE", "#": "TRIPLE", ":": "AROMATIC"}


@dataclass(frozen=True)
class Pattern:
    """A small labelled graph that occurs in a database, and where.

    Occurrences keep labels and edges; the graph may have further edges between the same nodes. Those on the same edges
    are listed once, however many ways there are to lay the pattern on them.

    >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
    >>> edge = Pattern(("red", "blue"), ((0, 1, None),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
    >>> print(edge)
    path blue-red (1 of 2 graphs)
    """

    labels: tuple[str, ...]
    edges: tuple[tuple[int, int, str | None], ...]
    criterion: str
    score: float
    """Nats of evidence by the criterion it was found with."""
    support: int
    """Graphs that have the pattern."""
    num_graphs: int
    """Graphs in the database."""
    occurrences: Occurrences
    node_coverage: float
    """Share of all nodes that lie in an occurrence."""
    edge_coverage: float
    """Share of all edges that lie in an occurrence."""
    gain: float
    """Share of all edges that lie in an occurrence of this pattern and of none before it."""
    exhaustive: bool = True
    """Whether ``occurrences`` lists all; where a graph has thousands, it lists some, and coverage counts those."""
    contrast: tuple[ClassContrast, ...] = ()
    """How classes differ in the pattern, for databases mined with ``y``."""
    directed: bool = False
    """Whether an edge ``(i, j, label)`` leads from ``i`` to ``j``; otherwise ``i < j``."""
    node_conditions: tuple[tuple[Condition, ...], ...] = ()
    """What is asked of the attributes of every node, in the order of ``labels``; empty where nothing is."""
    edge_conditions: tuple[tuple[Condition, ...], ...] = ()
    """What is asked of the attributes of every edge, in the order of ``edges``; empty where nothing is."""
    difference: MeanDifference | None = None
    """How targets differ in the pattern, for databases mined with a real ``y``."""
    mni: int | None = None
    """Minimum-image support, for databases of one graph: the fewest distinct nodes in one place of the pattern."""
    num_occurrences: int | None = None
    """Occurrences, for databases of one graph: of thousands, ``occurrences`` lists some."""
    labelled: bool = True
    """Whether nodes had labels; where nothing describes nodes, all have the label ``"0"``."""

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.labels)

    @property
    def frequency(self) -> float:
        """Share of graphs that have the pattern."""
        return self.support / self.num_graphs

    @property
    def graphs(self) -> tuple[int, ...]:
        """Numbers of the graphs that have the pattern, by which a table can be cut.

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> edge = Pattern(("red", "blue"), ((0, 1, None),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> edge.graphs
        (1,)
        """
        return tuple(np.unique(self.occurrences.graph).tolist())

    @property
    def short_name(self) -> str:
        """SMILES where the pattern is a molecule, otherwise its form and labels (:func:`rwkplus.mining.describe`).

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> edge = Pattern(("red", "blue"), ((0, 1, None),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> edge.short_name
        'path blue-red'
        """
        try:
            return self.to_smiles()
        except (DataError, MissingExtraError):
            return describe(self._with_labels("node"))

    def to_networkx(self) -> nx.Graph:
        """Return the pattern with attribute ``label`` of nodes and, where there are any, edges.

        It is an ``nx.DiGraph`` where edges have directions, and one of the two multigraphs where several edges run
        the same way. Conditions are the text ``conditions`` of their node or edge.

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> edge = Pattern(("red", "blue"), ((0, 1, None),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> edge.to_networkx().nodes(data="label")
        NodeDataView({0: 'red', 1: 'blue'}, data='label')
        """
        ends = {(i, j) if self.directed else (min(i, j), max(i, j)) for i, j, _ in self.edges}
        single = nx.DiGraph if self.directed else nx.Graph
        several = nx.MultiDiGraph if self.directed else nx.MultiGraph
        graph = (single if len(ends) == len(self.edges) else several)()
        for v, name in enumerate(self.labels):
            graph.add_node(v, label=name, **_asked(self.node_conditions, v))
        for k, (i, j, label) in enumerate(self.edges):
            graph.add_edge(i, j, **({} if label is None else {"label": label}), **_asked(self.edge_conditions, k))
        return graph

    def drawn(self) -> nx.Graph:
        """Return what a picture shows: like :meth:`to_networkx`, but nothing is written on nodes without labels.

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> judged = ("blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> edge = Pattern(("0", "0"), ((0, 1, None),), *judged, labelled=False)
        >>> edge.short_name, edge.drawn().nodes[0]["label"]
        ('path node-node', '')
        """
        return self._with_labels("")

    def _with_labels(self, otherwise: str) -> nx.Graph:
        """The pattern as a graph, with another label for nodes that have none."""
        graph = self.to_networkx()
        if not self.labelled:
            nx.set_node_attributes(graph, otherwise, "label")
        return graph

    def to_data(self) -> "Data":
        """Return the pattern as a PyG graph with one-hot labels and their names (extra: ``nn``)."""
        return GraphTable.of([self.to_networkx()], ignore=("conditions",)).to_pyg()[0]

    def to_mol(self) -> Any:  # noqa: ANN401
        """Return the pattern as a query molecule of RDKit, whose atoms have the order of the nodes (extra: ``chem``).

        It matches where the pattern occurs: elements and bonds count; charges, hydrogens and chirality do not.
        Without labels of edges it matches any bond.

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> carbonyl = Pattern(("C", "O"), ((0, 1, "="),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> from rdkit.Chem import MolFromSmiles
        >>> MolFromSmiles("CC=O").GetSubstructMatches(carbonyl.to_mol())
        ((1, 2),)
        """
        chem = _rdkit()
        numbers = self._atomic_numbers(chem)
        molecule = chem.RWMol()
        for number in numbers:
            molecule.AddAtom(chem.AtomFromSmarts(f"[#{number}]"))
        for k, (i, j, bond) in enumerate(self.edges):
            molecule.AddBond(i, j, chem.BondType.SINGLE)
            molecule.ReplaceBond(k, chem.BondFromSmarts(BONDS[bond]))
        return molecule.GetMol()

    def to_smarts(self) -> str:
        """Write the pattern as SMARTS, which finds it in the same molecules as :meth:`to_mol` (extra: ``chem``).

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> carbonyl = Pattern(("C", "O"), ((0, 1, "="),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> carbonyl.to_smarts()
        '[#6]=[#8]'
        """
        return str(_rdkit().MolToSmarts(self.to_mol()))

    def to_smiles(self) -> str:
        """Write the pattern as SMILES, where it is a molecule when hydrogens are added (extra: ``chem``).

        Most patterns are parts of molecules, of which SMILES would tell something else: these raise ``DataError``.
        """
        query, chem = self.to_mol(), _rdkit()
        from rdkit import rdBase

        molecule = chem.RWMol()
        for number in self._atomic_numbers(chem):
            molecule.AddAtom(chem.Atom(number))
        for i, j, bond in self.edges:
            molecule.AddBond(i, j, getattr(chem.BondType, ORDERS.get(bond or "", "ZERO")))
            for part in (molecule.GetBondBetweenAtoms(i, j), molecule.GetAtomWithIdx(i), molecule.GetAtomWithIdx(j)):
                part.SetIsAromatic(bond == ":" or part.GetIsAromatic())
        with rdBase.BlockLogs():
            sound = not chem.SanitizeMol(molecule, catchErrors=True)
            text = str(chem.MolToSmiles(molecule)) if sound else ""
            again = chem.MolFromSmiles(text)
        size = (self.size, len(self.edges))
        alike = again is not None and (again.GetNumAtoms(), again.GetNumBonds()) == size
        usual = all(bond in ORDERS for _, _, bond in self.edges)
        if not usual or not alike or not again.HasSubstructMatch(query):
            raise DataError("the pattern is a part of molecules, not a molecule itself.", "Use to_smarts() instead.")
        return text

    def _atomic_numbers(self, chem: Any) -> list[int]:  # noqa: ANN401
        """Elements of the nodes, unless something about the pattern makes no molecule."""
        table = chem.GetPeriodicTable()
        numbers = {table.GetElementSymbol(number): number for number in range(119)}
        orders = {bond for _, _, bond in self.edges}
        if not set(self.labels) <= numbers.keys() or not orders <= BONDS.keys():
            words = sorted({*self.labels} - numbers.keys()) or sorted(map(str, orders - BONDS.keys()))
            raise DataError(
                f"{', '.join(map(repr, words[:5]))}: not elements or bonds, so this is not part of a molecule."
            )
        pairs = {frozenset((i, j)) for i, j, _ in self.edges}
        if self.directed or len(pairs) < len(self.edges):
            raise DataError("edges are directed or parallel, so this is not part of a molecule.")
        if any(self.node_conditions) or any(self.edge_conditions):
            raise DataError("the pattern has conditions on attributes, which SMARTS and SMILES cannot express.")
        return [numbers[label] for label in self.labels]

    def to_cypher(self) -> str:
        """Write a query that finds the pattern in a graph database, such as Neo4j.

        Labels of nodes are labels there, labels of edges types of relationships, and attributes properties. Where
        several columns make a label, a type is called like all of them: ``wire, EUR``. As for occurrences, nodes differ
        from each other, but the same edges are found once for every way to lay the pattern on them.

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> judged = ("blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> paid = Pattern(("shop", "bank"), ((1, 0, "cash"),), *judged, directed=True)
        >>> print(paid.to_cypher())
        MATCH (n1:`bank`)-[r0:`cash`]->(n0:`shop`)
        WHERE n0 <> n1
        RETURN n0, n1
        """
        if "" in self.labels or "" in {label for _, _, label in self.edges}:
            raise DataError("a label is empty, which graph databases do not allow.", "Name it before mining.")
        told: set[int] = set()
        places = []
        for k, (i, j, label) in enumerate(self.edges):
            kind = "" if label is None else f":{_quoted(label)}"
            first, second = (_cypher_node(self, v, told) for v in (i, j))
            places.append(f"{first}-[r{k}{kind}]-{'>' if self.directed else ''}{second}")
        places = places or [_cypher_node(self, 0, told)]
        asked = [f"n{i} <> n{j}" for i, j in combinations(range(self.size), 2)]
        asked += _cypher_conditions("n", self.node_conditions) + _cypher_conditions("r", self.edge_conditions)
        where = [f"WHERE {' AND '.join(asked)}"] if asked else []
        returned = ", ".join(f"n{i}" for i in range(self.size))
        return "\n".join([f"MATCH {', '.join(places)}", *where, f"RETURN {returned}"])

    def plot(self, ax: Any = None) -> Any:  # noqa: ANN401
        """Draw the pattern with matplotlib (extra: ``plot``).

        Args:
            ax: Axes to draw into; by default those of a new figure.

        Returns:
            The axes.
        """
        from rwkplus.drawing.plots import plot_graph

        return plot_graph(self.drawn(), label_colors(self.labels), ax)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "occurrences"}
        return plain | {
            "contrast": [tuple(part) for part in self.contrast],
            "occurrences": self.occurrences.to_dict(),
            "node_conditions": [[tuple(part) for part in own] for own in self.node_conditions],
            "edge_conditions": [[tuple(part) for part in own] for own in self.edge_conditions],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Pattern":
        """Read what :meth:`to_dict` returned, or what JSON made of it; raises ``DataError`` for anything else.

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> edge = Pattern(("red", "blue"), ((0, 1, None),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> Pattern.from_dict(edge.to_dict()) == edge
        True
        """
        try:
            stored = msgspec.convert(values, StoredPattern)
            stored.check()
            return cls(**stored.fields())
        except ValueError as error:  # of msgspec, too
            raise DataError(f"this is not a stored pattern: {error}.") from error

    def _repr_html_(self) -> str:
        """The pattern as a picture, for notebooks."""
        picture = draw(self.drawn(), label_colors(self.labels), title=self.short_name)
        return (
            f'<figure style="width:12rem;margin:.5rem">{picture}<figcaption>{escape(str(self))}</figcaption></figure>'
        )

    def __str__(self) -> str:
        if self.mni is None or self.num_occurrences is None:
            return visible(f"{self.short_name} ({self.support} of {self.num_graphs} graphs)")
        return visible(f"{self.short_name} ({self.num_occurrences:,} occurrences, minimum image {self.mni:,})")


def _asked(conditions: Sequence[Sequence[Condition]], k: int) -> dict[str, str]:
    own = conditions[k] if conditions else ()
    return {"conditions": ", ".join(map(str, own))} if own else {}


def _rdkit() -> Any:  # noqa: ANN401
    try:
        from rdkit import Chem
    except ImportError as error:
        raise MissingExtraError("molecules need RDKit.", "Install it: pip install 'rwkplus[chem]'.") from error
    return Chem


def _cypher_node(pattern: Pattern, v: int, told: set[int]) -> str:
    """A node, with its label where it comes first."""
    label = "" if v in told or not pattern.labelled else f":{_quoted(pattern.labels[v])}"
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


def save_patterns(patterns: Sequence[Pattern], path: str | Path) -> Path:
    """Write patterns to a JSON file, whole or not at all; folders are made."""
    record = {"format": FORMAT, "patterns": [pattern.to_dict() for pattern in patterns]}
    try:
        return write_atomic(path, json.dumps(record, default=plain_number))
    except TypeError as error:
        raise DataError(
            f"the patterns cannot be written to {path}, as an id of a graph or node has no form in JSON: {error}.",
            "Name graphs and nodes by texts, numbers or tuples of these.",
        ) from error


def load_patterns(path: str | Path) -> list[Pattern]:
    """Read what :func:`save_patterns` wrote, also what older versions wrote; a damaged file raises ``DataError``.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     load_patterns(save_patterns([], f"{folder}/patterns.json"))
    []
    """
    record = read_json(path)
    if not isinstance(record, dict) or record.get("format") not in FORMATS:
        raise DataError(f"{path} does not hold patterns: expected the format {FORMAT!r}.")
    if not isinstance(record.get("patterns"), list):
        raise DataError(f"{path} has no list of patterns.", "Is the file complete?")
    patterns = []
    for k, values in enumerate(record["patterns"]):
        try:
            patterns.append(Pattern.from_dict(values))
        except DataError as error:
            raise DataError(f"{path} is damaged or was changed by hand: in pattern {k}, {error}") from error
    return patterns
