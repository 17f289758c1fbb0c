from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.errors import GraphError
from rwkplus.table import Categories, GraphTable, Numbers, Text
from rwkplus.table.columns import are_ids, column_of, target_column


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["card", "cash", "card"], ("card", "cash")),
        ([True, False], ("False", "True")),
        ([np.True_, np.False_, None], ("False", "True")),
        ([np.str_("a"), "b"], ("a", "b")),
        (["1", "2"], ("1", "2")),
    ],
)
def test_words_and_truth_values_are_labels(values, names):
    column = column_of("channel", values)
    assert isinstance(column, Categories)
    assert column.names == names


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int8(3), np.uint64(3), Fraction(3), Decimal(3)])
def test_numbers_are_attributes(value):
    column = column_of("amount", [value, 0])
    assert isinstance(column, Numbers)
    assert column.numbers.tolist() == [3, 0]


@pytest.mark.parametrize("value", [torch.tensor(3), np.array(3.0)])
def test_arrays_of_one_number_are_numbers(value):
    assert column_of("amount", [value, value]).numbers.tolist() == [3, 3]


def test_whole_numbers_stay_whole():
    assert column_of("age", [1, 2]).numbers.dtype == np.int64
    assert column_of("age", [1, 2.0]).numbers.dtype == np.float64


@pytest.mark.parametrize("value", [2**63, 2**64 - 1, 2**70, -(2**70)])
def test_numbers_of_more_than_64_bits_are_rounded_but_keep_their_signs(value):
    assert column_of("amount", [value, 1]).numbers.tolist() == [float(value), 1.0]
    assert column_of("amount", [value]).numbers.tolist() == [float(value)]


@pytest.mark.parametrize(
    "value", [(0.5, 2), [0.5, 2], np.array([0.5, 2]), torch.tensor([0.5, 2]), np.array([0.5, 2], dtype=np.float32)]
)
def test_rows_of_numbers_are_attributes(value):
    assert column_of("x", [value, [1, 1]]).numbers.tolist() == [[0.5, 2], [1, 1]]


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_a_missing_number_is_nan(nothing):
    assert np.array_equal(column_of("x", [1, nothing]).numbers, [1, np.nan], equal_nan=True)
    assert np.array_equal(column_of("x", [nothing, (1, 2)]).numbers, [[np.nan] * 2, [1, 2]], equal_nan=True)


@pytest.mark.parametrize(
    "value", ["a", b"ab", {"a": 1}, ["a"], [1, 2], object(), 1j, 10**400, [[1]], test_numbers_are_attributes]
)
def test_what_is_no_number_among_numbers_is_refused_by_name(value):
    with pytest.raises(GraphError, match=r"column 'x' of the edges .*ignore=\('x',\)"):
        column_of("x", [1.0, value], of="edges")


def test_rows_of_another_length_are_refused_and_shown():
    with pytest.raises(GraphError, match=r"'x' of the nodes must hold 2 numbers everywhere, got \[1, 2, 3\]"):
        column_of("x", [[1, 2], [1, 2, 3]])
    with pytest.raises(GraphError, match="'w' of the edges must hold a number everywhere, got 'a'"):
        GraphTable.of(pd.DataFrame({"source": [1], "target": [2], "w": ["a"]}), weight="w")


def test_words_among_numbers_are_shown_with_a_remedy():
    with pytest.raises(
        GraphError, match=r"column 'a' of the nodes holds 'C' and 1: neither labels nor numbers.*labels="
    ):
        column_of("a", ["C", 1])


@pytest.mark.parametrize("value", [date(2024, 1, 1), datetime(2024, 1, 1), timedelta(1), np.datetime64("2024")])
def test_dates_have_no_unit(value):
    with pytest.raises(GraphError, match=r"'when' of the edges holds dates.*ignore=\('when',\)"):
        column_of("when", [value, None], of="edges")


def test_a_value_that_cannot_be_shown_is_refused_all_the_same():
    class Shy:
        def __repr__(self):
            raise RuntimeError

    with pytest.raises(GraphError, match="holds a Shy"):
        column_of("x", [Shy()])


def test_a_column_without_values_is_text():
    assert isinstance(column_of("note", [None, float("nan")]), (Text, Numbers))
    assert isinstance(column_of("note", [None, None]), Text)
    assert len(column_of("note", [])) == 0


# What the user says


@pytest.mark.parametrize("values", [[1, 2], ["a", "b"], [(1, 2), "x"], [0.5, None]])
def test_a_column_called_label_holds_labels_whatever_they_are(values):
    assert isinstance(column_of("label", values), Categories)
    assert isinstance(column_of("other", values, "label"), Categories)


def test_the_user_decides_what_a_column_is():
    assert column_of("label", [1, 2], "attribute").numbers.tolist() == [1, 2]
    assert column_of("label", ["a", None], "text").texts.tolist() == ["a", None]
    with pytest.raises(GraphError, match="'a'"):
        column_of("x", ["a"], "attribute")


def test_labels_that_cannot_be_hashed_are_refused_with_their_column():
    with pytest.raises(GraphError, match=r"column 'label' of the edges: .*hashable"):
        column_of("label", [["a"]], of="edges")


# Ids


@pytest.mark.parametrize(
    ("distinct", "present", "ids"), [(19, 19, False), (20, 20, True), (18, 20, True), (17, 20, False), (0, 0, False)]
)
def test_words_that_nearly_all_differ_are_ids_if_there_are_enough(distinct, present, ids):
    assert are_ids(distinct, present) == ids
    values = [f"a{min(k, distinct - 1)}" for k in range(present)]
    assert isinstance(column_of("iban", values), Text) == ids or not present


def test_labels_stay_labels_if_the_user_says_so():
    assert isinstance(column_of("iban", [f"a{k}" for k in range(50)], "label"), Categories)


# Targets


def test_words_are_classes_and_numbers_are_numbers():
    assert target_column("y", ["a", "b", None]).values().tolist() == ["a", "b", None]
    assert target_column("y", ["a", 1]).names == ("1", "a")
    assert target_column("y", [1, 0]).numbers.tolist() == [1, 0]
    assert np.isnan(target_column("y", [1, None]).numbers[1])
    assert target_column("y", [[1, 0], [0, 1]]).numbers.shape == (2, 2)


def test_twenty_distinct_classes_are_no_ids():
    assert isinstance(target_column("y", [f"a{k}" for k in range(30)]), Categories)


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=2)),
    lambda values: st.one_of(st.lists(values, max_size=3), st.dictionaries(st.text(max_size=2), values, max_size=2)),
    max_leaves=4,
)


@given(st.lists(anything, max_size=5), st.sampled_from([None, "label", "attribute", "text"]))
def test_any_values_make_a_column_of_as_many_rows_or_are_refused(values, kind):
    try:
        column = column_of("x", values, kind)
    except GraphError:
        return
    assert len(column) == len(column.values()) == len(values)
