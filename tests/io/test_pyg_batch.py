import networkx as nx
import numpy as np
import pytest
import torch
from torch.utils.data import Subset
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data, InMemoryDataset
from torch_geometric.loader import DataLoader

from rwkplus.errors import DataError, GraphError, ParameterError
from rwkplus.io.pyg import as_batch
from rwkplus.io.pyg_checks import MEANINGFUL
from tests.io.tiny import EDGES, edge, path


class Tiny(InMemoryDataset):
    def __init__(self):
        super().__init__(None)
        self.data, self.slices = self.collate([path(), edge(), path()])


def assert_is_path_edge_path(batch):
    assert isinstance(batch, Batch)
    assert batch.num_graphs == 3
    assert batch.ptr.tolist() == [0, 3, 5, 8]
    assert batch.batch.tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    assert batch.x.tolist() == [[1, 0], [0, 1], [1, 0], [1, 0], [0, 1], [1, 0], [0, 1], [1, 0]]
    shifted = [(3, 4), (4, 3), *((u + 5, v + 5) for u, v in EDGES)]
    assert batch.edge_index.t().tolist() == [[u, v] for u, v in (*EDGES, *shifted)]


# What is accepted


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        tuple,
        iter,
        Batch.from_data_list,
        lambda graphs: Tiny(),
        lambda graphs: Tiny()[[0, 1, 2]],
        lambda graphs: Subset(graphs, [0, 1, 2]),
        lambda graphs: next(iter(DataLoader(graphs, batch_size=3))),
        lambda graphs: as_batch(graphs),
        lambda graphs: np.array([*graphs, None], dtype=object)[:3],
    ],
    ids=["list", "tuple", "iterator", "Batch", "dataset", "slice", "Subset", "loader", "as_batch", "array"],
)
def test_every_container_of_data_gives_the_same_batch(wrap):
    assert_is_path_edge_path(as_batch(wrap([path(), edge(), path()])))


def test_networkx_graphs_give_the_same_batch():
    graphs = [nx.path_graph(3), nx.path_graph(2), nx.path_graph(3)]
    for graph in graphs:
        nx.set_node_attributes(graph, {v: "ab"[v % 2] for v in graph}, "label")
    batch = as_batch(graphs)
    expected = as_batch([path(), edge(), path()])
    assert batch.x.equal(expected.x)
    assert batch.ptr.equal(expected.ptr)
    assert sorted(batch.edge_index.t().tolist()) == sorted(expected.edge_index.t().tolist())
    assert batch.node_label_names == ("a", "b")


def test_a_path_is_read_as_a_tu_data_set(tmp_path):
    (tmp_path / "T_A.txt").write_text("1, 2\n2, 1\n")
    (tmp_path / "T_graph_indicator.txt").write_text("1\n1\n2\n")
    (tmp_path / "T_node_labels.txt").write_text("5\n7\n5\n")
    for where in (tmp_path, str(tmp_path)):
        batch = as_batch(where)
        assert batch.ptr.tolist() == [0, 2, 3]
        assert batch.x.tolist() == [[1, 0], [0, 1], [1, 0]]


def test_a_path_that_does_not_exist_is_a_data_error(tmp_path):
    with pytest.raises(DataError, match="nowhere"):
        as_batch(tmp_path / "nowhere")


def test_edge_colors_and_weights_pass_in_the_order_of_the_edges():
    colors, weights = torch.eye(4), torch.tensor([1.0, 2, 3, 4])
    batch = as_batch([path(edge_attr=colors, edge_weight=weights), path(edge_attr=colors + 1, edge_weight=-weights)])
    assert batch.edge_attr.equal(torch.cat([colors, colors + 1]))
    assert batch.edge_weight.equal(torch.cat([weights, -weights]))


def test_one_number_per_edge_may_come_with_or_without_a_column():
    flat, column = torch.arange(4.0), torch.arange(4.0)[:, None]
    batch = as_batch([path(edge_weight=flat), path(edge_weight=column)])
    assert batch.edge_weight.shape == (8,)
    assert as_batch([path(edge_attr=flat)]).edge_attr.shape == (4, 1)


def test_directions_self_loops_and_parallel_edges_are_kept():
    ends = [[0, 0, 0, 2], [0, 1, 1, 1]]
    batch = as_batch([path(edge_index=torch.tensor(ends))])
    assert batch.edge_index.tolist() == ends


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
def test_edge_index_may_have_any_integer_type(dtype):
    batch = as_batch([path(), path(edge_index=torch.tensor(EDGES, dtype=dtype).t())])
    assert batch.edge_index.dtype == torch.int64
    assert batch.edge_index[:, 4:].tolist() == (torch.tensor(EDGES).t() + 3).tolist()


def test_an_edge_index_of_pyg_is_read():
    edge_index = EdgeIndex([[0, 1], [1, 0]], sparse_size=(2, 2))
    assert as_batch([edge(), edge(edge_index=edge_index)]).edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64])
def test_one_hot_integers_become_floats(dtype):
    batch = as_batch([edge(x=torch.eye(2).to(dtype), edge_attr=torch.eye(2).to(dtype))])
    assert batch.x.dtype == batch.edge_attr.dtype == torch.float32
    assert batch.x.equal(torch.eye(2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_float_type_of_x_is_kept_and_whole_weights_follow(dtype):
    batch = as_batch([edge(x=torch.eye(2, dtype=dtype), edge_weight=torch.tensor([1, 2]))])
    assert batch.x.dtype == batch.edge_weight.dtype == dtype


def test_weights_of_higher_precision_than_x_are_not_rounded():
    weight = torch.tensor([1 / 3, 2 / 3], dtype=torch.float64)
    assert as_batch([edge(x=torch.eye(2), edge_weight=weight)]).edge_weight.equal(weight)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("wrap", [list, Batch.from_data_list, as_batch], ids=["list", "Batch", "as_batch"])
def test_the_result_never_shares_memory_with_the_input(wrap, count):
    graphs = [edge(edge_attr=torch.eye(2), edge_weight=torch.ones(2)) for _ in range(count)]
    given = wrap(graphs)
    batch = as_batch(given)
    before = batch.clone()
    for source in [given] if isinstance(given, Batch) else graphs:
        for field in ("x", "edge_index", "edge_attr", "edge_weight"):
            source[field].fill_(7)
    for field in ("x", "edge_index", "edge_attr", "edge_weight"):
        assert batch[field].equal(before[field]), field


def test_the_input_is_left_alone():
    graph = edge(edge_weight=torch.tensor([1, 2]), y=torch.tensor([1]))
    keys = set(graph.keys())
    as_batch([graph, graph])
    assert set(graph.keys()) == keys
    assert graph.edge_weight.dtype == torch.int64
    assert graph.edge_index.tolist() == [[0, 1], [1, 0]]


def test_gradients_reach_the_features():
    x = torch.eye(2, requires_grad=True)
    as_batch([edge(x=x)]).x.sum().backward()
    assert x.grad.equal(torch.ones(2, 2))


def test_empty_graphs_isolated_nodes_and_single_nodes_keep_their_place():
    no_edges = torch.empty(2, 0, dtype=torch.long)
    empty = Data(x=torch.empty(0, 2), edge_index=no_edges)
    single = Data(x=torch.ones(1, 2), edge_index=no_edges)
    isolated = Data(x=torch.ones(4, 2), edge_index=torch.tensor([[0], [1]]))
    batch = as_batch([empty, single, empty, isolated, empty])
    assert batch.num_graphs == 5
    assert batch.ptr.tolist() == [0, 0, 1, 1, 5, 5]
    assert batch.edge_index.tolist() == [[1], [2]]
    again = as_batch(batch)
    assert again.ptr.equal(batch.ptr)
    assert again.edge_index.equal(batch.edge_index)


def test_only_empty_graphs_are_a_batch_too():
    empty = Data(x=torch.empty(0, 2), edge_index=torch.empty(2, 0, dtype=torch.long))
    batch = as_batch([empty, empty])
    assert batch.num_graphs == 2
    assert batch.x.shape == (0, 2)


def test_a_graph_of_a_hundred_thousand_nodes_passes():
    n = 100_000
    ring = torch.stack([torch.arange(n), torch.arange(n).roll(-1)])
    batch = as_batch(
        [Data(x=torch.ones(n, 1), edge_index=torch.cat([ring, ring.flip(0)], 1)), edge(x=torch.ones(2, 1))]
    )
    assert batch.ptr.tolist() == [0, n, n + 2]
    assert batch.edge_index[:, -1].tolist() == [n + 1, n]


def test_edges_of_a_batch_without_slices_need_no_order():
    batch = as_batch([path(edge_weight=torch.arange(4.0)), edge(edge_weight=torch.arange(4.0, 6))])
    order = [4, 0, 5, 1, 2, 3]
    shuffled = Batch(x=batch.x, batch=batch.batch, ptr=batch.ptr, edge_index=batch.edge_index[:, order])
    shuffled.edge_weight = batch.edge_weight[order]
    again = as_batch(shuffled)
    assert again.edge_index.equal(batch.edge_index)
    assert again.edge_weight.equal(batch.edge_weight)


# Nothing is dropped silently


@pytest.mark.parametrize("field", MEANINGFUL)
def test_fields_that_describe_nodes_or_edges_are_refused_by_name(field):
    graphs = [path(), path(**{field: torch.ones(3)})]
    with pytest.raises(GraphError, match=rf"graph 1.*'{field}'.*ignore="):
        as_batch(graphs)
    assert as_batch(graphs, ignore=(field,)).x.shape == (6, 2)


def test_the_conventional_fields_are_among_the_refused():
    assert {"pos", "z", "edge_label", "edge_type", "node_type", "weight"} <= set(MEANINGFUL)


@pytest.mark.parametrize("field", ["edge_attr", "edge_weight"])
def test_ignore_leaves_out_on_purpose(field):
    graphs = [
        path(edge_attr=torch.eye(4), edge_weight=torch.ones(4)),
        path(edge_attr=torch.eye(4), edge_weight=torch.ones(4)),
    ]
    batch = as_batch(graphs, ignore=(field,))
    other = {"edge_attr": "edge_weight", "edge_weight": "edge_attr"}[field]
    assert field not in batch
    assert other in batch


def test_ignored_fields_are_not_even_checked():
    assert as_batch([path(edge_attr="nonsense"), path()], ignore=("edge_attr",)).num_graphs == 2


def test_ignore_as_a_string_is_refused():
    with pytest.raises(ParameterError, match="edge_index"):  # "x" is a letter of it
        as_batch([path()], ignore="edge_index")


def test_edge_fields_of_networkx_are_ignored_by_their_pyg_name():
    graph = nx.Graph([(0, 1, {"label": "-"})])
    nx.set_node_attributes(graph, "C", "label")
    assert "edge_attr" in as_batch([graph])
    assert "edge_attr" not in as_batch([graph], ignore=("edge_attr",))


@pytest.mark.parametrize("field", ["edge_weight", "edge_attr", "pos"])
def test_fields_added_to_a_batch_afterwards_are_refused_by_name(field):
    batch = Batch.from_data_list([edge(), edge()])
    batch[field] = torch.ones(4)
    with pytest.raises(GraphError, match=field):
        as_batch(batch)


def test_label_names_travel_with_the_batch():
    graphs = [edge(node_label_names=("C", "O")), edge(node_label_names=("C", "O"))]
    for given in (graphs, Batch.from_data_list(graphs), as_batch(graphs)):
        assert as_batch(given).node_label_names == ("C", "O")


@pytest.mark.parametrize(("slip", "meant"), [("edge_atr", "edge_attr"), ("edge_atttr", "edge_attr")])
def test_a_slip_of_the_pen_ignores_nothing_silently(slip, meant):
    graph = path(edge_attr=torch.ones(4, 1))
    with pytest.raises(ParameterError, match=f"no '{slip}' to ignore, but '{meant}'"):
        as_batch([graph], ignore=(slip,))
    for fine in ("edge_weight", "age", "edge_attr2"):
        assert as_batch([graph], ignore=(fine,)).num_graphs == 1


def test_slips_about_fields_of_networkx_are_named():
    graph = nx.Graph([(0, 1)])
    nx.set_node_attributes(graph, "C", "label")
    with pytest.raises(ParameterError, match="no 'lable' to ignore, but 'label'"):
        as_batch([graph], ignore=("lable",))
