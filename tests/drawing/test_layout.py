from itertools import combinations, pairwise

import networkx as nx
import numpy as np
import pytest

from rwkplus.drawing.layout import APART, EDGE, distance_to_edges, layout, nearest


def places(graph, **options):
    return np.array([layout(graph, **options)[v] for v in graph])


def crossings(graph, at):
    def side(a, b, c):
        (x, y), (u, v), (p, q) = at[a], at[b], at[c]
        return (u - x) * (q - y) - (v - y) * (p - x)

    def cross(a, b, c, d):
        return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0

    return sum(cross(*one, *other) for one, other in combinations(graph.edges, 2) if not {*one} & {*other})


FUSED = nx.Graph([*nx.cycle_graph(6).edges, (0, 6), (6, 7), (7, 8), (8, 9), (9, 1)])
GRAPHS = {
    "path": nx.path_graph(9),
    "ring": nx.cycle_graph(6),
    "fused rings": FUSED,
    "tree": nx.balanced_tree(2, 3),
    "star": nx.star_graph(7),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4)),
    "two parts": nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(4)),
    "isolated": nx.empty_graph(3),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_graphs_that_can_be_untangled_are(graph):
    at = layout(graph)
    assert crossings(graph, at) == 0
    points, edges = np.array([at[v] for v in graph]), np.array(graph.edges, dtype=int).reshape(-1, 2)
    assert distance_to_edges(points, edges).min(initial=np.inf) > 0.3 * EDGE
    assert nearest(points) >= 0.6 * EDGE
    assert points.min(0) == pytest.approx([0, 0], abs=1e-6)


@pytest.mark.parametrize("order", [range(6), (0, 3, 1, 5, 2, 4), (5, 1, 3, 0, 4, 2)])
def test_rings_are_regular_polygons(order):
    ring = nx.Graph()
    ring.add_nodes_from(order)
    nx.add_cycle(ring, range(6))
    at = layout(ring)
    sides = [np.hypot(*np.subtract(at[v], at[(v + 1) % 6])) for v in range(6)]
    across = [np.hypot(*np.subtract(at[v], at[v + 3])) for v in range(3)]
    assert max(sides) / min(sides) < 1.01
    assert max(across) / min(across) < 1.01


def test_drawings_are_wider_than_high():
    width, height = np.ptp(places(nx.path_graph(5)), axis=0)
    assert (width, height) == pytest.approx((4 * EDGE, 0), rel=0.02, abs=2)


def test_arrows_lead_to_the_right():
    for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
        at = layout(nx.DiGraph(pairwise(order)))
        assert np.all(np.diff([at[v][0] for v in order]) > 0)


def test_nodes_of_few_keep_their_distance():
    assert nearest(places(nx.complete_graph(8))) >= 0.99 * APART * EDGE


def test_some_nodes_may_have_more_room():
    path = nx.path_graph(4)
    usual, wide = (places(path, apart=apart)[:, 0] for apart in ((), (1, 2)))
    assert abs(wide[2] - wide[1]) > 1.4 * abs(usual[2] - usual[1])


def test_loops_and_names_of_any_kind_do_not_matter():
    graph = nx.MultiDiGraph([(("a", 1), "b"), ("b", "b"), (("a", 1), "b")])
    assert layout(graph) == {("a", 1): (0.0, 0.0), "b": (EDGE, 0.0)}
    assert layout(nx.Graph()) == {}


def test_the_same_graph_has_the_same_layout():
    assert len({tuple(map(tuple, places(nx.petersen_graph()))) for _ in range(3)}) == 1
