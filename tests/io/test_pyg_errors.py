"""What is refused: each message names the graph, the field and a remedy."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data, HeteroData

from rwkplus.errors import GraphError
from rwkplus.io.pyg import as_batch
from rwkplus.io.pyg_checks import check_alike
from tests.io.tiny import EDGES, edge, path

NAN, INF = float("nan"), float("inf")
BAD = {
    "no x": (lambda g: without(g, "x"), r"graph 1 has no node features x.*with_degrees\(\)"),
    "no edge_index": (lambda g: without(g, "edge_index"), r"graph 1 has no edge_index.*torch\.empty\(2, 0"),
    "width": (lambda g: path(x=torch.ones(3, 5)), r"graph 1: x has shape \(3, 5\).*graph 0.*same number of columns"),
    "nan": (lambda g: path(x=torch.tensor([[0, 1], [NAN, 1], [0, 0]])), r"graph 1: x contains nan.*Impute"),
    "inf": (lambda g: path(x=torch.tensor([[0, 1], [INF, 1], [0, 0]])), r"graph 1: x contains nan, inf or.*Impute"),
    "edge out of range": (
        lambda g: path(edge_index=torch.tensor([[0, 1], [1, 3]])),
        r"graph 1: edge_index names the edge \(1, 3\) but the graph has 3 nodes, numbered from 0",
    ),
    "negative edge": (lambda g: path(edge_index=torch.tensor([[0], [-1]])), r"graph 1: edge_index.*\(0, -1\)"),
    "huge edge": (lambda g: path(edge_index=torch.tensor([[0], [2**62]])), r"graph 1: edge_index.*3 nodes"),
    "float edge": (lambda g: path(edge_index=torch.rand(2, 4)), r"graph 1: edge_index must be integers.*float32"),
    "bool edge": (lambda g: path(edge_index=torch.ones(2, 4).bool()), r"graph 1: edge_index must be integers.*bool"),
    "transposed edges": (lambda g: path(edge_index=torch.tensor(EDGES)), r"graph 1: edge_index.*\(4, 2\)"),
    "flat edges": (lambda g: path(edge_index=torch.tensor([0, 1])), r"graph 1: edge_index must have 2 dimensions"),
    "list of edges": (lambda g: path(edge_index=[[0], [1]]), r"graph 1: edge_index is a list, expected a torch.Tensor"),
    "numpy x": (lambda g: path(x=np.ones((3, 2))), r"graph 1: x is a ndarray, expected a torch.Tensor"),
    "flat x": (lambda g: path(x=torch.ones(3)), r"graph 1: x must have 2 dimensions, got shape \(3,\)"),
    "sparse x": (lambda g: path(x=torch.eye(3, 2).to_sparse()), r"graph 1: x must be a dense.*\.to_dense\(\)"),
    "complex x": (lambda g: path(x=torch.ones(3, 2) * 1j), r"graph 1: x must be a dense tensor of real numbers"),
    "uint16 edges": (
        lambda g: path(edge_index=torch.tensor(EDGES).t().to(torch.uint16)),
        r"graph 1: edge_index.*uint16",
    ),
    "float8 x": (lambda g: path(x=torch.ones(3, 2).to(torch.float8_e5m2)), r"graph 1: x must be.*float8"),
    "other device": (lambda g: path(x=torch.ones(3, 2, device="meta")), r"graph 1: x.*on meta"),
    "num_nodes": (lambda g: path(num_nodes=4), r"graph 1: num_nodes is 4 but x has 3 rows.*One row per node"),
    "num_nodes tensor": (lambda g: path(num_nodes=torch.tensor([3, 3])), r"graph 1: num_nodes"),
    "edge_attr on one": (lambda g: path(edge_attr=torch.eye(4)), r"graph 1 has edge_attr but graph 0 has not.*ignore="),
    "edge_weight on one": (lambda g: path(edge_weight=torch.ones(4)), r"graph 1 has edge_weight but graph 0 has not"),
    "names on one": (lambda g: path(node_label_names=("C", "O")), r"graph 1: node_label_names.*one vocabulary"),
    "HeteroData": (lambda g: HeteroData(), r"graph 1 is a HeteroData.*to_homogeneous"),
    "networkx": (lambda g: nx.path_graph(3), r"graph 1 is a Graph.*all of one kind"),
    "string": (lambda g: "CCO", r"graph 1 is a str: expected"),
    "none": (lambda g: None, r"graph 1 is a NoneType: expected"),
}


def without(graph, field):
    del graph[field]
    return graph


@pytest.mark.parametrize("case", BAD)
def test_the_wrong_graph_the_field_and_a_remedy_are_named(case):
    spoil, message = BAD[case]
    with pytest.raises(GraphError, match=message):
        as_batch([path(), spoil(path()), path()])


@pytest.mark.parametrize(("i", "field"), [(0, "edge_index"), (1, "x"), (1, "edge_index")])
def test_tensors_on_different_devices_are_named(i, field):
    # Meta tensors are refused earlier; they stand in for a second device here.
    first = path().to_dict()
    record = first if i == 0 else path().to_dict()
    record[field] = record[field].to("meta")
    with pytest.raises(GraphError, match=rf"graph {i}: {field} is on meta but x of graph 0 is on cpu.*\.to\(device\)"):
        check_alike(i, record, first)


EDGE_FIELDS = {
    "too few rows": (torch.ones(3), r"graph 1: {} has 3 rows but edge_index has 4 edges.*twice"),
    "three dimensions": (torch.ones(4, 1, 1), r"graph 1: {} must have 2 dimensions"),
    "nan": (torch.tensor([1, NAN, 1, 1]), r"graph 1: {} contains nan"),
    "sparse": (torch.eye(4).to_sparse(), r"graph 1: {} must be a dense"),
    "not a tensor": ([1, 1, 1, 1], r"graph 1: {} is a list"),
}


@pytest.mark.parametrize("field", ["edge_attr", "edge_weight"])
@pytest.mark.parametrize("case", EDGE_FIELDS)
def test_wrong_edge_fields_are_named(field, case):
    value, message = EDGE_FIELDS[case]
    with pytest.raises(GraphError, match=message.format(field)):
        as_batch([path(**{field: torch.ones(4)}), path(**{field: value})])


def test_several_numbers_as_a_weight_are_sent_to_edge_attr():
    with pytest.raises(GraphError, match=r"graph 0: edge_weight.*\(4, 2\).*edge_attr"):
        as_batch([path(edge_weight=torch.ones(4, 2))])


def test_edge_attr_of_different_widths_is_named():
    with pytest.raises(GraphError, match=r"graph 1: edge_attr has shape \(4, 2\) but graph 0 has \(4, 3\)"):
        as_batch([path(edge_attr=torch.ones(4, 3)), path(edge_attr=torch.ones(4, 2))])


@pytest.mark.parametrize("field", ["x", "edge_attr"])
def test_label_numbers_are_told_how_to_become_one_hot(field):
    zeros, labels = torch.zeros(2, 1, dtype=torch.long), torch.tensor([[0], [6]])
    with pytest.raises(GraphError, match=rf"graph 1: {field} holds integers such as 6.*to_pyg\(\), or .*\.float\(\)"):
        as_batch([edge(**{field: zeros}), edge(**{field: labels})])


@pytest.mark.parametrize("names", [3, "CO", ("C", "C"), ("C", 1), np.array(["C", "O"]), ([], [])])
def test_label_names_that_are_no_distinct_strings_are_refused(names):
    with pytest.raises(GraphError, match="graph 0: node_label_names must be a tuple of distinct strings"):
        as_batch([edge(node_label_names=names)])


@pytest.mark.parametrize("nothing", [[], (), iter([])])
def test_an_empty_list_is_refused(nothing):
    with pytest.raises(GraphError, match=r"empty.*at least one"):
        as_batch(nothing)


@pytest.mark.parametrize("graph", [path(), nx.path_graph(2), nx.DiGraph(), HeteroData()])
def test_a_single_graph_is_asked_into_a_list(graph):
    with pytest.raises(GraphError, match=r"single.*\[graph\]"):
        as_batch(graph)


@pytest.mark.parametrize("thing", [None, 3, 2.5, object(), Data, len])
def test_what_is_no_list_is_named_by_type(thing):
    with pytest.raises(GraphError, match=f"expected a list of graphs, got {type(thing).__name__}"):
        as_batch(thing)


def test_networkx_before_data_is_refused():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, 1, "x")
    with pytest.raises(GraphError, match=r"graph 1 is a Data.*one kind"):
        as_batch([graph, path()])


UNSORTED = Batch(
    x=torch.eye(3), edge_index=torch.tensor([[0], [2]]), batch=torch.tensor([0, 1, 0]), ptr=torch.arange(3)
)


@pytest.mark.parametrize("batch", [Batch(), Batch(x=torch.eye(2)), UNSORTED], ids=["empty", "no ptr", "unsorted"])
def test_a_batch_that_was_put_together_by_hand_is_refused_with_the_remedy(batch):
    with pytest.raises(GraphError, match=r"Batch\.from_data_list"):
        as_batch(batch)
