import networkx as nx
import numpy as np
from hypothesis import given

from rwkplus.mining.search.occurrences import Shape
from tests.loops.test_embeddings import labelled_graphs, shape_of


@given(labelled_graphs())
def test_isomorphic_shapes_share_a_fingerprint(graph):
    order = list(reversed(range(len(graph))))
    renamed = nx.relabel_nodes(graph, dict(enumerate(order)))
    assert shape_of(renamed).fingerprint == shape_of(graph).fingerprint


def test_another_label_or_edge_makes_another_fingerprint():
    path = Shape((0, 0, 1), ((0, 1, 0), (1, 2, 0)))
    assert path.fingerprint != Shape((0, 1, 0), ((0, 1, 0), (1, 2, 0))).fingerprint
    assert path.fingerprint != Shape((0, 0, 1), ((0, 1, 0), (1, 2, 1))).fingerprint
    assert path.fingerprint != path.with_edge(0, 2, 0).fingerprint


@given(labelled_graphs())
def test_the_plan_reaches_every_node_over_an_edge_and_checks_all_others(graph):
    shape = shape_of(graph)
    plan, order = shape.plan, shape.search_order
    assert sorted(order) == list(range(shape.size))
    met = set()
    for k in range(1, shape.size):
        places = [plan.anchor[k], *plan.check[plan.check_ptr[k] : plan.check_ptr[k + 1]]]
        labels = [plan.anchor_edge[k], *plan.check_edge[plan.check_ptr[k] : plan.check_ptr[k + 1]]]
        for place, label in zip(places, labels, strict=True):
            assert place < k
            i, j = sorted((order[place], order[k]))
            met.add((i, j, int(label)))
    assert met == set(shape.edges)
    np.testing.assert_array_equal(plan.label, [shape.labels[v] for v in order])
