"""Loaders of parts of a graph behave as those of PyG do."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GINConv
from torch_geometric.utils import coalesce, erdos_renyi_graph, subgraph

from rwkplus.errors import DataError, ParameterError, ShapeError
from rwkplus.large import ClusterLoader, NeighborLoader
from rwkplus.large.csr_graph import CSRGraph
from rwkplus.large.parts import clusters
from rwkplus.nn import RWKPlusConv

N = 40


@pytest.fixture(scope="module")
def graph():
    torch.manual_seed(0)
    return CSRGraph.of(Data(x=torch.rand(N, 3), y=torch.arange(N), edge_index=erdos_renyi_graph(N, 0.15)))


@pytest.fixture
def loaders(graph):
    nodes = np.arange(0, N, 2)
    parts = clusters(graph.indptr, graph.indices, 8)
    return [
        NeighborLoader(graph, [3, 2], nodes, 6, random_state=0),
        NeighborLoader(graph, [3, 2], nodes, 6, random_state=0, induced=True),
        NeighborLoader(graph, [3, 2], nodes, 6, random_state=0, replace=True),
        ClusterLoader(graph, parts, nodes, 3, random_state=0),
        ClusterLoader(graph, np.zeros(N, np.int32), nodes, random_state=0),
    ]


def seeds(loader):
    return [batch.n_id[: batch.batch_size].tolist() for batch in loader]


def test_an_epoch_sees_every_input_node_once(loaders):
    for loader in loaders:
        drawn = seeds(loader)
        assert len(drawn) == len(loader)
        assert sorted(node for batch in drawn for node in batch) == list(range(0, N, 2))


def test_nodes_and_edges_are_those_of_the_graph(loaders, graph):
    whole = set(map(tuple, graph.data().edge_index.T.tolist()))
    for loader in loaders:
        for batch in loader:
            assert batch.num_nodes == batch.n_id.unique().numel()
            assert torch.equal(batch.y, batch.n_id)
            assert torch.equal(batch.x, torch.from_numpy(graph["x"])[batch.n_id])
            assert set(map(tuple, batch.n_id[batch.edge_index].T.tolist())) <= whole


def test_induced_batches_have_all_edges_among_their_nodes(loaders, graph):
    for loader in (loaders[1], loaders[3], loaders[4]):
        for batch in loader:
            assert batch.num_edges == subgraph(batch.n_id, graph.data().edge_index)[0].size(1)


def test_order_and_draws_depend_on_seed_and_epoch_alone(loaders):
    for loader in loaders[:4]:
        first, second = list(loader), list(loader)  # epochs of their own
        assert loader.epoch == 2
        loader.epoch = 0
        again = list(loader)
        assert all(torch.equal(a.n_id, b.n_id) for a, b in zip(first, again, strict=True))
        assert all(torch.equal(a.edge_index, b.edge_index) for a, b in zip(first, again, strict=True))
        assert any(not torch.equal(a.n_id, b.n_id) for a, b in zip(first, second, strict=True))


def test_without_a_seed_all_epochs_are_the_same(graph):
    loader = NeighborLoader(graph, [2, 1], batch_size=8)
    first, second = list(loader), list(loader)
    assert all(torch.equal(a.n_id, b.n_id) for a, b in zip(first, second, strict=True))


def test_fields_that_batches_have_of_their_own_are_refused():
    data = Data(x=torch.rand(3, 1), edge_index=torch.tensor([[0, 1], [1, 2]]), n_id=torch.arange(3))
    with pytest.raises(ParameterError, match=r"batches have n_id of their own\. Rename"):
        NeighborLoader(CSRGraph.of(data), [1])
    assert next(iter(NeighborLoader(CSRGraph.of(data), [1], batch_size=1, fields=("x",)))).n_id.tolist() == [0]
    with pytest.raises(ParameterError, match="graph must be a CSRGraph, got Data"):
        NeighborLoader(data, [1])


def test_processes_share_every_batch(graph):
    def loader(share):
        return NeighborLoader(graph, [-1], np.arange(21), 8, random_state=3, share=share)

    alone = seeds(loader(lambda: (0, 1)))
    shared = [seeds(loader(lambda rank=rank: (rank, 2))) for rank in (0, 1)]
    assert [len(batch) for batch in alone] == [7, 7, 7]
    assert [a + b for a, b in zip(*shared, strict=True)] == alone
    with pytest.raises(ParameterError, match="too few for 9 processes"):
        next(iter(loader(lambda: (0, 9))))


@pytest.mark.parametrize("induced", [False, True])
@pytest.mark.parametrize(
    ("conv", "hops"),
    [
        (lambda: GINConv(torch.nn.Linear(3, 3)), 2),
        (lambda: RWKPlusConv(3, 3, 2, normalize=False), 4),
        (lambda: GCNConv(3, 3), 3),
        (lambda: RWKPlusConv(3, 3, 2), 5),
    ],
    ids=["GIN", "RWK+", "GCN", "RWK+, normalized"],
)
@torch.no_grad()
def test_all_neighbors_give_the_outputs_of_the_whole_graph(conv, hops, induced):
    """Of two layers; degrees need one hop more than messages do."""
    torch.manual_seed(0)
    ring = torch.stack([torch.arange(N), torch.arange(N).roll(1)])
    chords = erdos_renyi_graph(N, 0.01)
    data = Data(x=torch.rand(N, 3), edge_index=coalesce(torch.cat([ring, ring.flip(0), chords], 1)))
    first, second = conv(), conv()

    def outputs(data):
        return second(first(data.x, data.edge_index).relu(), data.edge_index)

    expected = outputs(data)

    def error(hops):
        batches = list(NeighborLoader(CSRGraph.of(data), [-1] * hops, batch_size=4, induced=induced))
        assert any(batch.num_nodes < N for batch in batches)
        return max(float((outputs(b)[: b.batch_size] - expected[b.n_id[: b.batch_size]]).abs().max()) for b in batches)

    assert error(hops) < 1e-6
    assert error(hops - 1) > 1e-4


def test_the_whole_graph_is_cut_out_once(loaders):
    first, second = next(iter(loaders[4])), next(iter(loaders[4]))
    assert first.x is second.x
    assert first.edge_index is second.edge_index
    assert (first.num_nodes, first.batch_size) == (N, N // 2)


def whole(graph, nodes):
    """Both loaders with one batch for the whole graph."""
    return NeighborLoader(graph, [1], nodes), ClusterLoader(graph, np.zeros(N, np.int32), nodes)


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor, list], ids=["numpy", "torch", "list"])
def test_nodes_may_be_numbers_or_a_mask(graph, kind):
    mask = np.arange(N) % 3 == 2
    for nodes in (mask, np.flatnonzero(mask)):
        for loader in whole(graph, kind(nodes)):
            assert seeds(loader) == [list(range(2, N, 3))]


@pytest.mark.parametrize(
    ("nodes", "error", "message"),
    [
        (np.ones((N, 3), bool), ShapeError, r"input_nodes holds 3 splits.*mask\[:, 0\]"),
        (np.ones(N - 1, bool), ShapeError, r"mask input_nodes is \(39,\) but the graph has 40 nodes"),
        (np.array([3, N]), ParameterError, "from 3 to 40 but the nodes are 0 to 39"),
        (np.array([-1, 2]), ParameterError, "from -1 to 2"),
        (np.array([5, 1, 5]), ParameterError, r"node 5 more than once\. Call numpy\.unique"),
        (np.ones(N, np.uint8), ParameterError, r"uint8 \(40,\)\. Call \.bool\(\)"),
        (np.ones(N, np.int64), ParameterError, r"node 1 more than once.*\.bool\(\) on a mask"),
        (np.ones((2, 2), np.int64), ParameterError, r"int64 \(2, 2\)"),
        (np.ones(N), ParameterError, r"float64 \(40,\)\. Call \.bool\(\)"),
    ],
)
def test_nodes_that_cannot_be_meant_are_refused(graph, nodes, error, message):
    one = np.zeros(N, np.int32)
    for loader in (lambda: NeighborLoader(graph, [1], nodes, 1), lambda: ClusterLoader(graph, one, nodes)):
        with pytest.raises(error, match=message):
            loader()


@pytest.mark.parametrize("seed", [-1, 1.5, "0"])
def test_impossible_seeds_are_refused_before_the_first_batch(graph, seed):
    with pytest.raises(ParameterError, match="random_state must be a whole number of at least 0"):
        NeighborLoader(graph, [1], random_state=seed)


def test_wrong_arguments_are_refused(graph):
    with pytest.raises(ParameterError, match="num_neighbors"):
        NeighborLoader(graph, [])
    for hops in (2, [2.5, 2], [-2]):
        with pytest.raises(ParameterError, match="num_neighbors"):
            NeighborLoader(graph, hops)
    for wrong in (np.zeros(N), np.full(N, -1)):
        with pytest.raises(ParameterError, match="clusters must be an integer from 0"):
            ClusterLoader(graph, wrong)
    with pytest.raises(ParameterError, match="batch_size"):
        NeighborLoader(graph, [1], batch_size=0)
    with pytest.raises(ParameterError, match="batch_size"):
        NeighborLoader(graph, [1], batch_size=2.5)
    with pytest.raises(ParameterError, match="nothing to draw"):
        NeighborLoader(graph, [1], np.zeros(0, np.int64))
    with pytest.raises(DataError, match="no array 'z'"):
        NeighborLoader(graph, [1], fields=("z",))
    with pytest.raises(ParameterError, match="each of the 40 nodes"):
        ClusterLoader(graph, np.zeros(3, np.int32))


def test_the_kept_graph_is_not_changed_by_what_is_put_into_batches(graph):
    loader = ClusterLoader(graph, np.zeros(graph.num_nodes, np.int64))
    for _ in range(2):
        (batch,) = loader
        expected = batch.x.clone()
        batch.x = batch.x * 0
        (again,) = loader
        assert torch.equal(again.x, expected)
