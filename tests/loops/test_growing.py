from itertools import product

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rwkplus.loops.growing import CERTAIN, PRODUCT, SPARE, count_ways, expected_ways, grow_embeddings, ways_of
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import exact_embeddings
from tests.loops.test_embeddings import (
    adjacency_of,
    database,
    labelled_graphs,
    multi_shape,
    multigraphs,
    shape_of,
)


@st.composite
def searches(draw):
    """Two graphs in one database, a pattern with its embeddings, and whether edges have a direction."""
    directed = draw(st.booleans())
    parts = [adjacency_of(draw(multigraphs(5)), directed) for _ in range(2)]
    nodes, entries = parts[0].label.size, parts[0].neighbor.size
    both = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    rows = parts[0]._replace(
        indptr=np.concatenate([parts[0].indptr, parts[1].indptr[1:] + entries]),
        neighbor=np.concatenate([parts[0].neighbor, parts[1].neighbor + nodes]),
        edge_label=both[2],
        label=both[3],
        graph=np.repeat([0, 1], [nodes, parts[1].label.size]),
        marks=both[5],
        edge_marks=both[6],
    )
    data = MiningDatabase(rows, 2, 2, 2 * (1 + directed), directed)
    shape = multi_shape(draw(multigraphs(3)), directed)
    return data, shape, exact_embeddings(data, shape)


def every_way(data, shape, embeddings):
    """By hand: row, step, entry and new node of each edge at an embedding that the pattern does not have."""
    rows = data.rows
    for e, nodes in enumerate(embeddings.tolist()):
        for i, u in enumerate(nodes):
            for p in range(rows.indptr[u], rows.indptr[u + 1]):
                v, edge = int(rows.neighbor[p]), int(rows.edge_label[p])
                if v not in nodes:
                    yield e, (i, shape.size, edge, int(rows.label[v])), p, v
                elif nodes.index(v) > i and (i, nodes.index(v), edge) not in shape.edges:
                    yield e, (i, nodes.index(v), edge, 0), p, -1


@given(searches(), st.booleans())
@settings(max_examples=60)
def test_ways_are_those_that_python_lists(search, closing):
    data, shape, embeddings = search
    rows, weights = data.rows, np.array([[1.0, 3.0], [1.0, 5.0]])
    graphs, ways = {}, {}
    for e, step, p, v in every_way(data, shape, embeddings):
        if not closing or v < 0:
            graphs.setdefault(step, set()).add(int(rows.graph[embeddings[e, 0]]))
            ways.setdefault(step, []).append((e, p, v))
    number, edge, label = data.ends
    ends = number, edge.size, data.num_edge_labels
    kinds, totals = count_ways(rows, *ends, embeddings, shape.edge_array, closing, weights)
    found = {}
    for kind, total in zip(kinds.tolist(), totals.tolist(), strict=True):
        start, rest = divmod(kind, shape.size * data.num_edge_labels + edge.size)
        new = rest - shape.size * data.num_edge_labels
        pair = divmod(rest, data.num_edge_labels)
        found[(start, *pair, 0) if new < 0 else (start, shape.size, int(edge[new]), int(label[new]))] = total
    assert found == {step: weights[sorted(own)].sum(0).tolist() for step, own in graphs.items()}
    for step, own in ways.items():
        taken = ways_of(rows.indptr, rows.neighbor, rows.edge_label, rows.label, embeddings, *step)
        assert list(zip(*(part.tolist() for part in taken), strict=True)) == own


@given(searches(), st.booleans(), st.randoms())
@settings(max_examples=60)
def test_expectations_are_those_of_sets_of_places(search, lacking, random):
    data, shape, embeddings = search
    embeddings = embeddings.copy()
    if lacking and len(embeddings):  # as in distorted copies
        embeddings[::2, shape.size - 1] = -1
    used = np.broadcast_to(shape.ends, (*embeddings.shape, shape.ends.shape[1]))
    pairs = np.array([7.0, 9.0])
    steps = [
        (i, j, way, mode, np.log(random.uniform(0.1, 0.9)))
        for i, j, way in product(range(shape.size), range(shape.size + 1), range(1 + data.directed))
        for mode in ((SPARE,) if j == shape.size else (CERTAIN,) if i == j else (PRODUCT, CERTAIN))
    ]
    random.shuffle(steps)
    columns = [np.array(column) for column in zip(*steps, strict=True)]
    found = expected_ways(data.rows.graph, data.degree, pairs, embeddings, used, columns, data.directed, True)
    for (i, j, way, mode, log_absent), *values in zip(steps, *found, strict=True):
        np.testing.assert_allclose(values, by_sets(data, shape, embeddings, pairs, i, j, way, mode, log_absent))
    shared = expected_ways(
        data.rows.graph, data.degree, pairs, embeddings, shape.ends[None], columns, data.directed, False
    )
    np.testing.assert_array_equal(shared[:2], found[:2])


def by_sets(data, shape, embeddings, pairs, i, j, way, mode, log_absent):
    """By hand: the places of a step, each once, with their rates."""
    j = i if j == shape.size else j
    places = {(row[i], row[j]) for row in embeddings.tolist() if min(row[i], row[j]) >= 0}
    rates = {}
    for u, v in places:
        graph = int(data.rows.graph[u])
        there, back = data.degree[u, way] - shape.ends[i, way], way ^ data.directed
        rate = {
            SPARE: there,
            PRODUCT: there * (data.degree[v, back] - shape.ends[j, back]) / pairs[graph],
            CERTAIN: 1.0,
        }[mode]
        rates.setdefault(graph, []).append(rate)
    if not rates:
        return 0.0, 0.0, 0.0
    in_graph = np.mean([1 - np.exp(sum(own) * log_absent) for own in rates.values()])
    return len(rates), in_graph, np.mean([1 - np.exp(rate * log_absent) for own in rates.values() for rate in own])


@given(labelled_graphs(), labelled_graphs(max_nodes=3))
@settings(max_examples=40)
def test_growing_lists_every_edge_at_an_embedding_that_the_pattern_does_not_use(graph, pattern):
    data, shape = database(graph), shape_of(pattern)
    embeddings = exact_embeddings(data, shape)
    row, start, end, entry, node = grow_embeddings(data.rows, embeddings, shape.edge_array)
    edge = data.rows.edge_label[entry]
    grown = set(zip(row.tolist(), start.tolist(), end.tolist(), edge.tolist(), node.tolist(), strict=True))
    expected = set()
    for r, nodes in enumerate(embeddings.tolist()):
        for i, u in enumerate(nodes):
            for p in range(data.rows.indptr[u], data.rows.indptr[u + 1]):
                v, label = int(data.rows.neighbor[p]), int(data.rows.edge_label[p])
                if v not in nodes:
                    expected.add((r, i, len(nodes), label, v))
                elif nodes.index(v) > i and (i, nodes.index(v), label) not in shape.edges:
                    expected.add((r, i, nodes.index(v), label, -1))
    assert grown == expected


def labelled_path(n):
    path = nx.path_graph(n)
    nx.set_node_attributes(path, 0, "label")
    nx.set_edge_attributes(path, 0, "label")
    return path


def test_missing_positions_do_not_grow():
    data = database(labelled_path(3))
    row, *_ = grow_embeddings(data.rows, np.array([[-1, 1]]), np.empty((0, 3), np.int64))
    assert set(row.tolist()) == {0}
    assert row.size == 2  # both neighbors of the middle node, none of the missing one
