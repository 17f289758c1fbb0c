from collections import Counter

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from rwkplus.datasets import functional_groups
from rwkplus.errors import GraphError, RWKPlusWarning
from rwkplus.mining.search.database import MiningDatabase
from tests.strategies import arrays_of


def database(graphs):
    return MiningDatabase.of(arrays_of(graphs))


def graph(edges, num_nodes=3):
    return Data(x=torch.ones(num_nodes, 1), edge_index=torch.tensor(edges).view(-1, 2).t())


def test_a_directed_edge_is_refused_with_its_graph():
    with pytest.raises(GraphError, match="graph 1"):
        database([graph([(0, 1), (1, 0)]), graph([(0, 1)])])


def entries(data):
    rows = data.rows
    marks = rows.edge_marks.tolist() or [0] * rows.neighbor.size
    return list(zip(data.source.tolist(), rows.neighbor.tolist(), rows.edge_label.tolist(), marks, strict=True))


def mirrored(data):
    """What the entries of an adjacency are, seen from their other ends."""
    return sorted((v, u, label ^ data.directed, mark) for u, v, label, mark in entries(data))


def test_a_directed_edge_stands_in_both_rows_with_labels_that_tell_them_apart():
    data = MiningDatabase.of(arrays_of([graph([(0, 1), (1, 0), (2, 1)])]), directed=True)
    assert entries(data) == [(0, 1, 0, 0), (0, 1, 1, 0), (1, 0, 0, 0), (1, 0, 1, 0), (1, 2, 1, 0), (2, 1, 0, 0)]
    assert data.degree.tolist() == [[1, 1], [1, 2], [1, 0]]


def test_parallel_edges_that_differ_in_marks_are_all_kept():
    arrays = arrays_of([graph([(0, 1), (0, 1), (0, 1), (1, 2)])])
    with pytest.warns(RWKPlusWarning, match="1 self-loops"):
        data = MiningDatabase.of(arrays, directed=True, edge_marks=np.array([1, 2, 2, 0]))
    assert entries(data)[:2] == [(0, 1, 0, 1), (0, 1, 0, 2)]
    assert mirrored(data) == entries(data)


@given(directed=st.booleans(), marked=st.booleans(), seed=st.integers(0, 1000))
@settings(max_examples=30)
def test_shuffling_keeps_degrees_by_label_and_direction_and_makes_no_edge_twice(directed, marked, seed):
    rng = np.random.default_rng(seed)
    many = [nx.gnm_random_graph(9, 16, seed=seed + k, directed=directed) for k in range(3)]
    for one in many:
        nx.set_node_attributes(one, 0, "label")
        nx.set_edge_attributes(one, {edge: int(rng.integers(2)) for edge in one.edges}, "label")
    arrays = arrays_of(many)
    marks = {(min(u, v), max(u, v)): int(rng.integers(4)) for u, v in zip(arrays.source, arrays.target, strict=True)}
    ends = zip(arrays.source, arrays.target, strict=True)
    edge_marks = np.array([marks[min(u, v), max(u, v)] for u, v in ends]) if marked else np.empty(0, np.int64)
    data = MiningDatabase.of(arrays, directed=directed, edge_marks=edge_marks)
    rewired = data.shuffled(np.random.default_rng(seed))
    assert entries(rewired) == sorted(set(entries(rewired))) == mirrored(rewired)
    assert entries(rewired) != entries(data)
    ends = {(u, v, label & directed) for u, v, label, _ in entries(rewired)}
    assert len(ends) == len(entries(rewired))
    assert all(u != v for u, v, *_ in ends)
    for one, other in ((data, rewired), (rewired, data)):
        assert Counter((u, label) for u, _, label, _ in entries(one)) == Counter(
            (u, label) for u, _, label, _ in entries(other)
        )
        assert Counter(mark for *_, mark in entries(one)) == Counter(mark for *_, mark in entries(other))
    assert (rewired.rows.graph[rewired.source] == rewired.rows.graph[rewired.rows.neighbor]).all()


def test_loops_and_repeated_edges_are_left_out_with_a_warning():
    with pytest.warns(RWKPlusWarning, match="3 self-loops"):
        data = database([graph([(0, 1), (1, 0), (0, 1), (1, 0), (2, 2)])])
    assert data.num_edges == 1


def test_a_node_without_label_is_refused_with_its_graph():
    blank = Data(x=torch.tensor([[1.0], [0.0]]), edge_index=torch.tensor([[0, 1], [1, 0]]))
    with pytest.raises(GraphError, match="graph 0: a node has no label"):
        database([blank])


def test_shuffling_keeps_labels_degrees_and_simple_graphs_but_not_the_structure():
    data = database(functional_groups(20))
    rewired = data.shuffled(np.random.default_rng(0))
    np.testing.assert_array_equal(rewired.degree, data.degree)
    np.testing.assert_array_equal(rewired.rows.label, data.rows.label)
    assert sorted(rewired.rows.edge_label) == sorted(data.rows.edge_label)
    pairs = set(zip(rewired.source.tolist(), rewired.rows.neighbor.tolist(), strict=True))
    assert len(pairs) == rewired.source.size
    assert all(u != v and (v, u) in pairs for u, v in pairs)
    assert (rewired.rows.graph[rewired.source] == rewired.rows.graph[rewired.rows.neighbor]).all()
    before = set(zip(data.source.tolist(), data.rows.neighbor.tolist(), strict=True))
    assert len(pairs & before) < 0.7 * len(pairs)


def parallel_paths(count):
    """Paths whose every edge has a parallel one of another label."""
    path = nx.MultiGraph()
    for v in range(6):
        path.add_node(v, label="AB"[v % 2])
    for v in range(5):
        path.add_edge(v, v + 1, label="x")
        path.add_edge(v, v + 1, label="y")
    return [path] * count


def test_shuffling_makes_no_edge_twice_where_there_are_parallel_ones():
    data = database(parallel_paths(20))
    for seed in range(5):
        rewired = data.shuffled(np.random.default_rng(seed))
        assert entries(rewired) == sorted(set(entries(rewired))) == mirrored(rewired)


def test_a_subset_is_the_database_of_the_chosen_graphs():
    graphs = functional_groups(6)
    chosen = np.array([1, 4])
    subset, expected = database(graphs).graphs_subset(chosen), database([graphs[i] for i in chosen])
    for mine, theirs in zip(subset.rows, expected.rows, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_removing_edges_leaves_the_others_in_place():
    path = nx.path_graph(4)
    nx.set_node_attributes(path, "C", "label")
    data = database([path])
    ends = np.stack([data.source, data.rows.neighbor], 1)
    rest = data.without_edges((ends == [1, 2]).all(1) | (ends == [2, 1]).all(1))
    assert np.stack([rest.source, rest.rows.neighbor], 1).tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]
