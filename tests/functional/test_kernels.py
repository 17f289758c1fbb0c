import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rwkplus.errors import NumericError, ParameterError, RWKPlusError, ShapeError
from rwkplus.functional import classical_rwk, color_similarity, rwk_minus, rwk_plus, rwk_plus_by_product_graph
from tests.oracles import count_matching_walks, dense_kernel, dense_rwk, walk_weight, walks
from tests.strategies import (
    EDGE_COLORS,
    bank,
    batched,
    colored_graphs,
    dense,
    one_hot,
    random_graphs,
    real_graphs,
    scores,
)

STEPS = 3
KERNELS = pytest.mark.parametrize("kernel", [rwk_plus, rwk_minus])
CLOSED = pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
any_kernel = st.sampled_from([rwk_plus, rwk_minus])


def pairs(strategy, **fields):
    return st.tuples(strategy(**fields), strategy(**fields))


def colored(graph, *colors):
    graph.graph.update(real=False, edge_colors=False, edge_weights=False)
    nx.set_node_attributes(graph, dict(zip(graph, colors, strict=True)), "color")
    return graph


def one_pair(kernel, g, h, steps=STEPS, **options):
    return scores(kernel, [g], [h], steps, **options)[:, 0, 0].tolist()


# Against enumeration


@pytest.mark.slow
@settings(max_examples=50)
@given(pairs(colored_graphs, min_nodes=1, max_nodes=4))
def test_equals_enumeration_of_walks(pair):
    assert one_pair(rwk_plus, *pair) == [count_matching_walks(*pair, i) for i in range(1, STEPS + 1)]


@pytest.mark.slow
@settings(max_examples=50)
@given(pairs(colored_graphs, min_nodes=1, max_nodes=4, edge_colors=True))
def test_equals_enumeration_of_walks_that_match_edge_colors_too(pair):
    assert one_pair(rwk_plus, *pair) == [count_matching_walks(*pair, i) for i in range(1, STEPS + 1)]


@settings(max_examples=50)
@given(pairs(colored_graphs, min_nodes=1, max_nodes=4, edge_colors=True, edge_weights=True, colors=2))
def test_equals_weighted_enumeration_of_walks(pair):
    assert one_pair(rwk_plus, *pair) == [count_matching_walks(*pair, i) for i in range(1, STEPS + 1)]


@settings(max_examples=50)
@given(pairs(colored_graphs, min_nodes=1, max_nodes=4, directed=True, edge_weights=True))
def test_minus_equals_enumeration_of_walks_that_agree_at_both_ends(pair):
    def ends(graph, walk):
        return graph.nodes[walk[0]]["color"], graph.nodes[walk[-1]]["color"]

    g, h = pair
    for i, score in enumerate(one_pair(rwk_minus, g, h, 2), 1):
        assert score == sum(
            walk_weight(g, p) * walk_weight(h, q) for p in walks(g, i) for q in walks(h, i) if ends(g, p) == ends(h, q)
        )


def test_walks_through_a_wrong_color_do_not_count():
    red_blue_red = colored(nx.path_graph(3), 0, 1, 0)
    red_red_red = colored(nx.path_graph(3), 0, 0, 0)
    # Both have two-edge walks from red to red; only the middle node differs.
    assert one_pair(rwk_plus, red_blue_red, red_red_red, 2)[-1] == 0
    assert one_pair(rwk_minus, red_blue_red, red_red_red, 2)[-1] > 0


def test_an_edge_is_walked_in_its_own_direction_only():
    forth = colored(nx.DiGraph([(0, 1)]), 0, 1)
    back = colored(nx.DiGraph([(1, 0)]), 1, 0)
    nx.set_node_attributes(back, {0: 0, 1: 1}, "color")
    assert one_pair(rwk_plus, forth, forth, 1) == [1]
    assert one_pair(rwk_plus, forth, back, 1) == [0]


def test_closed_walks_tell_a_ring_from_two_triangles_and_open_ones_do_not():
    ring = colored(nx.cycle_graph(6), *[0] * 6)
    triangles = colored(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)), *[0] * 6)
    assert one_pair(rwk_plus, ring, ring) == one_pair(rwk_plus, triangles, ring)
    # Three-edge closed walks go round a triangle: 6 starts in two directions; the ring has none.
    assert one_pair(rwk_plus, ring, triangles, closed=True)[2] == 0
    assert one_pair(rwk_plus, triangles, triangles, closed=True)[2] == 12 * 12


# Against the product graph: real-valued features see a missing line 6, one-hot colors do not


@KERNELS
@CLOSED
@given(pair=pairs(real_graphs, edge_weights=True))
def test_equals_the_kronecker_product_for_real_features(kernel, closed, pair):
    (x_g, adj_g, _), (x_h, adj_h, _) = map(dense, pair)
    expected = dense_rwk(adj_g, x_g, adj_h, x_h, STEPS, match_all=kernel is rwk_plus, closed=closed)
    np.testing.assert_allclose(one_pair(kernel, *pair, closed=closed), expected, rtol=1e-12)


@KERNELS
@CLOSED
@given(pair=pairs(real_graphs, edge_colors=True, edge_weights=True))
def test_equals_the_kronecker_product_for_real_edge_attributes(kernel, closed, pair):
    expected = dense_kernel(*pair, STEPS, match_all=kernel is rwk_plus, closed=closed)
    np.testing.assert_allclose(one_pair(kernel, *pair, closed=closed), expected, rtol=1e-12)


@given(
    st.lists(real_graphs(edge_colors=True, edge_weights=True), min_size=1, max_size=3),
    st.lists(real_graphs(edge_colors=True, edge_weights=True), min_size=1, max_size=3),
)
def test_equals_the_product_graph_for_a_batch_against_a_bank(graphs, hidden):
    arguments = batched(graphs) | bank(hidden)
    torch.testing.assert_close(rwk_plus(**arguments, steps=STEPS), rwk_plus_by_product_graph(**arguments, steps=STEPS))


# Ways to say the same


@KERNELS
@CLOSED
@given(pair=pairs(colored_graphs, edge_colors=True, edge_weights=True))
def test_edge_type_equals_edge_attr_with_the_one_hot_of_the_types(kernel, closed, pair):
    g, h = pair
    arguments = batched([g]) | bank([h])
    by_attr = kernel(**arguments, steps=STEPS, closed=closed)
    edge_type = arguments.pop("edge_attr").argmax(1)
    torch.testing.assert_close(kernel(**arguments, edge_type=edge_type, steps=STEPS, closed=closed), by_attr)


@given(pairs(real_graphs, edge_colors=True), st.data())
def test_edge_type_meets_real_hidden_edge_attributes_as_edge_attr_does(pair, data):
    arguments = batched([pair[0]]) | bank([pair[1]])
    num_edges = arguments.pop("edge_attr").size(0)
    types = data.draw(st.lists(st.integers(0, EDGE_COLORS - 1), min_size=num_edges, max_size=num_edges))
    by_attr = rwk_plus(**arguments, edge_attr=torch.from_numpy(one_hot(types, EDGE_COLORS)), steps=STEPS)
    by_type = rwk_plus(**arguments, edge_type=torch.tensor(types, dtype=torch.long), steps=STEPS)
    torch.testing.assert_close(by_type, by_attr)


@given(pairs(colored_graphs, blank=True))
def test_classical_kernel_equals_rwk_plus_on_one_hot_features(pair):
    g, h = pair
    arguments = batched([g]) | bank([h])
    expected = rwk_plus(**arguments, steps=STEPS)
    del arguments["x"], arguments["hidden_x"]
    # Nodes without a color match nothing, not even each other: any number below zero.
    label = torch.tensor([g.nodes[v]["color"] for v in g])
    hidden_label = torch.tensor([[h.nodes[v]["color"] for v in h]])
    assert torch.equal(classical_rwk(label=label, hidden_label=hidden_label, **arguments, steps=STEPS), expected)


@KERNELS
@given(pair=pairs(real_graphs))
def test_zero_step_is_the_sum_of_squared_similarities_before_all_others(kernel, pair):
    g, h = pair
    with_zero = scores(kernel, [g], [h], STEPS, include_zero_step=True)
    squares = color_similarity(torch.from_numpy(dense(g)[0]), torch.from_numpy(dense(h)[0])[None]) ** 2
    torch.testing.assert_close(with_zero[0, 0, 0], squares.sum())
    torch.testing.assert_close(with_zero[1:], scores(kernel, [g], [h], STEPS))


# Laws


@settings(max_examples=50)
@given(
    kernel=any_kernel,
    closed=st.booleans(),
    parts=st.tuples(*[real_graphs(edge_colors=True, edge_weights=True, directed=True)] * 3),
)
def test_adds_up_over_disjoint_parts(kernel, closed, parts):
    a, b, h = parts
    whole = scores(kernel, [nx.disjoint_union(a, b)], [h], STEPS, closed=closed)
    torch.testing.assert_close(whole, scores(kernel, [a, b], [h], STEPS, closed=closed).sum(1, keepdim=True))


@settings(max_examples=50)
@given(kernel=any_kernel, closed=st.booleans(), pair=pairs(real_graphs, edge_colors=True, edge_weights=True))
def test_is_symmetric_in_its_two_graphs(kernel, closed, pair):
    g, h = pair
    one, other = one_pair(kernel, g, h, closed=closed), one_pair(kernel, h, g, closed=closed)
    np.testing.assert_allclose(one, other, rtol=1e-12)


@settings(max_examples=50)
@given(
    kernel=any_kernel,
    closed=st.booleans(),
    pair=pairs(real_graphs, edge_colors=True, edge_weights=True),
    data=st.data(),
)
def test_does_not_depend_on_the_order_of_nodes(kernel, closed, pair, data):
    def shuffled(graph):
        result = type(graph)(**graph.graph)
        result.add_nodes_from((v, graph.nodes[v]) for v in data.draw(st.permutations(list(graph))))
        result.add_edges_from(graph.edges(data=True))
        return result

    g, h = pair
    expected = one_pair(kernel, g, h, closed=closed)
    np.testing.assert_allclose(one_pair(kernel, shuffled(g), shuffled(h), closed=closed), expected, rtol=1e-12)


@settings(max_examples=50)
@given(kernel=any_kernel, closed=st.booleans(), pair=pairs(real_graphs, edge_colors=True), size=st.integers(6, 8))
def test_zero_padding_of_the_bank_changes_nothing(kernel, closed, pair, size):
    g, h = pair
    exact = kernel(**batched([g]), **bank([h]), steps=STEPS, closed=closed)
    assert torch.equal(kernel(**batched([g]), **bank([h], size), steps=STEPS, closed=closed), exact)


@KERNELS
@CLOSED
@pytest.mark.parametrize("edge_colors", [False, True])
def test_gram_matrix_is_symmetric_and_positive_semidefinite(kernel, closed, edge_colors):
    graphs = random_graphs(8, edge_colors=edge_colors) if edge_colors else random_graphs(8, real=True)
    for gram in scores(kernel, graphs, graphs, 4, closed=closed):
        torch.testing.assert_close(gram, gram.T)
        assert torch.linalg.eigvalsh(gram).min() >= -1e-9 * gram.abs().max()


@CLOSED
@given(pair=pairs(real_graphs, edge_colors=True, edge_weights=True))
def test_both_kernels_are_equal_at_one_step(closed, pair):
    plus, minus = (one_pair(kernel, *pair, 1, closed=closed) for kernel in (rwk_plus, rwk_minus))
    np.testing.assert_allclose(plus, minus, rtol=1e-12)


@settings(max_examples=50)
@given(
    kernel=any_kernel,
    closed=st.booleans(),
    graphs=st.lists(real_graphs(min_nodes=0), min_size=2, max_size=4),
    data=st.data(),
)
def test_nodes_of_a_batch_need_not_be_sorted_by_graph(kernel, closed, graphs, data):
    arguments = batched(graphs)
    hidden = bank(random_graphs(2, real=True))
    total = arguments["x"].size(0)
    order = torch.tensor(data.draw(st.permutations(range(total))), dtype=torch.long)
    mixed = {
        "x": arguments["x"][order],
        "batch": arguments["batch"][order],
        "edge_index": torch.argsort(order)[arguments["edge_index"]],
    }
    options = {"steps": STEPS, "closed": closed, "num_graphs": len(graphs)}
    torch.testing.assert_close(kernel(**mixed, **hidden, **options), kernel(**arguments, **hidden, **options))


@KERNELS
@CLOSED
def test_graphs_without_nodes_or_edges_score_zero(kernel, closed):
    empty, lonely = colored(nx.empty_graph(0)), colored(nx.empty_graph(2), 0, 1)
    result = scores(kernel, [empty, lonely, empty], random_graphs(2), STEPS, closed=closed)
    assert torch.equal(result, torch.zeros(STEPS, 3, 2, dtype=torch.float64))
    assert scores(kernel, [empty], [lonely], STEPS, closed=closed).shape == (STEPS, 1, 1)


# Derivatives and numbers


def small_problem():
    edge_index = torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 2, 4]])
    batch = torch.tensor([0, 0, 0, 1, 1])
    generator = torch.Generator().manual_seed(0)

    def leaf(*shape):
        return torch.rand(shape, generator=generator, dtype=torch.float64).requires_grad_()

    leaves = {
        "x": leaf(5, 2),
        "edge_weight": leaf(5),
        "edge_attr": leaf(5, 2),
        "hidden_x": leaf(2, 3, 2),
        "hidden_adj": leaf(2, 3, 3),
        "hidden_edge_attr": leaf(2, 3, 3, 2),
    }
    return edge_index, batch, leaves


@KERNELS
@CLOSED
def test_gradients_flow_to_both_sides(kernel, closed):
    edge_index, batch, leaves = small_problem()

    def f(*values):
        named = dict(zip(leaves, values, strict=True))
        return kernel(edge_index=edge_index, batch=batch, **named, steps=2, closed=closed)

    assert torch.autograd.gradcheck(f, tuple(leaves.values()))


def test_gradients_flow_through_discrete_edge_types():
    edge_index, batch, leaves = small_problem()
    del leaves["edge_attr"]
    edge_type = torch.tensor([0, 1, 1, 0, 1])

    def f(*values):
        named = dict(zip(leaves, values, strict=True))
        return rwk_plus(edge_index=edge_index, batch=batch, edge_type=edge_type, **named, steps=2)

    assert torch.autograd.gradcheck(f, tuple(leaves.values()))


@KERNELS
@CLOSED
def test_float32_is_near_float64_and_stays_float32(kernel, closed):
    arguments = batched(random_graphs(6, real=True)) | bank(random_graphs(5, seed=1, real=True))
    single = {k: v.float() if v.is_floating_point() else v for k, v in arguments.items()}
    result = kernel(**single, steps=6, closed=closed)
    assert result.dtype == torch.float32
    expected = kernel(**arguments, steps=6, closed=closed)
    scale = expected.abs().amax((1, 2), keepdim=True)
    assert ((result.double() - expected).abs() <= 1e-5 * scale).all()


@KERNELS
@CLOSED
def test_walks_too_many_for_float32_raise_and_float64_counts_them(kernel, closed):
    complete = colored(nx.complete_graph(10), *[0] * 10)
    arguments = batched([complete]) | bank([complete])
    single = {k: v.float() if v.is_floating_point() else v for k, v in arguments.items()}
    with pytest.raises(NumericError, match="float32"):
        kernel(**single, steps=25, closed=closed)
    assert torch.isfinite(kernel(**arguments, steps=25, closed=closed)).all()


@pytest.mark.unchecked_shapes
def test_compiles_as_one_graph():
    arguments = batched(random_graphs(2, real=True)) | bank(random_graphs(2, seed=1, real=True))
    compiled = torch.compile(rwk_plus, fullgraph=True, backend="eager")
    result = compiled(**arguments, steps=2, num_graphs=2)
    torch.testing.assert_close(result, rwk_plus(**arguments, steps=2, num_graphs=2))


# Errors


def arguments_with(**changed):
    g = random_graphs(1, edge_colors=True)[0]
    return batched([g]) | bank([g]) | {"steps": 2} | changed


@pytest.mark.unchecked_shapes
@KERNELS
@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"steps": 0}, ParameterError, "steps"),
        ({"x": torch.ones(1, 9, dtype=torch.float64)}, ShapeError, "features"),
        ({"hidden_adj": torch.ones(1, 2, 2, dtype=torch.float64)}, ShapeError, "hidden_adj"),
        ({"edge_index": torch.ones(3, 2, dtype=torch.long)}, ShapeError, "edge_index"),
        ({"batch": torch.zeros(99, dtype=torch.long)}, ShapeError, "batch"),
        ({"edge_attr": None}, ShapeError, "edge_type or edge_attr"),
        ({"hidden_edge_attr": None}, ShapeError, "hidden_edge_attr"),
    ],
)
def test_wrong_arguments_are_refused_by_name(kernel, changed, error, message):
    with pytest.raises(error, match=message) as caught:
        kernel(**arguments_with(**changed))
    assert isinstance(caught.value, RWKPlusError)


def test_classical_kernel_refuses_zero_steps():
    g = colored(nx.path_graph(2), 0, 0)
    arguments = batched([g]) | bank([g])
    del arguments["x"], arguments["hidden_x"]
    with pytest.raises(ParameterError, match="steps"):
        classical_rwk(torch.zeros(2).long(), hidden_label=torch.zeros(1, 2).long(), **arguments, steps=0)


@KERNELS
@pytest.mark.parametrize("wrong", [-1, EDGE_COLORS])
def test_edge_types_without_a_channel_are_refused(kernel, wrong):
    arguments = arguments_with()
    edge_type = arguments.pop("edge_attr").argmax(1)
    edge_type[0] = wrong
    with pytest.raises(ShapeError, match="edge_type"):
        kernel(**arguments, edge_type=edge_type)


@KERNELS
def test_edge_types_and_edge_attributes_at_once_are_refused(kernel):
    arguments = arguments_with()
    with pytest.raises(ShapeError, match="edge_type and edge_attr"):
        kernel(**arguments, edge_type=arguments["edge_attr"].argmax(1))
