import pytest
import torch
from torch_geometric.data import Data

from experiments.testbeds import copies, ring, tailed_triangle
from rwkplus.descriptive.views import MAX_COLORS, paint
from rwkplus.errors import GraphError
from rwkplus.io.pyg import as_batch


def test_labels_are_colors_by_default():
    painted = paint(as_batch([tailed_triangle()]))
    assert painted.names == ("blue", "green", "red")
    assert [painted.names[color] for color in painted.arrays.label] == ["green", "red", "red", "blue"]
    assert painted.orthonormal


@pytest.mark.parametrize("view", ["identity", "structural"])
def test_other_views_tell_all_nodes_of_a_ring_apart_and_remember_their_labels(view):
    painted = paint(as_batch(copies(ring("RRBRRB"), 100)), view)
    assert len(painted.colors) == 6
    assert painted.orthonormal
    assert [painted.names[color] for color in painted.arrays.label] == ["red", "red", "blue"] * 200


def test_a_view_with_too_many_colors_is_refused():
    n = MAX_COLORS + 1
    graph = Data(x=torch.ones(n, 1), edge_index=torch.empty(2, 0, dtype=torch.long))
    with pytest.raises(GraphError, match="view='labels'"):
        paint(as_batch([graph]), "identity")


def test_edges_of_another_weight_on_the_way_back_are_refused():
    there_and_back = torch.tensor([[0, 1], [1, 0]])
    fine, wrong = (
        Data(x=torch.eye(2), edge_index=there_and_back, edge_weight=torch.tensor([1.0, weight])) for weight in (1, 2)
    )
    with pytest.raises(GraphError, match="graph 2"):
        paint(as_batch([fine, fine, wrong]))
