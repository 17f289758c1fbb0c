"""Generated databases: molecule-like graphs with known groups and anomalies, payments, triangles."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

import networkx as nx
import numpy as np

from rwkplus.errors import ParameterError
from rwkplus.table import GraphTable
from rwkplus.types import check_choice, check_integer

Linking = Literal["rand", "apexbase", "base"]
COLORS = {"R": "red", "B": "blue", "P": "purple", "G": "green"}
P1, P2 = ("red", "red", "blue"), ("purple", "purple", "green")
P1_SHARE = 0.6
BRIDGES = {"apexbase": (2, 0), "base": (1, 0)}
"""Node of a triangle and of the next that a bridge joins: 0 and 1 share a color, 2 is alone in its color."""


def triangle_chains(num_graphs: int = 100, linking: Linking = "rand", random_state: int = 0) -> list[nx.Graph]:
    """Chains of 3 to 5 triangles joined by bridges, each red-red-blue (60%) or purple-purple-green (Task 1-2).

    Args:
        num_graphs: Number of chains.
        linking: Which nodes a bridge joins: ``"rand"`` any, ``"apexbase"`` the lone color of a triangle and the
            pair of the next, ``"base"`` the pairs of both, leaving a triangle by another node than it was entered.
        random_state: Seed of lengths, colors and bridges.

    Example:
        >>> (chain,) = triangle_chains(1)
        >>> chain.number_of_nodes() // 3, chain.nodes[2]["label"]
        (5, 'blue')
    """
    check_integer("num_graphs", num_graphs, 1)
    check_choice("linking", linking, Linking)
    rng = np.random.default_rng(random_state)
    return [_chain(linking, rng) for _ in range(num_graphs)]


def _chain(linking: Linking, rng: np.random.Generator) -> nx.Graph:
    triangles = [P1 if draw < P1_SHARE else P2 for draw in rng.random(rng.integers(3, 6))]
    chain = nx.Graph()
    for i, colors in enumerate(triangles):
        chain.add_nodes_from((3 * i + j, {"label": color}) for j, color in enumerate(colors))
        chain.add_edges_from((3 * i + j, 3 * i + (j + 1) % 3) for j in range(3))
        if i:
            out, into = rng.integers(0, 3, 2).tolist() if linking == "rand" else BRIDGES[linking]
            chain.add_edge(3 * (i - 1) + out, 3 * i + into)
    return chain


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


def _skeleton(most_tails: int, rng: np.random.Generator) -> nx.Graph:
    """One or two carbon rings with tails."""
    molecule = nx.Graph()
    for _ in range(rng.integers(1, 3)):
        _attach(molecule, RING, rng)
    for _ in range(rng.integers(1, most_tails, endpoint=True)):
        _attach(molecule, (("C",), ()), rng)
    return molecule


def _molecule(group: Group, rng: np.random.Generator) -> nx.Graph:
    """A skeleton carrying ``group`` and some decorations."""
    molecule = _skeleton(4, rng)
    for i in rng.integers(0, len(DECORATIONS), size=rng.integers(1, 4)):
        _attach(molecule, DECORATIONS[i], rng)
    _attach(molecule, group, rng)
    return molecule


def _attach(molecule: nx.Graph, group: Group, rng: np.random.Generator) -> None:
    """Bond the first atom of a group to a carbon that has a valence to spare."""
    order = {"-": 1, "=": 2}
    free = [
        v
        for v, element in molecule.nodes(data="label")
        if element == "C" and sum(order[b] for *_, b in molecule.edges(v, data="label")) < 4
    ]
    first = len(molecule)
    _add(molecule, group)
    if free:
        molecule.add_edge(int(rng.choice(free)), first, label="-")


def _add(molecule: nx.Graph, group: Group) -> nx.Graph:
    (atoms, bonds), first = group, len(molecule)
    molecule.add_nodes_from((first + i, {"label": element}) for i, element in enumerate(atoms))
    molecule.add_edges_from((first + i, first + j, {"label": bond}) for i, j, bond in bonds)
    return molecule


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
    return {name: _add(nx.Graph(), group) for name, group in {"benzene ring": RING, **GROUPS}.items()}


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
    molecule = _skeleton(5, rng)
    shares = {**SHARES, "trifluoromethyl": ACTIVE if active else INACTIVE}
    carried = [name for name in GROUPS if rng.random() < shares[name]]
    for name in carried:
        _attach(molecule, GROUPS[name], rng)
    return molecule


SHARE = 0.05
FOREIGN_GROUPS: tuple[Group, ...] = (
    NITRITE,
    (("N", "N", "N"), ((0, 1, "="), (1, 2, "="))),  # azide
    (("C", "C", "C"), ((0, 1, "-"), (1, 2, "-"), (2, 0, "-"))),  # cyclopropane
)
"""Groups of usual elements and bonds that no molecule of :func:`planted_molecules` has."""

Corruption: TypeAlias = Callable[[nx.Graph, np.random.Generator], Sequence[int]]
"""Does something wrong to a graph and returns the nodes concerned."""


class Anomaly(NamedTuple):
    """What is wrong with a graph."""

    kind: str
    nodes: tuple[int, ...]


class AnomalyDataset(NamedTuple):
    """A database and the truth about it."""

    graphs: GraphTable  # y is 1 for anomalies
    anomalies: list[Anomaly | None]


def anomalous_molecules(num_graphs: int = 400, random_state: int = 0, share: float = SHARE) -> AnomalyDataset:
    """Draw molecule-like graphs; in a few, a ring has a wrong atom or is open, or there is a foreign group.

    Example:
        >>> graphs, anomalies = anomalous_molecules(60)
        >>> [anomaly.kind for anomaly in anomalies if anomaly]
        ['wrong color', 'missing ring edge', 'foreign motif']
    """
    rng = np.random.default_rng(random_state)
    graphs = [_random_molecule(bool(rng.integers(2)), rng) for _ in range(num_graphs)]
    kinds: dict[str, Corruption] = {
        "wrong color": partial(_recolor, labels="NOSPF"),
        "missing ring edge": _open_ring,
        "foreign motif": _attach_group,
    }
    return _with_anomalies(graphs, kinds, share, rng)


def anomalous_chains(num_graphs: int = 400, random_state: int = 0, share: float = SHARE) -> AnomalyDataset:
    """Draw chains of colored triangles; in a few, a triangle has a wrong color or is open, or there is a square."""
    rng = np.random.default_rng(random_state)
    kinds: dict[str, Corruption] = {
        "wrong color": partial(_recolor, labels=tuple(COLORS.values())),
        "missing ring edge": _open_ring,
        "foreign motif": _attach_square,
    }
    return _with_anomalies(triangle_chains(num_graphs, random_state=random_state), kinds, share, rng)


def _with_anomalies(
    graphs: Sequence[nx.Graph], kinds: Mapping[str, Corruption], share: float, rng: np.random.Generator
) -> AnomalyDataset:
    """Corrupt a share of the graphs, at least one, in all ways equally often."""
    if not 0 < share <= 0.5:
        raise ParameterError(f"share must be above 0 and at most 0.5, got {share!r}.")
    anomalies: list[Anomaly | None] = [None] * len(graphs)
    chosen = rng.permutation(len(graphs))[: max(1, round(share * len(graphs)))].tolist()
    for k, i in enumerate(chosen):
        kind = list(kinds)[k % len(kinds)]
        anomalies[i] = Anomaly(kind, tuple(sorted(kinds[kind](graphs[i], rng))))
    table = GraphTable.of(graphs).with_targets([int(anomaly is not None) for anomaly in anomalies])
    return AnomalyDataset(table, anomalies)


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


CHANNELS = ("card", "cash", "wire")
ROUND = ("business", "person", "person", "exchange")
"""Accounts that the money of a fraud goes round."""


def payment_cases(num_cases: int = 400, random_state: int = 0) -> GraphTable:
    """Make cases of payments between accounts, one in ten a fraud; whether it is one is unknown for a few.

    In nine of ten frauds, money goes round a ring of four accounts by wire, in amounts just below 10,000. Accounts are
    of three kinds; other payments go anywhere, by any channel, mostly in amounts of about a hundred.

    Example:
        >>> payment_cases(20)
        GraphTable: 20 directed graphs, 218 nodes, 304 edges
          graphs name: names
                 fraud: 2 labels (no, yes), target
          nodes  id: ids
                 kind: 3 labels (business, exchange, person)
          edges  channel: 3 labels (card, cash, wire)
                 amount: numbers, 2.29 to 9895.77
    """
    check_integer("num_cases", num_cases, 1)
    rng = np.random.default_rng(random_state)
    cases, frauds = [], []
    for number in range(num_cases):
        fraud = number % 10 == 3
        size = int(rng.integers(8, 15))
        kinds = [*(ROUND if fraud else ()), *rng.choice(["business", "exchange", "person"], size, p=[0.3, 0.1, 0.6])]
        case = nx.MultiDiGraph(name=f"case {number + 1}")
        for v, kind in enumerate(kinds):
            case.add_node(f"A{number * 20 + v:05d}", kind=str(kind))
        accounts = list(case)
        for _ in range(int(1.4 * len(accounts))):
            ends = rng.choice(len(accounts), 2, replace=False).tolist()
            amount = round(float(rng.lognormal(4.6, 1.0)), 2)
            case.add_edge(*(accounts[v] for v in ends), channel=str(rng.choice(CHANNELS)), amount=amount)
        if fraud and rng.random() < 0.9:
            for v in range(4):
                amount = round(float(rng.uniform(9_000, 9_900)), 2)
                case.add_edge(accounts[v], accounts[(v + 1) % 4], channel="wire", amount=amount)
        cases.append(case)
        frauds.append(None if rng.random() < 0.03 else "yes" if fraud else "no")
    return GraphTable.of(cases).with_targets(frauds, "fraud")
