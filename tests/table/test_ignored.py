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


@pytest.mark.parametrize("option", ["labels", "attributes"])
@pytest.mark.parametrize("form", ["networkx", "igraph", "json", "csv"])
def test_columns_unlike_all_others_are_told(tmp_path, option, form):
    import networkx as nx

    (tmp_path / "g.csv").write_text("source,target,how\na,b,card\n")
    line = '{"nodes": [{"id": 0, "size": 1}, {"id": 1, "size": 2}], "edges": [{"source": 0, "target": 1}]}'
    (tmp_path / "g.jsonl").write_text(line)
    graph = nx.Graph([(0, 1, {"how": "card"})])
    given = {"networkx": [graph], "json": tmp_path / "g.jsonl", "csv": tmp_path / "g.csv"}
    if form == "igraph":
        given["igraph"] = [pytest.importorskip("igraph").Graph.from_networkx(graph)]
    with pytest.raises(ParameterError, match=r"there is no column 'kind' to read as .* There are"):
        GraphTable.of(given[form], **{option: ["kind"]})


@pytest.mark.parametrize("option", ["labels", "attributes", "y"])
def test_columns_that_are_not_there_are_told(option):
    import networkx as nx

    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, 3, "size")
    with pytest.raises(ParameterError, match=f"there is no column 'sise' to .* Did you mean {option}=.*size"):
        GraphTable.of([graph], **{option: ["sise"]})
