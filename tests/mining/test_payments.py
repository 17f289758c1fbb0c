"""Patterns of directed graphs with labels and amounts on their edges."""

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import DiGraphMatcher, categorical_edge_match, categorical_node_match

import rwkplus
from rwkplus.datasets import payment_cases
from rwkplus.detect import PatternDetector
from rwkplus.errors import GraphError, ParameterError, RWKPlusWarning
from rwkplus.mining import Pattern, PatternMiner, load_patterns, save_patterns
from rwkplus.mining.reading import cut_points

pytestmark = pytest.mark.filterwarnings("ignore:.*self-loops and repeated edges")


@pytest.fixture(scope="module")
def cases():
    return payment_cases(200)


@pytest.fixture(scope="module")
def mined(cases):
    with pytest.warns(RWKPlusWarning, match="graphs have no class in y"):
        return PatternMiner(2, criterion="contrast").fit(cases, cases.y)


def flows(count, seed=0):
    """Random directed graphs, each with a cycle a, b, c, and a background of other labels."""
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        graph = nx.gnm_random_graph(9, 12, seed=int(rng.integers(10**6)), directed=True)
        nx.set_node_attributes(graph, {v: str(rng.choice([*"abcd"])) for v in graph}, "label")
        graph.add_nodes_from((9 + k, {"label": label}) for k, label in enumerate("abc"))
        graph.add_edges_from([(9, 10), (10, 11), (11, 9), (int(rng.integers(9)), 9)])
        graphs.append(graph)
    return graphs


def test_money_that_goes_round_is_found_with_direction_channel_and_amount(mined):
    ring = mined.patterns_[0]
    assert ring.directed
    graph = ring.to_networkx()
    assert sorted(nx.simple_cycles(graph), key=len)[-1:] != []
    assert len(nx.find_cycle(graph)) == 4
    assert sorted(ring.labels) == ["business", "exchange", "person", "person"]
    assert {label for *_, label in ring.edges} == {"wire"}
    for ((condition,),) in zip(ring.edge_conditions, strict=True):
        assert condition.attribute == "amount"
        assert 1_000 < condition.low <= 9_000
        assert condition.high is None
    other, fraud = ring.contrast
    assert other.support == 0
    assert fraud.support >= 15


def test_every_occurrence_names_accounts_and_holds_what_the_pattern_says(cases, mined):
    ring = mined.patterns_[0]
    graphs = {graph.graph["name"]: graph for graph in cases.to_networkx()}
    for place in ring.occurrences:
        graph = graphs[place.graph]
        assert tuple(graph.nodes[v]["kind"] for v in place.nodes) == ring.labels
        for (i, j, channel), (condition,) in zip(ring.edges, ring.edge_conditions, strict=True):
            between = graph.get_edge_data(place.nodes[i], place.nodes[j]).values()
            assert any(own["channel"] == channel and own["amount"] >= condition.low for own in between)


def test_a_miner_of_payments_survives_the_file(cases, mined, tmp_path):
    again = rwkplus.load(mined.save(tmp_path / "miner.safetensors"))
    assert again.patterns_ == mined.patterns_
    assert again.reader_ == mined.reader_
    assert again.score(cases) == mined.score(cases) > 0
    assert load_patterns(save_patterns(mined.patterns_, tmp_path / "patterns.json")) == mined.patterns_


def test_counts_of_directed_patterns_are_those_of_networkx():
    graphs = flows(12)
    miner = PatternMiner(2, criterion="blocks", n_controls=0, beam_width=8, output="count").fit(graphs)
    counts = miner.transform(graphs).toarray()
    match = categorical_node_match("label", None), categorical_edge_match("label", None)
    for k, pattern in enumerate(miner.patterns_):
        shape = pattern.to_networkx()
        symmetries = sum(1 for _ in DiGraphMatcher(shape, shape, *match).isomorphisms_iter())
        for i, graph in enumerate(graphs):
            found = sum(1 for _ in DiGraphMatcher(graph, shape, *match).subgraph_monomorphisms_iter())
            assert counts[i, k] == found / symmetries


def test_a_cycle_is_no_acyclic_triangle():
    pattern = PatternMiner(1, n_controls=0, beam_width=10).fit(flows(60)).patterns_[0]
    assert sorted(pattern.labels) == ["a", "b", "c"]
    assert nx.is_isomorphic(pattern.to_networkx(), nx.cycle_graph(3, nx.DiGraph))
    assert pattern.support == 60


def test_directed_graphs_without_a_pattern_have_none():
    graphs = [graph.subgraph(range(9)).copy() for graph in flows(60, seed=5)]
    with pytest.warns(RWKPlusWarning, match="no pattern occurs more often than by chance"):
        miner = PatternMiner(1, beam_width=10).fit(graphs)
    assert not miner.patterns_


def test_later_graphs_must_be_directed_alike():
    miner = PatternMiner(1, n_controls=0, beam_width=6).fit(flows(20))
    with pytest.raises(GraphError, match="these graphs are undirected, the mined ones were not"):
        miner.score([nx.Graph(graph) for graph in flows(3)])


def test_edges_in_both_directions_are_undirected_ones():
    undirected = [nx.Graph(graph) for graph in flows(20)]
    one = PatternMiner(1, n_controls=0, beam_width=6).fit(undirected)
    other = PatternMiner(1, n_controls=0, beam_width=6).fit([graph.to_directed() for graph in undirected])
    assert not other.reader_.directed
    assert other.patterns_[0].edges == one.patterns_[0].edges
    assert other.score([graph.to_directed() for graph in undirected]) == one.score(undirected)


def test_detectors_explain_by_directed_patterns(cases):
    detector = PatternDetector(0.1, PatternMiner(3, criterion="blocks", n_controls=0, beam_width=5)).fit(cases[:40])
    assert detector.explain(cases[:1])[0].node_scores.shape == (cases[0].num_nodes,)
    assert (detector.predict(cases[:40]) == -1).sum() == 4


def test_missing_amounts_meet_no_condition_and_constant_ones_are_told():
    graphs = flows(30)
    for graph in graphs:
        nx.set_edge_attributes(graph, 7.0, "fee")
        nx.set_edge_attributes(graph, float("nan"), "tax")
        nx.set_edge_attributes(graph, {edge: float(k) for k, edge in enumerate(graph.edges)}, "time")
        graph.edges[9, 10]["time"] = None
    with (
        pytest.warns(RWKPlusWarning, match="'fee' of the edges has only one value"),
        pytest.warns(RWKPlusWarning, match="'tax' of the edges has no values"),
    ):
        miner = PatternMiner(1, n_controls=0, beam_width=6).fit(graphs)
    assert [cuts.column for cuts in miner.reader_.edges] == ["time"]
    with pytest.raises(GraphError, match="the edges have no column of numbers 'time'"):
        miner.score(flows(2))


def test_a_slip_in_a_column_to_ignore_is_told(cases):
    with pytest.raises(ParameterError, match="there is no 'amonut' to ignore, but 'amount'"):
        PatternMiner(1, n_controls=0, ignore=("amonut",)).fit(cases)


def test_nodes_without_labels_are_not_called_by_any():
    graphs = flows(20)
    for graph in graphs:
        for own in graph.nodes.values():
            own.clear()
    miner = PatternMiner(1, 3, criterion="blocks", n_controls=0, beam_width=6).fit(graphs)
    pattern = miner.patterns_[0]
    assert not pattern.labelled
    assert " node " in pattern.short_name
    assert pattern.to_cypher().startswith("MATCH (n0)-[")
    assert Pattern.from_dict(pattern.to_dict()) == pattern
    assert miner.transform(graphs).shape == (20, 1)
    assert set(dict(pattern.drawn().nodes(data="label")).values()) == {""}


def test_more_columns_of_numbers_than_patterns_can_tell_of_are_refused():
    graphs = flows(5)
    for graph in graphs:
        for k in range(31):
            nx.set_node_attributes(graph, {v: v + k / 10 for v in graph}, f"x{k}")
    with pytest.raises(GraphError, match="31 columns of numbers, but patterns can use at most 30"):
        PatternMiner(1, n_controls=0).fit(graphs)


def test_cuts_part_the_values_and_are_few_and_short():
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=500), rng.lognormal(5, 2, 500), rng.integers(0, 40, 500).astype(float)):
        cuts = cut_points(values, 6)
        assert 1 <= len(cuts) <= 6
        assert list(cuts) == sorted(set(cuts))
        shares = np.diff([0, *(np.searchsorted(np.sort(values), cut) for cut in cuts), values.size])
        assert (shares > 0).all()
        assert all(len(f"{cut:g}") <= 7 for cut in cuts)
    assert cut_points(np.ones(9), 6) == ()


def test_a_time_budget_returns_what_was_found_so_far(cases):
    with pytest.warns(RWKPlusWarning, match="stopped early"):
        miner = PatternMiner(20, criterion="blocks", n_controls=0, max_seconds=1e-3).fit(cases)
    assert miner.interrupted_
    assert len(miner.patterns_) <= 1


@pytest.mark.parametrize("seconds", [0, -1, True, "a minute", float("nan")])
def test_a_time_budget_is_a_number_above_zero(cases, seconds):
    with pytest.raises(ParameterError, match="max_seconds must be a number above 0"):
        PatternMiner(max_seconds=seconds).fit(cases)


def test_gradients_know_no_directions(cases):
    with pytest.raises(ParameterError, match="candidates by gradient are undirected"):
        PatternMiner(candidates=("grown", "gradient")).fit(cases.without(["amount"]))


@pytest.mark.slow
def test_several_jobs_find_the_same(cases):
    one = PatternMiner(2, n_controls=4, beam_width=6).fit(cases[:60])
    two = PatternMiner(2, n_controls=4, beam_width=6, n_jobs=2).fit(cases[:60])
    assert one.patterns_ == two.patterns_
