import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from experiments.testbeds import bipartite_graphs, copies, prism
from rwkplus.datasets.generators import triangle_chains
from rwkplus.descriptive.gradient import adjacency
from rwkplus.descriptive.views import WalkDatabase, canonical_cycles, paint
from rwkplus.functional.objectives import RIDGE
from rwkplus.io.pyg import as_batch
from tests.descriptive.plain_walks import PlainWalks
from tests.strategies import colored_graphs, data_list, random_graphs

STEPS, CLOSED = 3, (3, 4)


def random_banks(num_colors, restarts=3, k=2, size=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    p = torch.softmax(torch.randn(restarts, k, size, num_colors, generator=generator, dtype=torch.float64), -1)
    pairs = torch.rand(restarts, k, size * (size - 1) // 2, generator=generator, dtype=torch.float64)
    return p, adjacency(pairs, size)


def objectives(painted, steps=STEPS, closed=CLOSED, **bank):
    p, adj = random_banks(len(painted.colors), **bank)
    x = p @ painted.colors
    return [kind.of(painted, steps, closed).objective(x, adj) for kind in (WalkDatabase, PlainWalks)]


@pytest.mark.slow
@given(st.lists(colored_graphs(directed=False, edge_weights=True), min_size=1, max_size=4))
def test_compression_is_exact(graphs):
    compressed, plain = objectives(paint(as_batch(data_list(graphs))))
    torch.testing.assert_close(compressed, plain)


@pytest.mark.parametrize("view", ["labels", "identity", "structural"])
def test_compression_is_exact_in_every_view(view):
    graphs = data_list([graph for graph in random_graphs(8, max_nodes=6) if graph.number_of_edges()])
    compressed, plain = objectives(paint(as_batch(graphs), view))
    torch.testing.assert_close(compressed, plain)


def test_the_objective_equals_a_plain_numpy_loop_over_graphs_and_steps():
    graphs = bipartite_graphs(3, seed=1) + triangle_chains(3, random_state=1)
    painted = paint(as_batch(graphs))
    p, adj = random_banks(len(painted.colors), restarts=1, size=3)
    database = PlainWalks.of(painted, 2, (3,))
    batch, start = as_batch(graphs), 0
    dense = []
    for graph in graphs:
        rows = batch.x[start : start + len(graph)].double().numpy()
        dense.append((rows, nx.to_numpy_array(graph, weight=None)))
        start += len(graph)
    hidden = [(p[0, j].numpy(), adj[0, j].numpy()) for j in range(2)]

    def kinds(g, h):
        s = (g[0] @ h[0].T).flatten()
        product = np.outer(s, s) * np.kron(g[1], h[1])
        one, power = np.ones(len(s)), np.linalg.matrix_power
        return [(s**2).sum(), *(one @ power(product, i) @ one for i in (1, 2)), np.trace(power(product, 3))]

    def fractions(read):
        k_ww = np.array([[read(kinds(v, w)) for v in hidden] for w in hidden])
        scale = 1 / np.sqrt(np.diag(k_ww))
        inverse = np.linalg.inv(k_ww * np.outer(scale, scale) + RIDGE * np.eye(2))
        shares = []
        for g in dense:
            k_gw, k_gg = np.array([read(kinds(g, w)) for w in hidden]) * scale, read(kinds(g, g))
            if k_gg > 0:
                shares.append(k_gw @ inverse @ k_gw / k_gg)
        return np.mean(shares)

    norms = np.mean([kinds(g, g) for g in dense], 0)
    weights = np.array([*1 / norms[:3], 1 / norms[2]])
    terms = [fractions(lambda kernel, i=i: kernel[i]) for i in (1, 2, 3)] + [fractions(lambda kernel: weights @ kernel)]
    assert float(database.objective(p, adj)) == pytest.approx(np.mean(terms))


def test_banks_side_by_side_equal_one_by_one():
    painted = paint(as_batch(triangle_chains(10)))
    database = WalkDatabase.of(painted, STEPS, CLOSED)
    x, adj = random_banks(4, restarts=5)
    alone = torch.cat([database.objective(x[i : i + 1], adj[i : i + 1]) for i in range(5)])
    torch.testing.assert_close(database.objective(x, adj), alone)


def test_gradients_are_those_of_the_plain_database():
    painted = paint(as_batch(triangle_chains(5)))
    gradients = []
    for kind in (WalkDatabase, PlainWalks):
        x, adj = (part.requires_grad_() for part in random_banks(4))
        kind.of(painted, STEPS, CLOSED).objective(x, adj).sum().backward()
        gradients.append((x.grad, adj.grad))
    torch.testing.assert_close(*gradients)


def test_float32_is_near_float64():
    database = WalkDatabase.of(paint(as_batch(triangle_chains(10))), STEPS, CLOSED)
    x, adj = random_banks(4)
    rough = database.to(torch.float32).objective(x.float(), adj.float())
    torch.testing.assert_close(rough.double(), database.objective(x, adj), rtol=1e-3, atol=1e-4)


def test_copies_of_a_graph_cost_no_more_than_one():
    one, many = (WalkDatabase.of(paint(as_batch(copies(prism(), n))), STEPS, CLOSED) for n in (1, 100))
    assert one.cost == many.cost
    for a, b in zip(one.roots, many.roots, strict=True):
        assert {kind: root.shape for kind, root in a.items()} == {kind: root.shape for kind, root in b.items()}


def test_cycles_merge_by_rotation_and_reversal():
    distinct, place = canonical_cycles(np.array([[0, 1, 2, 1], [1, 2, 1, 0], [2, 0, 1, 1], [1, 1, 0, 2]]))
    assert distinct.tolist() == [[0, 1, 1, 2], [0, 1, 2, 1]]
    assert place.tolist() == [1, 1, 0, 0]


def test_graphs_without_closed_walks_are_no_obstacle():
    compressed, plain = objectives(paint(as_batch(bipartite_graphs(4))), closed=(3,))
    torch.testing.assert_close(compressed, plain)
    assert ((compressed > 0) & (compressed < 1)).all()
