from collections import Counter

import networkx as nx
import numpy as np
import pytest

from rwkplus.datasets import functional_groups
from rwkplus.datasets.generators import DECORATIONS, NITRITE, NITRO, _molecule

ORDER = {"-": 1, "=": 2}


def histogram(graph):
    atoms = Counter(label for _, label in graph.nodes(data="label"))
    bonds = Counter(label for *_, label in graph.edges(data="label"))
    return atoms, bonds


@pytest.fixture(name="graphs", scope="module")
def _graphs():
    return functional_groups()


@pytest.fixture(name="molecules", scope="module")
def _molecules(graphs):
    return graphs.to_networkx()


def test_the_two_groups_have_the_same_atoms_and_bonds():
    for part in (0, 1):
        nitro, nitrite = (Counter(x[-1] if part else x for x in group[part]) for group in (NITRO, NITRITE))
        assert nitro == nitrite


@pytest.mark.parametrize("seed", range(20))
def test_swapping_the_group_changes_no_count_of_atoms_or_bonds(seed):
    nitro, nitrite = (_molecule(group, np.random.default_rng(seed)) for group in (NITRO, NITRITE))
    assert histogram(nitro) == histogram(nitrite)
    assert not nx.is_isomorphic(nitro, nitrite, node_match=dict.__eq__, edge_match=dict.__eq__)


def has_group(molecule, group):
    atoms, bonds = group
    pattern = nx.Graph()
    pattern.add_nodes_from((i, {"label": label}) for i, label in enumerate(atoms))
    pattern.add_edges_from((i, j, {"label": label}) for i, j, label in bonds)
    pattern.add_node("carbon", label="C")  # both groups are O-N=O; the atom that is bonded to carbon differs
    pattern.add_edge("carbon", 0, label="-")
    matcher = nx.isomorphism.GraphMatcher(molecule, pattern, dict.__eq__, dict.__eq__)
    return matcher.subgraph_is_isomorphic()


def test_class_0_has_the_nitro_group_and_class_1_the_nitrite(graphs, molecules):
    for y, molecule in zip(graphs.y[:40], molecules, strict=False):
        assert has_group(molecule, NITRO) == (y == 0)
        assert has_group(molecule, NITRITE) == (y == 1)


def test_classes_are_balanced_and_shuffled(graphs):
    targets = graphs.y.tolist()
    assert sum(targets) == 100
    assert targets != sorted(targets)
    assert len({*zip(targets[::2], targets[1::2], strict=True)}) == 4


def test_no_atom_has_more_bonds_than_its_valence(molecules):
    for molecule in molecules:
        for v, element in molecule.nodes(data="label"):
            valence = sum(ORDER[b] for *_, b in molecule.edges(v, data="label"))
            assert 1 <= valence <= {"C": 4, "N": 4, "O": 2}[element]


def test_molecules_are_connected(molecules):
    assert all(nx.is_connected(molecule) for molecule in molecules)


def test_molecules_have_a_ring_and_decorations(molecules):
    assert all(nx.cycle_basis(molecule) for molecule in molecules)
    assert len({len(molecule) for molecule in molecules}) > 5
    assert len(DECORATIONS) == 4


def test_a_seed_gives_the_same_graphs_again(graphs):
    assert graphs == functional_groups()


def test_another_seed_gives_other_graphs(graphs):
    others = functional_groups(random_state=1)
    assert graphs != others


@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_number_of_graphs_is_as_asked(count):
    graphs = functional_groups(count)
    assert len(graphs) == count
    assert sum(graphs.y) == count // 2
