import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher, categorical_edge_match, categorical_node_match

from rwkplus.loops.embeddings import find_entries, group_by_kind, grow_embeddings, pack
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import Shape, distinct_occurrences, exact_embeddings, find_occurrences
from tests.strategies import arrays_of


@st.composite
def labelled_graphs(draw, max_nodes=7):
    n = draw(st.integers(2, max_nodes))
    graph = nx.Graph([(v, draw(st.integers(0, v - 1))) for v in range(1, n)])
    graph.add_edges_from((u, v) for u, v in nx.complete_graph(n).edges if draw(st.integers(0, 3)) == 0)
    for v in graph:
        graph.nodes[v]["label"] = draw(st.integers(0, 1))
    for edge in graph.edges:
        graph.edges[edge]["label"] = draw(st.integers(0, 1))
    return graph


def database(*graphs):
    # A last graph with every label fixes the columns: label i is column i.
    key = nx.path_graph(3)
    nx.set_node_attributes(key, {0: 0, 1: 1, 2: 0}, "label")
    nx.set_edge_attributes(key, {(0, 1): 0, (1, 2): 1}, "label")
    return MiningDatabase.of(arrays_of([*graphs, key]))


def shape_of(graph):
    labels = tuple(graph.nodes[v]["label"] for v in range(len(graph)))
    return Shape(labels, tuple((min(e), max(e), graph.edges[e]["label"]) for e in graph.edges))


@given(labelled_graphs(), labelled_graphs(max_nodes=4))
@settings(max_examples=60)
def test_finds_the_same_embeddings_as_networkx(graph, pattern):
    found = exact_embeddings(database(graph), shape_of(pattern))
    in_graph = found[found[:, 0] < len(graph)]
    order = list(graph)
    matcher = GraphMatcher(graph, pattern, categorical_node_match("label", None), categorical_edge_match("label", None))
    expected = set()
    for mapping in matcher.subgraph_monomorphisms_iter():
        place = {p: order.index(v) for v, p in mapping.items()}
        expected.add(tuple(place[p] for p in range(len(pattern))))
    assert {tuple(row) for row in in_graph.tolist()} == expected
    assert len(in_graph) == len(expected)


def test_a_limit_keeps_that_many_embeddings_of_each_graph():
    triangle = nx.complete_graph(3)
    nx.set_node_attributes(triangle, 0, "label")
    nx.set_edge_attributes(triangle, 0, "label")
    data = database(triangle, triangle)
    found = exact_embeddings(data, shape_of(triangle), limit=2)
    assert np.bincount(data.rows.graph[found[:, 0]]).tolist() == [2, 2]


@given(labelled_graphs(), labelled_graphs(max_nodes=3))
@settings(max_examples=40)
def test_growing_lists_every_edge_at_an_embedding_that_the_pattern_does_not_use(graph, pattern):
    data, shape = database(graph), shape_of(pattern)
    embeddings = exact_embeddings(data, shape)
    row, start, end, edge, node = grow_embeddings(data.rows, embeddings, shape.joined)
    grown = set(zip(row.tolist(), start.tolist(), end.tolist(), edge.tolist(), node.tolist(), strict=True))
    expected = set()
    for r, nodes in enumerate(embeddings.tolist()):
        for i, u in enumerate(nodes):
            for p in range(data.rows.indptr[u], data.rows.indptr[u + 1]):
                v, label = int(data.rows.neighbor[p]), int(data.rows.edge_label[p])
                if v not in nodes:
                    expected.add((r, i, len(nodes), label, v))
                elif nodes.index(v) > i and not shape.joined[i, nodes.index(v)]:
                    expected.add((r, i, nodes.index(v), label, -1))
    assert grown == expected


def test_missing_positions_do_not_grow():
    data = database(_labelled_path(3))
    row, *_ = grow_embeddings(data.rows, np.array([[-1, 1]]), np.zeros((2, 2), bool))
    assert set(row.tolist()) == {0}
    assert row.size == 2  # both neighbors of the middle node, none of the missing one


def test_packing_takes_rows_that_share_nothing_with_rows_taken_before():
    assert pack(np.array([[0, 1], [1, 2], [2, 3], [3, 0]]), 4).tolist() == [True, False, True, False]


def _labelled_path(n):
    path = nx.path_graph(n)
    nx.set_node_attributes(path, 0, "label")
    nx.set_edge_attributes(path, 0, "label")
    return path


@given(labelled_graphs(), labelled_graphs(max_nodes=5))
@settings(max_examples=60)
def test_breaking_symmetries_loses_no_occurrence(graph, pattern):
    data, shape = database(graph), shape_of(pattern)
    every = distinct_occurrences(shape, exact_embeddings(data, shape))
    found = find_occurrences(data, shape)
    assert found.exhaustive
    assert images(shape, found.rows) == images(shape, every)


def images(shape, rows):
    return {frozenset(frozenset((row[i], row[j])) for i, j, _ in shape.edges) for row in rows.tolist()}


def test_a_clique_is_found_once_in_itself():
    clique = nx.complete_graph(7)
    nx.set_node_attributes(clique, 0, "label")
    nx.set_edge_attributes(clique, 0, "label")
    assert len(find_occurrences(database(clique), shape_of(clique)).rows) == 1


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=30), st.sampled_from([1, 10**9]))
def test_items_are_grouped_as_numpy_would(items, scale):
    kind = np.array([k for k, _ in items], np.int64) * scale
    graph = np.array([g for _, g in items], np.int64)
    groups = group_by_kind(kind, graph, 4)
    kinds, counts = np.unique(kind, return_counts=True)
    np.testing.assert_array_equal(groups.kinds, kinds)
    np.testing.assert_array_equal(np.diff(groups.bounds), counts)
    np.testing.assert_array_equal(groups.order, np.argsort(kind, kind="stable"))
    np.testing.assert_array_equal(groups.graphs, [np.unique(graph[kind == k]).size for k in kinds])


@given(labelled_graphs())
def test_entries_are_those_of_the_row_of_the_smaller_node(graph):
    data = database(graph)
    nodes = data.rows.label.size
    pairs = np.array([(u, v) for u in range(-1, nodes) for v in range(-1, nodes)])
    rows, (first, second, label) = data.rows, np.array([[0], [1], [0]])
    entries = find_entries(rows.indptr, rows.neighbor, rows.edge_label, pairs, first, second, label)[:, 0]
    for (u, v), entry in zip(pairs.tolist(), entries.tolist(), strict=True):
        there = u >= 0 and v in data.rows.neighbor[data.rows.indptr[u] : data.rows.indptr[u + 1]]
        assert (entry >= 0) == there
        if there:
            assert (data.source[entry], data.rows.neighbor[entry]) == (min(u, v), max(u, v))


def test_of_parallel_edges_the_entry_is_that_of_the_wanted_label():
    indptr, neighbor, labels = np.array([0, 3, 6]), np.array([1, 1, 1, 0, 0, 0]), np.array([0, 1, 2, 0, 1, 2])
    ends = np.zeros(3, np.int64), np.ones(3, np.int64)
    assert find_entries(indptr, neighbor, labels, np.array([[0, 1]]), *ends, np.arange(3)).tolist() == [[0, 1, 2]]
