"""A mined pattern: a real graph, with everything known about where it occurs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import networkx as nx
from torch_geometric.data import Data

from rwkplus.errors import DataError, MissingExtraError
from rwkplus.graphs.from_networkx import from_networkx

BOND_ORDERS = {"-": 1.0, "=": 2.0, "#": 3.0, ":": 1.5}


class Occurrence(NamedTuple):
    """One place where a pattern occurs."""

    graph: int
    nodes: tuple[int, ...]  # of the graph, in the order of the pattern's nodes


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
    occurrences: tuple[Occurrence, ...]
    node_coverage: float
    """Share of all nodes that lie in an occurrence."""
    edge_coverage: float
    """Share of all edges that lie in an occurrence."""
    gain: float
    """Share of all edges that lie in an occurrence of this pattern and of none before it."""

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
        """Indices of the graphs that have the pattern."""
        return tuple(sorted({occurrence.graph for occurrence in self.occurrences}))

    @property
    def short_name(self) -> str:
        """SMILES where the pattern is a molecule, otherwise its edges."""
        try:
            return self.to_smiles()
        except (DataError, MissingExtraError):
            return ", ".join(f"{self.labels[i]}{i}{edge or '-'}{self.labels[j]}{j}" for i, j, edge in self.edges)

    def to_networkx(self) -> nx.Graph:
        """Return the pattern with node and, where there are any, edge attribute ``label``."""
        graph = nx.Graph()
        graph.add_nodes_from((i, {"label": label}) for i, label in enumerate(self.labels))
        graph.add_edges_from((i, j, {} if edge is None else {"label": edge}) for i, j, edge in self.edges)
        return graph

    def to_data(self) -> Data:
        """Return the pattern as a PyG graph with one-hot labels and their names."""
        return from_networkx([self.to_networkx()])[0]

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
        return asdict(replace(self, occurrences=())) | {
            "occurrences": [[occurrence.graph, *occurrence.nodes] for occurrence in self.occurrences]
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Pattern":
        """Read what :meth:`to_dict` returned, or what JSON made of it."""
        try:
            return cls(
                **{
                    **values,
                    "labels": tuple(values["labels"]),
                    "edges": tuple((i, j, edge) for i, j, edge in values["edges"]),
                    "occurrences": tuple(Occurrence(graph, tuple(nodes)) for graph, *nodes in values["occurrences"]),
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"this is not a stored pattern: {error}.") from error

    def __str__(self) -> str:
        return f"{self.short_name} ({self.support} of {self.num_graphs} graphs)"
