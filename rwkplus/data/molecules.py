"""The embedded demonstration database: molecule-like graphs with planted functional groups."""

from collections.abc import Mapping

import networkx as nx
import numpy as np

from rwkplus.data.synthetic import NITRO, RING, Group, attach
from rwkplus.table import GraphTable

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
    """Return the groups hidden in :func:`planted_molecules`, by name."""
    return {name: _graph(group) for name, group in {"benzene ring": RING, **GROUPS}.items()}


def planted_molecules(num_graphs: int = 200, seed: int = 0) -> GraphTable:
    """Draw molecule-like graphs: one or two rings with carbon tails and some of five functional groups.

    Four groups occur in both classes alike; trifluoromethyl is four times as frequent in class 1.
    """
    rng = np.random.default_rng(seed)
    targets = rng.permutation(np.arange(num_graphs) % 2)
    return GraphTable.of([random_molecule(bool(target), rng) for target in targets]).with_targets(targets)


def random_molecule(active: bool, rng: np.random.Generator) -> nx.Graph:
    """Draw one molecule-like graph; active ones carry a trifluoromethyl group more often."""
    molecule = nx.Graph()
    for _ in range(rng.integers(1, 3)):
        attach(molecule, RING, rng)
    for _ in range(rng.integers(1, 6)):
        attach(molecule, (("C",), ()), rng)
    shares = {**SHARES, "trifluoromethyl": ACTIVE if active else INACTIVE}
    carried = [name for name in GROUPS if rng.random() < shares[name]]
    for name in carried:
        attach(molecule, GROUPS[name], rng)
    return molecule


def _graph(group: Group) -> nx.Graph:
    atoms, bonds = group
    graph = nx.Graph()
    graph.add_nodes_from((i, {"label": element}) for i, element in enumerate(atoms))
    graph.add_edges_from((i, j, {"label": bond}) for i, j, bond in bonds)
    return graph
