"""Graph databases made in code: known answers, no files."""

from typing import TypeAlias

import networkx as nx
import numpy as np

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


def functional_groups(num_graphs: int = 200, seed: int = 0) -> GraphTable:
    """Molecule-like graphs of two classes that differ in the arrangement of one group.

    Class 0 carries a nitro group, class 1 the isomeric nitrite: the same atoms and bonds in another
    order, so that counting atoms, bonds or nodes says nothing about the class, and walks do.
    """
    rng = np.random.default_rng(seed)
    targets = rng.permutation(np.arange(num_graphs) % 2)
    molecules = [_molecule(NITRITE if target else NITRO, rng) for target in targets]
    return GraphTable.of(molecules).with_targets(targets)


def _molecule(group: Group, rng: np.random.Generator) -> nx.Graph:
    """A carbon skeleton of one or two rings with tails, carrying ``group`` and some decorations."""
    molecule = nx.Graph()
    for _ in range(rng.integers(1, 3)):
        attach(molecule, RING, rng)
    for _ in range(rng.integers(1, 5)):
        attach(molecule, (("C",), ()), rng)
    for i in rng.integers(0, len(DECORATIONS), size=rng.integers(1, 4)):
        attach(molecule, DECORATIONS[i], rng)
    attach(molecule, group, rng)
    return molecule


def attach(molecule: nx.Graph, group: Group, rng: np.random.Generator) -> None:
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
