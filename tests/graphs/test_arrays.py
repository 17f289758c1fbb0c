import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from rwkplus.graphs import as_batch
from rwkplus.graphs.arrays import as_arrays

SIZES = (3, 0, 1, 5, 2)


def ring(n, seed):
    generator = torch.Generator().manual_seed(seed)
    nodes = torch.arange(n)
    edge_index = torch.stack([nodes, nodes.roll(-1)]) if n > 1 else torch.empty(2, 0, dtype=torch.long)
    edges = edge_index.size(1)
    return Data(
        x=torch.eye(4)[torch.randint(4, (n,), generator=generator)],
        edge_index=edge_index,
        edge_attr=torch.eye(3)[torch.randint(3, (edges,), generator=generator)],
        edge_weight=torch.rand(edges, generator=generator),
    )


@pytest.fixture(name="graphs")
def _graphs():
    return [ring(n, seed) for seed, n in enumerate(SIZES)]


def assert_same(first, second):
    for field in ("node_ptr", "edge_ptr", "source", "target", "weight", "x", "label", "edge_attr", "edge_label"):
        a, b = getattr(first, field), getattr(second, field)
        assert (a is None) == (b is None), field
        assert a is None or np.array_equal(a, b), field


def test_labels_are_read_as_numbers(graphs):
    arrays = as_arrays(as_batch(graphs), labels=True)
    assert arrays.label.tolist() == [int(i) for graph in graphs for i in graph.x.argmax(1)]
    assert arrays.edge_label.tolist() == [int(i) for graph in graphs for i in graph.edge_attr.argmax(1)]
    assert arrays.x.shape == (sum(SIZES), 0)
    assert arrays.edge_attr is None
    assert (arrays.num_labels, arrays.num_edge_labels) == (4, 3)


def test_features_are_read_in_double_precision(graphs):
    arrays = as_arrays(as_batch(graphs), labels=False)
    assert arrays.x.dtype == arrays.edge_attr.dtype == arrays.weight.dtype == np.float64
    assert arrays.x.tolist() == as_batch(graphs).x.tolist()
    assert arrays.label.size == 0
    assert arrays.edge_label is None


def test_blank_rows_are_minus_one():
    blank = Data(x=torch.zeros(2, 3), edge_index=torch.tensor([[0], [1]]))
    assert as_arrays(as_batch([blank]), labels=True).label.tolist() == [-1, -1]


def test_graphs_without_edge_fields_have_none():
    arrays = as_arrays(as_batch([Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]))]), labels=True)
    assert arrays.weight is None
    assert arrays.edge_label is None
    assert arrays.num_edge_labels == 1


def test_every_node_knows_its_graph(graphs):
    arrays = as_arrays(as_batch(graphs), labels=True)
    assert arrays.num_graphs == 5
    assert arrays.num_nodes == 11
    assert arrays.graph.tolist() == [0, 0, 0, 2, 3, 3, 3, 3, 3, 4, 4]


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize(("start", "stop"), [(0, 5), (0, 2), (1, 2), (2, 5), (3, 4), (4, 5), (2, 2)])
def test_a_block_equals_the_arrays_of_its_graphs_alone(graphs, labels, start, stop):
    block = as_arrays(as_batch(graphs), labels=labels).block(start, stop)
    if start < stop:
        assert_same(block, as_arrays(as_batch(graphs[start:stop]), labels=labels))
    else:
        assert block.num_graphs == block.num_nodes == 0


@pytest.mark.parametrize("max_nodes", [1, 2, 3, 4, 5, 6, 100])
def test_blocks_cover_every_graph_once_and_keep_to_the_limit(graphs, max_nodes):
    arrays = as_arrays(as_batch(graphs), labels=True)
    ranges = list(arrays.blocks(max_nodes))
    assert [i for start, stop in ranges for i in range(start, stop)] == list(range(5))
    for start, stop in ranges:
        assert sum(SIZES[start:stop]) <= max_nodes or stop - start == 1


def test_narrower_arrays_keep_the_first_columns(graphs):
    arrays = as_arrays(as_batch(graphs), labels=False)
    narrow = arrays.with_width(2, 1)
    assert np.array_equal(narrow.x, arrays.x[:, :2])
    assert np.array_equal(narrow.edge_attr, arrays.edge_attr[:, :1])
