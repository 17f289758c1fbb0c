from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.detect import SurpriseDetector
from rwkplus.detect.surprise import learn_levels, look_up, node_scores
from rwkplus.errors import GraphError, ParameterError
from rwkplus.table import GraphTable
from tests.strategies import arrays_of, colored_graphs


def labelled(graph, *labels):
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    return graph


def walks(graph, node, steps):
    """Label sequences of all walks of up to ``steps`` edges from a node: what its color stands for."""
    color, found = graph.nodes[node]["color"], []
    paths = [[node]]
    for _ in range(steps + 1):
        found.append(Counter(tuple(graph.nodes[v]["color"] for v in path) for path in paths))
        paths = [[*path, u] for path in paths for _, u in graph.edges(path[-1])]
    return color, tuple(frozenset(part.items()) for part in found)


def slow_surprise(graphs, steps):
    """-log of the share of (graph, color) pairs under the same coarser color whose color is at most as frequent."""
    result = []
    for step in range(steps + 1):
        coarse = [[walks(g, v, step - 1) if step else None for v in g] for g in graphs]
        fine = [[walks(g, v, step) for v in g] for g in graphs]
        pairs = Counter(pair for c, f in zip(coarse, fine, strict=True) for pair in set(zip(c, f, strict=True)))
        for c, f in zip(coarse, fine, strict=True):
            for pair in zip(c, f, strict=True):
                siblings = [count for other, count in pairs.items() if other[0] == pair[0]]
                part = sum(count for count in siblings if count <= pairs[pair])
                result.append(-np.log(part / sum(siblings)))
    return np.array(result).reshape(steps + 1, -1)


@given(st.lists(colored_graphs(), min_size=1, max_size=5))
def test_surprise_of_fitted_nodes_equals_the_definition(graphs):
    directed = [graph.to_directed() for graph in graphs]
    arrays = arrays_of(GraphTable.of(directed, labels=("color",)))
    _, surprises = learn_levels(arrays, 2)
    np.testing.assert_allclose(np.stack(surprises), slow_surprise(graphs, 2), atol=1e-12)


def test_a_later_graph_counts_as_one_more():
    plain = [labelled(nx.path_graph(2), "a", "b") for _ in range(9)]
    odd = labelled(nx.path_graph(2), "a", "c")
    detector = SurpriseDetector(0.1, steps=1).fit(plain)
    # Labels: 9 graphs have a, 9 have b; c is new, one pair of 19.
    assert -detector.score_samples([odd])[0] == pytest.approx(np.log(19))
    together = SurpriseDetector(0.1, steps=1).fit([*plain, odd])
    # a: 10 graphs, b: 9, c: 1. The later graph was compared with 18 pairs and itself, this one with 19 and itself.
    assert -together.fitted_scores_[-1] == pytest.approx(np.log(20))


def test_surprise_is_not_passed_on_to_neighbors():
    usual = [labelled(nx.path_graph(5), *"abcba") for _ in range(20)]
    odd = labelled(nx.path_graph(5), *"abxba")
    why = SurpriseDetector(steps=3).fit(usual).explain([odd])[0]
    assert why.nodes == (2,)
    assert why.part == (1, 2, 3)


def test_what_differs_everywhere_is_no_surprise():
    rng = np.random.default_rng(0)
    diverse = [labelled(nx.path_graph(2), "hub", f"leaf{i}") for i in range(30)]
    uniform = [labelled(nx.path_graph(2), "core", "shell") for _ in range(30)]
    rng.shuffle(diverse)
    detector = SurpriseDetector(steps=1).fit(diverse[:-1] + uniform)
    new_leaf, new_shell = -detector.score_samples([diverse[-1], labelled(nx.path_graph(2), "core", "hub")])
    assert new_leaf < new_shell


def test_planted_anomalies_rank_high(database):
    scores = -SurpriseDetector().fit(database.graphs).fitted_scores_
    planted = [i for i, anomaly in enumerate(database.anomalies) if anomaly is not None]
    assert np.mean(scores[planted]) > np.quantile(scores, 0.9)


def test_it_is_told_where_only_some_graphs_of_the_same_score_are_flagged():
    # The second score decides between the two: one has the odd atom twice.
    molecules = ["CCC"] * 38 + ["CCO", "OCO"]
    detector = SurpriseDetector(0.05).fit(molecules)
    assert detector.which_are_flagged(detector.judge(molecules)).startswith("scores above")
    few = SurpriseDetector(0.025).fit(molecules)
    judged = few.judge(molecules)
    assert judged.flagged.sum() == 1
    assert (judged.scores == few.offset_).sum() == 2
    threshold = f"{-few.offset_:.3g}"
    told = f"scores above {threshold}, and the most unusual of those at {threshold}"
    assert few.which_are_flagged(judged) == told
    assert told in few._repr_html_()


def test_measurements_and_graphs_without_labels_are_read(graphs):
    plain = [nx.cycle_graph(5) for _ in range(9)]
    assert -SurpriseDetector().fit(plain).score_samples([nx.star_graph(4)])[0] > 0
    for graph in plain:
        nx.set_node_attributes(graph, {v: [float(v), 1.0] for v in graph}, "x")
    assert np.isfinite(SurpriseDetector().fit(plain).fitted_scores_).all()


@pytest.mark.parametrize("contamination", [0, -0.1, 0.51, 1, float("nan"), "auto", None, True])
def test_contamination_is_a_share_of_at_most_a_half(graphs, contamination):
    with pytest.raises(ParameterError, match="contamination"):
        SurpriseDetector(contamination).fit(graphs)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"steps": 1.5}, {"unknown_label": "guess"}])
def test_wrong_parameters_are_refused(graphs, wrong):
    with pytest.raises(ParameterError):
        SurpriseDetector(**wrong).fit(graphs)


def test_unknown_labels_are_new_ignored_or_refused():
    usual = [labelled(nx.path_graph(3), *"aba") for _ in range(10)]
    odd = [labelled(nx.path_graph(3), *"aza")]
    new, ignored = (SurpriseDetector(unknown_label=policy).fit(usual) for policy in ("new", "ignore"))
    assert new.predict(odd) == [-1]
    assert -new.score_samples(odd) > -ignored.score_samples(odd) == [0]
    with pytest.raises(GraphError, match="label 'z', which no fitted graph had"):
        SurpriseDetector(unknown_label="error").fit(usual).predict(odd)


def test_beyond_what_is_ignored_other_surprises_remain():
    usual = [labelled(nx.path_graph(7), *"abcdefg") for _ in range(10)]
    detector = SurpriseDetector(steps=2, unknown_label="ignore").fit(usual)
    one, both = labelled(nx.path_graph(7), *"zbcdefg"), labelled(nx.path_graph(7), *"zbcdegf")
    assert -detector.score_samples([one, both])[0] == 0
    (why,) = detector.explain([both])
    assert why.nodes
    assert set(why.nodes) <= {4, 5, 6}


def test_an_ignored_label_of_an_edge_is_no_surprise():
    def path(last):
        graph = labelled(nx.path_graph(4), *"abcd")
        nx.set_edge_attributes(graph, dict(zip(graph.edges, "xy" + last, strict=True)), "label")
        return graph

    new, ignored = (SurpriseDetector(unknown_label=p).fit([path("x")] * 10) for p in ("new", "ignore"))
    assert -new.score_samples([path("q")]) > -ignored.score_samples([path("q")]) == [0]


def test_labels_are_compared_by_name_whether_or_not_the_fitted_ones_had_names(graphs):
    bare = [graph.clone() for graph in graphs]
    for graph in bare:
        del graph.node_label_names, graph.edge_label_names
    fitted = SurpriseDetector().fit(bare)
    numbers = dict(enumerate(graphs[0].node_label_names))
    renamed = [graph.clone() for graph in graphs]
    for graph in renamed:
        graph.node_label_names = tuple(map(str, numbers))
        graph.edge_label_names = tuple(map(str, range(len(graph.edge_label_names))))
    np.testing.assert_array_equal(fitted.score_samples(renamed), fitted.score_samples(bare))


def test_unlabelled_graphs_are_refused_where_labels_were_fitted(graphs):
    with pytest.raises(GraphError, match="have no labels, those of the fitted graphs had: C, "):
        SurpriseDetector(ignore=("edge_attr",)).fit(graphs).predict([nx.path_graph(3)])


def test_look_up_agrees_with_fitting_on_what_is_common(graphs):
    arrays = arrays_of(graphs)
    levels, own = learn_levels(arrays, 2)
    later = list(look_up(levels, arrays))
    common = own[0] < 0.5
    np.testing.assert_allclose(later[0][common], own[0][common], atol=0.1)
    assert node_scores(arrays, later).shape == (arrays.num_nodes,)


def test_a_new_label_of_an_edge_surprises_as_much_as_one_of_a_node():
    """Even where neighborhoods differ so much that one more of them is none."""
    draw = np.random.default_rng(0)

    def graph(new=None):
        tree = labelled(nx.random_labeled_rooted_tree(12, seed=int(draw.integers(1 << 30))), *draw.choice([*"abc"], 12))
        nx.set_edge_attributes(tree, {edge: str(draw.choice([*"xyz"])) for edge in tree.edges}, "label")
        if new is not None:
            tree.edges[next(iter(tree.edges))]["label"] = new
        return tree

    detector = SurpriseDetector().fit([graph() for _ in range(60)])
    later = [graph() for _ in range(30)]
    odd = [graph("never seen") for _ in range(30)]
    assert detector.levels_[0].unknown[0] > -detector.offset_
    assert (detector.predict(odd) == -1).all()
    assert (detector.predict(later) == -1).mean() < 0.5
    (why,) = detector.explain(odd[:1])
    assert set(next(iter(odd[0].edges))) & set(why.nodes)
