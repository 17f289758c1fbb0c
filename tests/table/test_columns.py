import enum
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.errors import GraphError
from rwkplus.table import Categories, Numbers, Text
from rwkplus.table.columns import concatenate, equal, is_missing, join, label_codes
from tests.io.tables import renamed

words = st.text("abCl1,' ", max_size=4)
labels = st.lists(st.one_of(words, st.none()), max_size=8)


class Element(enum.Enum):
    C = 6
    O = 8  # noqa: E741


class Same:
    def __repr__(self):
        return "same"


# Labels


def test_numbers_sort_as_numbers():
    assert Categories.of([10, 9, 100, 9]).names == ("9", "10", "100")
    assert Categories.of(np.array([10, 9, 100]).tolist()).names == ("9", "10", "100")


def test_strings_sort_as_strings():
    column = Categories.of(["N", "C", "Br", "C"])
    assert column.names == ("Br", "C", "N")
    assert column.codes.tolist() == [2, 1, 0, 1]


def test_the_order_does_not_depend_on_the_order_of_the_labels():
    values = ["b", 2, (1,), "a", 1.5, 1, None]
    assert Categories.of(values).names == Categories.of(reversed(values)).names


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (("O", "C", "O"), {"C", "O"}),
        ((np.int64(10), np.int64(9), 10), {"9", "10"}),
        (((1, "a"), (0, "b"), (1, "a")), {"(0, 'b')", "(1, 'a')"}),
        ((Element.O, Element.C, Element.O), {"Element.C", "Element.O"}),
        ((frozenset(), int, frozenset()), {"frozenset()", "<class 'int'>"}),
        ((True, False, True), {"False", "True"}),
        ((1, "1", 1), {"1", "'1'"}),
        ((Fraction(1, 2), 0.25, Fraction(1, 2)), {"1/2", "0.25"}),
        ((10**400, 1, 10**400), {str(10**400), "1"}),
    ],
)
def test_labels_are_of_any_hashable_kind(values, names):
    column = Categories.of(values)
    assert set(column.names) == names
    assert column.codes[0] == column.codes[2] != column.codes[1]


@pytest.mark.parametrize("nothing", [None, float("nan"), np.float32("nan")])
def test_missing_is_no_label(nothing):
    column = Categories.of(["a", nothing, "b"])
    assert column.names == ("a", "b")
    assert column.missing.tolist() == [False, True, False]
    assert column.values().tolist() == ["a", None, "b"]


def test_missing_values_of_pandas_are_missing():
    pd = pytest.importorskip("pandas")
    assert is_missing(pd.NA)
    assert is_missing(pd.NaT)
    assert Categories.of(["a", pd.NA]).missing.tolist() == [False, True]


@pytest.mark.parametrize("value", [0, "", False, "nan", "None", (), 0.0])
def test_what_is_little_is_not_missing(value):
    assert not is_missing(value)


def test_names_of_other_labels_do_not_change_with_company():
    assert Categories.of(["bank", 1]).names[1:] == Categories.of(["bank", 1, "1"]).names[2:] == ("bank",)


def test_labels_that_cannot_be_told_apart_by_name_are_refused():
    with pytest.raises(GraphError, match="distinct labels are written same"):
        Categories.of([Same(), Same()])


def test_labels_that_cannot_be_hashed_are_refused():
    with pytest.raises(GraphError, match=r"hashable.*list"):
        Categories.of([[1]])


@pytest.mark.parametrize(("count", "bits"), [(1, 8), (128, 8), (129, 16), (32_768, 16), (32_769, 32)])
def test_codes_take_as_few_bits_as_hold_them(count, bits):
    column = Categories.of(range(count))
    assert column.codes.dtype == f"int{bits}"
    assert column.codes.tolist() == list(range(count))


@given(labels)
def test_values_are_what_was_given(values):
    assert Categories.of(values).values().tolist() == values


def test_one_hot_columns_are_unnamed_if_their_names_are_but_numbers():
    codes = np.array([0, 1])
    assert Categories.numbered(codes, ["0", "1"], one_hot=True).unnamed
    assert not Categories.numbered(codes, ["0", "1"]).unnamed
    assert not Categories.numbered(codes, ["C", "O"], one_hot=True).unnamed


# All kinds

COLUMNS = [
    Categories.of(["a", None, "b"]),
    Numbers(np.array([1, 2, 3])),
    Numbers(np.array([[1.0, 2.0], [np.nan, 0.0], [3.0, 4.0]])),
    Text.of([(1, 2), None, "c"]),
]
kinds = pytest.mark.parametrize("column", COLUMNS, ids=["labels", "number", "numbers", "text"])


@kinds
def test_columns_cannot_be_changed(column):
    array = next(value for value in vars(column).values() if isinstance(value, np.ndarray))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = array[1]


def test_the_array_that_a_column_was_made_of_can_still_be_changed():
    mine = np.zeros(2)
    Numbers(mine)
    mine[0] = 1


@kinds
def test_columns_survive_pickling(column):
    assert equal(pickle.loads(pickle.dumps(column)), column)


@kinds
@pytest.mark.parametrize("rows", [np.array([2, 0]), slice(1, 3), slice(0, 0), np.array([], int)])
def test_some_rows_are_those_of_the_values(column, rows):
    taken = column.take(rows)
    assert type(taken) is type(column)
    assert len(taken) == len(column.values()[rows])
    assert repr(taken.values().tolist()) == repr(column.values()[rows].tolist())
    assert taken.missing.tolist() == column.missing[rows].tolist()


@kinds
def test_columns_below_one_another_are_the_rows_of_both(column):
    both = concatenate([column, column.take(slice(0, 2))])
    assert repr(both.values().tolist()) == repr([*column.values().tolist(), *column.values()[:2].tolist()])


@kinds
def test_columns_equal_themselves_and_no_other(column):
    assert [equal(column, other) for other in COLUMNS] == [other is column for other in COLUMNS]
    assert equal(column, column.take(np.arange(3)))
    assert not equal(column, column.take(np.array([0, 2, 1])))
    assert not equal(column, column.take(slice(0, 2)))


@given(labels, st.randoms())
def test_equal_labels_are_equal_whatever_their_numbers(values, random):
    column = Categories.of(values)
    names = [*column.names, "unused"]
    random.shuffle(names)
    other = renamed(column, names)
    assert equal(column, other)
    assert column.canonical_bytes() == other.canonical_bytes()


def test_zero_equals_minus_zero_and_a_missing_number_another():
    assert equal(Numbers(np.array([0.0, np.nan])), Numbers(np.array([-0.0, -np.nan])))
    assert equal(Numbers(np.array([1, 2])), Numbers(np.array([1.0, 2.0])))
    assert not equal(Numbers(np.array([1.0])), Numbers(np.array([[1.0]])))


def test_strings_and_numbers_of_numpy_equal_those_of_python():
    assert equal(Categories.of([np.str_("a"), "b"]), Categories.of(["a", "b"]))
    assert equal(Text.of([np.int64(1), np.str_("a")]), Text.of([1, "a"]))


@given(labels, labels)
def test_labels_below_one_another_get_one_set_of_names(one, other):
    both = concatenate([Categories.of(one), Categories.of(other)])
    assert both.values().tolist() == one + other


def test_names_put_together_are_in_one_order_whatever_came_first():
    parts = [Categories.of(part) for part in (["nan", "10"], ["b", "9"], ["inf", "a", "1e3"])]
    assert concatenate(parts).names == concatenate(parts[::-1]).names == ("9", "10", "1e3", "a", "b", "inf", "nan")


def test_text_is_kept_as_it_is():
    values = [(1, 2), (3, 4), "a", 5, frozenset({6}), None, [7, 8]]
    assert Text.of(values).values().tolist() == values
    assert Text.of([(1, 2), (3, 4)]).values().tolist() == [(1, 2), (3, 4)]
    assert Text.of([(1, 2)]).values().tolist() == [(1, 2)]
    assert Text.of(values).missing.tolist() == [value is None for value in values]


def test_a_row_of_numbers_is_missing_where_one_of_them_is():
    assert COLUMNS[2].missing.tolist() == [False, True, False]
    assert COLUMNS[1].matrix().tolist() == [[1.0], [2.0], [3.0]]
    assert COLUMNS[2].width == 2


# Labels made of several


def joined(**columns):
    return join([(name, Categories.of(values)) for name, values in columns.items()]).values().tolist()


def test_a_label_of_several_names_what_numbers_and_truth_values_are_of():
    assert joined(element=["C", "N"], charge=[0, 1], ring=[True, False]) == [
        "C, charge 0, ring",
        "N, charge 1, not ring",
    ]


def test_a_label_of_several_is_missing_where_one_is():
    assert joined(a=["x", None, "y"], b=["u", "v", None]) == ["x, u", None, None]


def test_a_single_column_is_its_own_label():
    column = Categories.of(["a"])
    assert join([("label", column)]) is column


@given(st.lists(st.tuples(words, words, st.booleans(), st.sampled_from(["1", "b 1", "b", "not b"])), max_size=6))
def test_labels_of_several_are_equal_where_all_parts_are(rows):
    parts = list(zip(*rows, strict=True)) or [()] * 4
    label = join([(name, Categories.of(part)) for name, part in zip("abcb", parts, strict=True)])
    assert len(set(label.names)) == len(label.names) == len(set(rows))
    codes = label.codes.tolist()
    assert [codes.index(code) for code in codes] == [rows.index(row) for row in rows]


def test_many_columns_make_one_label_each_row():
    ways = np.eye(70, dtype=int)
    label = join([(f"x{k}", Categories.numbered(column, "01")) for k, column in enumerate(ways)])
    assert len(set(label.codes.tolist())) == 70


# What hashes know labels by


def test_labels_are_known_by_their_names_or_else_by_their_numbers():
    assert label_codes(2, ["x", "y"])[:2].tolist() == label_codes(3, ["z", "x", "y"])[1:3].tolist()
    assert label_codes(2, [])[:2].tolist() == [0, 1]
    assert label_codes(2, [])[-1] == label_codes(1, ["x"])[-1] == np.iinfo(np.uint64).max


def test_any_string_can_be_a_new_label():
    assert len(set(label_codes(2, ["\ud800", "\ud801"]).tolist())) == 3
