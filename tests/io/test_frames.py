"""Data frames of three libraries: the same graphs both ways, and mistakes in the words of the user."""

import builtins
import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rwkplus.errors import DataError, GraphError, MissingExtraError, ParameterError, RWKPlusError, RWKPlusWarning
from rwkplus.io.frames import LIBRARIES, to_frames
from rwkplus.table import Categories, GraphTable, Numbers, Text
from tests.io.tables import graph_tables, options_of

MAKE = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
EDGES = {"day": [1, 1, 2], "from": ["ann", "bob", "bob"], "to": ["bob", "eve", "ann"], "how": ["card", "cash", None]}
NAMES = {"source": "from", "target": "to", "graph": "day"}


@pytest.fixture(params=LIBRARIES)
def make(request):
    return MAKE[request.param]


@settings(deadline=None)
@given(table=graph_tables(), library=st.sampled_from(LIBRARIES))
def test_frames_of_a_table_are_the_table(table, library):
    frames = table.to_frames(library)
    assert GraphTable.of(**frames._asdict(), **options_of(table)) == table


@settings(deadline=None)
@given(table=graph_tables(multigraph=True), library=st.sampled_from(LIBRARIES))
def test_frames_of_multigraphs_are_multigraphs(table, library):
    frames = to_frames(table, library)
    assert GraphTable.of(**frames._asdict(), **options_of(table, multigraph=True)) == table


@settings(deadline=None)
@given(table=graph_tables())
def test_all_libraries_give_the_same_digest(table):
    read = [GraphTable.of(**to_frames(table, library)._asdict(), **options_of(table)) for library in LIBRARIES]
    assert len({each.digest() for each in read}) == 1


def test_columns_are_chosen_where_a_user_would(make):
    table = GraphTable.of(make({**EDGES, "amount": [1.5, None, 3.0]}), **NAMES, ignore=["amount"])
    assert table.graphs["name"].values().tolist() == [1, 2]
    assert table.node_ids(0) == ["ann", "bob", "eve"]
    assert table.edges["how"].values().tolist() == ["card", "cash", None]
    assert table.edges.keys() == {"how"}


def test_types_say_what_columns_are(make):
    frame = make({
        "source": range(30), "target": range(1, 31), "flag": [True, False] * 15, "count": range(30),
        "ratio": [0.5] * 30, "ticket": [f"t{i}" for i in range(30)], "kind": ["a", "b", None] * 10, "label": range(30),
        "empty": [None] * 30,
    })  # fmt: skip
    table = GraphTable.of(frame)
    kinds = {name: type(column) for name, column in table.edges.items()}
    words = dict.fromkeys(("flag", "kind", "label"), Categories)
    assert kinds == words | dict.fromkeys(("count", "ratio"), Numbers) | dict.fromkeys(("ticket", "empty"), Text)
    assert table.edges["flag"].names == ("False", "True")
    assert table.edges["count"].values().dtype == np.int64
    assert "id" not in table.nodes  # they say nothing: 0, 1, 2, ...


@pytest.mark.parametrize("when", [datetime.date(2024, 1, 5), datetime.datetime(2024, 1, 5, 12), "2024-01-05"])
def test_dates_have_no_unit(make, when):
    frame = make({"source": ["a"], "target": ["b"], "when": [when]})
    with pytest.raises(GraphError, match=r"column 'when' of the edges holds dates.*ignore=\('when',\)"):
        GraphTable.of(frame)
    graphs = make({"graph": [1], "when": [when], "y": [0.5]})
    table = GraphTable.of(edges=make({"graph": [1], "source": ["a"], "target": ["b"]}), graphs=graphs)
    assert str(when)[:10] in table.graphs["when"].values()[0]


def test_categories_are_labels_even_if_all_differ():
    words = [f"w{i}" for i in range(30)]
    ends = {"source": words, "target": words}
    for frame in (
        pd.DataFrame({**ends, "how": pd.Categorical(words)}),
        pl.DataFrame({**ends, "how": pl.Series(words, dtype=pl.Enum(words))}),
        pa.table({**ends, "how": pa.array(words).dictionary_encode()}),
    ):
        assert len(GraphTable.of(frame).edges["how"].names) == 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"from": ["ann", None, "bob"]}, "edges, row 1: column 'from' is empty"),
        ({"day": [1, None, 2]}, "edges, row 1: column 'day' is empty"),
        ({"to": ["bob", "ann", "ann"]}, "edges, row 1: the edge between 'bob' and 'ann' was in row 0 before"),
        ({"how": [1.0, float("inf"), 2.0]}, "edges, row 1: column 'how' must be a number, got infinity"),
        ({"to": ["bob", "joe", "ann"]}, "edges, row 1: column 'to' names the node 'joe', which nodes does not have"),
        ({"day": [1, 1, 3]}, "row 2: column 'from' names the node 'bob'"),
    ],
)
def test_errors_name_row_and_column(make, change, message):
    nodes = make({"day": [1, 1, 1, 2, 2], "node": ["ann", "bob", "eve", "ann", "bob"]})
    with pytest.raises(DataError, match=message):
        GraphTable.of(edges=make(EDGES | change), nodes=nodes, **NAMES)


def test_rows_of_pandas_are_called_by_their_labels():
    frame = pd.DataFrame(EDGES | {"from": ["ann", None, "bob"]}, index=["x", "y", "z"])
    with pytest.raises(DataError, match="edges, row y: column 'from' is empty"):
        GraphTable.of(frame, **NAMES)


def test_rows_that_are_wrong_can_be_skipped(make):
    frame = make(EDGES | {"from": ["ann", None, "bob"]})
    with pytest.warns(RWKPlusWarning, match="left out: edges, row 1"):
        assert GraphTable.of(frame, **NAMES, on_error="skip").num_edges == 2


def test_rows_of_nodes_and_graphs(make):
    edges, graphs = make(EDGES), make({"day": [2, 1], "fraud": [None, 1], "loss": [2.5, None]})
    nodes = make({"day": [1, 1, 1, 1, 2, 2], "node": ["zoe", "ann", "bob", "eve", "ann", "bob"], "age": range(6)})
    table = GraphTable.of(edges=edges, nodes=nodes, graphs=graphs, **NAMES, y=("fraud", "loss"))
    np.testing.assert_array_equal(table.y, [[1, np.nan], [np.nan, 2.5]])
    assert table.node_ids(0) == ["zoe", "ann", "bob", "eve"]
    assert table.nodes["age"].values().tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(DataError, match="graphs, row 1: the graph 1 was there before"):
        GraphTable.of(edges=edges, graphs=make({"day": [1, 1, 2]}), **NAMES)
    with pytest.raises(
        DataError, match=r"no row for the graph 2 of edges\. Use on_error='skip' to keep the graphs, with missing"
    ):
        GraphTable.of(edges=edges, graphs=make({"day": [1]}), **NAMES)
    twice = make({"day": [1, 1, 1, 1, 2, 2, 1], "node": ["zoe", "ann", "bob", "eve", "ann", "bob", "ann"]})
    with pytest.raises(DataError, match="nodes, row 6: the node 'ann' was there before"):
        GraphTable.of(edges=edges, nodes=twice, **NAMES)


@pytest.mark.parametrize(
    ("fraud", "y"),
    [
        (["yes", None, "no"], ["yes", "no"]),
        ([None, None, "no"], [None, "no"]),
        ([True, True, None], ["True", None]),
        ([0, 0, 1], [0, 1]),
        ([1.5, None, None], [1.5, np.nan]),
    ],
)
def test_payments_tell_which_cases_are_frauds(make, fraud, y):
    table = GraphTable.of(make(EDGES | {"fraud": fraud}), **NAMES, y="fraud")
    assert table.targets == ("fraud",)
    assert table.edges.keys() == {"how"}
    assert [*map(str, table.y)] == [*map(str, y)]


def test_no_case_is_half_a_fraud(make):
    frame = make(EDGES | {"fraud": ["yes", "no", "no"]})
    with pytest.raises(DataError, match="rows of the graph 1 have 'yes' and 'no': 1 of 2 graphs contradict"):
        GraphTable.of(frame, **NAMES, y="fraud")
    assert "fraud" in GraphTable.of(frame, **NAMES).edges


@pytest.mark.parametrize("side", ["nodes", "edges"])
def test_nothing_tells_the_target_twice(make, side):
    nodes = {"day": [1, 1, 1, 2, 2], "id": ["ann", "bob", "eve", "ann", "bob"]}
    told = {"nodes": ["yes", None, "yes", "no", "no"], "edges": ["yes", "yes", "no"]}
    tables = {"nodes": nodes, "edges": EDGES, "graphs": {"day": [2, 1], "fraud": ["no", "yes"]}}
    tables[side] = tables[side] | {"fraud": told[side]}
    with pytest.warns(RWKPlusWarning, match="column 'fraud' repeats the target of the graph"):
        table = GraphTable.of(**{name: make(own) for name, own in tables.items()}, **NAMES, node="id", y="fraud")
    assert "fraud" not in getattr(table, side)
    assert [*table.y] == ["yes", "no"]


def test_other_columns_may_have_the_name_of_the_target(make):
    graphs = make({"day": [1, 2], "fraud": ["yes", "no"]})
    table = GraphTable.of(make(EDGES | {"fraud": ["yes", "no", "no"]}), graphs=graphs, **NAMES, y="fraud")
    assert "fraud" in table.edges


def test_targets_among_edges_need_graphs_to_tell_apart(make):
    with pytest.raises(DataError, match="the table of edges has no column 'graph'"):
        GraphTable.of(make(EDGES), source="from", target="to", y="how")
    with pytest.raises(ParameterError, match="column 'from' cannot be source and y at once"):
        GraphTable.of(make(EDGES), **NAMES, y="from")
    with pytest.raises(DataError, match="Did you mean y='how'"):
        GraphTable.of(make(EDGES), **NAMES, y="hwo")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            pd.DataFrame([[1, 2]], columns=["source", "source"]),
            "has several columns of the same name. Rename or drop some.$",
        ),
        (pd.DataFrame([[1, 2]]), "a column called 0, which is not text"),
        (pl.LazyFrame({"source": [1], "target": [2]}), r"is a LazyFrame. Call its collect\(\) first"),
        (pd.DataFrame({"source": [1], "to": [2]}), "edges has no column 'target'; it has 'source', 'to'"),
        (pd.DataFrame({"source": [], "target": []}), "has no rows"),
        (pd.DataFrame({"source": [[1]], "target": [2]}), "ids must be words or numbers"),
        (pd.DataFrame({"source": [1, 2], "target": [2, 3], "odd": [object(), 3]}), "column 'odd' of the edges holds"),
    ],
)
def test_frames_that_cannot_be_read(data, message):
    with pytest.raises(RWKPlusError, match=message):
        GraphTable.of(data)


def test_what_is_no_frame():
    with pytest.raises(GraphError, match=r"edges= is a dict\. Give a data frame"):
        GraphTable.of(edges={"source": [1], "target": [2]})
    with pytest.raises(GraphError, match="a data frame of edges is needed"):
        GraphTable.of(nodes=pd.DataFrame({"node": [1]}))
    with pytest.raises(ParameterError, match="give either graphs, or data frames"):
        GraphTable.of([], edges=pd.DataFrame())


def test_nodes_without_edges(make):
    edges = make({"source": ["a"], "target": ["b"]})[:0]
    table = GraphTable.of(edges=edges, nodes=make({"node": ["a", "b"]}))
    assert (len(table), table.num_nodes, table.num_edges) == (1, 2, 0)


def test_ids_of_several_types_and_names_that_occur_twice():
    ids = Text.of(["a", 1, (2, 3)])
    table = GraphTable(np.array([0, 3]), np.array([0, 1]), np.array([0]), np.array([2]), {}, {"id": ids})
    for library in LIBRARIES:
        assert GraphTable.of(**to_frames(table, library)._asdict()).node_ids(0) == ["a", "1", "(2, 3)"]
    twice = GraphTable.concatenate([table.with_columns(graphs={"name": Text.of(["same"])})] * 2)
    for library in LIBRARIES:
        frames = to_frames(twice, library)
        assert GraphTable.of(**frames._asdict()).graphs["name"].values().tolist() == ["same", "same"]


def test_columns_that_have_the_name_of_a_reference_are_refused():
    table = GraphTable.of(pd.DataFrame(EDGES), **NAMES).with_columns(nodes={"graph": Categories.of("abcab")})
    with pytest.raises(GraphError, match="the nodes have a column 'graph'"):
        table.to_pandas()


def test_libraries_that_are_not_there(monkeypatch):
    table = GraphTable.of(pd.DataFrame(EDGES), **NAMES)
    with pytest.raises(ParameterError, match="library must be one of pandas, polars, pyarrow"):
        table.to_frames("modin")
    monkeypatch.setattr("rwkplus.io.frames.import_module", lambda name: builtins.__import__("no_such_module"))
    with pytest.raises(MissingExtraError, match="pip install polars"):
        table.to_frames("polars")
