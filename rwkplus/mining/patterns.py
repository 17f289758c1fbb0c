"""A mined pattern: a real graph, with everything known about where it occurs."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from html import escape
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from rwkplus.drawing import draw, label_colors
from rwkplus.errors import DataError, MissingExtraError
from rwkplus.mining.contrast import ClassContrast
from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.naming import describe
from rwkplus.mining.occurrences import Found, Occurrence, Occurrences
from rwkplus.mining.shape import Shape
from rwkplus.table import GraphTable, Reader

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Occurrence", "Pattern"]
BOND_ORDERS = {"-": 1.0, "=": 2.0, "#": 3.0, ":": 1.5}


@dataclass(frozen=True)
class Pattern:
    """A small labelled graph that occurs in a database, and where.

    Occurrences keep labels and edges; the graph may have further edges between the same nodes. Those that
    differ only by a symmetry of the pattern are listed once.
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
        *,
        criterion: str,
        score: float,
        edge_coverage: float,
        gain: float,
    ) -> "Pattern":
        """Name the labels of a shape and look up its occurrences in their graphs."""
        edges = reader.edges
        first_node = np.searchsorted(database.rows.graph, np.arange(database.num_graphs))
        graph = database.rows.graph[found.rows[:, 0]]
        local = found.rows - first_node[graph][:, None]
        return cls(
            labels=tuple(reader.nodes.names[label] for label in shape.labels),
            edges=tuple((i, j, edges.names[edge] if edges.exists else None) for i, j, edge in shape.edges),
            criterion=criterion,
            score=score,
            support=np.unique(graph).size,
            num_graphs=database.num_graphs,
            occurrences=Occurrences.of(table, graph, local),
            node_coverage=np.unique(found.rows).size / database.rows.label.size,
            edge_coverage=edge_coverage,
            gain=gain,
            exhaustive=found.exhaustive,
        )

    def shape(self, reader: Reader) -> Shape:
        """Return the pattern with the numbers that a reader gives its labels."""
        nodes, edges = reader.nodes.names, reader.edges.names
        return Shape(
            tuple(nodes.index(label) for label in self.labels),
            tuple((i, j, 0 if edge is None else edges.index(edge)) for i, j, edge in self.edges),
        )

    def with_contrast(self, contrast: tuple[ClassContrast, ...]) -> "Pattern":
        """Return the pattern with what is known about classes."""
        return replace(self, contrast=contrast)

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
        """Numbers of the graphs that have the pattern, by which a table can be cut."""
        return tuple(np.unique(self.occurrences.graph).tolist())

    @property
    def short_name(self) -> str:
        """SMILES where the pattern is a molecule, otherwise its form and labels."""
        try:
            return self.to_smiles()
        except (DataError, MissingExtraError):
            return describe(self.to_networkx())

    def to_networkx(self) -> nx.Graph:
        """Return the pattern with node and, where there are any, edge attribute ``label``."""
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
            raise MissingExtraError("writing SMILES needs RDKit: pip install 'rwkplus[chem]'.") from error
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
        """Return plain values for JSON."""
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "occurrences"}
        return plain | {"contrast": [tuple(part) for part in self.contrast], "occurrences": self.occurrences.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Pattern":
        """Read what :meth:`to_dict` returned, or what JSON made of it."""
        try:
            pattern = cls(
                **{
                    **values,
                    "labels": tuple(values["labels"]),
                    "edges": tuple((i, j, edge) for i, j, edge in values["edges"]),
                    "occurrences": Occurrences.from_dict(values["occurrences"], len(values["labels"])),
                    "contrast": tuple(ClassContrast(*part) for part in values.get("contrast", ())),
                }
            )
            size = len(pattern.labels)
            if not all(0 <= i < size and 0 <= j < size for i, j, _ in pattern.edges):
                raise ValueError(f"an edge names a node outside 0 to {size - 1}")
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"this is not a stored pattern: {error}.") from error
        return pattern

    def _repr_html_(self) -> str:
        """The pattern as a picture, for notebooks."""
        picture = draw(self.to_networkx(), label_colors(self.labels), title=self.short_name)
        return (
            f'<figure style="width:12rem;margin:.5rem">{picture}<figcaption>{escape(str(self))}</figcaption></figure>'
        )

    def __str__(self) -> str:
        return f"{self.short_name} ({self.support} of {self.num_graphs} graphs)"
