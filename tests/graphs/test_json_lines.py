import json

import networkx as nx
import pytest
import torch
from hypothesis import given
from torch_geometric.data import Data

from rwkplus.data import load
from rwkplus.errors import DataError, GraphError, ParameterError
from rwkplus.graphs import as_batch, from_networkx, graph_to_json, read_json_lines
from rwkplus.graphs.json_lines import parse_graph
from tests.strategies import colored_graphs


@given(colored_graphs(edge_colors=True, edge_weights=True))
def test_a_graph_comes_back_as_it_was(graph):
    data = from_networkx([graph], node_label="color", edge_label="color")[0]
    back = from_networkx([parse_graph(graph_to_json(data)).graph])[0]
    assert back.x.equal(data.x)
    assert back.node_label_names == data.node_label_names
    fields = [field for field in ("edge_attr", "edge_weight") if data.get(field) is not None]
    edges = [
        sorted(zip(g.edge_index.t().tolist(), *(g[field].tolist() for field in fields), strict=True))
        for g in (data, back)
    ]
    assert edges[0] == edges[1]


def test_what_networkx_writes_is_read(tmp_path):
    water = nx.Graph([("o", "h1"), ("o", "h2")])
    nx.set_node_attributes(water, {"o": "O", "h1": "H", "h2": "H"}, "label")
    for name in ("edges", "links"):
        record = nx.node_link_data(water, edges=name) | {"id": 7}
        parsed = parse_graph(json.dumps(record))
        assert parsed.name == 7
        assert nx.utils.graphs_equal(parsed.graph, water)


def test_files_are_loaded_by_their_name_with_targets(tmp_path):
    graphs = load("functional-groups")[:5]
    path = tmp_path / "groups.jsonl"
    path.write_text("\n".join(graph_to_json(graph) for graph in graphs) + "\n\n")
    back = load(path)
    assert [int(graph.y) for graph in back] == [int(graph.y) for graph in graphs]
    assert torch.equal(as_batch(back).x, as_batch(graphs).x)


def test_measurements_are_written_as_numbers(tmp_path):
    graph = from_networkx([nx.path_graph(2)])[0]
    graph.x = torch.tensor([[0.25, 2.0], [1.5, -1.0]])
    path = tmp_path / "one.jsonl"
    path.write_text(graph_to_json(graph))
    assert read_json_lines(path)[0].x.equal(graph.x)


def test_errors_name_file_and_line(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"nodes": [{"id": 0}], "edges": []}\n{"nodes": [{"id": 0}], "ed')
    with pytest.raises(DataError, match=r"bad\.jsonl, line 2: not JSON"):
        read_json_lines(path)
    path.write_text("\n")
    with pytest.raises(DataError, match="holds no graphs"):
        read_json_lines(path)
    with pytest.raises(DataError, match="cannot read"):
        read_json_lines(tmp_path / "none.jsonl")


NODES = '"nodes": [{"id": 0, "label": "C"}, {"id": 1, "label": "O"}]'


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ('"edges": [{"source": 0, "target": 1, "label": "a"}, {"source": 0, "target": 1, "label": "b"}]', "multigraph"),
        ('"directed": "false", "edges": []', "'directed' must be true or false"),
        ('"edges": [{"source": 0, "target": 1, "weight": NaN}]', "NaN is no number of JSON"),
        ('"x": 1', "'edges' must be a list"),
    ],
)
def test_what_would_be_lost_or_misread_is_refused(fields, message):
    with pytest.raises(GraphError, match=message):
        parse_graph(f"{{{NODES}, {fields}}}")


def test_parallel_edges_are_kept_where_they_are_announced():
    edges = '"multigraph": true, "edges": [{"source": 0, "target": 1}, {"source": 0, "target": 1}]'
    assert parse_graph(f"{{{NODES}, {edges}}}").graph.number_of_edges() == 2


def test_the_key_of_an_edge_is_a_field_like_others_but_in_multigraphs():
    edges = '"edges": [{"source": 0, "target": 1, "key": 3}]'
    assert parse_graph(f"{{{NODES}, {edges}}}").graph.edges[0, 1] == {"key": 3}
    parallel = parse_graph(f'{{{NODES}, "multigraph": true, {edges}}}').graph
    assert [fields for *_, fields in parallel.edges(data=True)] == [{}]


@pytest.mark.parametrize(
    ("targets", "expected"), [(["1", "2.5"], [1.0, 2.5]), (["3", "4"], [3, 4]), (['"a"', '"b"'], ["a", "b"])]
)
def test_targets_may_be_numbers_or_names(tmp_path, targets, expected):
    path = tmp_path / "graphs.jsonl"
    path.write_text("".join(f'{{{NODES}, "edges": [], "y": {y}}}\n' for y in targets))
    found = [graph.y if isinstance(graph.y, str) else graph.y.item() for graph in read_json_lines(path)]
    assert found == expected
    path.write_text(path.read_text() + f'{{{NODES}, "edges": []}}\n')
    with pytest.raises(DataError, match="line 3: y must be a number or a name in every graph, got None"):
        read_json_lines(path)


def test_fields_can_be_left_out(tmp_path):
    path = tmp_path / "graphs.jsonl"
    path.write_text('{"nodes": [{"id": 0, "label": "C", "charge": 1}], "edges": []}\n')
    assert read_json_lines(path, ignore=["charge"])[0].num_nodes == 1
    assert load(path, ignore=["charge"])[0].num_nodes == 1
    with pytest.raises(GraphError, match="charge"):
        read_json_lines(path)


def test_unnamed_labels_keep_their_order(tmp_path):
    graph = Data(x=torch.eye(12), edge_index=torch.zeros(2, 0, dtype=torch.long))
    path = tmp_path / "graphs.jsonl"
    path.write_text(graph_to_json(graph) + "\n")
    assert read_json_lines(path)[0].x.argmax(1).tolist() == list(range(12))


PAIR = torch.tensor([[0, 1], [1, 0]])


def came_back(graphs, path):
    path.write_text("\n".join(graph_to_json(graph) for graph in graphs))
    return read_json_lines(path)


@pytest.mark.parametrize("field", ["x", "edge_attr"])
@pytest.mark.parametrize("rows", [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])
def test_numbers_that_look_like_labels_come_back_as_numbers(tmp_path, field, rows):
    values = [torch.tensor([[0.5, 0.25], [2.0, 1.0]]), torch.tensor(rows)]
    graphs = [Data(**{"x": torch.ones(2, 1), "edge_index": PAIR, field: value}) for value in values]
    for value, back in zip(values, came_back(graphs, tmp_path / "graphs.jsonl"), strict=True):
        assert back[field].equal(value)


def test_names_of_graphs_come_back(tmp_path):
    (back,) = came_back([Data(x=torch.ones(2, 1), edge_index=PAIR, name="foo")], tmp_path / "graphs.jsonl")
    assert back.name == "foo"
    assert parse_graph(graph_to_json(back, name=7)).name == 7


@pytest.mark.parametrize(
    ("y", "message"),
    [([float("nan")], "nan or inf"), ([float("inf")], "nan or inf"), ([1.0, 2.0], "y holds 2 numbers")],
)
def test_targets_that_no_file_can_hold_are_refused(y, message):
    with pytest.raises(GraphError, match=message):
        graph_to_json(Data(x=torch.ones(2, 1), edge_index=PAIR, y=torch.tensor(y)))


def test_targets_beyond_64_bits_are_named(tmp_path):
    line = json.dumps({"nodes": [{"id": 0, "label": "C"}], "edges": [], "y": 10**30})
    (tmp_path / "graphs.jsonl").write_text(line + "\n")
    with pytest.raises(DataError, match="too large for a whole number of 64 bits"):
        read_json_lines(tmp_path / "graphs.jsonl")


def test_a_single_name_to_ignore_is_not_taken_for_its_letters(tmp_path):
    with pytest.raises(ParameterError, match="ignore must be a sequence of field names"):
        read_json_lines(tmp_path / "graphs.jsonl", ignore="charge")


def test_targets_beyond_all_numbers_are_refused(tmp_path):
    (tmp_path / "graphs.jsonl").write_text(f'{{{NODES}, "edges": [], "y": 1e999}}\n')
    with pytest.raises(DataError, match="graph 0: the target inf is no number"):
        read_json_lines(tmp_path / "graphs.jsonl")
