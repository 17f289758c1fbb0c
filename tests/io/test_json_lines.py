import json
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rwkplus.errors import DataError, GraphError, ParameterError, RWKPlusWarning
from rwkplus.io.json_lines import graph_to_json, read_json_lines, write_json_lines
from rwkplus.io.json_records import BadLine, TableRow, parse_lines
from rwkplus.io.networkx import from_networkx
from rwkplus.io.sources import ReadOptions
from rwkplus.table import Categories, GraphTable, Numbers, Text
from tests.strategies import colored_graphs, real_graphs


def line_of(graph, **fields):
    """What networkx writes, with names of its own."""
    record = nx.node_link_data(graph, edges="edges") | fields
    return json.dumps(record).encode()


def one(text):
    """The table of a single line, or the error about it."""
    parsed = parse_lines([text if isinstance(text, bytes) else text.encode()])
    (line,) = parsed.lines
    if isinstance(line, BadLine):
        raise GraphError(line.error)
    return parsed.tables[line.table][line.row]


def written(path, lines):
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + b"\n\n")
    return path


# The same graphs, whatever way they take


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [colored_graphs, real_graphs])
@pytest.mark.parametrize("directed", [True, False])
def test_graphs_are_those_of_networkx_and_come_back(tmp_path_factory, strategy, directed):
    folder = tmp_path_factory.mktemp("json")

    @settings(max_examples=40)
    @given(st.lists(strategy(edge_colors=True, edge_weights=True, directed=directed), min_size=1, max_size=4))
    def check(graphs):
        table = from_networkx(graphs)
        path = written(folder / "graphs.jsonl", map(line_of, graphs))
        assert read_json_lines(path) == table
        assert read_json_lines(write_json_lines(table, folder / "again.jsonl")) == table
        for i, graph in enumerate(graphs):
            assert one(line_of(graph)) == from_networkx([graph])
            assert one(graph_to_json(table[i])) == from_networkx([graph])

    check()


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_parallel_edges_come_back(tmp_path, kind):
    graph = kind([("a", "b", {"label": "x"}), ("a", "b", {"label": "y"}), ("b", "b", {"label": "x"})], name="g")
    table = from_networkx([graph])
    assert read_json_lines(write_json_lines(table, tmp_path / "g.jsonl")) == table
    assert one(line_of(graph)).num_edges == 3


@pytest.mark.parametrize("field", ["edges", "links"])
def test_what_networkx_writes_is_read(field):
    water = nx.Graph([("o", "h1"), ("o", "h2")])
    nx.set_node_attributes(water, {"o": "O", "h1": "H", "h2": "H"}, "label")
    text = json.dumps(nx.node_link_data(water, edges=field) | {"id": 7}).encode()
    parsed = parse_lines([text])
    assert parsed.lines == [TableRow(0, 0, 7)]
    assert parsed.tables[0] == from_networkx([water])
    assert parsed.tables[0].node_ids(0) == ["o", "h1", "h2"]


def test_every_field_is_a_column_of_its_type():
    nodes = [{"id": 0, "label": 1, "kind": "a", "size": 2, "hot": True, "x": [1, 2.5]}, {"id": 1, "label": "1"}]
    table = one(json.dumps({"nodes": nodes, "edges": [{"source": 1, "target": 0, "id": 3, "amount": 0.5}]}))
    kinds = {name: type(column) for name, column in table.nodes.items()}
    assert kinds == {"label": Categories, "kind": Categories, "size": Numbers, "hot": Categories, "x": Numbers}
    assert table.nodes["label"].values().tolist() == ["1", "1"]
    assert table.nodes["hot"].values().tolist() == ["True", None]
    assert table.nodes["x"].numbers[0].tolist() == [1, 2.5]
    assert all(table.nodes[name].missing.tolist() == [False, True] for name in ("kind", "size", "hot", "x"))
    assert (table.edges["id"].numbers.tolist(), table.edges["amount"].numbers.tolist()) == ([3], [0.5])


def test_options_say_what_fields_are():
    text = '{"nodes": [{"id": 0, "kind": 1, "size": 2}, {"id": 1, "kind": 2, "size": 3}], "edges": []}'
    options = ReadOptions(labels=("kind",), ignore=("nodes.size",))
    table = parse_lines([text.encode()], options).tables[0]
    assert list(table.nodes) == ["kind"]
    assert table.nodes["kind"].values().tolist() == ["1", "2"]


NODES = '"nodes": [{"id": 0, "label": "C"}, {"id": 1, "label": "O"}]'


def test_labels_are_compared_as_they_are_written():
    labels = [1, 1.0, "1", True, "True", "1.50", 1.5, "1.5", "01", -0.0, "0"]
    nodes = [{"id": i, "label": label} for i, label in enumerate(labels)]
    found = one(json.dumps({"nodes": nodes, "edges": []})).nodes["label"].values().tolist()
    assert found == ["1", "1", "1", "True", "True", "1.50", "1.5", "1.5", "01", "0", "0"]


def test_repeated_edges_are_one_if_their_fields_agree():
    edges = [{"source": 0, "target": 1, "label": "a"}, {"source": 1, "target": 0, "label": "a"}]
    record = {"nodes": [{"id": 0}, {"id": 1}], "edges": [*edges, {"source": 1, "target": 1, "label": "b"}]}
    assert one(json.dumps(record)).edges["label"].values().tolist() == ["a", "b"]
    assert one(json.dumps(record | {"directed": True})).num_edges == 3
    assert one(json.dumps(record | {"multigraph": True})).num_edges == 3


def test_the_key_of_an_edge_is_a_field_like_others_but_in_multigraphs():
    edges = '"edges": [{"source": 0, "target": 1, "key": 3}]'
    assert one(f"{{{NODES}, {edges}}}").edges["key"].numbers.tolist() == [3]
    assert not one(f'{{{NODES}, "multigraph": true, {edges}}}').edges


# What is refused, line by line

DEEP = b"[" * 5000
BAD = {
    b"{": "not JSON",
    b"\xff\xfe": "not JSON",
    DEEP: "not JSON",
    b'{"nodes": ' + b"[" * 600 + b"]" * 600 + b', "edges": []}': r"nodes\[0\] must be an object",
    b'{"nodes": ' + b'{"a":' * 5000: "not JSON",
    b"[]": "expected an object with 'nodes' and 'edges', got \\[\\]",
    b"{}": "'nodes' must be a list of objects, got None",
    b'{"nodes": {"id": 0}, "edges": []}': "'nodes' must be a list",
    b'{"nodes": ["id"], "edges": []}': r"nodes\[0\] must be an object, got 'id'",
    b'{"nodes": [[0]], "edges": []}': r"nodes\[0\] must be an object",
    b'{"nodes": [{"id": 0}, []], "edges": []}': r"nodes\[1\] must be an object",
    b'{"nodes": [], "edges": []}': "'nodes' is empty",
    b'{"nodes": [{}], "edges": []}': r"nodes\[0\]: every node needs an 'id' of its own, a number or a string",
    b'{"nodes": [{"id": null}], "edges": []}': r"nodes\[0\]: every node needs an 'id'",
    b'{"nodes": [{"id": [1]}], "edges": []}': r"nodes\[0\]: every node needs an 'id'",
    b'{"nodes": [{"id": 0}, {"label": "C"}], "edges": []}': r"nodes\[1\]: every node needs an 'id'",
    b'{"nodes": [{"id": 0}, {"id": 0}], "edges": []}': r"nodes\[1\]: every node needs an 'id' of its own, and 0 was",
    b'{"nodes": [{"id": 1}, {"id": 1.0}], "edges": []}': r"nodes\[1\]: every node needs an 'id' of its own",
    b'{"nodes": [{"id": 0}]}': "'edges' must be a list of objects, got None",
    b'{"nodes": [{"id": 0}], "edges": ""}': "'edges' must be a list",
    b'{"nodes": [{"id": 0}], "edges": {}}': "'edges' must be a list",
    b'{"nodes": [{"id": 0}], "edges": [0]}': r"edges\[0\] must be an object",
    b'{"nodes": [{"id": 0}], "edges": [{"source": 0, "target": 9}]}': r"edges\[0\]: target is 9, which is the id of no",
    b'{"nodes": [{"id": 0}], "links": [{"source": 9, "target": 0}]}': r"links\[0\]: source is 9",
    b'{"nodes": [{"id": 0}], "edges": [{"source": 0}]}': r"edges\[0\]: target is None",
    b'{"nodes": [{"id": 0}], "edges": [{"source": [0], "target": 0}]}': r"edges\[0\]: source is \[0\]",
    b'{"nodes": [{"id": 0}], "edges": [], "directed": "false"}': "'directed' must be true or false, got 'false'",
    b'{"nodes": [{"id": 0}], "edges": [], "multigraph": 1}': "'multigraph' must be true or false, got 1",
    b'{"nodes": [{"id": 0, "label": ["C"]}], "edges": []}': "hashable",
    b'{"nodes": [{"id": 0, "label": {"a": 1}}], "edges": []}': "hashable",
    b'{"nodes": [{"id": 0, "where": {"a": 1}}], "edges": []}': "column 'where' of the nodes holds {'a': 1}",
    b'{"nodes": [{"id": 0, "a": 1}, {"id": 1, "a": "b"}], "edges": []}': "column 'a' of the nodes holds 1 and 'b'",
    b'{"nodes": [{"id": 0, "x": [1]}, {"id": 1, "x": [1, 2]}], "edges": []}': "'x' of the nodes must hold a number",
    b'{"nodes": [{"id": 0, "x": ["a"]}], "edges": []}': "column 'x' of the nodes must hold a number",
    b'{"nodes": [{"id": 0, "x": [[1]]}], "edges": []}': "column 'x' of the nodes must hold a number",
    b'{"nodes": [{"id": 0, "x": []}], "edges": []}': "column 'x' of the nodes",
    b'{"nodes": [{"id": 0, "size": %d}], "edges": []}' % 10**30: "'size' of the nodes holds 10+, which is too large",
    b'{"nodes": [{"id": 0, "size": %d}], "edges": []}' % 2**63: "too large for a whole number of 64 bits",
    b'{"nodes": [{"id": 0, "size": %s}, {"id": 1, "size": 0.5}], "edges": []}' % (b"9" * 400): "too large",
    b'{"nodes": [{"id": 0, "label": "\\ud83d"}], "edges": []}': r"half of a character \('\\ud83d' alone\)",
    b'{"nodes": [{"id": 0, "label": "\xed\xa0\xbd"}], "edges": []}': "half of a character",
    b'{"nodes": [{"id": 0, "\\ud83d": 1}], "edges": []}': "half of a character",
    b'{"nodes": [{"id": 0, "label": NaN}], "edges": []}': "NaN is not a number in JSON",
    b'{"nodes": [{"id": 0, "size": -Infinity}], "edges": []}': "-Infinity is not a number in JSON",
    b'{"id": 1e400, "nodes": [{"id": 0}], "edges": []}': "id is larger than any number that JSON can hold",
    b'{"id": [1e400], "nodes": [{"id": 0}], "edges": []}': "id is larger than any number",
    b'{"nodes": [{"id": 1e400}], "edges": []}': r"nodes\[0\]: id is larger than any number",
    b'{"nodes": [{"id": 0}], "edges": [{"source": 0, "target": 0, "w": 1e999}]}': r"edges\[0\]: w is larger than any",
    b'{"nodes": [{"id": 0}, {"id": 1}], "edges": [{"source": 0, "target": 1, "label": "a"}, '
    b'{"source": 1, "target": 0, "label": "b"}]}': r"edges\[1\]: there was an edge .* with other fields; .*multigraph",
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad[:50].decode("latin1"))
def test_a_bad_line_is_told_and_its_neighbors_are_read(bad):
    good = f'{{{NODES}, "edges": []}}'.encode()
    parsed = parse_lines([good, bad, good])
    assert [type(line) for line in parsed.lines] == [TableRow, BadLine, TableRow]
    with pytest.raises(GraphError, match=BAD[bad]):
        raise GraphError(parsed.lines[1].error)
    for line in (parsed.lines[0], parsed.lines[2]):
        assert parsed.tables[line.table][line.row] == one(good)


@pytest.mark.parametrize(
    ("rest", "name"),
    [
        ('"id": "odd one", "nodes": [{"id": 0}]', "odd one"),
        ('"id": 7, "nodes": [{"id": 0}], "edges": [], "directed": 3', 7),
        ('"id": "odd one", "nodes": [{"id": 0, "label": []}], "edges": []', "odd one"),
        ('"id": "odd one", "nodes": [{"id": 0, "label": NaN}], "edges": []', "odd one"),
        ('"id": "\\ud83d", "nodes": [{"id": 0}], "edges": []', None),
        ('"id": {"a": 1}, "nodes": []', None),
    ],
)
def test_errors_keep_the_name_of_their_graph(rest, name):
    (line,) = parse_lines([f"{{{rest}}}".encode()]).lines
    assert line.error
    assert line.name == name


def test_whole_characters_beyond_ascii_are_fine():
    record = {"id": "\N{GRINNING FACE}", "nodes": [{"id": "\N{GRINNING FACE}"}], "edges": []}
    escaped, plain = (parse_lines([json.dumps(record, ensure_ascii=way).encode()]) for way in (True, False))
    assert escaped.tables[0] == plain.tables[0]
    assert escaped.lines == plain.lines == [TableRow(0, 0, "\N{GRINNING FACE}")]


# No line is read differently because of others

MIXED = [
    '{"nodes": [{"id": 0, "label": "C"}, {"id": 1, "label": "O"}], "edges": [{"source": 0, "target": 1}]}',
    '{"nodes": [{"id": 0, "label": 1}], "edges": []}',
    '{"nodes": [{"id": 0, "label": "C", "charge": 1}], "edges": []}',
    '{"nodes": [{"id": 0, "label": "C", "charge": "1"}], "edges": []}',
    '{"nodes": [{"id": 0}], "edges": [{"source": 0, "target": 0}], "directed": true}',
    '{"nodes": [{"id": "a", "x": [1, 2]}, {"id": "b"}], "edges": []}',
    '{"nodes": [{"id": "a", "x": [1, 2, 3]}], "edges": []}',
    '{"nodes": [{"id": "a", "x": ["a"]}], "edges": []}',
    '{"nodes": [{"id": 0, "label": null}], "edges": []}',
]


def test_a_line_is_read_alike_in_any_company():
    alone = {}
    for text in MIXED:
        try:
            alone[text] = one(text)
        except GraphError as error:
            alone[text] = str(error)
    for lines in [MIXED, MIXED[::-1], *permutations(MIXED[:4])]:
        parsed = parse_lines([text.encode() for text in lines])
        for text, line in zip(lines, parsed.lines, strict=True):
            if isinstance(line, BadLine):
                assert line.error == alone[text]
            else:
                found = parsed.tables[line.table][line.row]
                assert found.without(("nodes.id",)) == alone[text].without(("nodes.id",))
                assert found.node_ids(0) == alone[text].node_ids(0)


def test_many_words_are_labels_however_many_there_are():
    nodes = [{"id": i, "owner": f"o{i}"} for i in range(50)]
    assert isinstance(one(json.dumps({"nodes": nodes, "edges": []})).nodes["owner"], Categories)


@pytest.mark.parametrize("depth", range(300, 1100, 50))
@pytest.mark.parametrize(
    "form",
    [
        '{"nodes": DEEP, "edges": []}',
        '{"nodes": [{"id": 0, "x": DEEP}], "edges": []}',
        '{"nodes": [{"id": DEEP}], "edges": []}',
        '{"id": DEEP, "nodes": [], "edges": []}',
    ],
)
def test_any_depth_is_an_error(tmp_path, form, depth):
    text = form.replace("DEEP", "[" * depth + "]" * depth)
    (line,) = parse_lines([text.encode()]).lines
    assert isinstance(line, BadLine)
    with pytest.raises(DataError, match="line 1: "):
        read_json_lines(written(tmp_path / "g.jsonl", [text]))


def test_graphs_of_one_kind_share_a_table():
    parsed = parse_lines([f'{{{NODES}, "edges": [], "id": {i}}}'.encode() for i in range(5)])
    assert len(parsed.tables) == 1
    assert parsed.lines == [TableRow(0, i, i) for i in range(5)]
    assert parse_lines([]) == ([], [])


def test_what_spoils_a_table_does_not_take_it_apart():
    lines = [f'{{"nodes": [{{"id": 0, "size": {size}}}], "edges": []}}'.encode() for size in (1, 2, 10**30, 3)]
    parsed = parse_lines(lines)
    assert [type(line) for line in parsed.lines] == [TableRow, TableRow, BadLine, TableRow]
    assert [table.nodes["size"].numbers.tolist() for table in parsed.tables] == [[1, 2, 3]]


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_anything_is_a_graph_or_an_error(text):
    (line,) = parse_lines([text]).lines
    assert isinstance(line, BadLine)
    assert line.error


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["id", "label", "x"]), JSON, max_size=3), JSON, JSON)
def test_any_values_of_fields_are_a_graph_or_an_error(node, edges, flag):
    record = {"nodes": [node, {"id": "a"}], "edges": edges, "directed": flag}
    for own in (record, record | {"edges": []}, {"nodes": [{"id": 1} | node], "edges": []}):
        (line,) = parse_lines([json.dumps(own).encode()]).lines
        assert isinstance(line, TableRow) or line.error


# Files


def test_files_have_targets_and_names(tmp_path):
    path = written(tmp_path / "g.jsonl", (f'{{{NODES}, "edges": [], "id": {i}, "y": {i}}}' for i in range(3)))
    table = GraphTable.of(path)
    assert table.y.tolist() == [0, 1, 2]
    assert table.graphs["name"].values().tolist() == ["0", "1", "2"]
    assert read_json_lines(write_json_lines(table, tmp_path / "again.jsonl")) == table


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        (["1", "2.5"], [1.0, 2.5]),
        (["3", "4"], [3, 4]),
        (['"a"', '"b"'], ["a", "b"]),
        (['"a"', "1"], ["a", "1"]),
        (['"a"', "null"], ["a", None]),
    ],
)
def test_targets_may_be_numbers_or_names(tmp_path, targets, expected):
    path = written(tmp_path / "g.jsonl", (f'{{{NODES}, "edges": [], "y": {y}}}' for y in targets))
    assert read_json_lines(path).y.tolist() == expected


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ("9" * 400, "line 2: the target 9+.* is too large for a whole number of 64 bits"),
        (str(10**30), "too large for a whole number of 64 bits"),
        ("1e999", "line 2: y is larger than any number"),
        ("[1]", r"line 2: y must be a number or a name, got \[1\]"),
        ("true", "line 2: y must be a number or a name, got True"),
    ],
)
def test_targets_that_are_none_are_refused(tmp_path, y, message):
    path = written(tmp_path / "g.jsonl", [f'{{{NODES}, "edges": [], "y": 1.5}}', f'{{{NODES}, "edges": [], "y": {y}}}'])
    with pytest.raises(DataError, match=message):
        read_json_lines(path)
    (_, line) = parse_lines(path.read_bytes().splitlines()[:2]).lines  # there, y is the user's
    assert isinstance(line, TableRow) or "larger than any number" in line.error


def test_several_targets_may_be_named(tmp_path):
    path = written(
        tmp_path / "g.jsonl", [f'{{{NODES}, "edges": [], "a": 1, "b": 2}}', f'{{{NODES}, "edges": [], "a": 1}}']
    )
    table = read_json_lines(path, ReadOptions(y=("a", "b")))
    assert table.targets == ("a", "b")
    assert np.isnan(table.y[1, 1])


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
    with pytest.raises(DataError, match="cannot read"):
        read_json_lines(tmp_path)


def test_all_bad_lines_are_counted_and_may_be_left_out(tmp_path):
    good = f'{{{NODES}, "edges": []}}'
    path = written(
        tmp_path / "g.jsonl", [good, "{", good, '{"nodes": [{"id": 0, "label": []}], "edges": []}', "", good]
    )
    with pytest.raises(
        DataError, match=r"2 of 5 lines cannot be read: line 2: not JSON.*; line 4: .*hashable.*on_error"
    ):
        read_json_lines(path)
    with pytest.warns(RWKPlusWarning, match="left out: .*2 of 5 lines"):
        table = read_json_lines(path, ReadOptions(on_error="skip"))
    assert len(table) == 3
    with pytest.raises(DataError, match="line 1: not JSON"):
        read_json_lines(written(path, ["{"]), ReadOptions(on_error="skip"))


@pytest.mark.parametrize("batch", [1, 2, 2000])
def test_files_are_read_alike_in_any_batches(tmp_path, monkeypatch, batch):
    monkeypatch.setattr("rwkplus.io.json_lines.AT_ONCE", batch)
    lines = [
        '{"nodes": [{"id": 0, "label": 2}], "edges": []}',
        '{"nodes": [{"id": "a", "label": "10", "size": 1}], "edges": [{"source": "a", "target": "a", "w": 2.5}]}',
        '{"nodes": [{"id": 0, "size": 2.5, "label": "b"}, {"id": 1}], "edges": []}',
    ]
    table = read_json_lines(written(tmp_path / "g.jsonl", lines))
    assert table.nodes["label"].names == ("2", "10", "b")
    assert table.nodes["label"].values().tolist() == ["2", "10", "b", None]
    assert table.nodes["id"].values().tolist() == [0, "a", 0, 1]
    assert np.array_equal(table.nodes["size"].numbers, [np.nan, 1, 2.5, np.nan], equal_nan=True)
    assert table.edges["w"].numbers.tolist() == [2.5]
    assert table.edge_ptr.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("batch", [1, 2000])
def test_values_of_two_kinds_are_named_with_their_lines(tmp_path, monkeypatch, batch):
    monkeypatch.setattr("rwkplus.io.json_lines.AT_ONCE", batch)
    lines = ['{"nodes": [{"id": 0, "a": 1}], "edges": []}', "", '{"nodes": [{"id": 0, "a": "b"}], "edges": []}']
    with pytest.raises(DataError, match=r"line 3 and line 1 differ: column 'a' of the nodes holds 1 and 'b'.*labels="):
        read_json_lines(written(tmp_path / "g.jsonl", lines))
    labels = read_json_lines(tmp_path / "g.jsonl", ReadOptions(labels=("a",))).nodes["a"]
    assert labels.values().tolist() == ["1", "b"]


def test_directed_and_undirected_graphs_are_not_mixed(tmp_path):
    lines = [f'{{{NODES}, "edges": []}}', f'{{{NODES}, "edges": [], "directed": true}}']
    with pytest.raises(DataError, match="line 2: the graph is directed and others are not"):
        read_json_lines(written(tmp_path / "g.jsonl", lines))


def test_words_that_all_differ_are_carried_along(tmp_path):
    nodes = [{"id": i, "owner": f"o{i}"} for i in range(50)]
    path = written(tmp_path / "g.jsonl", [json.dumps({"nodes": nodes, "edges": []})])
    assert isinstance(read_json_lines(path).nodes["owner"], Text)
    assert isinstance(read_json_lines(path, ReadOptions(labels=("owner",))).nodes["owner"], Categories)


def test_a_weight_is_one_if_the_user_says_so(tmp_path):
    path = written(tmp_path / "g.jsonl", [f'{{{NODES}, "edges": [{{"source": 0, "target": 1, "weight": 2}}]}}'])
    assert read_json_lines(path).weight is None
    assert read_json_lines(path, ReadOptions(weight="weight")).weight == "weight"
    with pytest.raises(GraphError, match="no edge column 'w'"):
        read_json_lines(path, ReadOptions(weight="w"))


def test_fields_can_be_left_out(tmp_path):
    path = written(tmp_path / "g.jsonl", ['{"nodes": [{"id": 0, "label": "C", "charge": {}}], "edges": []}'])
    assert list(read_json_lines(path, ReadOptions(ignore=("charge",))).nodes) == ["label"]
    with pytest.raises(DataError, match="charge"):
        read_json_lines(path)
    with pytest.raises(ParameterError, match="there is no 'chrage' to ignore, but 'charge'"):
        read_json_lines(path, ReadOptions(ignore=("charge", "chrage")))
    with pytest.raises(ParameterError, match="n_jobs=2 says nothing about JSON lines"):
        read_json_lines(path, ReadOptions(n_jobs=2))


# Writing


def test_only_one_graph_is_a_line():
    table = from_networkx([nx.path_graph(2)] * 2)
    with pytest.raises(GraphError, match="a table of one graph, got 2"):
        graph_to_json(table)


def test_missing_values_are_not_written_and_come_back_as_missing(tmp_path):
    graph = nx.Graph()
    graph.add_node("a", label="C", size=1.5)
    graph.add_node("b")
    table = from_networkx([graph])
    assert "null" not in graph_to_json(table)
    assert read_json_lines(write_json_lines(table, tmp_path / "g.jsonl")) == table


@pytest.mark.parametrize(("value", "message"), [(float("inf"), "holds inf"), ("\ud83d", "cannot be written as JSON")])
def test_what_no_file_can_hold_is_refused_before_it_is_there(tmp_path, value, message):
    graph = nx.Graph()
    graph.add_node(0, mark=value)
    with pytest.raises(GraphError, match=message):
        write_json_lines(from_networkx([graph]), tmp_path / "g.jsonl")
    assert not list(tmp_path.iterdir())


def test_what_networkx_writes_is_read_back_with_name_and_target(tmp_path):
    graphs = [nx.path_graph(3, create_using=nx.Graph), nx.cycle_graph(3)]
    for i, graph in enumerate(graphs):
        graph.graph.update(name=f"g{i}", y=i)
        nx.set_node_attributes(graph, "C", "label")
    lines = [json.dumps(nx.node_link_data(graph, edges="edges")) for graph in graphs]
    (tmp_path / "graphs.jsonl").write_text("\n".join(lines))
    assert GraphTable.of(tmp_path / "graphs.jsonl") == GraphTable.of(graphs)


def test_rows_of_which_some_numbers_are_missing_come_back(tmp_path):
    places = Numbers(np.array([[1.0, np.nan], [np.nan, np.nan], [2.0, 3.0]]))
    table = from_networkx([nx.path_graph(3)]).with_columns(nodes={"place": places})
    assert read_json_lines(write_json_lines(table, tmp_path / "g.jsonl")) == table


def test_repeated_edges_with_deep_fields_are_told():
    deep = "[" * 900 + "]" * 900  # read by msgspec, too deep to be compared
    edge = f'{{"source": 0, "target": 1, "a": {deep}}}'
    parsed = parse_lines([f'{{"nodes": [{{"id": 0}}, {{"id": 1}}], "edges": [{edge}, {edge}]}}'.encode()])
    assert isinstance(parsed.lines[0], BadLine)
