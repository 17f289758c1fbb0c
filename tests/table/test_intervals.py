import json

import msgspec
import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.functional.colors import structural_colors
from rwkplus.table import GraphTable, Reader
from rwkplus.table.intervals import SAMPLE, WALKS, AttributeClasses, structural_rows
from rwkplus.table.reader import directed_edges
from tests.strategies import colored_graphs


def learn(*values, count=3, column="amount"):
    return AttributeClasses.learn(column, np.array(values, dtype=float).reshape(len(values), -1), count, "c", 0)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ((0, 100), ("amount < 50", "amount >= 50")),
        ((0, 1, 10), ("amount < 0.5", "amount 0.5 to 5.5", "amount >= 5.5")),
        ((-3, 3), ("amount < 0", "amount >= 0")),
        ((0, 2000, 8000), ("amount < 1,000", "amount 1,000 to 5,000", "amount >= 5,000")),
        ((0, 2_000_000), ("amount < 1,000,000", "amount >= 1,000,000")),
        ((0, 2469, 1e9), ("amount < 1,234", "amount 1,234 to 500,001,234", "amount >= 500,001,234")),
        ((0.0001, 0.0003), ("amount < 0.0002", "amount >= 0.0002")),
        ((5, 5), ("amount",)),
    ],
)
def test_classes_of_one_attribute_are_intervals_in_words(values, names):
    assert learn(*values).names == names


@given(
    st.lists(st.integers(-9, 9), min_size=2, max_size=6, unique=True),
    st.sampled_from([1e-3, 0.1, 1.0, 1e4]),
    st.sampled_from([0.0, 1.0, 1e6, -1e8]),
)
def test_intervals_have_distinct_names_however_close_they_are(values, scale, start):
    classes = learn(*(start + scale * value for value in values), count=6)
    assert len(set(classes.names)) == len(values)
    assert "e+" not in "".join(classes.names)


def test_classes_of_several_attributes_are_numbered():
    classes = learn((0, 0), (9, 9), (0, 9))
    assert classes.names == ("c0", "c1", "c2")
    assert classes.typical.tolist() == [[0, 0], [0, 9], [9, 9]]
    assert classes.beyond == "c*"


def test_every_row_is_in_the_nearest_class():
    classes = learn(0, 1, 10, 11, 20, 21)
    assert classes.read(np.array([[0.5], [20.4], [10.2], [21.0]])).codes.tolist() == [0, 2, 1, 2]


def test_there_are_no_more_classes_than_distinct_rows():
    assert len(learn(1, 1, 2, 2, count=5).names) == 2


def test_names_do_not_depend_on_the_order_of_rows():
    values = [3, 1, 50, 52, 9, 8]
    assert learn(*values).names == learn(*reversed(values)).names


def test_rows_farther_out_than_any_learned_one_are_a_class_of_their_own():
    classes = learn(0, 1, 10, 11, count=2)
    far = classes.read(np.array([[0.0], [11.0], [12.5], [-100.0]]))
    assert far.codes.tolist() == [0, 1, 2, 2]
    assert far.names == ("amount < 5.5", "amount >= 5.5", "amount far out")
    assert classes.read(np.array([[0.0], [11.0]])).names == far.names[:2]


def test_all_rows_are_within_reach_even_of_classes_learned_from_a_sample():
    values = np.random.default_rng(0).normal(size=(SAMPLE + 5000, 1))
    classes = AttributeClasses.learn("x", values, 2, "c", 0)
    assert classes.read(values).names == classes.names


def test_without_rows_everything_is_beyond_reach():
    classes = AttributeClasses.learn("amount", np.empty((0, 1)), 3, "e", 0)
    assert classes.names == ("amount",)
    assert classes.read(np.empty((0, 1))).codes.tolist() == []
    assert classes.read(np.array([[1.0]])).codes.tolist() == [1]


def changed_on_disk(classes, **change):
    """Classes of a reader that was written, changed and read again."""
    measured = nx.path_graph(2)
    nx.set_node_attributes(measured, {0: 1.0, 1: 2.0}, "amount")
    values = Reader.fit_labels(GraphTable.of([measured]), (), n_classes=2).to_dict()
    plain = json.loads(json.dumps(msgspec.to_builtins(classes, enc_hook=np.ndarray.tolist)))
    values["nodes"]["classes"] = [{**plain, **change}]
    return Reader.from_dict(values).nodes.classes[0]


def test_classes_survive_json_and_are_compared_by_value():
    classes = learn(0, 1, 10)
    assert changed_on_disk(classes) == classes
    assert classes != learn(0, 1, 11)
    assert classes != "amount"


@pytest.mark.parametrize(
    "change",
    [
        {"mean": [0, 0]},
        {"scale": [0]},
        {"scale": [-1]},
        {"centers": []},
        {"centers": [[1, 2]]},
        {"centers": [1]},
        {"centers": "word"},
        {"centers": [[float("nan")]]},
        {"reach": float("inf")},
        {"reach": None},
        {"reach": "far"},
        {"column": 3},
        {"prefix": None},
    ],
    ids=str,
)
def test_classes_that_do_not_fit_together_are_refused(change):
    with pytest.raises((KeyError, TypeError, ValueError)):
        changed_on_disk(learn(0, 1), **change)


# Places in the graph


def rows_of(graphs):
    table = GraphTable.of(graphs)
    _, _, source, target = directed_edges(table)
    return table, source, target, structural_rows(table.node_ptr, source, target)


@given(st.booleans().flatmap(lambda way: st.lists(colored_graphs(min_nodes=1, directed=way), min_size=1, max_size=3)))
def test_chances_to_return_are_those_of_the_tensor_wing(graphs):
    table, source, target, rows = rows_of(graphs)
    colors = structural_colors(
        torch.from_numpy(np.stack([source, target])),
        table.num_nodes,
        generator=torch.Generator(),
        batch=torch.from_numpy(table.node_graph),
        kind="random-walk",
        dim=WALKS,
    )
    np.testing.assert_allclose(rows[:, 1:], colors[:, 1:], atol=1e-6)
    assert np.allclose(np.expm1(rows[:, 0]), np.bincount(source, minlength=table.num_nodes))


def test_on_an_edge_walks_return_every_other_step():
    rows = rows_of([nx.path_graph(2)])[-1]
    assert rows[:, 1:].tolist() == [[1, 0, 1, 0, 1]] * 2


def test_a_node_alone_stays_alone():
    assert not rows_of([nx.empty_graph(1)])[-1].any()
