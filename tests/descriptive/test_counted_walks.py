"""Labeled graphs by their walks: the fast path of networks that see labels only, beside the slow one."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from rwkplus.datasets.generators import triangle_chains
from rwkplus.descriptive.rwk_cn import DescriptiveKCN
from rwkplus.descriptive.views import CountedWalks, ViewedGraphs, as_counts
from rwkplus.nn.kernel_conv import KernelLayer


def random_batch(seed, graphs=4, num_labels=3):
    """Undirected graphs of 1 to 6 nodes; a label may be met nowhere."""
    rng = np.random.default_rng(seed)
    data = []
    for size in rng.integers(1, 7, graphs):
        adj = np.triu(rng.random((size, size)) < 0.5, 1)
        x = torch.eye(num_labels)[rng.integers(0, num_labels, size)]
        data.append(Data(x=x, edge_index=torch.tensor(np.argwhere(adj | adj.T).T.reshape(2, -1))))
    return Batch.from_data_list(data)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**16),
    kernel=st.sampled_from(["rwk+", "rwk-"]),
    combine=st.sampled_from(["last", "sum"]),
    steps=st.integers(1, 4),
    zero=st.booleans(),
)
def test_counted_walks_give_the_scores_of_the_nodes(seed, kernel, combine, steps, zero):
    batch = random_batch(seed)
    layer = KernelLayer(
        (3,), 5, hidden_nodes=3, kernel=kernel, combine=combine, steps=steps, include_zero_step=zero, features="softmax"
    ).double()
    viewed = ViewedGraphs.of(batch, ("labels",), generator=torch.Generator(), dtype=torch.float64)
    counted = CountedWalks.of(batch, steps, match_all=kernel == "rwk+", dtype=torch.float64)
    assert torch.equal(counted.count, viewed.count)
    torch.testing.assert_close(counted.scores(layer), viewed.scores(layer))


@pytest.mark.parametrize("kernel", ["rwk+", "rwk-"])
def test_networks_learn_the_same_from_counted_walks(kernel, monkeypatch):
    network = {"kernel": kernel, "n_restarts": 2, "epochs": 20, "dtype": "float64", "diversity": 1.0}
    chains = triangle_chains(40)
    fast = DescriptiveKCN(2, 3, **network).fit(chains)
    monkeypatch.setattr("rwkplus.descriptive.rwk_cn.as_counts", lambda *_: False)
    slow = DescriptiveKCN(2, 3, **network).fit(chains)
    np.testing.assert_allclose(fast.weights_, slow.weights_)
    np.testing.assert_allclose(fast.losses_, slow.losses_)


def test_counts_stand_for_labels_only():
    batch = random_batch(0)
    assert as_counts(batch, ("labels",))
    assert not as_counts(batch, ("labels", "identity"))
    weighted = random_batch(0)
    weighted.edge_weight = torch.ones(weighted.edge_index.size(1))
    assert not as_counts(weighted, ("labels",))
    attributed = random_batch(0)
    attributed.x = attributed.x / 2
    assert not as_counts(attributed, ("labels",))


def test_few_nodes_are_not_counted():
    edge = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    _, seen = DescriptiveKCN(1, 2)._see(Batch.from_data_list([edge]), 0)
    assert isinstance(seen, ViewedGraphs)
