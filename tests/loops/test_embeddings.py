from itertools import permutations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher, categorical_edge_match, categorical_node_match

from rwkplus.loops.embeddings import (
    Adjacency,
    find_entries,
    group_by_kind,
    pack,
    reverse_entries,
    totals_by_mark,
)
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import (
    Shape,
    distinct_occurrences,
    exact_embeddings,
    find_occurrences,
    used_entries,
)
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


def test_packing_takes_rows_that_share_nothing_with_rows_taken_before():
    assert pack(np.array([[0, 1], [1, 2], [2, 3], [3, 0]]), 4).tolist() == [True, False, True, False]


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
    groups = group_by_kind(kind, graph, np.column_stack([np.ones(4), np.arange(4)]))
    kinds, counts = np.unique(kind, return_counts=True)
    np.testing.assert_array_equal(groups.kinds, kinds)
    np.testing.assert_array_equal(np.diff(groups.bounds), counts)
    np.testing.assert_array_equal(groups.order, np.argsort(kind, kind="stable"))
    graphs = [np.unique(graph[kind == k]) for k in kinds]
    np.testing.assert_array_equal(groups.totals, np.array([[part.size, part.sum()] for part in graphs]).reshape(-1, 2))


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 3)), max_size=30))
def test_graphs_are_counted_by_mark_as_numpy_would(items):
    marks, graph = (np.array([item[k] for item in items], np.int64) for k in range(2))
    totals = totals_by_mark(marks, graph, np.ones((4, 1)), 4)[:, 0]
    np.testing.assert_array_equal(totals, [np.unique(graph[marks >> k & 1 == 1]).size for k in range(4)])


@given(labelled_graphs())
def test_entries_are_those_of_the_row_of_the_smaller_node(graph):
    data = database(graph)
    nodes = data.rows.label.size
    pairs = np.array([(u, v) for u in range(-1, nodes) for v in range(-1, nodes)])
    entries = find_entries(data.rows, pairs, np.array([[0, 1, 0]]), np.array([0]), directed=False)[:, 0]
    for (u, v), entry in zip(pairs.tolist(), entries.tolist(), strict=True):
        there = u >= 0 and v in data.rows.neighbor[data.rows.indptr[u] : data.rows.indptr[u + 1]]
        assert (entry >= 0) == there
        if there:
            assert (data.source[entry], data.rows.neighbor[entry]) == (min(u, v), max(u, v))


def test_of_parallel_edges_the_entry_is_that_of_the_wanted_label():
    rows = Adjacency(*map(np.array, ([0, 3, 6], [1, 1, 1, 0, 0, 0], [0, 1, 2, 0, 1, 2], [0, 0], [0, 0])))
    edges = np.array([[0, 1, 0], [0, 1, 1], [0, 1, 2]])
    assert find_entries(rows, np.array([[0, 1]]), edges, np.zeros(3, np.int64), directed=False).tolist() == [[0, 1, 2]]


@st.composite
def multigraphs(draw, max_nodes):
    """Connected graphs with directions, two labels, numbers from 0 to 3 on nodes and edges, and parallel edges."""
    n = draw(st.integers(2, max_nodes))
    graph = nx.MultiDiGraph()
    graph.add_nodes_from((v, {"label": draw(st.integers(0, 1)), "mark": draw(st.integers(0, 3))}) for v in range(n))
    pairs = [draw(st.permutations([v, draw(st.integers(0, v - 1))])) for v in range(1, n)]
    pairs += [pair for pair in permutations(range(n), 2) if draw(st.integers(0, 4)) == 0]
    for u, v in pairs:
        graph.add_edge(u, v, label=draw(st.integers(0, 1)), mark=draw(st.integers(0, 3)))
    return graph


def adjacency_of(graph, directed):
    """By hand: every edge in both rows, sorted, once."""
    entries = set()
    for u, v, edge in graph.edges(data=True):
        label = 2 * edge["label"] if directed else edge["label"]
        entries |= {(u, v, label, edge["mark"]), (v, u, label ^ directed, edge["mark"])}
    columns = np.array(sorted(entries)).T
    indptr = np.concatenate([[0], np.bincount(columns[0], minlength=len(graph)).cumsum()])
    nodes = [[graph.nodes[v][name] for v in range(len(graph))] for name in ("label", "mark")]
    return Adjacency(
        indptr, columns[1], columns[2], np.array(nodes[0]), np.zeros(len(graph), int), np.array(nodes[1]), columns[3]
    )


def multi_shape(graph, directed):
    edges = {}
    for u, v, edge in graph.edges(data=True):
        label = 2 * edge["label"] if directed else edge["label"]
        i, j, label = (u, v, label) if u < v else (v, u, label ^ directed)
        edges.setdefault((i, j, label), edge["mark"])
    nodes = [tuple(graph.nodes[v][name] for v in range(len(graph))) for name in ("label", "mark")]
    return Shape(nodes[0], tuple(edges), directed, nodes[1], tuple(edges.values()))


def brute_force(rows, shape):
    """All injective maps that keep labels, marks and edges."""
    entries = {}
    for u in range(rows.label.size):
        for p in range(rows.indptr[u], rows.indptr[u + 1]):
            entries.setdefault((u, int(rows.neighbor[p]), int(rows.edge_label[p])), []).append(int(rows.edge_marks[p]))
    for nodes in permutations(range(rows.label.size), shape.size):
        fits = all(
            rows.label[v] == label and rows.marks[v] & need == need
            for v, label, need in zip(nodes, shape.labels, shape.needs, strict=True)
        )
        if fits and all(
            any(mark & need == need for mark in entries.get((nodes[i], nodes[j], label), []))
            for (i, j, label), need in zip(shape.edges, shape.edge_needs, strict=True)
        ):
            yield nodes


@given(multigraphs(6), multigraphs(3), st.booleans())
@settings(max_examples=150)
def test_directions_parallel_edges_and_marks_are_kept_as_a_brute_force_search_keeps_them(graph, pattern, directed):
    rows, shape = adjacency_of(graph, directed), multi_shape(pattern, directed)
    data = MiningDatabase(rows, 1, 2, 2 * (1 + directed), directed)
    found = exact_embeddings(data, shape)
    assert sorted(map(tuple, found.tolist())) == sorted(brute_force(rows, shape))
    listed = find_occurrences(data, shape)
    assert labelled_images(shape, listed.rows) == labelled_images(shape, found)
    assert len(listed.rows) == len(labelled_images(shape, found))


def labelled_images(shape, rows):
    """Sets of edges of the database that embeddings cover, which tell occurrences apart."""
    return {
        frozenset(
            (row[i], row[j], label) if row[i] < row[j] else (row[j], row[i], shape.mate(label))
            for i, j, label in shape.edges
        )
        for row in rows.tolist()
    }


@given(multigraphs(6), multigraphs(3), st.booleans())
@settings(max_examples=80)
def test_entries_of_an_occurrence_are_the_edges_that_match(graph, pattern, directed):
    rows, shape = adjacency_of(graph, directed), multi_shape(pattern, directed)
    data = MiningDatabase(rows, 1, 2, 2 * (1 + directed), directed)
    found = exact_embeddings(data, shape)
    for nodes, used in zip(found.tolist(), used_entries(data, shape, found).tolist(), strict=True):
        for (i, j, label), need, p in zip(shape.edges, shape.edge_needs, used, strict=True):
            u, v, label = (
                (nodes[i], nodes[j], label) if nodes[i] < nodes[j] else (nodes[j], nodes[i], shape.mate(label))
            )
            assert (data.source[p], rows.neighbor[p], rows.edge_label[p]) == (u, v, label)
            assert rows.edge_marks[p] & need == need
    every = np.arange(rows.neighbor.size)
    back = reverse_entries(rows, data.source, every, directed)
    np.testing.assert_array_equal(rows.neighbor[back], data.source)
    np.testing.assert_array_equal(rows.edge_label[back], rows.edge_label ^ directed)
    np.testing.assert_array_equal(rows.edge_marks[back], rows.edge_marks)
    np.testing.assert_array_equal(back[back], every)


@given(multigraphs(5), st.booleans(), st.randoms())
def test_isomorphic_shapes_with_directions_and_marks_share_a_fingerprint(graph, directed, random):
    order = random.sample(range(len(graph)), len(graph))
    renamed = nx.relabel_nodes(graph, dict(enumerate(order)))
    assert multi_shape(renamed, directed).fingerprint == multi_shape(graph, directed).fingerprint
