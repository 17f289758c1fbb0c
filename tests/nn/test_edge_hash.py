import pytest
import torch
from torch_geometric.data import Batch, Data

from rwkplus.nn.transforms import _edge_hash_of, _has_same_edges


def path(nodes=4, **fields):
    ends = torch.arange(nodes - 1)
    return Data(edge_index=torch.stack([ends, ends + 1]), num_nodes=nodes, **fields)


def test_hashes_of_graphs_add_up_in_batches():
    graphs = [path(3), path(5), path(2)]
    batch, known = Batch.from_data_list(graphs), torch.cat([_edge_hash_of(graph) for graph in graphs])
    assert _has_same_edges(batch, known) is True
    assert _has_same_edges(batch, known[:2]) is False


@pytest.mark.parametrize(
    ("field", "values"), [("edge_index", torch.tensor([[0, 1, 2], [1, 2, 0]])), ("edge_weight", torch.ones(3) / 2)]
)
def test_other_edges_or_weights_are_noticed(field, values):
    before, after = path(edge_weight=torch.ones(3)), path(edge_weight=torch.ones(3))
    after[field] = values
    assert _has_same_edges(before, _edge_hash_of(before)) is True
    assert _has_same_edges(after, _edge_hash_of(before)) is False
    assert _has_same_edges(after, _edge_hash_of(before, bare=True), bare=True) is (field == "edge_weight")


def test_what_cannot_be_known_is_neither_true_nor_false():
    assert _has_same_edges(path(), None) is None
    assert _has_same_edges(path(edge_weight=torch.ones(3).half()), _edge_hash_of(path())) is None
    lost = path(batch=torch.zeros(4, dtype=torch.long))  # where graphs begin is not known
    assert _has_same_edges(lost, _edge_hash_of(path())) is None
