import json
import warnings
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, fisher_exact, ttest_ind

from experiments.testbeds import planted_database, random_pattern
from rwkplus import load
from rwkplus.datasets import planted_molecules
from rwkplus.errors import ParameterError, RWKPlusWarning
from rwkplus.mining import PatternMiner
from rwkplus.mining.contrast import Targets, class_contrasts, mean_differences
from rwkplus.mining.reading import PatternReader
from rwkplus.mining.search.growth import Beam
from rwkplus.mining.search.guided import ALPHA, GuidedSearch, Rounds, SizedControls, Telling, rarity
from rwkplus.reports import mining_report
from rwkplus.reports.mining import what_chance_reaches
from rwkplus.table import GraphTable


def test_counts_odds_and_probability_of_a_small_table():
    y = ["a"] * 10 + ["b"] * 10
    ((a, b),) = class_contrasts([[0, 1, 2, 3, 4, 5, 6, 7, 10]], Targets.of(y, 20))
    assert (a.name, a.support, a.graphs) == ("a", 8, 10)
    assert (b.name, b.support, b.graphs) == ("b", 1, 10)
    assert a.odds_ratio == pytest.approx((8.5 * 9.5) / (2.5 * 1.5))
    assert b.odds_ratio == pytest.approx(1 / a.odds_ratio)
    assert a.p_value == pytest.approx(fisher_exact([[8, 2], [1, 9]]).pvalue)


def test_more_patterns_cost_certainty():
    y = Targets.of([0] * 10 + [1] * 10, 20)
    alone = class_contrasts([range(8)], y)[0][0]
    among = class_contrasts([range(8), [0, 10], [1, 11], [2, 12]], y)[0][0]
    assert alone.p_value == among.p_value
    assert alone.corrected < among.corrected


@pytest.mark.parametrize("missing", [None, np.nan])
def test_graphs_without_a_class_are_left_out_and_counted(missing):
    y = [0, missing, 0, 1, 1, missing]
    targets = Targets.of(y, 6)
    with pytest.warns(RWKPlusWarning, match="2 of 6 graphs have no class in y"):
        targets.warn_of_missing()
    ((zero, one),) = class_contrasts([[0, 1, 2, 5]], targets)
    assert (zero.name, zero.support, zero.graphs) == ("0", 2, 2)
    assert (one.name, one.support, one.graphs) == ("1", 0, 2)


def test_one_class_cannot_be_contrasted():
    with pytest.raises(ParameterError, match="only the class"):
        Targets.of([1, 1], 2)


def test_the_group_that_makes_the_difference_is_told_by_the_miner():
    graphs = planted_molecules(120)
    y = graphs.y.tolist()
    patterns = PatternMiner(4, criterion="blocks", n_controls=0, random_state=0).fit(graphs, y).patterns_
    different = [pattern for pattern in patterns if pattern.contrast[1].corrected < 0.01]
    assert [pattern.labels.count("F") for pattern in different] == [3]
    supports = np.array([[c.support for c in pattern.contrast] for pattern in patterns])
    assert supports.sum(1).tolist() == [pattern.support for pattern in patterns]


def test_several_columns_are_refused_and_one_is_read():
    y = np.array([0, 1] * 5)
    np.testing.assert_array_equal(Targets.of(y[:, None], 10).values, Targets.of(y, 10).values)
    with pytest.raises(ParameterError, match=r"y has shape \(10, 2\)\. Give one class per graph"):
        Targets.of(np.stack([y, 1 - y], 1), 10)


def test_numbers_that_are_not_whole_are_targets():
    assert Targets.of([0.5, 1.0, None], 3).classes == ()
    for y in ([0.0, 1.0], [0, 1], ["0.5", "a"], [0.0, 1.0, np.nan]):
        assert len(Targets.of(y, len(y)).classes) == 2
    miner = PatternMiner(1, criterion="blocks", n_controls=0, beam_width=4)
    miner.fit(planted_molecules(20), np.linspace(0, 1, 20))
    pattern = miner.patterns_[0]
    assert pattern.contrast == ()
    assert pattern.difference is not None
    assert pattern.from_dict(pattern.to_dict()) == pattern


def test_several_real_targets_say_nothing_of_patterns_and_cannot_guide():
    graphs, y = planted_molecules(20), np.random.default_rng(0).normal(size=(20, 2))
    pattern = PatternMiner(1, criterion="blocks", n_controls=0, beam_width=4).fit(graphs, y).patterns_[0]
    assert pattern.contrast == ()
    assert pattern.difference is None
    with pytest.raises(ParameterError, match=r"y has shape \(20, 2\)"):
        PatternMiner(1, criterion="contrast").fit(graphs, y)


@pytest.mark.parametrize(
    ("y", "named"),
    [
        ([None, np.nan], "all targets are missing: there is nothing to contrast"),
        ([0.5, np.inf], "infinite"),
        ([0.5, 0.5], r"all targets are 0\.5: there is nothing to contrast"),
    ],
)
def test_targets_that_say_nothing_are_refused(y, named):
    with pytest.raises(ParameterError, match=named):
        Targets.of(y, 2)


def test_means_and_their_test_are_those_of_scipy():
    y = np.array([5.5, 6.0, 7.5, 1.0, 2.0, np.nan])
    ((inside, outside, p_value, corrected),) = mean_differences([[0, 1, 2, 5]], Targets.of(y, 6))
    assert (inside, outside) == (pytest.approx(19 / 3), 1.5)
    assert p_value == corrected == pytest.approx(ttest_ind(y[:3], y[3:5], equal_var=False).pvalue)


# The search that y guides


@given(st.lists(st.integers(0, 2), min_size=4, max_size=12), st.data())
def test_the_score_is_the_information_gain_and_no_subset_beats_the_bound(y, data):
    y = np.array(y)
    telling = Telling.of(y, 3)
    has = np.array(data.draw(st.lists(st.booleans(), min_size=y.size, max_size=y.size)))
    gain = 0.0
    for there, k in product((True, False), range(3)):
        both = ((has == there) & (y == k)).mean()
        if both:
            gain += both * np.log(both / ((has == there).mean() * (y == k).mean()))
    score = telling.score(has)
    assert score == pytest.approx(y.size * gain, abs=1e-9)
    bound = telling.bounds(telling.weights[has].sum(0)[None])[0]
    fewer = has & np.array(data.draw(st.lists(st.booleans(), min_size=y.size, max_size=y.size)))
    assert telling.scores(telling.weights[fewer].sum(0)[None])[0] <= bound + 1e-9


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=12), st.data())
def test_the_score_of_real_targets_is_the_likelihood_ratio_of_two_means(y, data):
    y = np.array(y)
    has = np.array(data.draw(st.lists(st.booleans(), min_size=y.size, max_size=y.size)))
    if not 0 < has.sum() < y.size or y.std() < 1e-3:
        return
    telling = Telling.of(y, 0)
    within = ((y[has] - y[has].mean()) ** 2).sum() + ((y[~has] - y[~has].mean()) ** 2).sum()
    expected = y.size / 2 * np.log(((y - y.mean()) ** 2).sum() / max(within, 1e-12 * y.size * y.var()))
    assert telling.score(has) == pytest.approx(expected, rel=1e-3, abs=1e-6)


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=12), st.sampled_from([0, 3]), st.data())
def test_likelihoods_of_graphs_add_up_to_the_score(y, num_classes, data):
    y = np.array(y) if num_classes == 0 else np.abs(np.array(y)).astype(int) % num_classes
    has = np.array(data.draw(st.lists(st.booleans(), min_size=y.size, max_size=y.size)))
    if not 0 < has.sum() < y.size or (y.std() < 1e-3 and not num_classes):
        return
    telling = Telling.of(y, num_classes)
    more = telling.likelihoods(has) - telling.likelihoods(np.zeros(y.size, bool))
    score = telling.score(has)
    assert min(more.sum(), 10) == pytest.approx(min(score, 10), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("controls", [1, 3, 10])
def test_chance_beats_its_own_controls_as_often_as_it_is_said_to(controls):
    rng = np.random.default_rng(controls)
    rivals = np.log([10, 300, 4000])

    def search(_=0):
        return np.maximum.accumulate(rng.gumbel(rivals))

    def lowest_chance():
        made = SizedControls(search, most=controls)
        made.found = [search() for _ in range(controls)]
        return min(made.chance_at(score, level) for level, score in enumerate(search()))

    alarms = np.mean([lowest_chance() <= 5 * ALPHA for _ in range(600)])
    assert 2 * ALPHA < alarms < 8 * ALPHA


def test_searches_of_other_lengths_are_compared_by_what_they_reached_last():
    controls = SizedControls(lambda number: np.arange(1.0, number + 3), most=2)
    assert controls.beaten_at(30.0, level=7)
    assert controls.chance_at(30.0, level=7) == controls.chance_at(30.0, level=2) > controls.chance_at(30.0, level=0)
    assert controls.scores.tolist() == [2.0, 3.0]


def rare_class(seed, num_graphs=300, positive=40):
    """Of the first graphs, half hide a square that no other graph has; a triangle is everywhere."""
    rng = np.random.default_rng(seed)
    square, triangle = nx.cycle_graph(4), nx.cycle_graph(3)
    nx.set_node_attributes(square, {0: 0, 1: 1, 2: 2, 3: 3}, "label")
    nx.set_node_attributes(triangle, {0: 0, 1: 0, 2: 1}, "label")
    graphs = []
    for i in range(num_graphs):
        hidden = [triangle, square] if i < positive and i % 2 else [triangle]
        graphs += planted_database(hidden, rng, num_graphs=1)
    return graphs, np.array([1] * positive + [0] * (num_graphs - positive))


def test_what_the_rare_class_has_is_found_before_what_all_have():
    graphs, y = rare_class(0)
    first = PatternMiner(3, criterion="contrast").fit(graphs, y).patterns_[0]
    assert sorted(first.labels) == ["0", "1", "2", "3"]
    assert len(first.edges) == 4
    other, rare = first.contrast
    assert rare.support >= 20 > other.support
    assert rare.corrected < 1e-3


def test_permuted_classes_have_nothing_to_tell():
    graphs, y = rare_class(1)
    y = np.random.default_rng(1).permutation(y)
    with pytest.warns(RWKPlusWarning, match="no pattern tells more of y than chance does"):
        miner = PatternMiner(3, criterion="contrast").fit(graphs, y)
    assert not miner.patterns_


def test_targets_that_are_high_where_a_pattern_is_guide_the_search_too():
    graphs, y = rare_class(2, num_graphs=150, positive=80)
    rng = np.random.default_rng(2)
    has = (y == 1) & (np.arange(y.size) % 2 == 1)
    first = PatternMiner(1, criterion="contrast").fit(graphs, 10.0 + 3.0 * has + rng.normal(size=y.size)).patterns_[0]
    assert sorted(first.labels) == ["0", "1", "2", "3"]
    assert first.difference.with_pattern > first.difference.without + 2


def test_one_target_beyond_all_others_does_not_guide():
    graphs, _ = rare_class(4, num_graphs=100)
    y = np.random.default_rng(4).normal(size=100)
    y[7] = 1e9
    with pytest.warns(RWKPlusWarning, match="no pattern tells more of y than chance does"):
        assert not PatternMiner(1, criterion="contrast").fit(graphs, y).patterns_


def arms(*others):
    """A chain of carbon and nitrogen with further nodes at the nitrogen."""
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, dict(enumerate("CCCN")), "label")
    for node, label in enumerate(others, start=4):
        graph.add_node(node, label=label)
        graph.add_edge(3, node)
    return graph


def test_a_single_edge_may_be_all_there_is_to_tell():
    graphs = [arms("O" if i % 4 < 2 else "S", "H" if i % 2 else "P") for i in range(60)]
    first = PatternMiner(1, 2, criterion="contrast").fit(graphs, [i % 2 for i in range(60)]).patterns_[0]
    assert (sorted(first.labels), first.support) in ((["H", "N"], 30), (["N", "P"], 30))


def test_what_nearly_all_graphs_with_a_pattern_share_is_added():
    graphs = [arms("O", "O") if i % 20 else arms("O") for i in range(60)] + [arms() for _ in range(60)]
    y = [int(i % 6 > 0) for i in range(60)] + [int(i % 6 == 0) for i in range(60)]
    first = PatternMiner(1, criterion="contrast").fit(graphs, y).patterns_[0]
    assert sorted(first.labels).count("O") == 2


def test_missing_classes_are_left_out_and_counted():
    graphs, y = rare_class(3)
    some = [None if i % 10 == 0 else int(value) for i, value in enumerate(y)]
    with pytest.warns(RWKPlusWarning, match="30 of 300 graphs have no class"):
        miner = PatternMiner(1, criterion="contrast").fit(graphs, some)
    assert sum(part.graphs for part in miner.patterns_[0].contrast) == 270


@pytest.mark.parametrize(
    ("y", "named"),
    [
        (None, "needs a class or a target"),
        ([1] + [0] * 19, "y has 2 classes, the largest with 19 and 1 graphs: a contrast needs two with at least 3"),
        (list(range(20)), "y has 20 classes, the largest with 1 and 1 graphs"),
        ([0.5, 1.5, *[None] * 18], "2 graphs have a target"),
    ],
)
def test_what_cannot_guide_is_refused_before_the_work(y, named):
    with pytest.raises(ParameterError, match=named):
        PatternMiner(1, criterion="contrast").fit(planted_molecules(20), y)


def test_classes_too_small_to_be_contrasted_are_told():
    graphs, y = rare_class(5, num_graphs=100)
    y[-1] = 2
    with pytest.warns(RWKPlusWarning, match="1 of 3 classes of y have fewer than 3 graphs"):
        miner = PatternMiner(1, criterion="contrast").fit(graphs, y)
    assert [part.name for part in miner.patterns_[0].contrast] == ["0", "1", "2"]


@pytest.mark.parametrize("values", [np.ones(10_000), np.random.default_rng(0).permutation(10_000) + 0.5])
def test_attributes_that_say_nothing_do_not_stop_a_contrast(values):
    graphs, y = rare_class(6, num_graphs=100)
    rows = iter(values.tolist())
    for graph in graphs:
        nx.set_node_attributes(graph, {v: next(rows) for v in graph}, "amount")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RWKPlusWarning)  # that a column has one value only
        first = PatternMiner(1, criterion="contrast").fit(graphs, y).patterns_[0]
    assert sorted(first.labels) == ["0", "1", "2", "3"]


# Chance


@given(st.integers(2, 9), st.lists(st.floats(0, 300), min_size=2, max_size=5))
def test_rarity_is_the_tail_of_a_chi_squared_variable(freedom, scores):
    expected = -chi2.logsf(2 * np.array(scores), freedom)
    np.testing.assert_allclose(rarity(np.array(scores), freedom), expected, rtol=1e-6, atol=1e-9)
    many = rarity(np.array([1e4, 2e4]), 200)
    assert np.isfinite(many).all()
    assert many[0] < many[1] < 2e4


@pytest.mark.parametrize("freedom", [2, 3, 6])
def test_the_threshold_is_the_score_whose_chance_is_alpha(freedom):
    controls = SizedControls(lambda number: np.array([4.0, 9.0]) + number, most=3, freedom=freedom)
    assert not controls.beaten_at(6.0, level=1)
    assert controls.chance_at(controls.threshold, level=1) == pytest.approx(ALPHA)


def few_graphs(seed, num_graphs):
    """Graphs in which nothing goes with any class."""
    rng = np.random.default_rng(seed)
    return GraphTable.of(planted_database([random_pattern(5, rng)], rng, num_graphs=num_graphs))


@pytest.mark.slow
@pytest.mark.parametrize("num_classes", [2, 20])
def test_permuted_classes_rarely_look_telling(num_classes):
    reader = PatternReader.fit(table := few_graphs(num_classes, 120), (), n_classes=8, structural=False, seed=0)
    telling = Telling.of(np.arange(120) % num_classes, num_classes)
    search, database = GuidedSearch(Beam(width=10, max_size=6), 2, 0), reader.read(table)
    made = [search.control(database, telling, k) for k in range(150)]
    longest, rng, told = max(map(len, made)), np.random.default_rng(0), []
    made = [np.array([*part, *[part[-1]] * (longest - len(part))]) for part in made]
    for _ in range(200):
        one, *others = rng.permutation(len(made))[:6].tolist()
        controls = SizedControls(made.__getitem__, most=5, freedom=num_classes)
        controls.found = [made[k] for k in others]
        told.append(min(controls.chance_at(score, level) for level, score in enumerate(made[one])))
    assert np.mean(np.array(told) <= 5 * ALPHA) < 10 * ALPHA  # 24 in a hundred where 20 classes are judged as two


def test_a_part_of_the_graphs_is_compared_with_itself():
    sizes = []

    class Recorded(GuidedSearch):
        def control(self, database, telling, number):
            sizes.append((database.num_graphs, telling.weights.shape[0]))
            return super().control(database, telling, number)

    graphs = [arms("O" if i % 4 < 2 else "S", "H" if i % 2 else "P") for i in range(120)]
    y = [i % 2 if i % 4 < 2 else int(i % 8 > 4) for i in range(120)]
    reader = PatternReader.fit(table := GraphTable.of(graphs), (), n_classes=8, structural=False, seed=0)
    rounds = Rounds(Recorded(Beam(), 2, 0), reader.read(table), Targets.of(y, 120), 1_800)
    assert len(list(rounds.patterns(SizedControls(rounds.control, most=3)))) >= 2
    assert sizes[:3] == [(120, 120)] * 3
    assert all(0 < graphs == targets < 120 for graphs, targets in sizes[3:])
    assert len(sizes) >= 6


def test_without_controls_no_corrected_p_value_is_told(tmp_path):
    graphs, y = rare_class(7, num_graphs=100)
    miner = PatternMiner(2, criterion="contrast", n_controls=0).fit(graphs, y)
    for pattern in miner.patterns_:
        assert [part.corrected for part in pattern.contrast] == [None, None]
        assert pattern.from_dict(json.loads(json.dumps(pattern.to_dict()))) == pattern
    assert miner.to_frame()["q_1"].isna().all()
    miner.save(tmp_path / "miner")
    assert load(tmp_path / "miner").patterns_ == miner.patterns_
    assert "unknown" in mining_report(miner, graphs, "graphs")


def test_of_searches_in_many_parts_the_price_is_paid():
    chance, parts = 0.002, []

    class Sure(SizedControls):
        def beaten_at(self, score, level):
            return True

        def chance_at(self, score, level):
            return chance

    graphs = [arms("O" if i % 4 < 2 else "S", "H" if i % 2 else "P") for i in range(60)]
    y = [i % 2 if i % 4 < 2 else int(i % 8 > 4) for i in range(60)]
    reader = PatternReader.fit(table := GraphTable.of(graphs), (), n_classes=8, structural=False, seed=0)
    rounds = Rounds(GuidedSearch(Beam(), 2, 0), reader.read(table), Targets.of(y, 60), 1_800)
    controls = Sure(rounds.control, most=3)
    controls.among = lambda control: controls
    parts = [grown.shape for grown in rounds.patterns(controls)]
    assert len(parts) >= 2
    assert rounds.chances[0] == pytest.approx(chance)
    assert rounds.chances[1] == pytest.approx(1 - (1 - chance) ** 3)


def test_when_time_is_over_the_first_pattern_is_told():
    graphs, y = rare_class(8, num_graphs=100)
    with pytest.warns(RWKPlusWarning, match="stopped early: 1 pattern so far"):
        miner = PatternMiner(3, criterion="contrast", max_seconds=1e-9).fit(graphs, y)
    assert miner.interrupted_
    assert miner.patterns_[0].contrast[0].corrected is None
    assert what_chance_reaches(miner).endswith("there was no time for it.")


def test_interrupted_by_hand_it_keeps_what_it_has():
    graphs, y = rare_class(9, num_graphs=100)

    def stop(step):
        if step.phase == "patterns":
            raise KeyboardInterrupt

    with pytest.warns(RWKPlusWarning, match="stopped early: 1 pattern so far"):
        miner = PatternMiner(3, criterion="contrast").fit(graphs, y, callback=stop)
    assert miner.interrupted_
    assert 0 < miner.patterns_[0].contrast[1].corrected < ALPHA
