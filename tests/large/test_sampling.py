"""Sampled parts of graphs equal those of plain Python, number by number."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.utils import subgraph

from rwkplus.errors import GraphError
from rwkplus.large.csr_graph import CSRGraph
from rwkplus.large.parts import Sampler
from rwkplus.loops.random_streams import new_key

WORD = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


@st.composite
def graphs(draw, max_nodes=12):
    """Directed graphs with loops and parallel edges, by rows."""
    n = draw(st.integers(1, max_nodes))
    rows = draw(st.lists(st.lists(st.integers(0, n - 1), max_size=8), min_size=n, max_size=n))
    indptr = np.cumsum([0, *map(len, rows)])
    return CSRGraph(indptr, np.array([u for row in rows for u in row], np.int32))


@st.composite
def graphs_and_nodes(draw):
    graph = draw(graphs())
    order = draw(st.permutations(range(graph.num_nodes)))
    return graph, np.array(order[: draw(st.integers(1, graph.num_nodes))], np.int64)


def mix(bits):
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & WORD
    return bits ^ (bits >> 31)


def stream(key, number):
    return mix((key + STEP * mix(number + STEP & WORD)) & WORD)


def numbers(state, bounds):
    for bound in bounds:
        state = (state + STEP) & WORD
        yield ((mix(state) >> 32) * bound) >> 32


def choose(degree, wanted, replace, state):
    if degree == 0 or wanted < 0 or (wanted >= degree and not replace):
        return list(range(degree))
    if replace:
        return list(numbers(state, [degree] * wanted))
    chosen = []
    for last, number in enumerate(numbers(state, range(degree - wanted + 1, degree + 1)), degree - wanted):
        chosen.append(last if number in chosen else number)
    return chosen


def sampled_in_python(graph, seeds, fan_outs, key, replace):
    nodes, edges, begin = list(seeds), [], 0
    for hop, fan_out in enumerate(fan_outs):
        end = len(nodes)
        for target in range(begin, end):
            v = nodes[target]
            row = graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist()
            for k in choose(len(row), fan_out, replace, stream(stream(key, hop), v)):
                if row[k] not in nodes:
                    nodes.append(row[k])
                edges.append((nodes.index(row[k]), target))
        begin = end
    return nodes, edges


@given(graphs_and_nodes(), st.lists(st.integers(-1, 4), min_size=1, max_size=3), st.booleans(), st.integers(0, 99))
def test_neighborhoods_equal_those_of_plain_python(drawn, fan_outs, replace, seed):
    graph, seeds = drawn
    key = new_key(seed)
    part = Sampler(graph.indptr, graph.indices).neighborhood(seeds, fan_outs, key, replace=replace)
    nodes, edges = sampled_in_python(graph, seeds.tolist(), fan_outs, int(key), replace)
    assert part.nodes.tolist() == nodes
    assert part.edge_index.T.tolist() == [list(edge) for edge in edges]


@given(graphs_and_nodes(), st.integers(0, 4), st.integers(0, 99))
def test_every_seed_gets_as_many_distinct_neighbors_as_it_can(drawn, fan_out, seed):
    graph, seeds = drawn
    places = CSRGraph(graph.indptr, np.arange(graph.num_edges) % graph.num_nodes)  # any neighbors will do
    sampler = Sampler(places.indptr, places.indices)
    part = sampler.neighborhood(seeds, [fan_out], new_key(seed))
    degree = np.diff(graph.indptr)[seeds]
    assert np.bincount(part.edge_index[1], minlength=seeds.size).tolist() == np.minimum(degree, fan_out).tolist()
    again = sampler.neighborhood(seeds, [fan_out], new_key(seed))  # the scratch array is clean
    assert again.nodes.tolist() == part.nodes.tolist()


@given(graphs_and_nodes())
def test_induced_subgraphs_equal_those_of_pyg(drawn):
    graph, nodes = drawn
    part = Sampler(graph.indptr, graph.indices).induced(nodes)
    expected, _ = subgraph(torch.from_numpy(nodes), graph.data().edge_index, num_nodes=graph.num_nodes)
    found = nodes[part.edge_index]
    assert sorted(found.T.tolist()) == sorted(expected.T.tolist())


def test_draws_are_even_and_independent_of_other_seeds():
    degree, wanted, nodes = 8, 3, 4000
    graph = CSRGraph(np.arange(nodes + 1) * degree, np.tile(np.arange(degree), nodes))
    sampler = Sampler(graph.indptr, graph.indices)
    part = sampler.neighborhood(np.arange(nodes), [wanted], new_key(0))
    counts = np.bincount(part.nodes[part.edge_index[0]], minlength=degree)[:degree]
    # A neighbor is drawn by 1500 of 4000 nodes, give or take 31.
    assert np.abs(counts - nodes * wanted / degree).max() < 5 * 31
    alone = sampler.neighborhood(np.array([1234]), [wanted], new_key(0))
    of_1234 = part.nodes[part.edge_index[0][part.edge_index[1] == 1234]]
    assert alone.nodes[alone.edge_index[0]].tolist() == of_1234.tolist()


@pytest.mark.parametrize("nodes", [[0, 3], [-1], [1, 1]])
def test_wrong_nodes_are_refused(nodes):
    sampler = Sampler(np.array([0, 1, 2, 2]), np.array([1, 2]))
    with pytest.raises(GraphError, match="nodes"):
        sampler.induced(np.array(nodes))
    assert sampler.induced(np.arange(3)).edge_index.tolist() == [[1, 2], [0, 1]]
