"""CSV files as tables of graphs; every mistake is named by file, line and column, and all are told at once."""

import csv
import io
import re
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rwkplus.errors import DataError, GraphError, ParameterError, RWKPlusError, RWKPlusWarning
from rwkplus.io import csv as csv_files
from rwkplus.io.assembly import repeated_edges
from rwkplus.io.csv import read_csv
from rwkplus.io.sources import ReadOptions
from rwkplus.table import Categories, GraphTable, Numbers, Text

PAYMENTS = "graph,source,target,label\nmonday,ann,bob,card\nmonday,bob,eve,cash\ntuesday,bob,ann,cash\n"
PEOPLE = "graph,node,label\nmonday,ann,buyer\nmonday,bob,shop\nmonday,eve,shop\ntuesday,ann,buyer\ntuesday,bob,shop\n"
FRAUD = "graph,y\ntuesday,yes\nmonday,no\n"


@pytest.fixture
def folder(tmp_path):
    for name, text in (("edges", PAYMENTS), ("nodes", PEOPLE), ("graphs", FRAUD)):
        (tmp_path / f"{name}.csv").write_text(text)
    return tmp_path


@pytest.fixture
def read(tmp_path):
    def read_text(text, **options):
        (tmp_path / "edges.csv").write_text(text)
        return read_csv(tmp_path / "edges.csv", ReadOptions(**options))

    return read_text


def ends(table):
    return list(zip(table.source.tolist(), table.target.tolist(), strict=True))


def test_a_folder_of_files_is_a_table(folder):
    table = read_csv(folder)
    assert table.graphs["name"].values().tolist() == ["monday", "tuesday"]
    assert table.targets == ("y",)
    assert table.y.tolist() == ["no", "yes"]
    assert table.nodes["label"].values().tolist() == ["buyer", "shop", "shop", "buyer", "shop"]
    assert table.node_ids(1) == ["ann", "bob"]
    assert table.edges["label"].values().tolist() == ["card", "cash", "cash"]
    assert ends(table) == [(0, 1), (1, 2), (1, 0)]
    assert table.edge_ptr.tolist() == [0, 2, 3]


def test_rows_of_one_graph_need_not_stand_together(read):
    table = read("graph,source,target,n\nb,x,y,1\na,u,v,2\nb,y,z,3\na,v,w,4\n")
    assert table.graphs["name"].values().tolist() == ["b", "a"]
    assert table.edges["n"].values().tolist() == [1, 3, 2, 4]
    assert table.node_ids(0) == ["x", "y", "z"]
    assert ends(table) == [(0, 1), (1, 2), (0, 1), (1, 2)]


def test_columns_keep_their_names_and_are_used_by_type(read):
    rows = "".join(f"a{i},b{i},card,{i / 2},{i},t{i},\n" for i in range(30))
    table = read("From,To,Channel,Amount,Times,Receipt,Note\n" + rows, source="from", target="to")
    kinds = {name: type(column) for name, column in table.edges.items()}
    assert kinds == {"Channel": Categories, "Amount": Numbers, "Times": Numbers, "Receipt": Text, "Note": Text}
    assert table.edges["Times"].values().dtype == np.int64
    assert table.edges["Amount"].values().dtype == np.float64
    assert "taken for ids" in repr(table)


def test_a_label_is_a_label_even_if_it_is_a_number_or_unique(read):
    table = read("source,target,Label,code\n" + "".join(f"a{i},b{i},{i},{i}\n" for i in range(30)), labels=["CODE"])
    assert isinstance(table.edges["Label"], Categories)
    assert isinstance(table.edges["code"], Categories)


def test_empty_cells_are_missing(read):
    table = read("source,target,label,amount\na,b,,3\nb,c,card,\n")
    assert table.edges["label"].values().tolist() == [None, "card"]
    assert table.edges["label"].names == ("card",)
    np.testing.assert_array_equal(table.edges["amount"].values(), [3, np.nan])


def test_the_weight_is_chosen(read):
    text = "source,target,weight\na,b,2\nb,c,3\n"
    assert read(text).weight is None
    assert read(text, weight="Weight").weight == "weight"
    with pytest.raises(DataError, match="line 3: column 'weight' is empty"):
        read(text.replace("3", ""), weight="weight")
    with pytest.raises(DataError, match="line 3: column 'weight' must be a number, got 'x'"):
        read(text.replace("2", "w").replace("3", "x"), weight="weight")


def test_several_targets_with_empty_cells(folder):
    (folder / "graphs.csv").write_text("graph,fraud,loss,note\ntuesday,1,,x\nmonday,0,2.5,\n")
    table = read_csv(folder, ReadOptions(y=("Fraud", "loss")))
    assert table.targets == ("fraud", "loss")
    np.testing.assert_array_equal(table.y, [[0, 2.5], [1, np.nan]])
    assert table.graphs["note"].values().tolist() == [None, "x"]
    with pytest.raises(DataError, match=r"has no column 'frauds'.*y='fraud'"):
        read_csv(folder, ReadOptions(y="frauds"))


def test_edges_may_be_given_in_both_directions(read):
    once = read("Source\tTarget\na\tb\nb\tc\nc\ta\n")
    assert read("\ufeffSource,Target\na,b\nb,a\nb,c\nc,b\nc,a\na,c\n") == once
    assert once.num_edges == 3


def test_lines_that_are_edges_of_their_own(read):
    text = "source,target,w\nann,bob,3\nann,bob,4\nbob,ann,1\nbob,ann,1\n"
    with pytest.raises(
        DataError, match=r"3 lines cannot be read: line 3: the edge between 'ann' and 'bob' was in line 2"
    ):
        read(text)
    assert ends(read(text, directed=True)) == [(0, 1), (0, 1), (1, 0), (1, 0)]
    assert ends(read(text, multigraph=True)) == [(0, 1), (0, 1), (1, 0), (1, 0)]
    assert read(text, multigraph=True, drop_duplicates=True).num_edges == 3
    with pytest.raises(DataError, match=r"2 lines cannot be read.*drop_duplicates=True.*multigraph=True"):
        read(text, drop_duplicates=True)
    assert ends(read(text.replace("bob,4", "bob,3").replace("ann,1", "ann,3"), drop_duplicates=True)) == [(0, 1)]


@given(
    lines=st.lists(st.tuples(*[st.integers(0, 2)] * 2, st.sampled_from("ab")), min_size=1),
    directed=st.booleans(),
    multigraph=st.booleans(),
    drop=st.booleans(),
)
def test_repeated_edges_are_found_as_by_reading_line_by_line(lines, directed, multigraph, drop):
    seen, exact, kept, wrong = {}, set(), [], []
    for row, (u, v, cell) in enumerate(lines):
        pair = (u, v) if directed else (min(u, v), max(u, v))
        again = (*pair, cell) in exact
        exact.add((*pair, cell))
        if drop and again:
            continue
        earlier = seen.setdefault(pair, [])
        earlier.append((u, v, cell))
        if directed or multigraph or len(earlier) == 1:
            kept.append(row)
        elif earlier != [(v, u, cell), (u, v, cell)] or u == v:
            wrong.append(row)
    source, target, cells = zip(*lines, strict=True)
    options = ReadOptions(directed=directed, multigraph=multigraph, drop_duplicates=drop)
    columns = {"label": Categories.of(cells)}
    found = repeated_edges(np.array(source), np.array(target), columns, options)
    assert (list(range(len(lines))) if found is None else np.flatnonzero(found.kept).tolist()) == kept
    assert ([] if found is None else found.rows.tolist()) == wrong


@pytest.mark.parametrize(
    ("file", "before", "after", "message"),
    [
        ("edges", "graph,source", "graph,from", "edges.csv has no column 'source'; it has 'graph', 'from', 'target'"),
        ("edges", "target,label", "target,source", "two columns are called 'source'"),
        ("edges", "target,label", "target,SOURCE", "two columns are called 'SOURCE'"),
        ("edges", "bob,eve", "bob,", "line 3: column 'target' is empty"),
        ("edges", "monday,bob,eve", ",bob,eve", "line 3: column 'graph' is empty"),
        ("edges", "bob,eve", "bob,joe", "line 3: column 'target' names the node 'joe', which .*nodes.csv"),
        ("edges", "tuesday,bob", "sunday,bob", "line 4: column 'source' names the node 'bob', which .*nodes.csv"),
        ("edges", "bob,eve,cash", "bob,eve", "line 3: 3 cells, but the header has 4"),
        ("edges", "bob,eve,cash", "ann,bob,card", "line 3: the edge between 'ann' and 'bob' was in line 2"),
        ("edges", "bob,eve,cash", "bob,ann,cash", "line 3: the edge between 'bob' and 'ann' was in line 2"),
        ("edges", "bob,eve,cash", 'bob,"eve,cash', "not CSV"),
        ("edges", PAYMENTS, "", "is empty"),
        ("edges", PAYMENTS, "source,target\n", "is empty"),
        ("edges", "graph,source,target,label", "graph,source,target,", r"line 2: column 4 has cells, such as 'card'"),
        ("nodes", "graph,node", "day,node", "only one of .* has a column 'graph'"),
        ("nodes", "monday,eve", "monday,bob", "line 4: the node 'bob' was there before"),
        ("nodes", PEOPLE, "node,label\nann,buyer\n", "only one of .* has a column 'graph'"),
        ("nodes", "graph,node,label", "graph,node,id", "columns 'node' and 'id' both hold ids of nodes"),
        ("graphs", "tuesday,yes", "sunday,yes", "line 2: the graph 'sunday' has neither nodes nor edges"),
        ("graphs", "tuesday,yes", "monday,yes", "line 3: the graph 'monday' was there before"),
        ("graphs", "tuesday,yes\n", "", "no line for the graph 'tuesday'"),
        ("graphs", "graph,y", "day,y", "graphs.csv has no column 'graph'"),
    ],
)
def test_errors_name_file_line_and_column(folder, file, before, after, message):
    path = folder / f"{file}.csv"
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(DataError, match=message):
        read_csv(folder)


def test_all_mistakes_are_told_at_once(folder):
    (folder / "edges.csv").write_text(
        "graph,source,target,amount\nmonday,ann,bob,1\nmonday,bob,eve\nmonday,ann,,3\ntuesday,bob,ann,n/a\n"
        + "".join(f"monday,ann,,{i}\n" for i in range(6))
    )
    (folder / "graphs.csv").write_text("graph,y\ntuesday,yes\n,no\n")
    with pytest.raises(DataError) as raised:
        read_csv(folder)
    message = str(raised.value)
    assert "edges.csv: 9 lines cannot be read: line 3: 3 cells" in message
    assert "line 4: column 'target' is empty; line 5: column 'amount' must be a number, got 'n/a'" in message
    assert "and 4 more. " in message
    assert "graphs.csv, line 3: column 'graph' is empty. If 'amount' holds labels, use labels=('amount',)." in message


def test_mistakes_between_tables_are_told_at_once(folder):
    (folder / "edges.csv").write_text(PAYMENTS + "monday,ann,joe,card\nmonday,ann,bob,card\n")
    (folder / "graphs.csv").write_text(FRAUD + "sunday,no\n")
    with pytest.raises(DataError, match=r"2 lines cannot be read: line 5: .*'joe'.*; line 6: the edge.*'sunday' has"):
        read_csv(folder)


def test_bad_lines_are_skipped_and_told_in_one_warning(folder):
    whole = read_csv(folder)
    (folder / "edges.csv").write_text(
        PAYMENTS + "monday,ann,joe,card\nmonday,ann,bob,card\nmonday,bob\nmonday,,bob,card\n"
    )
    (folder / "nodes.csv").write_text(PEOPLE + "monday,ann,shop\n")
    (folder / "graphs.csv").write_text(FRAUD + "sunday,no\ntuesday,no\n")
    with pytest.warns(RWKPlusWarning, match="left out: ") as warned:
        table = read_csv(folder, ReadOptions(on_error="skip"))
    assert table == whole
    assert len(warned) == 1
    for line in ("line 5: ", "line 6: ", "line 7: ", "line 8: ", "nodes.csv, line 7", "2 lines cannot be read: line 4"):
        assert line in str(warned[0].message)


def test_skipping_leaves_graphs_without_a_target(folder):
    (folder / "graphs.csv").write_text("graph,y\ntuesday,yes\n")
    with pytest.warns(RWKPlusWarning, match="no line for the graph 'monday'") as warned:
        assert read_csv(folder, ReadOptions(on_error="skip")).y.tolist() == [None, "yes"]
    assert "left out" not in str(warned[0].message)
    assert "it is kept" in str(warned[0].message)


def test_what_is_left_out_needs_no_advice(read):
    text = "source,target,amount\n" + "".join(f"a{i},b{i},{i}\n" for i in range(9)) + "a1,b1,1\na2,c2,many\n"
    with pytest.raises(DataError, match=r"multigraph=True|labels="):
        read(text)
    with pytest.warns(RWKPlusWarning, match="left out: ") as warned:
        read(text, on_error="skip")
    assert not {"labels", "multigraph", "drop_duplicates", "on_error"} & set(re.findall(r"\w+", str(warned[0].message)))


def test_remedies_are_spelled_for_their_reader(read):
    with pytest.raises(DataError) as raised:
        read("one,two\na,b\n")
    assert str(raised.value).endswith(
        "Say with source=... which one it is. If these are molecules, name the column of SMILES: smiles=...."
    )
    spelled = raised.value.render(lambda name, value: f"--{name} NAME" if name == "source" else None)
    assert spelled.endswith("it has 'one', 'two'. Say with --source NAME which one it is.")


@pytest.mark.parametrize("head", ["from,to", "amount,Sender,Receiver", "u,v"])
def test_usual_names_of_ends_are_suggested(read, head):
    source, target = head.split(",")[-2:]
    with pytest.raises(DataError) as raised:
        read(f"{head}\n{head}\n")
    assert str(raised.value).endswith(f"such as source={source!r} and target={target!r}.")


def test_names_of_columns_may_hold_braces(read):
    text = "source,target,{x}\n" + "".join(f"a{i},b{i},{i}\n" for i in range(9)) + "a,b,many\n"
    with pytest.raises(DataError, match=r"If '{x}' holds labels, use labels=\('{x}',\)"):
        read(text)


def test_there_is_an_error_if_nothing_is_left_to_read(read):
    with pytest.raises(
        DataError, match=r"nothing can be read\. .*2 lines cannot be read: line 2: column 'target' is empty"
    ):
        read("source,target\na,\n,b\n", on_error="skip")


def test_numbers_with_a_few_unreadable_cells(read):
    text = "source,target,amount\n" + "".join(f"a{i},b{i},{i}\n" for i in range(20))
    with pytest.raises(DataError, match=r"2 lines cannot be read: line 4: .* got 'n/a'; line 6: .* got '\?'"):
        read(text.replace("b2,2", "b2,n/a").replace("b4,4", "b4,?"))
    with pytest.warns(RWKPlusWarning, match="line 4"):
        table = read(text.replace("b2,2", "b2,n/a"), on_error="skip")
    assert table.edges["amount"].values().tolist() == [0, 1, *range(3, 20)]
    assert isinstance(read(text.replace("b2,2", "b2,n/a"), labels=["amount"]).edges["amount"], Categories)


def test_words_among_which_some_look_like_numbers(read):
    table = read("source,target,code\na,b,4A\nb,c,7\nc,d,4A\nd,e,B\n")
    assert table.edges["code"].names == ("4A", "7", "B")


@pytest.mark.parametrize("chunk", [1, 2, 3, 8192])
@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2", "x", "y", "x"], ["1", "2", "x", "y", "x"]),
        (["x", "1", "2", "3", "4"], "line 2: column 'c' must be a number, got 'x'"),
        (["", "1", "2.5", "", "4"], [None, 1, 2.5, None, 4]),
        (["1", "2", "3", "4", "5"], [1, 2, 3, 4, 5]),
        (["99999999999999999999", "1", "1", "1", "1"], ["99999999999999999999", "1", "1", "1", "1"]),
        (["1", "1", "1", "1", "99999999999999999999"], ["1", "1", "1", "1", "99999999999999999999"]),
        (["99999999999999999999", "1.5", "1", "1", "1"], [1e20, 1.5, 1, 1, 1]),
        (["1", "1", "1", "1.5", "99999999999999999999"], [1, 1, 1, 1.5, 1e20]),
        (["99999999999999999999", "", "1", "1", "1"], ["99999999999999999999", None, "1", "1", "1"]),
        (["1", "2", "nan", "4", "5"], "line 4: column 'c' must be a number, got 'nan'"),
        (["1", "2", "inf", "4", "5"], "line 4: column 'c' must be a number below 3.4e38, got 'inf'"),
        (["1", "2", "1e300", "4", "5"], "line 4: column 'c' must be a number below 3.4e38, got '1e300'"),
        (["1", "2", "1_0", "4", "5"], "line 4: column 'c' must be a number, got '1_0'"),
    ],
)
def test_columns_do_not_depend_on_how_a_file_is_cut(read, monkeypatch, chunk, cells, expected):
    monkeypatch.setattr(csv_files, "CHUNK", chunk)
    text = "source,target,c\n" + "".join(f"a{i},b{i},{cell}\n" for i, cell in enumerate(cells))
    if isinstance(expected, str):
        with pytest.raises(DataError, match=expected):
            read(text)
    else:
        values = read(text).edges["c"].values().tolist()
        assert [None if value != value else value for value in values] == expected


@pytest.mark.parametrize("date", ["2024-01-05", "2024-01-05T12:30:00Z", "2024-01-05 12:30", "5.1.2024", "01/05/2024"])
def test_dates_have_no_unit(read, date):
    text = f"source,target,when\na,b,{date}\nb,c,{date}\n"
    with pytest.raises(GraphError, match=r"column 'when' of the edges holds dates.*ignore=\('when',\)"):
        read(text)
    assert read(text, ignore=["WHEN"]).edges.keys() == set()
    assert isinstance(read(text, labels=["when"]).edges["when"], Categories)


@pytest.mark.parametrize(
    "text",
    [
        "\n\n" + PAYMENTS.replace(",", ";"),
        "sep=;\n" + PAYMENTS.replace(",", ";"),
        PAYMENTS.replace(",", ";").replace("\n", ";;\n"),
        PAYMENTS.replace("label", '"label"').replace(",", "\t"),
        PAYMENTS.replace("\n", "\r\n"),
        PAYMENTS.replace("\n", "\n,,,\n"),
        PAYMENTS.replace(",", " , "),
    ],
    ids=["blank lines first", "sep", "empty columns at the right", "tabs and quotes", "crlf", "empty lines", "blanks"],
)
def test_tables_as_spreadsheets_write_them(read, text):
    assert read(text) == read(PAYMENTS)


def test_lines_keep_their_numbers(read):
    with pytest.raises(DataError, match="line 5: column 'target' is empty"):
        read('\nsource,target,label\na,b,"two\nlines"\nb,,x\n')
    with pytest.raises(DataError, match="line 5: column 'target' is empty"):
        read("sep=;\nsource;target\na;b\n\nb;\n")


def test_spreadsheets_of_other_countries_have_decimal_commas(read):
    assert read("source;target;w\na;b;0,5\nb;c;2\n").edges["w"].values().tolist() == [0.5, 2]
    with pytest.raises(DataError, match="line 2: '1,15' has a decimal comma: write it with a point"):
        read('source,target,w\na,b,"1,15"\nb,c,2\n')


def test_the_header_decides_what_cells_end_with(read):
    table = read('source;target;"amount, in euro"\nann;bob;3\nbob;eve;4\n')
    assert table.edges["amount, in euro"].values().tolist() == [3, 4]


def test_cells_that_are_far_too_long(read):
    for text in ("x" * 200_000 + ",target\na,b\n", "source,target\na," + "b" * 200_000 + "\n"):
        with pytest.raises(DataError, match="not CSV: field larger than field limit"):
            read(text)
    assert csv.field_size_limit() == 131_072


@pytest.mark.parametrize("name", ["missing.csv", "missing"])
def test_files_that_do_not_exist(tmp_path, name):
    with pytest.raises(DataError, match=r"cannot read .*missing.*No such file"):
        read_csv(tmp_path / name)
    with pytest.raises(DataError, match=r"has no file edges\.csv"):
        read_csv(tmp_path)


def test_files_of_other_encodings(tmp_path):
    path = tmp_path / "edges.csv"
    for content in ("source,target\nann,jürgen\n".encode("latin-1"), "source,target\na,b\n".encode("utf-16")):
        path.write_bytes(content)
        with pytest.raises(DataError, match="is not text in UTF-8"):
            read_csv(path)


def test_file_names_that_are_not_utf8_can_be_told(tmp_path):
    path = tmp_path / "ann\udcff.csv"
    path.write_text("source,target\na,\n")
    with pytest.raises(DataError, match="line 2: column 'target' is empty"):
        read_csv(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "form"}, r"has no column 'form'.*source='from'"),
        ({"source": "from", "target": "whom"}, r"has no column 'whom'; it has 'from', 'to', 'how'.*target='to'\."),
        ({"source": "from", "target": "to", "graph": "day"}, "has no column 'day'"),
        ({"source": "from", "target": "from"}, "column 'from' cannot be source and target at once"),
        ({"labels": ["hwo"]}, "there is no column 'hwo' to read as labels. Did you mean labels=.*how"),
        ({"attributes": ["x"]}, "there is no column 'x' to read as numbers. There are 'from', 'how', 'to'"),
        ({"ignore": ["frm"]}, r"there is no 'frm' to ignore, but 'from'"),
        ({"source": "from", "target": "to", "weight": "w"}, "has no column 'w'"),
        ({"atom": ("element", "charge")}, r"atom=\('element', 'charge'\) says nothing about a table of edges"),
        ({"y": "fraud", "source": "from", "target": "to"}, "the table of edges has no column 'fraud'"),
    ],
)
def test_options_that_name_no_column(read, options, message):
    with pytest.raises(RWKPlusError, match=message):
        read("from,to,how\na,b,card\nb,c,cash\n", **options)


def test_columns_of_one_name_are_told_apart(folder):
    table = read_csv(folder, ReadOptions(ignore=["edges.label"]))
    assert "label" in table.nodes
    assert "label" not in table.edges
    with pytest.raises(ParameterError, match="ignore must be a sequence"):
        ReadOptions(ignore="label")


def test_targets_need_names_of_graphs(folder):
    (folder / "edges.csv").write_text("source,target\nann,bob\n")
    (folder / "nodes.csv").unlink()
    with pytest.raises(DataError, match=r"edges\.csv has no column 'graph', which .*graphs\.csv could refer to"):
        read_csv(folder)


def test_names_of_graphs_beside_their_keys(folder):
    (folder / "graphs.csv").write_text("graph,name,y\ntuesday,T,1\nmonday,M,0\n")
    table = read_csv(folder)
    assert table.graphs["name"].values().tolist() == ["M", "T"]
    assert table.graphs["graph"].values().tolist() == ["monday", "tuesday"]


names = st.text("abc ,;\"'\n", min_size=1, max_size=4).filter(lambda name: name == name.strip())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(
        st.tuples(names, names, names, st.sampled_from(["card", "cash", None]), st.sampled_from([None, 0.25, 2, -1.5])),
        min_size=1,
        max_size=8,
        unique_by=lambda row: (row[0], *sorted(row[1:3])),
    ),
    delimiter=st.sampled_from(",;\t"),
    chunk=st.integers(1, 4),
)
def test_files_and_networkx_give_the_same_graphs(read, monkeypatch, rows, delimiter, chunk):
    monkeypatch.setattr(csv_files, "CHUNK", chunk)
    graphs = {}
    for name, u, v, label, amount in rows:
        fields = {"label": label, "amount": amount}
        graphs.setdefault(name, nx.Graph(name=name)).add_edge(
            u, v, **{field: value for field, value in fields.items() if value is not None}
        )
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter)
    writer.writerows([("graph", "source", "target", "label", "amount"), *rows])
    ours, theirs = read(file.getvalue(), attributes=["amount"]), GraphTable.of(list(graphs.values()))
    assert ours.nodes["id"].values().tolist() == theirs.nodes["id"].values().tolist()
    assert ours.graphs["name"].values().tolist() == theirs.graphs["name"].values().tolist()
    mine, other = ([sorted(map(str, _edges(table))) for table in tables] for tables in (ours, theirs))
    assert mine == other


def _edges(table):
    ids = table.node_ids(0)
    for row, (u, v) in enumerate(ends(table)):
        cells = [table.edges[name].values()[row] if name in table.edges else None for name in ("label", "amount")]
        yield sorted([ids[u], ids[v]]), [None if cell != cell else cell for cell in cells]


def test_nothing_heavy_is_imported_to_find_a_mistake(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,\n")
    code = (
        "import sys; from rwkplus.io.csv import read_csv\n"
        f"try: read_csv({str(tmp_path / 'edges.csv')!r})\n"
        "except ValueError as error: assert 'line 2' in str(error)\n"
        "heavy = {'torch', 'pandas', 'pyarrow', 'rdkit', 'sklearn', 'numba', 'networkx'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.slow
def test_many_distinct_labels_take_little_memory(read):
    import tracemalloc

    text = "source,target,label\n" + "".join(f"{i},{i + 1},l{i % 30_000}\n" for i in range(60_000))
    tracemalloc.start()
    table = read(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(table.edges["label"].names) == 30_000
    assert peak < 100e6


cells = st.sampled_from(
    [
        "",
        " ",
        "a",
        "b",
        "1",
        "2.5",
        "1e999",
        "nan",
        "1_0",
        "1,5",
        '"',
        '"a',
        "a\r",
        "\x00",
        "ä",
        "\ufeff",
        "2024-01-05",
        "\n",
    ]
)
header = st.sampled_from(["source", "target", "graph", "label", "Weight", "smiles", "y", "", "sep=;", "node", "name"])


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(
    head=st.lists(header, max_size=5),
    rows=st.lists(st.lists(cells, max_size=5), max_size=6),
    mark=st.sampled_from(",;\t"),
    skip=st.booleans(),
    chunk=st.integers(1, 3),
)
@pytest.mark.filterwarnings("ignore::rwkplus.errors.RWKPlusWarning")
def test_any_text_is_a_table_or_an_error_of_ours(read, monkeypatch, head, rows, mark, skip, chunk):
    monkeypatch.setattr(csv_files, "CHUNK", chunk)
    text = "\n".join(mark.join(row) for row in (["source", "target", *head], *rows))
    try:
        table = read(text, on_error="skip" if skip else "raise")
    except RWKPlusError:
        return
    assert table.num_edges > 0
    assert (table.source >= 0).all()
    assert len(table.digest()) == 32
