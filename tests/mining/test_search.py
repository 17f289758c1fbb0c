import networkx as nx
import numpy as np
import pytest

from rwkplus.mining import PatternMiner
from rwkplus.mining.search.greedy import Controls, control_threshold
from rwkplus.table import GraphTable


def test_chance_rarely_exceeds_the_threshold():
    rng = np.random.default_rng(0)
    alarms = [rng.gumbel(2.0, 1.0) > control_threshold(rng.gumbel(2.0, 1.0, 10)) for _ in range(4000)]
    assert 0.005 < np.mean(alarms) < 0.025


def test_wider_scores_raise_the_threshold_and_narrow_ones_do_not_lower_it():
    narrow, wide = np.full(10, 3.0), np.linspace(0, 20, 10)
    assert control_threshold(narrow) == pytest.approx(3.0 + np.log(-1 / np.log(0.99)) - np.euler_gamma)
    assert control_threshold(wide) > wide.max()


@pytest.mark.parametrize("scores", [[], [4.0]])
def test_too_few_controls_give_their_best(scores):
    assert control_threshold(np.array(scores)) == max(scores, default=0.0)


def scored(number):
    return 9.0 + number % 3


@pytest.mark.parametrize("jobs", [None, 2, 3])
def test_as_many_controls_are_looked_at_whatever_the_jobs(jobs):
    controls = Controls(scored, most=10, n_jobs=jobs)
    controls.begin()
    assert controls.beaten_by(400.0)
    assert controls.found == [9.0, 10.0, 11.0]
    assert not controls.beaten_by(10.0)
    made = len(controls.found)
    assert made < 10
    assert controls.beaten_by(400.0)
    assert controls.found == [scored(number) for number in range(made)]
    unclear = controls.threshold + 0.01
    controls.beaten_by(unclear)
    controls.finish()
    assert len(controls.found) == 10


def ring_among_others(rng, with_leaf):
    """A random graph, which often has a ring of five, and that in a share ``with_leaf`` one node more."""
    graph = nx.path_graph(12)
    graph.add_edges_from(nx.gnp_random_graph(12, 0.15, seed=int(rng.integers(2**30))).edges)
    nx.set_node_attributes(graph, {v: "abcd"[int(rng.integers(4))] for v in graph}, "label")
    if rng.random() < 0.7:
        graph.add_nodes_from((v, {"label": label}) for v, label in enumerate("abbca", 12))
        nx.add_cycle(graph, range(12, 17))
        graph.add_edge(15, int(rng.integers(12)))
        if rng.random() < with_leaf:
            graph.add_node(17, label="d")
            graph.add_edge(13, 17)
    return graph


@pytest.mark.parametrize(("with_leaf", "size"), [(0.3, 5), (0.7, 6)])
def test_the_pattern_of_a_large_database_does_not_depend_on_the_sample(with_leaf, size):
    rng = np.random.default_rng(0)
    table = GraphTable.of([ring_among_others(rng, with_leaf) for _ in range(900)])
    for seed in range(5):
        miner = PatternMiner(1, beam_width=3, search_graphs=301, n_controls=0, random_state=seed).fit(table)
        assert miner.patterns_[0].size == size
