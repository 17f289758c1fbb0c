import json

import networkx as nx
import pytest
import torch
from hypothesis import given

from rwkplus.data import load
from rwkplus.errors import DataError
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
