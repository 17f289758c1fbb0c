import pytest
import torch
from torch import nn
from torch_geometric.nn import GCNConv

from rwkplus.nn.rwk_plus_conv import CACHES, RWKPlusConv, one_graph

FIRST, SECOND = torch.tensor([[0, 1], [1, 2]]), torch.tensor([[2, 0], [0, 1]])


@pytest.mark.slow
@pytest.mark.parametrize("conv", [RWKPlusConv, GCNConv])
def test_the_adjacency_is_kept_inside_the_block_and_forgotten_behind_it(conv):
    layer, x = conv(2, 4), torch.rand(3, 2)
    expected = layer(x, FIRST), layer(x, SECOND)
    model = nn.Sequential(nn.Linear(1, 1), layer)
    with one_graph(model):
        torch.testing.assert_close(layer(x, FIRST), expected[0])
        torch.testing.assert_close(layer(x, SECOND), expected[0])  # still the first graph: the caller promised
    torch.testing.assert_close(layer(x, SECOND), expected[1])
    assert not layer.cached
    with pytest.raises(AttributeError), one_graph(model):
        layer(x, FIRST).no_such_name()
    assert all(getattr(layer, cache, None) is None for cache in CACHES)
    assert not layer.cached
