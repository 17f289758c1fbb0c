"""Mined patterns: real graphs, with everything known about where they occur, and the file that keeps them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, overload

import msgspec
import networkx as nx
import numpy as np

from rwkplus.drawing import draw, label_colors
from rwkplus.errors import DataError, MissingExtraError
from rwkplus.files import plain_number, read_json, write_whole
from rwkplus.loops.embeddings import Ints
from rwkplus.mining.contrast import ClassContrast
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import Found, Shape
from rwkplus.table import GraphTable, Reader
from rwkplus.table.columns import Array

if TYPE_CHECKING:
    from torch_geometric.data import Data

FORMAT = "rwkplus patterns, version 2"
FIRST_FORMAT = "rwkplus patterns, version 1"
BOND_ORDERS = {"-": 1.0, "=": 2.0, "#": 3.0, ":": 1.5}
DEEPEST_ID = 8
"""Levels of tuples in the id of a node."""


class Occurrence(NamedTuple):
    """One place where a pattern occurs.

    >>> Occurrence("molecule 7", (3, 4)).nodes
    (3, 4)
    """

    graph: Any  #: what the user calls the graph: its name, or its number in the database
    nodes: tuple[Any, ...]  #: ids of its nodes, or their numbers, in the order of the pattern's nodes


@dataclass(frozen=True, eq=False)
class Occurrences(Sequence[Occurrence]):
    """All places where a pattern occurs; arrays, of which an item is made when it is asked for.

    >>> Occurrences(np.array([1, 3]), np.array([[4, 5], [0, 2]]))
    <2 occurrences: Occurrence(graph=1, nodes=(4, 5)), Occurrence(graph=3, nodes=(0, 2))>
    """

    graph: Ints  # (count,): numbers of graphs, ascending
    nodes: Ints  # (count, n): numbers of nodes within their graph
    graph_names: Array | None = None  # (count,)
    node_ids: Array | None = None  # (count, n)

    @classmethod
    def of(cls, table: GraphTable, graph: Ints, nodes: Ints) -> "Occurrences":
        """Look up what the user calls graphs and nodes."""
        names, ids = table.graphs.get("name"), table.nodes.get("id")
        return cls(
            graph,
            nodes,
            None if names is None else names.values()[graph],
            None if ids is None else ids.values()[table.node_ptr[graph][:, None] + nodes],
        )

    def __len__(self) -> int:
        return self.graph.size

    @overload
    def __getitem__(self, index: int) -> Occurrence: ...
    @overload
    def __getitem__(self, index: slice) -> list[Occurrence]: ...
    def __getitem__(self, index: int | slice) -> Occurrence | list[Occurrence]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        graph = (self.graph if self.graph_names is None else self.graph_names)[index]
        nodes = (self.nodes if self.node_ids is None else self.node_ids)[index]
        return Occurrence(graph.item() if isinstance(graph, np.integer) else graph, tuple(nodes.tolist()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        more = ", ..." if len(self) > 2 else ""
        return f"<{len(self)} occurrences: {', '.join(map(repr, self[:2]))}{more}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: numbers, and ids where there are any.

        >>> Occurrences(np.array([1]), np.array([[4, 5]])).to_dict()
        {'graphs': [1], 'nodes': [[4, 5]]}
        """
        ids = {"graph_names": self.graph_names, "node_ids": self.node_ids}
        numbers = {"graphs": self.graph.tolist(), "nodes": self.nodes.tolist()}
        return numbers | {name: part.tolist() for name, part in ids.items() if part is not None}


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

    @classmethod
    def of(
        cls,
        reader: Reader,
        shape: Shape,
        database: MiningDatabase,
        found: Found,
        table: GraphTable,
        **judged: Any,  # noqa: ANN401
    ) -> "Pattern":
        """Name the labels of a shape and look up its occurrences in their graphs.

        Args:
            reader: What numbered the labels.
            shape: The pattern, by the numbers of its labels.
            database: The graphs, as they were searched.
            found: Where the shape occurs in them.
            table: The same graphs with the user's ids.
            judged: The criterion, score, coverage and gain of the pattern.
        """
        edges = reader.edges
        first_node = np.searchsorted(database.rows.graph, np.arange(database.num_graphs))
        graph = database.rows.graph[found.rows[:, 0]]
        local = found.rows - first_node[graph][:, None]
        return cls(
            labels=tuple(reader.nodes.names[label] for label in shape.labels),
            edges=tuple((i, j, edges.names[edge] if edges.exists else None) for i, j, edge in shape.edges),
            support=np.unique(graph).size,
            num_graphs=database.num_graphs,
            occurrences=Occurrences.of(table, graph, local),
            node_coverage=np.unique(found.rows).size / database.rows.label.size,
            exhaustive=found.exhaustive,
            **judged,
        )

    def shape(self, reader: Reader) -> Shape:
        """Return the pattern with the numbers that a reader gives its labels."""
        nodes, edges = reader.nodes.names, reader.edges.names
        return Shape(
            tuple(nodes.index(label) for label in self.labels),
            tuple((i, j, 0 if edge is None else edges.index(edge)) for i, j, edge in self.edges),
        )

    @property
    def size(self) -> int:
        """Number of nodes."""
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
        """SMILES where the pattern is a molecule, otherwise its form and labels."""
        try:
            return self.to_smiles()
        except (DataError, MissingExtraError):
            return describe(self.to_networkx())

    def to_networkx(self) -> nx.Graph:
        """Return the pattern with node and, where there are any, edge attribute ``label``.

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> edge = Pattern(("red", "blue"), ((0, 1, None),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> edge.to_networkx().nodes(data="label")
        NodeDataView({0: 'red', 1: 'blue'}, data='label')
        """
        graph = nx.Graph()
        graph.add_nodes_from((i, {"label": label}) for i, label in enumerate(self.labels))
        graph.add_edges_from((i, j, {} if edge is None else {"label": edge}) for i, j, edge in self.edges)
        return graph

    def to_data(self) -> "Data":
        """Return the pattern as a PyG graph with one-hot labels and their names (extra: ``nn``)."""
        return GraphTable.of([self.to_networkx()]).to_pyg()[0]

    def to_smiles(self) -> str:
        """Write the pattern as a SMARTS-like SMILES, where labels are elements and edges bonds."""
        try:
            from rdkit import Chem
        except ImportError as error:
            raise MissingExtraError(
                "writing SMILES needs RDKit.", "Install it: pip install 'rwkplus[chem]'."
            ) from error
        bonds = {
            1.0: Chem.BondType.SINGLE,
            2.0: Chem.BondType.DOUBLE,
            3.0: Chem.BondType.TRIPLE,
            1.5: Chem.BondType.AROMATIC,
        }
        table = Chem.GetPeriodicTable()
        elements = {table.GetElementSymbol(number) for number in range(1, 119)}
        orders = {edge or "-" for _, _, edge in self.edges}
        if not set(self.labels) <= elements or not orders <= BOND_ORDERS.keys():
            raise DataError(f"labels {sorted(set(self.labels))} and edges {sorted(orders)} do not make a molecule.")
        molecule = Chem.RWMol()
        for label in self.labels:
            molecule.AddAtom(Chem.Atom(label))
        for i, j, edge in self.edges:
            molecule.AddBond(i, j, bonds[BOND_ORDERS[edge or "-"]])
        return str(Chem.MolToSmiles(molecule))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> edge = Pattern(("red", "blue"), ((0, 1, None),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> edge.to_dict()["occurrences"]
        {'graphs': [1], 'nodes': [[4, 5]]}
        """
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "occurrences"}
        return plain | {"contrast": [tuple(part) for part in self.contrast], "occurrences": self.occurrences.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Pattern":
        """Read what :meth:`to_dict` returned, or what JSON made of it; raises ``DataError`` for anything else.

        >>> where = Occurrences(np.array([1]), np.array([[4, 5]]))
        >>> edge = Pattern(("red", "blue"), ((0, 1, None),), "blocks", 3.5, 1, 2, where, 0.5, 0.25, 0.25)
        >>> Pattern.from_dict(edge.to_dict()) == edge
        True
        """
        try:
            stored = msgspec.convert(values, _StoredPattern)
            stored.check()
            plain = {name: getattr(stored, name) for name in stored.__struct_fields__}
            read = {
                "labels": tuple(stored.labels),
                "edges": tuple(stored.edges),
                "occurrences": _occurrences(stored),
                "contrast": tuple(stored.contrast),
            }
            return cls(**plain | read)
        except ValueError as error:  # of msgspec, too
            raise DataError(f"this is not a stored pattern: {error}.") from error

    def _repr_html_(self) -> str:
        """The pattern as a picture, for notebooks."""
        picture = draw(self.to_networkx(), label_colors(self.labels), title=self.short_name)
        return (
            f'<figure style="width:12rem;margin:.5rem">{picture}<figcaption>{escape(str(self))}</figcaption></figure>'
        )

    def __str__(self) -> str:
        return f"{self.short_name} ({self.support} of {self.num_graphs} graphs)"


def save_patterns(patterns: Sequence[Pattern], path: str | Path) -> Path:
    """Write patterns to a JSON file, whole or not at all; folders are made."""
    record = {"format": FORMAT, "patterns": [pattern.to_dict() for pattern in patterns]}
    try:
        return write_whole(path, json.dumps(record, default=plain_number))
    except TypeError as error:
        raise DataError(
            f"the patterns cannot be written to {path}, as an id of a graph or node has no form in JSON: {error}.",
            "Name graphs and nodes by texts, numbers or tuples of these.",
        ) from error


def load_patterns(path: str | Path) -> list[Pattern]:
    """Read what :func:`save_patterns` wrote, also that of rwkplus 0.1; a damaged file raises ``DataError``.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     load_patterns(save_patterns([], f"{folder}/patterns.json"))
    []
    """
    record = read_json(path)
    if not isinstance(record, dict) or record.get("format") not in (FORMAT, FIRST_FORMAT):
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


Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class _StoredOccurrences(msgspec.Struct, forbid_unknown_fields=True):
    """Numbers, and ids where there are any."""

    graphs: list[Count]
    nodes: list[list[Count]]
    graph_names: list[Any] | None = None
    node_ids: list[list[Any]] | None = None


class _StoredPattern(msgspec.Struct, forbid_unknown_fields=True):
    """A pattern in a file: types are checked by msgspec, all else by :meth:`check`."""

    labels: list[str]
    edges: list[tuple[Count, Count, str | None]]
    criterion: str
    score: float
    support: Count
    num_graphs: Count
    occurrences: _StoredOccurrences | list[list[Count]]  # rows of numbers, as version 0.1 wrote them
    node_coverage: Share
    edge_coverage: Share
    gain: Share
    exhaustive: bool = True
    contrast: list[ClassContrast] = []

    def check(self) -> None:
        """Raise ``ValueError`` where something would fail later."""
        size = len(self.labels)
        if not all(i < size and j < size for i, j, _ in self.edges):
            raise ValueError(f"an edge names a node outside 0 to {size - 1}")
        graph = nx.Graph((i, j) for i, j, _ in self.edges)
        if nx.number_of_selfloops(graph) or graph.number_of_edges() != len(self.edges):
            raise ValueError("an edge is a loop, or listed twice")
        if len(graph) != size or not size or not nx.is_connected(graph):
            raise ValueError("its nodes are not connected")
        if len({edge is None for _, _, edge in self.edges}) > 1:
            raise ValueError("some edges have a label and others have none")
        numbers = [self.score, self.node_coverage, self.edge_coverage, self.gain]
        for part in self.contrast:
            numbers += [part.odds_ratio, part.p_value, part.corrected]
            if not 0 <= part.support <= part.graphs <= self.num_graphs:
                raise ValueError(f"the class {part.name!r} has more graphs than there are")
        if not np.isfinite(numbers).all():
            raise ValueError("one of its numbers is not finite")


def _occurrences(stored: _StoredPattern) -> Occurrences:
    values = stored.occurrences
    if isinstance(values, list):
        if not all(values):
            raise ValueError("an occurrence is empty")
        values = _StoredOccurrences([row[0] for row in values], [row[1:] for row in values])
    size = len(stored.labels)
    graph = np.array(values.graphs, dtype=np.int64)
    if len(values.nodes) != graph.size or not all(len(row) == len(set(row)) == size for row in values.nodes):
        raise ValueError("its occurrences do not fit together")
    if (np.diff(graph) < 0).any() or (graph >= stored.num_graphs).any() or np.unique(graph).size != stored.support:
        raise ValueError("its occurrences are not in as many graphs as have it")
    nodes = np.array(values.nodes, dtype=np.int64).reshape(-1, size)
    return Occurrences(graph, nodes, _ids(values.graph_names, graph), _ids(values.node_ids, nodes))


def _ids(values: list[Any] | None, like: Ints) -> Array | None:
    """Ids as an array of objects of the same shape."""
    if values is None:
        return None
    if len(values) != len(like) or (like.ndim == 2 and any(len(row) != like.shape[1] for row in values)):
        raise ValueError("its ids do not fit its occurrences")
    objects = np.empty(like.size, dtype=object)
    objects[:] = [_id(part) for part in ([part for row in values for part in row] if like.ndim == 2 else values)]
    return objects.reshape(like.shape)


def _id(value: object, depth: int = 0) -> object:
    """An id as it was before JSON made lists of tuples."""
    if isinstance(value, list | tuple) and depth < DEEPEST_ID:
        return tuple(_id(part, depth + 1) for part in value)
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError(f"{type(value).__name__} is no id of a graph or node")
    return value


def describe(graph: nx.Graph) -> str:
    """Say in a few words what a connected graph with attribute ``label`` looks like.

    Example:
        >>> graph = nx.cycle_graph(3)
        >>> nx.set_node_attributes(graph, {0: "red", 1: "red", 2: "blue"}, "label")
        >>> describe(graph)
        'triangle blue-red-red'
    """
    size, edges = len(graph), graph.number_of_edges()
    degrees = sorted(degree for _, degree in graph.degree)
    if edges == size - 1 and degrees[-1] <= 2:
        return f"path {_along(graph, [v for v, degree in graph.degree if degree <= 1])}"
    if edges == size and degrees[0] == degrees[-1] == 2:
        return f"{'triangle' if size == 3 else f'{size}-ring'} {_along(graph, list(graph))}"
    if edges == size * (size - 1) // 2:
        return f"{size}-clique {_listed(graph, graph)}"
    if edges == size - 1 and degrees[-1] == size - 1:
        center = max(graph, key=graph.degree)
        return f"star {graph.nodes[center]['label']}({_listed(graph, graph.neighbors(center))})"
    kind = "tree" if edges == size - 1 else f"graph with {edges} edges"
    return f"{kind} of {_listed(graph, graph)}"


def _along(graph: nx.Graph, starts: list[int]) -> str:
    """Labels in the order of a path or cycle: the first in the alphabet of all ways to read it."""
    ways = []
    for start in starts:
        for second in list(graph.neighbors(start)) or [start]:
            order = [start] if second == start else [start, second]
            while len(order) < len(graph):
                order.append(next(v for v in graph.neighbors(order[-1]) if v != order[-2]))
            ways.append([str(graph.nodes[v]["label"]) for v in order])
    return "-".join(min(ways))


def _listed(graph: nx.Graph, nodes: object) -> str:
    labels = sorted(str(graph.nodes[v]["label"]) for v in nodes)  # type: ignore[attr-defined]
    counted = [(label, labels.count(label)) for label in dict.fromkeys(labels)]
    return ", ".join(label if times == 1 else f"{times} x {label}" for label, times in counted)
