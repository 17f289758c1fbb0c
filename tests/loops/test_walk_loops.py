import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rwkplus.functional import rwk_minus, rwk_plus
from rwkplus.loops.walk_loops import PackedGraphs, hash_step, pair_scores, self_scores
from tests.oracles import dense_kernel
from tests.strategies import colored_graphs, data_list, real_graphs, scores

STEPS = 3
PRIMES = np.array([2_147_483_647, 2_147_483_629])


def lists(strategy, **fields):
    return st.lists(strategy(min_nodes=0, **fields), min_size=1, max_size=4)


def packed(graphs):
    """Pack graphs, independently of the library's own way."""
    parts = data_list(graphs)
    node_ptr = np.cumsum([0] + [part.x.size(0) for part in parts])
    edges = [part.edge_index + int(first) for part, first in zip(parts, node_ptr, strict=False)]
    source, target = torch.cat(edges, 1).numpy()
    values = [part.get("edge_attr", torch.ones(part.edge_index.size(1), 1)).double() for part in parts]
    weighted = [
        value * part.get("edge_weight", torch.ones(1)).view(-1, 1) for part, value in zip(parts, values, strict=True)
    ]
    x = torch.cat([part.x for part in parts]).numpy()
    return PackedGraphs(
        node_ptr,
        np.cumsum([0] + [part.edge_index.size(1) for part in parts]),
        source.copy(),
        target.copy(),
        torch.cat(weighted).numpy(),
        x,
        np.ascontiguousarray(x.T),
    )


def torch_twin(rows, cols, match_all, **options):
    return scores(rwk_plus if match_all else rwk_minus, rows, cols, STEPS, **options).numpy()


@settings(max_examples=50)
@given(
    match_all=st.booleans(),
    closed=st.booleans(),
    rows=lists(real_graphs, edge_weights=True),
    cols=lists(real_graphs, edge_weights=True),
)
def test_pairs_of_weighted_graphs_equal_the_torch_twin(match_all, closed, rows, cols):
    result = pair_scores(packed(rows), packed(cols), STEPS, match_all=match_all, closed=closed)
    np.testing.assert_allclose(result, torch_twin(rows, cols, match_all, closed=closed), rtol=1e-12)


@settings(max_examples=50)
@given(
    match_all=st.booleans(),
    closed=st.booleans(),
    rows=lists(real_graphs, edge_colors=True),
    cols=lists(real_graphs, edge_colors=True),
)
def test_pairs_with_edge_channels_equal_the_torch_twin(match_all, closed, rows, cols):
    result = pair_scores(packed(rows), packed(cols), STEPS, match_all=match_all, closed=closed)
    np.testing.assert_allclose(result, torch_twin(rows, cols, match_all, closed=closed), rtol=1e-12)


@settings(max_examples=50)
@given(
    match_all=st.booleans(),
    closed=st.booleans(),
    graphs=lists(colored_graphs, edge_colors=True, edge_weights=True, blank=True),
)
def test_pairs_equal_the_dense_product_graph(match_all, closed, graphs):
    result = pair_scores(packed(graphs), packed(graphs), STEPS, match_all=match_all, closed=closed)
    for i, g in enumerate(graphs):
        for j, h in enumerate(graphs):
            expected = dense_kernel(g, h, STEPS, match_all=match_all, closed=closed)
            assert result[:, i, j].tolist() == expected


@pytest.mark.slow
@settings(max_examples=50)
@given(
    match_all=st.booleans(),
    closed=st.booleans(),
    graphs=lists(real_graphs, edge_colors=True, edge_weights=True),
    more=lists(real_graphs, edge_colors=True),
)
def test_upper_leaves_out_exactly_the_pairs_below_the_diagonal(match_all, closed, graphs, more):
    for graph in more:
        graph.graph["edge_weights"] = True
        for edge in graph.edges:
            graph.edges[edge]["weight"] = 1.0
    rows, cols = packed(graphs), packed(graphs + more)
    whole = pair_scores(rows, cols, STEPS, match_all=match_all, closed=closed)
    upper = pair_scores(rows, cols, STEPS, match_all=match_all, closed=closed, upper=True)
    assert np.array_equal(upper, np.triu(whole))


@settings(max_examples=50)
@given(match_all=st.booleans(), closed=st.booleans(), graphs=lists(real_graphs, edge_colors=True, edge_weights=True))
def test_self_scores_are_the_diagonal(match_all, closed, graphs):
    pairs = pair_scores(packed(graphs), packed(graphs), STEPS, match_all=match_all, closed=closed)
    diagonal = self_scores(packed(graphs), STEPS, match_all=match_all, closed=closed)
    assert np.array_equal(diagonal, np.diagonal(pairs, axis1=1, axis2=2))


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(0, 20))
def test_hashes_equal_exact_integers(seed, nodes, edges):
    rng = np.random.default_rng(seed)
    walks = rng.integers(0, PRIMES, size=(nodes, 2))
    source, target = rng.integers(0, nodes, size=(2, edges))
    edge_label, label = rng.integers(-1, 2, size=edges), rng.integers(-1, 3, size=nodes)
    of_edge, of_label = rng.integers(0, PRIMES, size=(3, 2)), rng.integers(0, PRIMES, size=(4, 2))
    longer = hash_step(walks, source, target, edge_label, label, of_edge, of_label, PRIMES)
    for v in range(nodes):
        for h, prime in enumerate(PRIMES.tolist()):
            total = sum(
                int(walks[target[k], h]) * int(of_edge[edge_label[k], h]) for k in range(edges) if source[k] == v
            )
            assert int(longer[v, h]) == int(of_label[label[v], h]) * total % prime
