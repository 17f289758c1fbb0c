"""Mined patterns: small graphs, with everything known about where they occur, and ways to hand them on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
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
from rwkplus.mining.pattern_exports import cypher, plot, query_molecule, smarts, smiles
from rwkplus.mining.pattern_files import FORMAT, FORMATS, StoredPattern
from rwkplus.mining.pattern_parts import Condition, Occurrences
from rwkplus.mining.reading import PatternReader
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import Found, Shape
from rwkplus.table import GraphTable

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True)
class Pattern:
    """A small labelled graph that occurs in a database, and where.

    Occurrences keep labels and edges; the graph may have further edges between the same nodes. Those that
    differ only by a symmetry of the pattern are listed once.

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

    @classmethod
    def of(
        cls,
        reader: PatternReader,
        shape: Shape,
        database: MiningDatabase,
        found: Found,
        table: GraphTable,
        **judged: Any,  # noqa: ANN401
    ) -> "Pattern":
        """Name the labels of a shape and look up its occurrences in their graphs.

        Args:
            reader: What numbered the labels and cut the attributes.
            shape: The pattern, by the numbers of its labels.
            database: The graphs, as they were searched.
            found: Where the shape occurs in them.
            table: The same graphs with the user's ids.
            judged: The criterion, score, coverage and gain of the pattern.
        """
        labels, directed = reader.labels, shape.directed
        edges = [(j, i, edge ^ 1) if edge & directed else (i, j, edge) for i, j, edge in shape.edges]
        first_node = np.searchsorted(database.rows.graph, np.arange(database.num_graphs))
        graph = database.rows.graph[found.rows[:, 0]]
        local = found.rows - first_node[graph][:, None]
        names, ids = table.graphs.get("name"), table.nodes.get("id")
        return cls(
            labels=tuple(labels.nodes.names[label] for label in shape.labels),
            edges=tuple(
                (i, j, labels.edges.names[edge // (1 + directed)] if labels.edges.exists else None)
                for i, j, edge in edges
            ),
            directed=directed,
            node_conditions=tuple(reader.conditions("nodes", need) for need in shape.needs) if any(shape.needs) else (),
            edge_conditions=(
                tuple(reader.conditions("edges", need) for need in shape.edge_needs) if any(shape.edge_needs) else ()
            ),
            support=np.unique(graph).size,
            num_graphs=database.num_graphs,
            occurrences=Occurrences(
                graph,
                local,
                None if names is None else names.values()[graph],
                None if ids is None else ids.values()[table.node_ptr[graph][:, None] + local],
            ),
            node_coverage=np.unique(found.rows).size / database.rows.label.size,
            exhaustive=found.exhaustive,
            **judged,
        )

    def shape(self, reader: PatternReader) -> Shape:
        """Return the pattern with the numbers that a reader gives its labels and conditions."""
        nodes, edges = reader.labels.nodes.names, reader.labels.edges.names
        numbered = [(i, j, (0 if e is None else edges.index(e)) * (1 + self.directed)) for i, j, e in self.edges]
        return Shape(
            tuple(nodes.index(label) for label in self.labels),
            tuple((i, j, edge) if i < j else (j, i, edge ^ self.directed) for i, j, edge in numbered),
            self.directed,
            tuple(reader.need("nodes", part) for part in self.node_conditions),
            tuple(reader.need("edges", part) for part in self.edge_conditions),
        )

    @property
    def size(self) -> int:
        """Number of nodes.

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> edge = Pattern(("red", "blue"), ((0, 1, None),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> edge.size
        2
        """
        return len(self.labels)

    @property
    def frequency(self) -> float:
        """Share of graphs that have the pattern.

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> edge = Pattern(("red", "blue"), ((0, 1, None),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> edge.frequency
        0.5
        """
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
            return describe(self.to_networkx())

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
        return query_molecule(self)

    def to_smarts(self) -> str:
        """Write the pattern as SMARTS, which finds it in the same molecules as :meth:`to_mol` (extra: ``chem``).

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> carbonyl = Pattern(("C", "O"), ((0, 1, "="),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> carbonyl.to_smarts()
        '[#6]=[#8]'
        """
        return smarts(self)

    def to_smiles(self) -> str:
        """Write the pattern as SMILES, where it is a molecule when hydrogens are added (extra: ``chem``).

        Most patterns are parts of molecules, of which SMILES would tell something else: these raise ``DataError``.
        """
        return smiles(self)

    def to_cypher(self) -> str:
        """Write a query that finds the pattern in a graph database, such as Neo4j.

        Labels of nodes are labels there, labels of edges types of relationships, and attributes properties. As for
        occurrences, nodes differ from each other, and symmetric patterns are found once for every symmetry.

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> judged = ("blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> paid = Pattern(("shop", "bank"), ((1, 0, "cash"),), *judged, directed=True)
        >>> print(paid.to_cypher())
        MATCH (n1:`bank`)-[r0:`cash`]->(n0:`shop`)
        WHERE n0 <> n1
        RETURN n0, n1
        """
        return cypher(self)

    def plot(self, ax: Any = None) -> Any:  # noqa: ANN401
        """Draw the pattern with matplotlib (extra: ``plot``).

        Args:
            ax: Axes to draw into; by default those of a new figure.

        Returns:
            The axes.
        """
        return plot(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> edge = Pattern(("red", "blue"), ((0, 1, None),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> edge.to_dict()["occurrences"]
        {'graphs': [1], 'nodes': [[4, 5]]}
        """
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
        picture = draw(self.to_networkx(), label_colors(self.labels), title=self.short_name)
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
