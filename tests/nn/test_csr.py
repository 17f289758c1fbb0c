import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.errors import GraphError
from rwkplus.nn.conv_operator import to_csr, transpose

matrices = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda size: st.tuples(
        st.just(size), st.lists(st.tuples(st.integers(0, size[0] - 1), st.integers(0, size[1] - 1)), max_size=20)
    )
)


def dense(matrix, shape):
    row = torch.arange(shape[0]).repeat_interleave(matrix.ptr.diff())
    return torch.zeros(shape).index_put((row, matrix.col), matrix.value, accumulate=True)


@given(matrices)
def test_rows_and_columns_hold_the_same_matrix(drawn):
    shape, places = drawn
    row, col = torch.tensor(places, dtype=torch.long).view(-1, 2).t()
    value = torch.arange(1.0, len(places) + 1)
    expected = torch.zeros(shape).index_put((row, col), value, accumulate=True)
    matrix = to_csr(row, col, value, *shape)
    assert matrix.ptr.diff().tolist() == torch.bincount(row, minlength=shape[0]).tolist()
    assert torch.equal(dense(matrix, shape), expected)
    assert torch.equal(dense(transpose(matrix, shape[1]), shape[::-1]), expected.t())


def test_order_within_a_row_stays():
    matrix = to_csr(torch.tensor([1, 0, 1]), torch.tensor([2, 1, 0]), torch.arange(3.0), 2, 3)
    assert matrix.col.tolist() == [1, 2, 0]


@pytest.mark.parametrize(("row", "col"), [([2], [0]), ([0], [3]), ([-1], [0]), ([0], [-1])])
def test_entries_outside_the_matrix_are_refused(row, col):
    with pytest.raises(GraphError, match="counted from 0"):
        to_csr(torch.tensor(row), torch.tensor(col), torch.ones(1), 2, 3)


def test_the_operator_follows_the_rules_of_torch():
    arguments = (torch.tensor([1, 0, 1]), torch.tensor([2, 1, 0]), torch.arange(3.0), 2, 3)
    torch.library.opcheck(torch.ops.rwkplus.to_csr, arguments)
