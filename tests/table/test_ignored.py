"""What estimators leave out on purpose is left out, whatever else has the same name."""

import pytest

from rwkplus import GraphTable
from rwkplus.detect import SurpriseDetector
from rwkplus.errors import ParameterError
from rwkplus.kernels import RandomWalkFeatures

SMILES = ["CCO", "CC=O", "C#N"] * 4


@pytest.mark.parametrize("form", [SMILES, GraphTable.of(SMILES), GraphTable.of(SMILES, ignore=["edges.label"])])
@pytest.mark.parametrize("name", ["edges.label", "edge_attr"])
def test_labels_of_edges_are_left_out_and_those_of_nodes_stay(form, name):
    features = RandomWalkFeatures(steps=1, ignore=(name,)).fit(form)
    assert features.get_feature_names_out().tolist() == ["C-C", "C-N", "C-O", "N-C", "O-C"]
    assert SurpriseDetector(ignore=(name,)).fit(form).score_samples(form).shape == (12,)


@pytest.mark.parametrize("slip", ["edge_atr", "edges.lable"])
def test_slips_are_told(slip):
    with pytest.raises(ParameterError, match="to ignore, but 'edge"):
        RandomWalkFeatures(ignore=(slip,)).fit(GraphTable.of(SMILES))


@pytest.mark.parametrize("option", ["labels", "attributes", "y"])
def test_columns_that_are_not_there_are_told(option):
    import networkx as nx

    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, 3, "size")
    with pytest.raises(
        ParameterError, match=f"{option} names a column 'sise' that does not exist. Did you mean {option}=.*size"
    ):
        GraphTable.of([graph], **{option: ["sise"]})
