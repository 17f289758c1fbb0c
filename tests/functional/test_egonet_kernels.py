import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rwkplus.errors import GraphError, NumericError, ParameterError, ShapeError
from rwkplus.functional import Egonets, bank_propagation, color_similarity
from rwkplus.functional import egonet_scores as plain_scores
from rwkplus.functional.walks import closed_walks
from rwkplus.nn import egonets_of, extract_egonets
from rwkplus.nn.egonet_kernel import StepNormState, compiled_egonet_scores
from rwkplus.nn.egonet_loops import BLOCK
from tests.oracles import product_scores
from tests.strategies import as_data, bank, dense, random_graphs, real_graphs

STEPS = 3
WAYS = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "torch"])
graphs = real_graphs(min_nodes=1, max_nodes=6, edge_weights=True)
colored = real_graphs(min_nodes=1, max_nodes=6, edge_weights=True, edge_colors=True)
extents = st.tuples(st.integers(1, 2), st.sampled_from([None, 2, 3]))


def egonet_scores(*arguments, compiled=False, **options):
    """By compiled loops, or by the formula."""
    return compiled_egonet_scores(*arguments, **options)[0] if compiled else plain_scores(*arguments, **options)


def same(y, step):
    """A normalization that does nothing."""
    return y


WAY = st.sampled_from([{"compiled": True}, {"compiled": False}, {"normalize": same}, {"readout": same}])


def oracle(graph, hidden, egonets, steps, **options):
    """Cut every egonet out of dense matrices by its list of members, and evaluate the kernel by its definition."""
    x, adj, colors = dense(graph)
    scores = np.empty((steps, len(graph), len(hidden)))
    for v, members in enumerate(egonets.member.split(egonets.size.tolist())):
        rows = np.ix_(members, members)
        for k, h in enumerate(hidden):
            x_h, adj_h, colors_h = dense(h)
            product = np.kron(adj[rows], adj_h)
            if colors is not None:
                product = sum(
                    np.kron((adj * colors[..., c])[rows], adj_h * colors_h[..., c]) for c in range(colors.shape[2])
                )
            s = (x[members] @ x_h.T).flatten()
            scores[:, v, k] = product_scores(product, s, steps, **options)
    return torch.from_numpy(scores)


def scored(graph, hidden, egonets, steps=STEPS, **options):
    return egonet_scores(as_data(graph).x, egonets, **bank(hidden), steps=steps, **options)


@settings(max_examples=60)
@given(graphs, st.lists(graphs, min_size=1, max_size=3), extents, st.booleans(), WAY)
def test_equals_the_definition_of_the_kernel(graph, hidden, extent, match_all, way):
    egonets = egonets_of(as_data(graph), *extent)
    expected = oracle(graph, hidden, egonets, STEPS, match_all=match_all, closed=False)
    torch.testing.assert_close(scored(graph, hidden, egonets, match_all=match_all, **way), expected)


@settings(max_examples=60)
@given(colored, st.lists(colored, min_size=1, max_size=2), extents, st.booleans(), WAY)
def test_equals_the_definition_with_edge_colors(graph, hidden, extent, match_all, way):
    egonets = egonets_of(as_data(graph), *extent)
    expected = oracle(graph, hidden, egonets, STEPS, match_all=match_all, closed=False)
    torch.testing.assert_close(scored(graph, hidden, egonets, match_all=match_all, **way), expected)


@given(graphs, graphs, extents, st.booleans())
def test_equals_the_definition_for_closed_walks(graph, hidden, extent, match_all):
    egonets = egonets_of(as_data(graph), *extent)
    expected = oracle(graph, [hidden], egonets, STEPS, match_all=match_all, closed=True)
    torch.testing.assert_close(scored(graph, [hidden], egonets, match_all=match_all, closed=True), expected)


@given(graphs, graphs, extents, WAY)
def test_the_zero_step_sums_squared_similarities_over_the_egonet(graph, hidden, extent, way):
    egonets = egonets_of(as_data(graph), *extent)
    scores = scored(graph, [hidden], egonets, include_zero_step=True, **way)
    squares = ((dense(graph)[0] @ dense(hidden)[0].T) ** 2).sum(1)
    expected = [squares[members].sum() for members in egonets.member.split(egonets.size.tolist())]
    torch.testing.assert_close(scores[0, :, 0], torch.tensor(expected, dtype=torch.float64))
    torch.testing.assert_close(scores[1:], scored(graph, [hidden], egonets, **way))


@WAYS
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5])
def test_walks_of_any_length_and_any_number_of_hidden_graphs(steps, compiled):
    graph = random_graphs(1, seed=3, real=True)[0]
    hidden = random_graphs(19, seed=4, max_nodes=3, real=True)  # three groups of the compiled loops
    egonets = egonets_of(as_data(graph), 1, None)
    expected = oracle(graph, hidden, egonets, steps, match_all=True, closed=False)
    torch.testing.assert_close(scored(graph, hidden, egonets, steps, compiled=compiled), expected)


@WAYS
def test_egonets_larger_than_a_block(compiled):
    star = nx.star_graph(150)
    star.graph.update(real=False, edge_colors=False, edge_weights=False)
    nx.set_node_attributes(star, {v: v % 3 for v in star}, "color")
    hidden = random_graphs(2, seed=1)
    egonets = egonets_of(as_data(star), 1, None)
    expected = oracle(star, hidden, egonets, STEPS, match_all=True, closed=False)
    torch.testing.assert_close(scored(star, hidden, egonets, compiled=compiled), expected)


@WAYS
@pytest.mark.parametrize("match_all", [True, False], ids=["rwk+", "rwk-"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_gradients(compiled, match_all, directed, steps):
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.tensor([[0, 1, 2, 3, 1, 2, 0], [1, 2, 0, 1, 0, 1, 2]])
    if directed:
        edge_index = torch.cat([edge_index, torch.tensor([[3, 3], [3, 4]])], 1)
    graph = as_data(random_graphs(1, real=True)[0])
    graph.x = torch.rand(5, 2, dtype=torch.float64, generator=generator)
    graph.edge_index = edge_index
    graph.edge_attr = torch.rand(edge_index.size(1), 2, dtype=torch.float64, generator=generator)
    graph.edge_weight = torch.rand(edge_index.size(1), dtype=torch.float64, generator=generator)
    if not directed:
        weights = torch.rand(4, 4, dtype=torch.float64, generator=generator)
        graph.edge_index = torch.cat([edge_index[:, :3], edge_index[:, :3].flip(0), torch.tensor([[1, 3], [3, 1]])], 1)
        u, v = graph.edge_index
        graph.edge_weight = (weights + weights.T)[u, v]
        graph.edge_attr = torch.stack([(weights + weights.T)[u, v], (weights * weights.T)[u, v]], 1)
    egonets = egonets_of(graph, 1, 3)
    leaves = [torch.rand(*shape, dtype=torch.float64, generator=generator) for shape in ((9, 2, 2), (9, 2, 2))]
    colors = torch.rand(9, 2, 2, 2, dtype=torch.float64, generator=generator)

    def scores(x, hidden_x, adj, hidden_colors):
        both_ways = (adj + adj.mT, hidden_colors + hidden_colors.transpose(1, 2))
        adj, hidden_colors = (adj, hidden_colors) if directed else both_ways
        return egonet_scores(
            x,
            egonets,
            hidden_x,
            adj,
            steps=steps,
            match_all=match_all,
            hidden_edge_attr=hidden_colors,
            compiled=compiled,
        )

    inputs = [part.requires_grad_() for part in (graph.x, *leaves, colors)]
    assert torch.autograd.gradcheck(scores, inputs, fast_mode=True)


@pytest.mark.parametrize("match_all", [True, False], ids=["rwk+", "rwk-"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("steps", [2, 3, 4, 5])
def test_compiled_loops_agree_with_tensors_over_many_blocks(steps, directed, match_all):
    """What one block leaves behind must not reach the next."""
    ring = nx.circulant_graph(3 * BLOCK, [1, 2], create_using=nx.DiGraph if directed else nx.Graph)
    edge_index = torch.tensor([*(ring if directed else ring.to_directed()).edges]).t()
    egonets = extract_egonets(edge_index, 3 * BLOCK)
    generator = torch.Generator().manual_seed(steps)
    inputs = [torch.rand(*shape, generator=generator).double() for shape in ((3 * BLOCK, 2), (9, 3, 2), (9, 3, 3))]
    results = []
    for compiled in (True, False):
        x, hidden_x, adj = leaves = [part.clone().requires_grad_() for part in inputs]
        adj = adj if directed else adj + adj.mT
        scores = egonet_scores(x, egonets, hidden_x, adj, steps=steps, match_all=match_all, compiled=compiled)
        results.append((scores, *torch.autograd.grad((scores**2).sum(), leaves)))
    torch.testing.assert_close(*results)


@WAYS
def test_single_precision_is_near_double_precision(compiled):
    graph = as_data(random_graphs(1, seed=7, real=True)[0])
    egonets, hidden = egonets_of(graph, 1, None), bank(random_graphs(9, seed=8, real=True))
    double = egonet_scores(graph.x, egonets, **hidden, steps=STEPS)
    hidden = {name: value.float() for name, value in hidden.items()}
    single = egonet_scores(graph.x.float(), egonets, **hidden, steps=STEPS, compiled=compiled)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), double, rtol=1e-5, atol=1e-3)


def test_half_precision_is_kept():
    graph = as_data(random_graphs(1, seed=7)[0])
    hidden = {name: value.bfloat16() for name, value in bank(random_graphs(1, seed=8)).items()}
    scores = egonet_scores(graph.x.bfloat16(), egonets_of(graph, 1, None), **hidden, steps=2)
    assert scores.dtype == torch.bfloat16


@pytest.mark.unchecked_shapes
def test_misfits_are_refused():
    graph = as_data(random_graphs(1, real=True)[0])
    egonets, hidden = egonets_of(graph, 1, None), bank(random_graphs(1, real=True))
    with pytest.raises(ParameterError, match="steps"):
        egonet_scores(graph.x, egonets, **hidden, steps=0)
    with pytest.raises(ShapeError, match="features"):
        egonet_scores(torch.ones(len(graph.x), 7).double(), egonets, **hidden, steps=1)
    with pytest.raises(GraphError, match="no nodes"):
        egonet_scores(graph.x[1:], egonets, **hidden, steps=1, compiled=True)
    with pytest.raises(ShapeError, match="hidden_adj"):
        egonet_scores(graph.x, egonets, hidden["hidden_x"], hidden["hidden_adj"][:, 1:], steps=1)
    colors = torch.ones(*hidden["hidden_adj"].shape, 2).double()
    with pytest.raises(ShapeError, match="edge_attr has 0 columns but edges of hidden graphs have 2"):
        egonet_scores(graph.x, egonets, **hidden, hidden_edge_attr=colors, steps=1)


@WAYS
def test_numbers_out_of_range_are_refused(compiled):
    graph = as_data(random_graphs(1, real=True)[0])
    hidden = bank(random_graphs(1, real=True))
    with pytest.raises(NumericError, match="float64"):
        egonet_scores(graph.x * 1e200, egonets_of(graph, 1, None), **hidden, steps=2, compiled=compiled)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("member", [0, 9], "no nodes"),
        ("member", [-1, 1], "no nodes"),
        ("size", [2, 1], "counts"),
        ("link_count", [1, 0], "counts"),
        ("link", [[0, 1], [0, 0]], "leaves"),
        ("link", [[-1, 0], [0, 0]], "leaves"),
    ],
)
def test_broken_egonets_are_refused_by_the_compiled_loops(field, value, reason):
    egonets = Egonets(
        torch.tensor([0, 1]), torch.tensor([1, 1]), torch.tensor([[0, 0], [0, 0]]), torch.tensor([1, 1])
    )._replace(**{field: torch.tensor(value)})
    with pytest.raises(GraphError, match=reason):
        egonet_scores(torch.ones(2, 1), egonets, torch.ones(1, 2, 1), torch.ones(1, 2, 2), steps=1, compiled=True)


@given(graphs, st.lists(graphs, min_size=1, max_size=2), extents, st.booleans())
def test_closed_walks_by_their_ends_are_closed_walks(graph, hidden, extent, zero):
    """Two walkers that are matched at the ends only need no product graph; the slow twin walks on it."""
    egonets, arguments = egonets_of(as_data(graph), *extent), bank(hidden)
    adj = arguments["hidden_adj"]
    y0 = color_similarity(as_data(graph).x, arguments["hidden_x"])[egonets.member]
    options = {"match_all": False, "closed": True, "include_zero_step": zero}
    propagate, number = bank_propagation(egonets.edge_index, adj, edge_weight=egonets.weight), egonets.size.numel()
    walks = [*closed_walks(y0, propagate, egonets.owner, STEPS, match_all=False, num_graphs=number)]
    steps = [y0 * y0, *walks] if zero else walks
    expected = torch.stack([y.new_zeros(number, y.size(1)).index_add(0, egonets.owner, y.sum(-1)) for y in steps])
    torch.testing.assert_close(scored(graph, hidden, egonets, **options), expected)


def test_closed_walks_matched_at_their_ends_are_not_walked_on_the_product_graph(monkeypatch):
    def walk(*_, **__):
        raise AssertionError("walked on the product graph")

    monkeypatch.setattr("rwkplus.functional.kernels.closed_walks", walk)
    graph = as_data(random_graphs(1, real=True)[0])
    egonets, hidden = egonets_of(graph, 1, None), bank(random_graphs(1, seed=1, real=True))
    egonet_scores(graph.x, egonets, **hidden, steps=2, match_all=False, closed=True)
    with pytest.raises(AssertionError, match="walked"):
        egonet_scores(graph.x, egonets, **hidden, steps=2, closed=True)


@pytest.mark.parametrize("match_all", [True, False], ids=["rwk+", "rwk-"])
def test_gradients_of_edges(match_all):
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    shapes = ((4,), (4, 2), (3, 2), (2, 2, 2), (2, 2, 2), (2, 2, 2, 2))
    weight, attr, *rest = (torch.rand(*shape, dtype=torch.float64, generator=generator) for shape in shapes)
    x, hidden_x, adj, colors = rest

    def scores(weight, attr):
        egonets = extract_egonets(edge_index, 3, 1, None, weight, attr)
        return egonet_scores(x, egonets, hidden_x, adj, steps=3, match_all=match_all, hidden_edge_attr=colors)

    assert torch.autograd.gradcheck(scores, [weight.requires_grad_(), attr.requires_grad_()])


def test_compiled_loops_refuse_to_lose_gradients_of_edges():
    weight = torch.ones(4, requires_grad=True)
    egonets = extract_egonets(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3, edge_weight=weight)
    arguments = (torch.ones(3, 1), egonets, torch.ones(1, 2, 1), torch.ones(1, 2, 2))
    with pytest.raises(ParameterError, match="gradients of edges"):
        egonet_scores(*arguments, steps=1, compiled=True)
    state = StepNormState(*torch.ones(4, 1, 1), training=True, sync=False, eps=1e-5)
    with pytest.raises(ParameterError, match="gradients of edges"):
        compiled_egonet_scores(*arguments, steps=1, norm=state)
    with torch.no_grad():
        assert egonet_scores(*arguments, steps=1, compiled=True).isfinite().all()
