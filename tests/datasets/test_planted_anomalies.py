import networkx as nx
import pytest

from rwkplus.datasets import anomalous_chains, anomalous_molecules, load_graphs
from rwkplus.errors import ParameterError


@pytest.mark.parametrize("make", [anomalous_molecules, anomalous_chains])
def test_a_twentieth_is_spoiled_in_three_ways_and_the_truth_is_told(make):
    graphs, anomalies = make(120, random_state=1)
    assert graphs.y.tolist() == [anomaly is not None for anomaly in anomalies]
    kinds = sorted(anomaly.kind for anomaly in anomalies if anomaly is not None)
    assert kinds == sorted(["wrong color", "missing ring edge", "foreign motif"] * 2)
    for graph, anomaly in zip(graphs, anomalies, strict=True):
        if anomaly is not None:
            assert set(anomaly.nodes) <= set(range(graph.num_nodes))


def test_the_part_is_what_is_wrong():
    graphs, anomalies = anomalous_molecules(120, random_state=2)
    for molecule, anomaly in zip(graphs.to_networkx(), anomalies, strict=True):
        rings = nx.cycle_basis(molecule)
        wrong = [v for ring in rings for v in ring if molecule.nodes[v]["label"] != "C"]
        if anomaly is None:
            assert not wrong
            assert all(len(ring) == 6 for ring in rings)
        elif anomaly.kind == "wrong color":
            assert tuple(wrong) == anomaly.nodes
        elif anomaly.kind == "missing ring edge":
            assert not molecule.has_edge(*anomaly.nodes)
            assert nx.shortest_path_length(molecule, *anomaly.nodes) == 5
        else:
            assert anomaly.nodes == tuple(range(len(molecule) - 3, len(molecule)))
            carbons = [v for v, label in molecule.nodes(data="label") if label == "C"]
            assert max(_valence(molecule, v) for v in carbons) <= 4  # the motif is wrong, not its host


def _valence(molecule, v):
    return sum({"-": 1, "=": 2}[bond] for *_, bond in molecule.edges(v, data="label"))


def test_the_same_seed_gives_the_same_database():
    first, again = anomalous_chains(40, random_state=3), anomalous_chains(40, random_state=3)
    assert first.anomalies == again.anomalies
    assert first.graphs == again.graphs
    assert first.anomalies != anomalous_chains(40, random_state=4).anomalies


def test_the_share_is_checked_and_the_demonstration_is_registered():
    with pytest.raises(ParameterError, match="share"):
        anomalous_molecules(40, share=0.6)
    assert load_graphs("planted-anomalies").y.sum() == 20
