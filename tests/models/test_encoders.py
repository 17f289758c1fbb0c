import pytest
import torch

from rwkplus.errors import GraphError, ParameterError, ShapeError
from rwkplus.models.gnn import Embeddings, OneHots

VALUES = torch.tensor([[0, 1], [2, 0], [1, 1]])


def test_every_value_of_every_column_has_a_vector_and_they_add_up():
    encoder = Embeddings([3, 2], 4, "x")
    table = encoder.table.weight
    torch.testing.assert_close(
        encoder(VALUES), torch.stack([table[0] + table[4], table[2] + table[3], table[1] + table[4]])
    )


def test_one_hot_columns_stand_side_by_side():
    assert OneHots([3, 2], "x")(VALUES).tolist() == [[1, 0, 0, 0, 1], [0, 0, 1, 1, 0], [0, 1, 0, 0, 1]]


def test_blanks_stand_for_nothing():
    values = torch.tensor([[-1, 1], [2, -1], [-1, -1]])
    encoder = Embeddings([3, 2], 4, "x")
    table = encoder.table.weight
    torch.testing.assert_close(encoder(values), torch.stack([table[4], table[2], torch.zeros(4)]))
    assert OneHots([3, 2], "x")(values).tolist() == [[0, 0, 0, 0, 1], [0, 0, 1, 0, 0], [0] * 5]
    encoder(values).sum().backward()
    assert encoder.table.weight.grad[5].tolist() == [0] * 4


def test_a_single_column_may_be_flat():
    encoder = Embeddings([3], 4, "x")
    torch.testing.assert_close(encoder(VALUES[:, 0]), encoder(VALUES[:, :1]))


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (VALUES.float(), ShapeError, "torch.float32"),
        (VALUES[:, :1], ShapeError, r"\(3, 1\)"),
        (VALUES.flip(1), GraphError, "holds 2 in row 1 of column 1, which has 2"),
        (VALUES - 2, GraphError, "holds -2 in row 0 of column 0"),
    ],
)
def test_values_without_a_place_are_named(values, error, message):
    with pytest.raises(error, match=message):
        Embeddings([3, 2], 4, "x")(values)


@pytest.mark.parametrize("categories", [[], [3, 0]])
def test_categories_must_be_positive(categories):
    with pytest.raises(ParameterError, match="edge_attr"):
        OneHots(categories, "edge_attr")


def test_encoders_compile_and_have_no_state_beside_their_vectors():
    encoder = Embeddings([3, 2], 4, "x")
    assert list(encoder.state_dict()) == ["table.weight"]
    compiled = torch.compile(encoder, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(VALUES), encoder(VALUES))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_integers_of_any_size_are_label_numbers(dtype):
    assert torch.equal(OneHots([3, 2], "x")(VALUES.to(dtype)), OneHots([3, 2], "x")(VALUES))
    encoder = Embeddings([3, 2], 4, "x")
    assert torch.equal(encoder(VALUES.to(dtype)), encoder(VALUES))
