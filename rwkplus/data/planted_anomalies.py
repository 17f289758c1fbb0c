"""Databases in which a few graphs are wrong on purpose, and where: what a detector should find and explain."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import networkx as nx
import numpy as np

from rwkplus.data.molecules import random_molecule
from rwkplus.data.synthetic import NITRITE, Group, attach
from rwkplus.data.testbeds import COLORS, triangle_chains
from rwkplus.errors import ParameterError
from rwkplus.table import GraphTable

SHARE = 0.05
FOREIGN_GROUPS: tuple[Group, ...] = (
    NITRITE,
    (("N", "N", "N"), ((0, 1, "="), (1, 2, "="))),  # azide
    (("C", "C", "C"), ((0, 1, "-"), (1, 2, "-"), (2, 0, "-"))),  # cyclopropane
)
"""Groups of usual elements and bonds that no molecule of :mod:`rwkplus.data.molecules` has."""

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


def anomalous_molecules(num_graphs: int = 400, seed: int = 0, share: float = SHARE) -> SpoiledDatabase:
    """Draw molecule-like graphs; in a few, a ring has a wrong atom or is open, or there is a foreign group."""
    rng = np.random.default_rng(seed)
    graphs = [random_molecule(bool(rng.integers(2)), rng) for _ in range(num_graphs)]
    kinds: dict[str, Spoil] = {
        "wrong color": partial(_recolor, labels="NOSPF"),
        "missing ring edge": _open_ring,
        "foreign motif": _attach_group,
    }
    return _spoiled(graphs, kinds, share, rng)


def anomalous_chains(num_graphs: int = 400, seed: int = 0, share: float = SHARE) -> SpoiledDatabase:
    """Draw chains of colored triangles; in a few, a triangle has a wrong color or is open, or there is a square."""
    rng = np.random.default_rng(seed)
    kinds: dict[str, Spoil] = {
        "wrong color": partial(_recolor, labels=tuple(COLORS.values())),
        "missing ring edge": _open_ring,
        "foreign motif": _attach_square,
    }
    return _spoiled(triangle_chains(num_graphs, seed=seed), kinds, share, rng)


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
    attach(graph, FOREIGN_GROUPS[rng.integers(len(FOREIGN_GROUPS))], rng)
    return range(first, len(graph))


def _attach_square(graph: nx.Graph, rng: np.random.Generator) -> range:
    first = len(graph)
    host = int(rng.integers(first))
    graph.add_nodes_from((first + i, {"label": ("red", "blue")[i % 2]}) for i in range(4))
    graph.add_edges_from((first + i, first + (i + 1) % 4) for i in range(4))
    graph.add_edge(host, first)
    return range(first, len(graph))
