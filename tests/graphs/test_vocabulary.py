import numpy as np
import pytest

from rwkplus.errors import GraphError
from rwkplus.graphs.vocabulary import Vocabulary


class Same:
    def __repr__(self):
        return "same"


def test_numbers_sort_as_numbers():
    assert Vocabulary.of([10, 9, 100, 9]).names == ("9", "10", "100")
    assert Vocabulary.of(np.array([10, 9, 100])).names == ("9", "10", "100")


def test_strings_sort_as_strings():
    assert Vocabulary.of(["N", "C", "Br", "C"]).names == ("Br", "C", "N")


def test_the_order_does_not_depend_on_the_order_of_the_labels():
    labels = ["b", 2, (1,), "a", 1.5, 1, None]
    assert Vocabulary.of(labels) == Vocabulary.of(reversed(labels))


def test_one_hot_lights_the_column_of_each_label():
    assert Vocabulary.of("abc").one_hot("cab").tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]


def test_no_labels_are_rows_of_the_full_width():
    assert Vocabulary.of("abc").one_hot([]).shape == (0, 3)
    assert Vocabulary.of([]).one_hot([]).shape == (0, 0)


def test_labels_that_differ_only_in_type_keep_different_names():
    vocabulary = Vocabulary.of([1, "1"])
    assert set(vocabulary.names) == {"1", "'1'"}
    assert vocabulary.one_hot([1]).tolist() != vocabulary.one_hot(["1"]).tolist()


def test_numbers_beyond_floats_are_labels_too():
    assert len(Vocabulary.of([10**400, 1]).names) == 2


def test_labels_that_cannot_be_told_apart_by_name_are_refused():
    with pytest.raises(GraphError, match="distinct labels are written same"):
        Vocabulary.of([Same(), Same()])


def test_labels_that_cannot_be_hashed_are_refused():
    with pytest.raises(GraphError, match=r"hashable.*list"):
        Vocabulary.of([[1]])


def test_names_of_other_labels_do_not_change_with_company():
    assert Vocabulary.of(["bank", 1]).names[1:] == Vocabulary.of(["bank", 1, "1"]).names[2:] == ("bank",)
