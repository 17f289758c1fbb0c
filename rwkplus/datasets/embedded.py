"""Embedded data sets: molecule-like graphs made in code, with known groups and known anomalies."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import networkx as nx
import numpy as np

from rwkplus.datasets.generators import COLORS, triangle_chains
from rwkplus.errors import ParameterError
from rwkplus.table import GraphTable

Group: TypeAlias = tuple[tuple[str, ...], tuple[tuple[int, int, str], ...]]
"""Elements, and bonds between them by their places."""

RING: Group = (("C",) * 6, tuple((i, (i + 1) % 6, "-="[i % 2]) for i in range(6)))
NITRO: Group = (("N", "O", "O"), ((0, 1, "="), (0, 2, "-")))
NITRITE: Group = (("O", "N", "O"), ((0, 1, "-"), (1, 2, "=")))
DECORATIONS: tuple[Group, ...] = (
    (("O",), ()),
    (("N",), ()),
    (("C", "O"), ((0, 1, "="),)),
    (("N", "C"), ((0, 1, "-"),)),
)
"""Hydroxyl, amine, aldehyde, methylamine: groups that occur in both classes."""


def functional_groups(num_graphs: int = 200, random_state: int = 0) -> GraphTable:
    """Molecule-like graphs of two classes that differ in the arrangement of one group.

    Class 0 carries a nitro group, class 1 the isomeric nitrite: the same atoms and bonds in another
    order, so that counting atoms, bonds or nodes says nothing about the class, and walks do.

    Example:
        >>> graphs = functional_groups(4)
        >>> len(graphs), sorted(graphs.y.tolist())
        (4, [0, 0, 1, 1])
    """
    rng = np.random.default_rng(random_state)
    targets = rng.permutation(np.arange(num_graphs) % 2)
    molecules = [_molecule(NITRITE if target else NITRO, rng) for target in targets]
    return GraphTable.of(molecules).with_targets(targets)


def _molecule(group: Group, rng: np.random.Generator) -> nx.Graph:
    """A carbon skeleton of one or two rings with tails, carrying ``group`` and some decorations."""
    molecule = nx.Graph()
    for _ in range(rng.integers(1, 3)):
        _attach(molecule, RING, rng)
    for _ in range(rng.integers(1, 5)):
        _attach(molecule, (("C",), ()), rng)
    for i in rng.integers(0, len(DECORATIONS), size=rng.integers(1, 4)):
        _attach(molecule, DECORATIONS[i], rng)
    _attach(molecule, group, rng)
    return molecule


def _attach(molecule: nx.Graph, group: Group, rng: np.random.Generator) -> None:
    """Bond the first atom of a group to a carbon that has a valence to spare."""
    atoms, bonds = group
    order = {"-": 1, "=": 2}
    free = [
        v
        for v, element in molecule.nodes(data="label")
        if element == "C" and sum(order[b] for *_, b in molecule.edges(v, data="label")) < 4
    ]
    first = len(molecule)
    molecule.add_nodes_from((first + i, {"label": element}) for i, element in enumerate(atoms))
    molecule.add_edges_from((first + i, first + j, {"label": bond}) for i, j, bond in bonds)
    if free:
        molecule.add_edge(int(rng.choice(free)), first, label="-")


GROUPS: Mapping[str, Group] = {
    "nitro": NITRO,
    "carboxyl": (("C", "O", "O"), ((0, 1, "="), (0, 2, "-"))),
    "sulfonamide": (("S", "O", "O", "N"), ((0, 1, "="), (0, 2, "="), (0, 3, "-"))),
    "trifluoromethyl": (("C", "F", "F", "F"), ((0, 1, "-"), (0, 2, "-"), (0, 3, "-"))),
    "phosphonate": (("P", "O", "O", "O"), ((0, 1, "="), (0, 2, "-"), (0, 3, "-"))),
}
SHARES = {"nitro": 0.5, "carboxyl": 0.4, "sulfonamide": 0.35, "phosphonate": 0.3}
ACTIVE, INACTIVE = 0.8, 0.2
"""Shares of the molecules of class 1 and class 0 that carry a trifluoromethyl group."""


def planted_groups() -> dict[str, nx.Graph]:
    """Return the groups hidden in :func:`planted_molecules`, by name.

    Example:
        >>> list(planted_groups())
        ['benzene ring', 'nitro', 'carboxyl', 'sulfonamide', 'trifluoromethyl', 'phosphonate']
    """
    return {name: _graph(group) for name, group in {"benzene ring": RING, **GROUPS}.items()}


def planted_molecules(num_graphs: int = 200, random_state: int = 0) -> GraphTable:
    """Draw molecule-like graphs: one or two rings with carbon tails and some of five functional groups.

    Four groups occur in both classes alike; trifluoromethyl is four times as frequent in class 1.

    Example:
        >>> planted_molecules(50)
        GraphTable: 50 undirected graphs, 917 nodes, 941 edges
          graphs y: numbers, 0 to 1, target
          nodes  label: 6 labels (C, F, N, O, P, S)
          edges  label: 2 labels (-, =)
    """
    rng = np.random.default_rng(random_state)
    targets = rng.permutation(np.arange(num_graphs) % 2)
    return GraphTable.of([_random_molecule(bool(target), rng) for target in targets]).with_targets(targets)


def _random_molecule(active: bool, rng: np.random.Generator) -> nx.Graph:
    """Draw one molecule-like graph; active ones carry a trifluoromethyl group more often."""
    molecule = nx.Graph()
    for _ in range(rng.integers(1, 3)):
        _attach(molecule, RING, rng)
    for _ in range(rng.integers(1, 6)):
        _attach(molecule, (("C",), ()), rng)
    shares = {**SHARES, "trifluoromethyl": ACTIVE if active else INACTIVE}
    carried = [name for name in GROUPS if rng.random() < shares[name]]
    for name in carried:
        _attach(molecule, GROUPS[name], rng)
    return molecule


def _graph(group: Group) -> nx.Graph:
    atoms, bonds = group
    graph = nx.Graph()
    graph.add_nodes_from((i, {"label": element}) for i, element in enumerate(atoms))
    graph.add_edges_from((i, j, {"label": bond}) for i, j, bond in bonds)
    return graph


SHARE = 0.05
FOREIGN_GROUPS: tuple[Group, ...] = (
    NITRITE,
    (("N", "N", "N"), ((0, 1, "="), (1, 2, "="))),  # azide
    (("C", "C", "C"), ((0, 1, "-"), (1, 2, "-"), (2, 0, "-"))),  # cyclopropane
)
"""Groups of usual elements and bonds that no molecule of :func:`planted_molecules` has."""

Spoil: TypeAlias = Callable[[nx.Graph, np.random.Generator], Sequence[int]]
"""Does something wrong to a graph and returns the nodes concerned."""


class Anomaly(NamedTuple):
    """What is wrong with a graph."""

    kind: str
    nodes: tuple[int, ...]


class SpoiledDatabase(NamedTuple):
    """A database and the truth about it."""

    graphs: GraphTable  # y is 1 for anomalies
    anomalies: list[Anomaly | None]


def anomalous_molecules(num_graphs: int = 400, random_state: int = 0, share: float = SHARE) -> SpoiledDatabase:
    """Draw molecule-like graphs; in a few, a ring has a wrong atom or is open, or there is a foreign group.

    Example:
        >>> graphs, anomalies = anomalous_molecules(60)
        >>> [anomaly.kind for anomaly in anomalies if anomaly]
        ['wrong color', 'missing ring edge', 'foreign motif']
    """
    rng = np.random.default_rng(random_state)
    graphs = [_random_molecule(bool(rng.integers(2)), rng) for _ in range(num_graphs)]
    kinds: dict[str, Spoil] = {
        "wrong color": partial(_recolor, labels="NOSPF"),
        "missing ring edge": _open_ring,
        "foreign motif": _attach_group,
    }
    return _spoiled(graphs, kinds, share, rng)


def anomalous_chains(num_graphs: int = 400, random_state: int = 0, share: float = SHARE) -> SpoiledDatabase:
    """Draw chains of colored triangles; in a few, a triangle has a wrong color or is open, or there is a square."""
    rng = np.random.default_rng(random_state)
    kinds: dict[str, Spoil] = {
        "wrong color": partial(_recolor, labels=tuple(COLORS.values())),
        "missing ring edge": _open_ring,
        "foreign motif": _attach_square,
    }
    return _spoiled(triangle_chains(num_graphs, random_state=random_state), kinds, share, rng)


def _spoiled(
    graphs: Sequence[nx.Graph], kinds: Mapping[str, Spoil], share: float, rng: np.random.Generator
) -> SpoiledDatabase:
    """Spoil a share of the graphs, at least one, in all ways equally often."""
    if not 0 < share <= 0.5:
        raise ParameterError(f"share must be above 0 and at most 0.5, got {share!r}.")
    anomalies: list[Anomaly | None] = [None] * len(graphs)
    chosen = rng.permutation(len(graphs))[: max(1, round(share * len(graphs)))].tolist()
    for k, i in enumerate(chosen):
        kind = list(kinds)[k % len(kinds)]
        anomalies[i] = Anomaly(kind, tuple(sorted(kinds[kind](graphs[i], rng))))
    table = GraphTable.of(graphs).with_targets([int(anomaly is not None) for anomaly in anomalies])
    return SpoiledDatabase(table, anomalies)


def _recolor(graph: nx.Graph, rng: np.random.Generator, labels: Sequence[str]) -> list[int]:
    """Give a node of a ring another color; in a triangle, one that no node of it has."""
    ring = _ring(graph, rng)
    present = {graph.nodes[v]["label"] for v in ring}
    node = ring[rng.integers(len(ring))]
    graph.nodes[node]["label"] = str(rng.choice([label for label in labels if label not in present]))
    return [node]


def _open_ring(graph: nx.Graph, rng: np.random.Generator) -> list[int]:
    ring = _ring(graph, rng)
    place = int(rng.integers(len(ring)))
    ends = [ring[place - 1], ring[place]]
    graph.remove_edge(*ends)
    return ends


def _ring(graph: nx.Graph, rng: np.random.Generator) -> list[int]:
    rings = sorted(nx.cycle_basis(graph))
    return list(rings[rng.integers(len(rings))])


def _attach_group(graph: nx.Graph, rng: np.random.Generator) -> range:
    first = len(graph)
    _attach(graph, FOREIGN_GROUPS[rng.integers(len(FOREIGN_GROUPS))], rng)
    return range(first, len(graph))


def _attach_square(graph: nx.Graph, rng: np.random.Generator) -> range:
    first = len(graph)
    host = int(rng.integers(first))
    graph.add_nodes_from((first + i, {"label": ("red", "blue")[i % 2]}) for i in range(4))
    graph.add_edges_from((first + i, first + (i + 1) % 4) for i in range(4))
    graph.add_edge(host, first)
    return range(first, len(graph))
