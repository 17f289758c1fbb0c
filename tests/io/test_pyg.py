import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import Subset
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.utils import from_smiles

from rwkplus.errors import GraphError, ParameterError
from rwkplus.io.pyg import as_batch
from rwkplus.io.pyg_checks import MEANINGFUL
from rwkplus.table import Categories, GraphTable, Numbers, Reader
from tests.strategies import as_data, colored_graphs, real_graphs

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def path(x=None, edge_index=PATH, **fields):
    return Data(x=torch.eye(3)[:, :2] if x is None else torch.as_tensor(x), edge_index=edge_index, **fields)


class OnlyItems:
    """What has no more than ``__getitem__``, such as some data sets."""

    def __init__(self, graphs):
        self.graphs = graphs

    def __getitem__(self, i):
        return self.graphs[i]


class Tiny(InMemoryDataset):
    def __init__(self, graphs):
        super().__init__(None)
        self.data, self.slices = self.collate(graphs)


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "Batch": Batch.from_data_list,
    "data set": Tiny,
    "slice": lambda graphs: Tiny(graphs)[[0, 1]],
    "Subset": lambda graphs: Subset(graphs, [0, 1]),
    "loader": lambda graphs: next(iter(DataLoader(graphs, batch_size=2))),
    "as_batch": as_batch,
    "items": OnlyItems,
    "array": lambda graphs: np.array([*graphs, None], dtype=object)[:2],
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_every_container_gives_the_same_table(container):
    graphs = [path(edge_weight=torch.ones(4)), path(torch.eye(2)[[1, 1, 0]], edge_weight=torch.ones(4))]
    assert GraphTable.of(container(graphs)) == GraphTable.of(graphs)
    assert GraphTable.of(graphs).nodes["x"].codes.tolist() == [0, 1, -1, 1, 1, 0]


@pytest.mark.parametrize("graph", [path(), HeteroData()])
def test_a_single_graph_belongs_into_a_list(graph):
    with pytest.raises(GraphError, match=rf"single {type(graph).__name__}.*\[graph\]"):
        GraphTable.of(graph)


def test_what_is_no_data_is_named():
    with pytest.raises(GraphError, match="graph 1 is a int"):
        GraphTable.of([path(), 3])
    with pytest.raises(GraphError, match="graph 0 is a HeteroData"):
        GraphTable.of([HeteroData()])


# Labels


def test_one_hot_rows_are_labels_by_position():
    column = GraphTable.of([path()]).nodes["x"]
    assert column.unnamed
    assert column.codes.tolist() == [0, 1, -1]


def test_one_hot_rows_with_names_are_labels_by_name():
    names = {"node_label_names": ("C", "O"), "edge_label_names": ("-", "=")}
    table = GraphTable.of([path(edge_attr=torch.eye(2)[[0, 0, 1, 1]], **names)])
    assert table.nodes["label"].values().tolist() == ["C", "O", None]
    assert table.edges["label"].values().tolist() == ["-", "="]
    assert not table.nodes["label"].unnamed


def test_there_must_be_a_name_for_every_column():
    with pytest.raises(GraphError, match="node_label_names has 3 names but x has 2 columns"):
        GraphTable.of([path(node_label_names=("C", "O", "N"))])


@pytest.mark.parametrize("dtype", [torch.long, torch.int32, torch.uint8])
@pytest.mark.parametrize("values", [[[6], [8], [6]], [[0], [1], [0]], [[1], [1], [1]], [[0], [0], [0]]])
def test_integers_are_labels_whatever_they_are(values, dtype):
    column = GraphTable.of([path(torch.tensor(values, dtype=dtype))]).nodes["x"]
    assert column.values().tolist() == [str(value) for (value,) in values]
    assert not column.one_hot


def test_every_column_of_integers_is_a_label():
    table = GraphTable.of([path([[6, 0], [8, 1], [6, 0]], edge_attr=torch.tensor([1, 1, 2, 2]))])
    assert [table.nodes[name].values().tolist() for name in ("x0", "x1")] == [["6", "8", "6"], ["0", "1", "0"]]
    assert table.edges["edge_attr"].values().tolist() == ["1", "2"]


@pytest.mark.parametrize("dtype", [torch.long, torch.bool, torch.float64])
def test_one_hot_rows_may_be_of_any_type(dtype):
    rows = torch.eye(3).to(dtype)
    assert GraphTable.of([path(rows)]) == GraphTable.of([path(rows.float())])
    named = GraphTable.of([path(rows[[0, 0, 0]], node_label_names=("C", "N", "O"))])
    assert named.nodes["label"].values().tolist() == ["C", "C", "C"]


@pytest.mark.parametrize("first", ["C=O", "C#N", "c1ccccc1O", "CC"])
@pytest.mark.parametrize("later", ["CCO", "C", "O=C=O"])
def test_molecules_of_pyg_are_labels_however_few_there_are(first, later):
    fitted, more = GraphTable.of([from_smiles(first), from_smiles("CCN")]), GraphTable.of([from_smiles(later)])
    assert list(fitted.nodes) == [f"x{k}" for k in range(9)]
    assert list(more.edges) == ["edge_attr0", "edge_attr1", "edge_attr2"]
    assert fitted.graphs["smiles"].values().tolist() == [first, "CCN"]
    assert fitted.nodes["x0"].values().tolist()[-1] == "7"
    assert not fitted.directed
    assert Reader.fit(fitted).read(more).num_nodes == more.num_nodes


# Attributes and weights


def test_other_numbers_are_attributes():
    table = GraphTable.of([path(torch.tensor([[0.5], [1.0], [2.0]]), edge_attr=torch.tensor([1.5, 1.5, 2.5, 2.5]))])
    assert table.nodes["x"].numbers.tolist() == [[0.5], [1.0], [2.0]]
    assert table.edges["edge_attr"].numbers.tolist() == [[1.5], [2.5]]
    assert isinstance(table.nodes["x"], Numbers)


def test_attributes_with_names_are_columns_of_their_own():
    own = path(torch.tensor([[0.5, 2.0], [1.0, 3.0], [1.0, 0.0]]), node_label_names=("mass", "size"))
    assert {name: c.numbers.tolist() for name, c in GraphTable.of([own]).nodes.items()} == {
        "mass": [0.5, 1.0, 1.0],
        "size": [2.0, 3.0, 0.0],
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_must_be_finite(value):
    with pytest.raises(GraphError, match="graph 1: x contains nan, inf or"):
        GraphTable.of([path(torch.ones(3, 1) / 2), path(torch.tensor([[1.0], [value], [2.0]]))])


def test_weights_are_weights():
    table = GraphTable.of([path(edge_weight=torch.tensor([0.5, 0.5, 2.0, 2.0]))])
    assert table.weight == "edge_weight"
    assert table.edges["edge_weight"].numbers.tolist() == [0.5, 2.0]
    assert not table.directed


def test_graphs_without_features_have_no_columns():
    table = GraphTable.of([Data(edge_index=PATH, num_nodes=4), Data(edge_index=PATH, num_nodes=3)])
    assert not table.nodes
    assert table.num_nodes == 7


def test_what_one_graph_has_all_must_have():
    with pytest.raises(GraphError, match=r"graph 0 has edge_attr but graph 1 has not.*ignore=\('edge_attr',\)"):
        GraphTable.of([path(edge_attr=torch.ones(4)), path()])
    assert not GraphTable.of([path(edge_attr=torch.ones(4)), path()], ignore=("edge_attr",)).edges


@pytest.mark.parametrize("field", MEANINGFUL)
def test_fields_that_would_be_lost_are_refused_by_name(field):
    graph = path(**{field: torch.ones(3)})
    with pytest.raises(GraphError, match=rf"graph 0: field '{field}'.*ignore=\('{field}',\)"):
        GraphTable.of([graph])
    assert GraphTable.of([graph], ignore=(field,)) == GraphTable.of([path()])
    assert field in graph


@pytest.mark.parametrize("field", ["x", "edge_attr", "edge_weight"])
def test_fields_can_be_left_out(field):
    graph = path(edge_attr=torch.ones(4) / 2, edge_weight=torch.ones(4))
    kept = {"x", "edge_attr", "edge_weight"} - {field}
    table = GraphTable.of([graph], ignore=(field,))
    assert {*table.nodes, *table.edges} == kept
    assert (table.weight is None) == (field == "edge_weight")
    assert table.num_nodes == 3


@pytest.mark.parametrize("option", [{"labels": ("x",)}, {"weight": "edge_attr"}, {"multigraph": True}])
def test_options_that_say_nothing_here_are_refused(option):
    with pytest.raises(ParameterError, match="says nothing about graphs of PyG"):
        GraphTable.of([path()], **option)


# Direction


def test_edges_that_all_have_their_reverse_are_undirected():
    table = GraphTable.of([path()])
    assert not table.directed
    assert list(zip(table.source.tolist(), table.target.tolist(), strict=True)) == [(0, 1), (1, 2)]


def test_edges_can_be_kept_as_they_are_listed():
    index = torch.tensor([[1, 2, 0, 1], [2, 1, 1, 0]])
    table = GraphTable.of([path(edge_index=index)], directed=True)
    assert table.directed
    assert [table.source.tolist(), table.target.tolist()] == index.tolist()


DIRECTED = {
    "one way": {"edge_index": PATH[:, :3]},
    "other weights": {"edge_weight": torch.tensor([1.0, 2.0, 1.0, 1.0])},
    "other labels": {"edge_attr": torch.eye(2)[[0, 1, 0, 0]]},
    "other codes": {"edge_attr": torch.tensor([3, 4, 3, 3])},
    "one way twice": {"edge_index": torch.tensor([[0, 1, 0], [1, 0, 1]])},
}


@pytest.mark.parametrize("fields", DIRECTED.values(), ids=DIRECTED)
def test_edges_without_an_equal_reverse_are_directed(fields):
    table = GraphTable.of([path(**fields), path(**fields)])
    assert table.directed
    assert table.num_edges == 2 * fields.get("edge_index", PATH).size(1)


def test_loops_and_parallel_edges_stand_as_often_as_they_were_walked():
    index = torch.tensor([[0, 1, 0, 1, 2], [1, 0, 1, 0, 2]])
    table = GraphTable.of([path(edge_index=index)])
    assert not table.directed
    assert sorted(zip(table.source.tolist(), table.target.tolist(), strict=True)) == [(0, 1), (0, 1), (2, 2)]


# Names and targets


def test_names_and_targets_are_kept():
    graphs = [path(name="a", y=torch.tensor([1]), node_names=["x", "y", "z"]), path(name="b", y=0, node_names="uvw")]
    table = GraphTable.of(graphs)
    assert table.y.tolist() == [1, 0]
    assert [table.graph_id(i) for i in (0, 1)] == ["a", "b"]
    assert table.node_ids(1) == ["u", "v", "w"]
    several = GraphTable.of([path(y=torch.tensor([[1.0, float("nan")]])), path(y=torch.tensor([[0.0, 2.0]]))])
    assert np.array_equal(several.y, [[1, np.nan], [0, 2]], equal_nan=True)


# And back


def test_labels_become_one_hot_rows_followed_by_attributes():
    graph = nx.Graph([("a", "b", {"bond": "-", "sum": 2.0})], name="g", y=1.5)
    nx.set_node_attributes(graph, {"a": "C", "b": "O"}, "label")
    nx.set_node_attributes(graph, {"a": 12, "b": 16}, "mass")
    (data,) = GraphTable.of([graph], weight="sum").to_pyg()
    assert data.x.tolist() == [[1, 0, 12], [0, 1, 16]]
    assert data.edge_index.tolist() == [[0, 1], [1, 0]]
    assert data.edge_attr.tolist() == [[1], [1]]
    assert data.edge_weight.tolist() == [2, 2]
    assert (data.name, data.y.tolist(), data.node_names, data.edge_label_names) == ("g", [1.5], ["a", "b"], ("-",))
    assert data.x.dtype == torch.get_default_dtype()
    assert "node_label_names" not in data


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([1, 0], [[1], [0]]),
        ([0.5, None], [[0.5], [float("nan")]]),
        (["a", None], ["a", None]),
        ([[1, 0], [0, 1]], [[[1.0, 0.0]], [[0.0, 1.0]]]),
    ],
)
def test_targets_are_tensors_unless_they_are_names(y, expected):
    graphs = GraphTable.of([nx.path_graph(2)] * 2).with_targets(y).to_pyg()
    found = [own.y.tolist() if isinstance(own.y, torch.Tensor) else own.get("y") for own in graphs]
    assert repr(found) == repr(expected)


def test_missing_labels_have_no_row():
    graph = nx.path_graph(2)
    graph.nodes[0]["label"] = "C"
    with pytest.raises(GraphError, match="node 1 has no 'label'"):
        GraphTable.of([graph]).to_pyg()


def edges_of(data):
    fields = [data.get(field) for field in ("edge_attr", "edge_weight") if data.get(field) is not None]
    rows = zip(data.edge_index.t().tolist(), *(field.tolist() for field in fields), strict=True)
    return sorted(rows)


def databases(make, **fields):
    return st.booleans().flatmap(
        lambda way: st.lists(
            make(min_nodes=1, directed=way, edge_colors=True, edge_weights=True, **fields), min_size=1, max_size=3
        )
    )


@given(st.one_of(databases(colored_graphs, blank=True), databases(real_graphs)))
def test_graphs_survive_a_table(graphs):
    data = [as_data(graph) for graph in graphs]
    for one, other in zip(GraphTable.of(data).to_pyg(), data, strict=True):
        assert one.x.tolist() == other.x.tolist()
        assert edges_of(one) == edges_of(other)
        assert one.num_nodes == other.num_nodes


@given(st.one_of(databases(colored_graphs, blank=True), databases(real_graphs)))
def test_tables_survive_pyg(graphs):
    table = GraphTable.of([as_data(graph) for graph in graphs]).with_targets(np.arange(len(graphs)) / 4)
    assert GraphTable.of(table.to_pyg()) == table
    assert GraphTable.of(Batch.from_data_list(table.to_pyg())) == table


@given(databases(colored_graphs))
def test_named_labels_survive_pyg(graphs):
    table = GraphTable.of(graphs, labels=("color",), weight="weight" if any(g.edges for g in graphs) else None)
    again = GraphTable.of(table.to_pyg())
    assert again.nodes["label"].values().tolist() == table.nodes["color"].values().tolist()
    assert again.num_nodes == table.num_nodes
    assert isinstance(again.nodes["label"], Categories)
    directed = table.directed and again.directed
    assert again.num_edges == table.num_edges or not directed


def test_parts_of_a_table_do_not_drag_the_rest_along():
    graphs = GraphTable.of([path(), path()]).to_pyg()
    assert graphs[0].x.untyped_storage().nbytes() == 3 * 2 * 4
