import networkx as nx
import pytest
import torch
from torch_geometric.utils import to_networkx

from rwkplus.data import anomalous_chains, anomalous_molecules, load
from rwkplus.errors import ParameterError


@pytest.mark.parametrize("make", [anomalous_molecules, anomalous_chains])
def test_a_twentieth_is_spoiled_in_three_ways_and_the_truth_is_told(make):
    graphs, anomalies = make(120, seed=1)
    assert [int(graph.y) for graph in graphs] == [anomaly is not None for anomaly in anomalies]
    kinds = sorted(anomaly.kind for anomaly in anomalies if anomaly is not None)
    assert kinds == sorted(["wrong color", "missing ring edge", "foreign motif"] * 2)
    for graph, anomaly in zip(graphs, anomalies, strict=True):
        if anomaly is not None:
            assert set(anomaly.nodes) <= set(range(graph.num_nodes))


def test_the_part_is_what_is_wrong():
    graphs, anomalies = anomalous_molecules(120, seed=2)
    carbon = graphs[0].node_label_names.index("C")
    for graph, anomaly in zip(graphs, anomalies, strict=True):
        molecule = to_networkx(graph, to_undirected=True)
        rings = nx.cycle_basis(molecule)
        wrong = [v for ring in rings for v in ring if graph.x[v, carbon] == 0]
        if anomaly is None:
            assert not wrong
            assert all(len(ring) == 6 for ring in rings)
        elif anomaly.kind == "wrong color":
            assert tuple(wrong) == anomaly.nodes
        elif anomaly.kind == "missing ring edge":
            assert not molecule.has_edge(*anomaly.nodes)
            assert nx.shortest_path_length(molecule, *anomaly.nodes) == 5
        else:
            assert anomaly.nodes == tuple(range(graph.num_nodes - 3, graph.num_nodes))
            assert _valences(graph)[graph.x[:, carbon] == 1].max() <= 4  # the motif is wrong, not its host


def _valences(graph):
    order = torch.tensor([{"-": 1.0, "=": 2.0}[name] for name in graph.edge_label_names])
    return torch.zeros(graph.num_nodes).index_add(0, graph.edge_index[0], graph.edge_attr @ order)


def test_the_same_seed_gives_the_same_database():
    first, again = anomalous_chains(40, seed=3), anomalous_chains(40, seed=3)
    assert first.anomalies == again.anomalies
    assert all(a.x.equal(b.x) and a.edge_index.equal(b.edge_index) for a, b in zip(first[0], again[0], strict=True))
    assert first.anomalies != anomalous_chains(40, seed=4).anomalies


def test_the_share_is_checked_and_the_demonstration_is_registered():
    with pytest.raises(ParameterError, match="share"):
        anomalous_molecules(40, share=0.6)
    assert sum(int(graph.y) for graph in load("planted-anomalies")) == 20
