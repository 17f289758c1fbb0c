import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from rwkplus.errors import ParameterError
from rwkplus.training import loop as module
from rwkplus.training.dataset import GraphStore
from rwkplus.training.loop import Batches
from tests.strategies import as_data, colored_graphs
from tests.training.toy import rings


class WithParts(Data):
    """Carries what transforms carry: lists that refer to nodes, to other lists, and one tensor per graph."""

    def __inc__(self, key, value, *args, **kwargs):
        if key == "part_of":
            return self.members.numel()
        return self.num_nodes if key == "members" else super().__inc__(key, value, *args, **kwargs)

    def __cat_dim__(self, key, value, *args, **kwargs):
        return None if key == "summary" else super().__cat_dim__(key, value, *args, **kwargs)


@st.composite
def databases(draw):
    graphs = draw(st.lists(colored_graphs(edge_colors=True, edge_weights=True, min_nodes=1), min_size=1, max_size=5))
    result = []
    for graph in map(as_data, graphs):
        members = draw(st.lists(st.integers(0, graph.num_nodes - 1), max_size=4))
        graph = WithParts(**graph.to_dict(), members=torch.tensor(members, dtype=torch.long))
        parts = st.integers(0, max(len(members) - 1, 0))
        graph.part_of = torch.tensor(draw(st.lists(parts, max_size=3)), dtype=torch.long)
        graph.summary = torch.tensor([draw(st.integers(0, 9)), 1])
        result.append(graph)
    return result, draw(st.lists(st.integers(0, len(result) - 1), min_size=1, max_size=6))


def assert_same(batch, expected):
    assert sorted(batch.keys()) == sorted(expected.keys())
    for key, value in expected:
        assert batch[key].dtype == value.dtype
        torch.testing.assert_close(batch[key], value, rtol=0, atol=0)
    assert batch.num_graphs == expected.num_graphs


@given(databases())
def test_a_gathered_batch_is_the_one_that_pyg_collates(database):
    graphs, index = database
    store = GraphStore(graphs)
    assert store.graphs is None  # gathered, not collated
    assert_same(store.batch(np.array(index)), Batch.from_data_list([graphs[i] for i in index]))


def test_fields_that_cannot_be_gathered_are_collated():
    graphs = rings(4)
    for graph in graphs:
        graph.names = ["a"] * graph.num_nodes
    batch = GraphStore(graphs).batch(np.array([2, 0]))
    assert batch.names == [graphs[2].names, graphs[0].names]
    assert batch.num_graphs == 2


def test_gathering_leaves_the_store_as_it_was():
    graphs = rings(4)
    store = GraphStore([Data(x=g.x, edge_index=g.edge_index) for g in graphs])
    first = store.batch(np.array([3, 1]))
    first.edge_index += 100
    first.x += 1
    assert_same(
        store.batch(np.array([3, 1])),
        Batch.from_data_list([Data(x=graphs[i].x, edge_index=graphs[i].edge_index) for i in (3, 1)]),
    )


@pytest.mark.slow
@given(st.integers(1, 40), st.integers(1, 12))
def test_batches_are_even_and_cover_every_graph(num_graphs, batch_size):
    y = torch.arange(num_graphs)
    loader = Batches(GraphStore(rings(num_graphs)), np.arange(num_graphs), batch_size, y, seed=0)
    sizes = [batch.num_graphs for batch in loader]
    assert len(sizes) == len(loader)
    assert max(sizes) <= batch_size
    assert max(sizes) - min(sizes) <= 1
    assert sorted(torch.cat([batch.y for batch in loader]).tolist()) == y.tolist()


def test_the_order_depends_on_seed_and_epoch_alone():
    def order(seed, epoch):
        loader = Batches(store, np.arange(20), 6, torch.arange(20), seed)
        loader.epoch = epoch
        return torch.cat([batch.y for batch in loader]).tolist()

    store = GraphStore(rings(20))
    assert order(1, 3) == order(1, 3)
    assert len({tuple(order(*key)) for key in ((1, 3), (1, 4), (2, 3))}) == 3


def test_without_a_seed_the_order_stays_and_batches_are_kept():
    loader = Batches(GraphStore(rings(9)), np.array([4, 2, 8]), 2, torch.tensor([40, 20, 80]))
    assert torch.cat([batch.y for batch in loader]).tolist() == [40, 20, 80]
    assert next(iter(loader)).x is next(iter(loader)).x


@pytest.mark.parametrize("num_graphs", [7, 12, 13])
def test_processes_share_every_batch(monkeypatch, num_graphs):
    store, labels = GraphStore(rings(num_graphs)), torch.arange(num_graphs)

    def parts(rank, world):
        monkeypatch.setattr(module, "rank_and_world", lambda: (rank, world))
        return [batch.y.tolist() for batch in Batches(store, np.arange(num_graphs), 5, labels, seed=3)]

    alone, shares = parts(0, 1), [parts(rank, 2) for rank in (0, 1)]
    assert [sorted(a + b) for a, b in zip(*shares, strict=True)] == [sorted(batch) for batch in alone]
    assert all(part for share in shares for part in share)


def test_more_processes_than_graphs_in_a_batch(monkeypatch):
    monkeypatch.setattr(module, "rank_and_world", lambda: (0, 4))
    with pytest.raises(ParameterError, match="too few for 4 processes"):
        list(Batches(GraphStore(rings(6)), np.arange(6), 3))
