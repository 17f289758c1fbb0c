import networkx as nx
import pytest
import torch
from torch_geometric.data import Data

from rwkplus.errors import GraphError, RWKPlusWarning
from rwkplus.io.pyg import one_hot_degree
from rwkplus.table import GraphTable
from rwkplus.training.dataset import Inputs, as_table
from tests.strategies import pyg_graphs

POLICIES = ("ignore", "error")


def pair(x=None, **fields):
    x = torch.eye(2) if x is None else x
    return Data(x=x, edge_index=torch.tensor([[0, 1], [1, 0]]), **fields)


class Read:
    """What a network sees."""

    def __init__(self, tensors):
        self.x, self.edge_index = tensors.fields["x"], tensors.fields["edge_index"]
        self.edge_attr, self.edge_weight = (tensors.fields.get(field) for field in ("edge_attr", "edge_weight"))


def fit(graphs):
    return Inputs.fit(as_table(graphs))


def conform(fitted, later, unknown_label="ignore"):
    return Read(fit(fitted).read(later, unknown_label))


def molecule(*atoms, bond="-"):
    graph = nx.path_graph(len(atoms))
    nx.set_node_attributes(graph, dict(enumerate(atoms)), "label")
    nx.set_edge_attributes(graph, bond, "label")
    return graph


# What is noticed


def test_one_hot_rows_are_labels_and_others_are_not():
    assert fit([pair()]).reader.discrete
    assert not fit([pair(torch.rand(2, 2) / 2)]).reader.discrete
    assert not fit([pair(edge_attr=torch.tensor([[0.5], [1]]))]).reader.discrete
    assert fit([pair(edge_attr=torch.eye(2))]).reader.discrete


def test_weights_and_edge_features_are_noticed():
    plain, rich = fit([pair()]).reader, fit([pair(edge_attr=torch.eye(2), edge_weight=torch.ones(2))]).reader
    assert (plain.edges.exists, plain.weighted) == (False, False)
    assert (rich.edges.width, rich.weighted) == (2, True)


def test_labels_have_their_names_or_numbers():
    assert fit([pair(node_label_names=("C", "O"))]).reader.nodes.names == ("C", "O")
    assert fit([pair()]).reader.nodes.names == ("0", "1")


def test_the_number_of_names_must_be_that_of_the_columns():
    with pytest.raises(GraphError, match="node_label_names has 3 names but x has 2 columns"):
        fit([pair(node_label_names=("C", "O", "N"))])


# Columns by name


def test_separately_parsed_molecules_are_aligned_by_element():
    pytest.importorskip("rdkit", reason="RDKit is the extra 'chem'")
    train, test = pyg_graphs(["CCO", "CN"]), pyg_graphs(["OF", "BrO", "N"])
    assert train[0].node_label_names == ("C", "N", "O")
    assert test[0].node_label_names == ("Br", "F", "N", "O")
    batch = conform(train, test)
    # O, F, Br, O, N in the columns C, N, O; those that training did not see are blank.
    assert batch.x.tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_fewer_names_than_fitted_land_in_their_columns():
    batch = conform([molecule("C", "N", "O")], [molecule("O", "O")])
    assert batch.x.tolist() == [[0, 0, 1], [0, 0, 1]]


def test_the_same_graphs_conform_unchanged():
    graphs = [molecule("C", "N", "O"), molecule("O", "C", bond="=")]
    for policy in POLICIES:
        after = conform(graphs, graphs, policy)
        assert after.x.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [1, 0, 0]]
        assert after.edge_attr.tolist() == [[1, 0]] * 4 + [[0, 1]] * 2


def test_degrees_of_separate_sets_are_aligned():
    path, star = nx.path_graph(3), nx.star_graph(4)
    fitted, later = (one_hot_degree(pyg_graphs([graph])) for graph in (star, path))
    assert conform(fitted, later).x.tolist() == [[0, 1, 0, 0, 0], [0] * 5, [0, 1, 0, 0, 0]]  # 2 is unknown


def test_edge_labels_are_aligned_by_name():
    batch = conform([molecule("C", "C", bond="-"), molecule("C", "C", bond="=")], [molecule("C", "C", bond="=")])
    assert batch.edge_attr.tolist() == [[0, 1], [0, 1]]


def test_continuous_features_are_aligned_by_name_as_well():
    fitted = [pair(torch.tensor([[0.5, 2], [1, 3]]), node_label_names=("a", "b"))]
    later = [pair(torch.tensor([[7.0, 0.25], [9, 4]]), node_label_names=("b", "a"))]
    assert conform(fitted, later).x.tolist() == [[0.25, 7], [4, 9]]


def test_labels_do_not_pass_for_measurements():
    with pytest.raises(GraphError, match="the nodes have a column 'label', those of the fitted graphs had none"):
        conform([pair(torch.tensor([[0.5, 2], [1, 3]]))], [pair(torch.eye(2), node_label_names=("a", "b"))])


def test_without_names_columns_are_taken_as_they_stand():
    batch = conform([pair()], [pair(torch.tensor([[0.0, 1], [0, 1]]))])
    assert batch.x.tolist() == [[0, 1], [0, 1]]


def test_without_names_another_width_is_refused():
    with pytest.raises(GraphError, match=r"graph 0: the nodes have 3 columns of labels.* had 2.*same columns"):
        conform([pair()], [pair(torch.eye(3)[:2])])
    with pytest.raises(GraphError, match=r"graph 0: the edges have 1 columns of labels.* had 2"):
        conform([pair(edge_attr=torch.eye(2))], [pair(edge_attr=torch.ones(2, 1))])


# Labels that fitting did not see


def test_unknown_node_labels_are_blanked():
    batch = conform([molecule("C", "O")], [molecule("O", "S")], "ignore")
    assert batch.x[0].tolist()[:2] == [0, 1]
    assert batch.x[1].sum() == 0


def test_unknown_node_labels_are_refused_with_their_graph():
    with pytest.raises(GraphError, match=r"graph 1: node 0 has the label 'S', which no .*unknown_label='ignore'"):
        conform([molecule("C", "O")], [molecule("O", "C"), molecule("S", "C")], "error")


def test_unknown_edge_labels_are_blanked():
    batch = conform([molecule("C", "C", bond="-")], [molecule("C", "C", bond="#"), molecule("C", "C")], "ignore")
    assert batch.edge_attr.sum(1).tolist() == [0, 0, 1, 1]


def test_unknown_edge_labels_are_refused_with_their_graph():
    with pytest.raises(GraphError, match="graph 1: edge 0-1 has the label '#', which no fitted graph had"):
        conform([molecule("C", "C")], [molecule("C", "C"), molecule("C", "C", bond="#")], "error")


def test_a_column_that_no_fitted_graph_used_counts_as_unknown():
    fitted, later = [pair(torch.tensor([[1.0, 0], [1, 0]]))], [pair()]
    assert conform(fitted, later, "ignore").x.tolist() == [[1, 0], [0, 0]]
    with pytest.raises(GraphError, match="graph 0: node 1 has the label '1'"):
        conform(fitted, later, "error")


def test_labels_beside_attributes_are_known_by_name_too():
    fitted, later = molecule("C", "O"), molecule("C", "N")
    for graph in (fitted, later):
        nx.set_node_attributes(graph, {0: 12.0, 1: 16.0}, "mass")
    assert conform([fitted], [later]).x.tolist() == [[1, 0, 12], [0, 0, 16]]
    with pytest.raises(GraphError, match="node 1 has the label 'N', which no fitted graph had"):
        conform([fitted], [later], "error")


@pytest.mark.parametrize("policy", POLICIES)
def test_continuous_features_know_no_unknown_labels(policy):
    fitted = [pair(torch.tensor([[0.5, 0], [2, 0]]))]
    later = torch.tensor([[0.5, 3], [2, 4]])
    assert conform(fitted, [pair(later)], policy).x.equal(later)


# Graphs that changed between fit and transform


def test_other_values_where_labels_were_are_refused_with_their_graph():
    continuous = pair(torch.tensor([[1, 0], [0.5, 0.5]]))
    with pytest.raises(GraphError, match=r"'x' of the nodes holds other numbers, that of .* held labels"):
        conform([pair()], [pair(), continuous])
    with pytest.raises(GraphError, match="'edge_attr' of the edges holds other numbers"):
        conform([pair(edge_attr=torch.eye(2))], [pair(edge_attr=torch.full((2, 2), 0.5))])


def test_labels_where_continuous_features_were_are_fine():
    assert conform([pair(torch.rand(2, 2) / 2)], [pair()]).x.equal(torch.eye(2))


def test_edge_attr_on_one_side_only_is_refused():
    plain, colored = pair(), pair(edge_attr=torch.eye(2))
    with pytest.raises(GraphError, match=r"the edges have a column 'edge_attr'.*ignore=\('edge_attr',\)"):
        conform([plain], [colored])
    with pytest.raises(GraphError, match="the edges have no labels, those of the fitted graphs had: 0, 1"):
        conform([colored], [plain])


def test_edge_weight_on_one_side_only_is_refused():
    plain, weighted = pair(), pair(edge_weight=torch.ones(2))
    with pytest.raises(GraphError, match=r"fitted graphs had no edge weights, these have.*ones are neutral"):
        conform([plain], [weighted])
    with pytest.raises(GraphError, match=r"fitted graphs had edge weights, these have none.*ones are neutral"):
        conform([weighted], [plain])


def test_graphs_without_edges_need_no_edge_fields():
    fitted = [nx.Graph([(0, 1, {"label": "-", "weight": 2})])]
    nx.set_node_attributes(fitted[0], "C", "label")
    single = nx.empty_graph(1)
    single.nodes[0]["label"] = "C"
    batch = conform(GraphTable.of(fitted, weight="weight"), [single])
    assert batch.edge_attr.shape == (0, 1)
    assert batch.edge_weight.shape == (0,)


def test_graphs_without_any_known_label_are_worth_a_word():
    with pytest.warns(RWKPlusWarning, match="no label of the nodes occurs in the fitted graphs"):
        conform([molecule("C", "O")], [molecule("bank", "shop")], "ignore")
