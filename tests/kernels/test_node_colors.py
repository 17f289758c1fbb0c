from itertools import pairwise

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rwkplus.kernels.node_colors import ColorTable, count_colors, node_colors
from tests.oracles import color_histogram, node_walk_color, walk_signature
from tests.strategies import arrays_of, colored_graphs, data_list

STEPS = 3


def databases(**fields):
    return st.lists(colored_graphs(max_nodes=4, colors=2, **fields), min_size=2, max_size=3)


def arrays(graphs):
    return arrays_of(data_list(graphs))


def same(values):
    return [[one == other for other in values] for one in values]


@settings(max_examples=40)
@given(databases() | databases(edge_colors=True))
def test_nodes_share_a_color_exactly_when_their_walks_see_the_same(graphs):
    nodes = [(graph, v) for graph in graphs for v in graph]
    for i, colors in enumerate(node_colors(arrays(graphs), STEPS)):
        assert same(colors.tolist()) == same([walk_signature(graph, v, i) for graph, v in nodes])


def test_walks_of_equal_number_but_other_labels_are_told_apart():
    # The centers see as many walks of every length; only the order of labels behind them differs.
    def tree(first, second):
        graph = nx.Graph([(0, 1), (0, 2), (1, 3), (2, 4)])
        graph.graph.update(real=False, edge_colors=False, edge_weights=False)
        nx.set_node_attributes(graph, {0: 0, 1: 1, 2: 2, 3: first, 4: second}, "color")
        return graph

    straight, crossed = tree(1, 2), tree(2, 1)
    colors = list(node_colors(arrays([straight, crossed]), 2))
    assert colors[1][0] == colors[1][5]
    assert colors[2][0] != colors[2][5]
    assert node_walk_color(straight, 0, 2) != node_walk_color(crossed, 0, 2)


def test_the_order_of_labels_along_a_walk_counts():
    # 0 > 1 > 2 > a and 0 > 2 > 1 > b: exchanging a and b changes no multiset of labels, only their order.
    def branches(a, b):
        graph = nx.DiGraph([(0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 6)])
        graph.graph.update(real=False, edge_colors=False, edge_weights=False)
        nx.set_node_attributes(graph, {0: 0, 1: 1, 2: 2, 3: a, 4: 2, 5: 1, 6: b}, "color")
        return graph

    colors = list(node_colors(arrays([branches(1, 2), branches(2, 1)]), 3))
    assert colors[2][0] == colors[2][7]
    assert colors[3][0] != colors[3][7]


@given(databases(edge_colors=True))
def test_more_steps_only_refine(graphs):
    levels = list(node_colors(arrays(graphs), STEPS))
    for coarse, fine in pairwise(levels):
        assert len(set(zip(coarse.tolist(), fine.tolist(), strict=True))) == len(set(fine.tolist()))


@given(databases(), st.integers(1, 2))
def test_colors_mean_the_same_in_every_block_and_for_every_number_of_steps(graphs, cut):
    whole = [c.tolist() for c in node_colors(arrays(graphs), STEPS)]
    parts = [list(node_colors(arrays(part), STEPS)) for part in (graphs[:cut], graphs[cut:]) if part]
    assert [np.concatenate(level).tolist() for level in zip(*parts, strict=True)] == whole
    assert [c.tolist() for c in node_colors(arrays(graphs), 1)] == whole[:2]


@given(databases() | databases(edge_colors=True))
def test_dirac_features_are_counts_of_nodes_with_a_color(graphs):
    for i, level in enumerate(count_colors(arrays(graphs), STEPS, "dirac").counts):
        histograms = [color_histogram(graph, i) for graph in graphs]
        expected = [[sum(a[c] * b[c] for c in a) for b in histograms] for a in histograms]
        assert (level @ level.T).toarray().tolist() == expected


@given(databases() | databases(edge_colors=True))
def test_optimal_assignment_is_the_histogram_intersection(graphs):
    for i, level in enumerate(count_colors(arrays(graphs), STEPS, "optimal").counts):
        histograms = [color_histogram(graph, i) for graph in graphs]
        expected = [[(a & b).total() for b in histograms] for a in histograms]
        assert (level @ level.T).toarray().tolist() == expected


@given(databases(), st.integers(1, 2), st.sampled_from(["dirac", "optimal"]))
def test_tables_merged_from_blocks_hold_and_find_what_the_whole_has(graphs, cut, assignment):
    whole = count_colors(arrays(graphs), STEPS, assignment)
    parts = [count_colors(arrays(part), STEPS, assignment) for part in (graphs[:cut], graphs[cut:]) if part]
    merged = ColorTable.merged([part.tree for part in parts])
    assert [keys.tolist() for keys in merged.keys] == [keys.tolist() for keys in whole.tree.keys]
    for part in parts:
        for i, place in enumerate(merged.locate(part.tree)):
            assert np.array_equal(merged.keys[i][place], part.tree.keys[i])
    for i, place in enumerate(parts[0].tree.locate(whole.tree)):
        there = np.isin(whole.tree.keys[i], parts[0].tree.keys[i])
        assert np.array_equal(place >= 0, there)


@given(st.lists(colored_graphs(min_nodes=0, blank=True), min_size=1, max_size=3))
def test_nodes_without_a_label_are_not_counted(graphs):
    labelled = [sum(color >= 0 for _, color in graph.nodes(data="color")) for graph in graphs]
    for level in count_colors(arrays(graphs), STEPS, "dirac").counts:
        assert np.asarray(level.sum(1)).ravel().tolist() == labelled
