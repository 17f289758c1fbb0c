"""Whatever graphs people have: without labels, with measurements, few, large, identical, broken."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch_geometric.data import Data

from rwkplus.descriptive.gradient_miner import decoded_shapes
from rwkplus.errors import GraphError, ParameterError, RWKPlusWarning
from rwkplus.mining import PatternMiner
from rwkplus.mining.search.occurrences import LISTED
from rwkplus.table import GraphTable
from rwkplus.table.intervals import AttributeClasses


def quick(*arguments, **options):
    return PatternMiner(*arguments, **{"n_controls": 0, "beam_width": 6, "random_state": 0, **options})


def labelled(graph, labels):
    nx.set_node_attributes(graph, dict(zip(graph, labels, strict=True)), "label")
    return graph


def measured_ring(rng):
    """A ring of high, low, low with a tail of middle values: measurements with noise."""
    graph = nx.cycle_graph(3)
    graph.add_edge(0, 3)
    graph.add_edge(3, 4)
    for v, value in zip(graph, (9, 1, 1, 5, 5), strict=True):
        graph.nodes[v]["x"] = [value + 0.1 * rng.normal(), 7.0]
    return graph


def test_measurements_are_cut_into_classes():
    rng = np.random.default_rng(0)
    graphs = [measured_ring(rng) for _ in range(30)]
    miner = quick(1, criterion="blocks", n_colors=3).fit(graphs)
    pattern = miner.patterns_[0]
    assert pattern.support == 30
    assert set(pattern.labels) <= {"c0", "c1", "c2"}
    low, middle, high = miner.reader_.labels.nodes.classes[0].typical[:, 0]
    assert abs(low - 1) < 0.2
    assert abs(middle - 5) < 0.2
    assert abs(high - 9) < 0.2
    later = [measured_ring(np.random.default_rng(1)) for _ in range(5)]
    assert miner.transform(later).shape == (5, 1)
    assert miner.score(later) > 0


def test_a_pattern_asks_for_an_attribute_where_it_tells_something():
    graphs = []
    for k in range(20):
        graph = labelled(nx.cycle_graph(4), "ABAB")
        nx.set_edge_attributes(graph, dict.fromkeys(graph.edges, 0.5 + k / 100), "attr")
        graph.edges[0, 1]["attr"] = 8.0
        graphs.append(graph)
    pattern = quick(1).fit(graphs).patterns_[0]
    asked = {str(condition) for part in pattern.edge_conditions for condition in part}
    assert "attr >= 8" in asked
    assert pattern.support == 20


def test_other_columns_than_fitted_are_refused():
    rng = np.random.default_rng(0)
    miner = quick(1, criterion="blocks", n_colors=3).fit([measured_ring(rng) for _ in range(30)])
    other = Data(x=torch.rand(2, 5), edge_index=torch.tensor([[0, 1], [1, 0]]))
    with pytest.raises(GraphError, match="'x' holds 5 numbers, the fitted graphs had 2"):
        miner.transform([other])


def lollipops(count):
    rng = np.random.default_rng(3)
    graphs = []
    for _ in range(count):
        graph = nx.complete_graph(4)
        for v in range(4, 4 + int(rng.integers(3, 7))):
            graph.add_edge(v, v - 1)
        graphs.append(graph)
    return graphs


def test_graphs_without_any_attribute_show_their_structure():
    pattern = quick(1).fit(lollipops(40)).patterns_[0]
    assert nx.number_of_edges(pattern.to_networkx().subgraph([])) == 0
    core = nx.k_core(pattern.to_networkx(), 3)
    assert nx.is_isomorphic(core, nx.complete_graph(4))


def test_structural_colors_tell_places_apart():
    miner = quick(1, colors="structural", n_colors=4).fit(lollipops(40))
    assert miner.reader_.labels.nodes.names == ("s0", "s1", "s2", "s3")
    assert len(set(miner.patterns_[0].labels)) > 1
    assert miner.patterns_[0].support > 0


def test_dense_graphs_without_labels_are_counted_without_listing_everything():
    graphs = [nx.complete_graph(16) for _ in range(4)]
    pattern = quick(1, 5, criterion="blocks").fit(graphs).patterns_[0]
    assert pattern.support == 4
    assert not pattern.exhaustive
    assert len(pattern.occurrences) <= 4 * LISTED


@pytest.mark.parametrize("criterion", ["maximal", "blocks"])
def test_cliques_of_the_wanted_size_are_found(criterion):
    graphs = []
    for seed in range(15):
        tail = nx.gnm_random_graph(8, 9, seed=seed)
        labels = np.random.default_rng(seed).choice([*"abcd"], 8)
        graphs.append(nx.disjoint_union(labelled(nx.complete_graph(6), "pqqqqq"), labelled(tail, labels)))
    (pattern,) = quick(1, 6, criterion=criterion, beam_width=3).fit(graphs).patterns_
    assert (pattern.size, len(pattern.edges), pattern.support) == (6, 15, 15)


def test_thousands_of_labels():
    graphs = []
    for k in range(40):
        graph = labelled(nx.path_graph(60), [f"u{60 * k + v}" for v in range(60)])
        for v, label in zip((10, 11, 12), "abc", strict=True):
            graph.nodes[v]["label"] = label
        graphs.append(graph)
    pattern = quick(1).fit(graphs).patterns_[0]
    assert sorted(pattern.labels) == ["a", "b", "c"]
    assert pattern.support == 40


def test_identical_graphs_are_their_own_pattern():
    house = labelled(nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (3, 4)]), "AABBC")
    pattern = quick(1).fit([house] * 50).patterns_[0]
    assert nx.is_isomorphic(pattern.to_networkx(), house)


def test_a_small_graph_has_nothing_to_find():
    with pytest.warns(RWKPlusWarning, match="no pattern"):
        assert not quick().fit([nx.path_graph(5)]).patterns_


def test_graphs_without_edges_are_refused():
    graph = labelled(nx.empty_graph(3), "CCC")
    with pytest.raises(GraphError, match="no graph has an edge"):
        quick().fit([graph, graph])


def test_patterns_larger_than_every_graph_are_refused():
    with pytest.raises(ParameterError, match="at least 9 nodes, but the largest graph has 5"):
        quick(1, (9, 12)).fit([nx.path_graph(5)] * 4)


def test_more_patterns_than_graphs_is_worth_a_warning():
    triangles = [labelled(nx.cycle_graph(3), "ABC")] * 3
    with pytest.warns(RWKPlusWarning, match="5 patterns are more than the 3 graphs"):
        quick(5, criterion="blocks").fit(triangles)


def test_missing_measurements_are_named():
    bad = Data(x=torch.tensor([[1.0], [float("nan")]]), edge_index=torch.tensor([[0, 1], [1, 0]]))
    with pytest.raises(GraphError, match="graph 1"):
        quick().fit([Data(x=torch.ones(2, 1), edge_index=bad.edge_index), bad])


def test_weights_are_refused_by_name():
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, 0.5, "weight")
    with pytest.raises(GraphError, match=r"weights \(column 'weight'.*ignore=\('weight',\)"):
        quick().fit(GraphTable.of([graph, graph], weight="weight"))


def test_classes_must_be_as_many_as_graphs():
    with pytest.raises(ParameterError, match="y has 1 entries for 3 graphs"):
        quick(1).fit([nx.path_graph(4)] * 3, [0])


def test_an_open_number_of_patterns_ends_where_little_is_gained():
    rng = np.random.default_rng(0)
    graphs = []
    for _ in range(60):
        graph = labelled(nx.cycle_graph(5), "AABBC")
        graph.add_edge(0, 5)
        graph.nodes[5]["label"] = str(rng.choice(list("DEF")))
        graphs.append(graph)
    auto = quick("auto", criterion="blocks").fit(graphs)
    assert 1 <= len(auto.patterns_) < 6
    assert all(pattern.gain >= 0.01 for pattern in auto.patterns_[1:])
    assert len(quick((1, 2), criterion="blocks").fit(graphs).patterns_) <= 2
    np.testing.assert_allclose(auto.saved_, np.cumsum([pattern.score for pattern in auto.patterns_]))


def test_gradient_candidates_join_the_pool_and_leave_their_curve():
    triangles = [labelled(nx.cycle_graph(3), "ABC") for _ in range(20)]
    miner = quick(1, 3, candidates=("grown", "sampled", "gradient")).fit(triangles)
    assert miner.training_.size == 80
    assert miner.training_[-1] > miner.training_[0]
    assert sorted(miner.patterns_[0].labels) == ["A", "B", "C"]


def test_gradient_candidates_come_from_graphs_drawn_at_random(monkeypatch):
    trained = {}

    def explained(graphs, *_, **__):
        trained["labels"] = {int(graph.x.argmax(1)[0]) for graph in graphs}
        empty = np.zeros((0, 0, 3, 3), int)
        return SimpleNamespace(history=np.zeros(1), adjacency=empty, colors=empty[..., 0])

    monkeypatch.setattr("rwkplus.descriptive.gradient_miner.explained_patterns", explained)
    table = GraphTable.of([labelled(nx.path_graph(3), letter * 3) for letter in "a" * 60 + "b" * 60])
    decoded_shapes(table, np.arange(120), (3, 3), 0)
    assert trained["labels"] == {0, 1}


def test_gradient_candidates_smaller_than_wanted_are_refused():
    with pytest.raises(ParameterError, match="up to 6 nodes, pattern_size asks for 7"):
        quick(1, (7, 9), candidates=("grown", "gradient")).fit([nx.path_graph(9)] * 3)


def test_maximal_patterns_have_three_nodes_at_least():
    with pytest.raises(ParameterError, match="pattern_size must be at least 3"):
        quick(1, 2).fit([nx.path_graph(4)] * 3)


def test_without_controls_nothing_is_said_about_them():
    with pytest.warns(RWKPlusWarning, match="no pattern of 4 nodes occurs more often than labels and degrees explain"):
        quick(1, 4).fit([nx.path_graph(4)] * 3)


def test_a_failed_fit_changes_nothing():
    triangles = [labelled(nx.cycle_graph(3), "ABC")] * 6
    miner = quick(1, criterion="blocks")
    with pytest.raises(GraphError, match="no graph has an edge"):
        miner.fit([nx.empty_graph(3)])
    for call in (miner.transform, miner.score):
        with pytest.raises(NotFittedError):
            call(triangles)
    assert "<figure" not in miner._repr_html_()
    fitted = dict(vars(miner.fit(triangles)))
    with pytest.raises(GraphError, match="no graph has an edge"):
        miner.fit([nx.empty_graph(3)])
    assert vars(miner) == fitted


def test_patterns_are_columns_of_a_table():
    pd = pytest.importorskip("pandas")
    triangles = [labelled(nx.cycle_graph(3), "ABC")] * 6
    miner = quick(1, criterion="blocks").set_output(transform="pandas")
    table = miner.fit_transform(graph for graph in triangles)
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == miner.get_feature_names_out().tolist() == ["triangle A-B-C"]
    assert len(table) == 6


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("n_patterns", value) for value in (None, 2.5, True, (2,))),
        *(("pattern_size", value) for value in (None, (3.0, 4.0))),
        *(("fidelity", value) for value in (None, "high", 0, float("nan"))),
        *(("candidates", value) for value in (None, 3)),
    ],
)
def test_parameters_of_another_kind_are_named(name, value):
    with pytest.raises(ParameterError, match=name):
        quick(**{name: value}).fit([nx.path_graph(4)] * 3)


@pytest.mark.parametrize("candidates", ["grown", ("sampled",), ("grown", "dreamt")])
def test_unknown_sources_of_candidates_are_refused(candidates):
    with pytest.raises(ParameterError, match="candidates"):
        quick(candidates=candidates).fit([nx.path_graph(4)] * 3)


def test_later_measurements_far_out_are_in_a_class_of_their_own():
    rows = np.random.default_rng(0).normal(size=(500, 2))
    classes = AttributeClasses.learn("x", rows, 4, "c", 0)
    own = classes.read(rows)
    assert own.names == ("c0", "c1", "c2", "c3")
    assert set(own.codes.tolist()) == {0, 1, 2, 3}
    later = classes.read(np.array([[1e6, 0.0], [0.0, 0.0]]))
    assert later.names[-1] == "c*"
    assert later.codes[0] == 4
    assert later.codes[1] < 4


def test_seeds_are_read_as_in_scikit_learn(tmp_path):
    triangles = [labelled(nx.complete_graph(3), "abc") for _ in range(6)]
    for random_state in (None, 3, np.int64(3), np.random.RandomState(0)):
        miner = quick(1, random_state=random_state).fit(triangles)
        assert miner.patterns_[0].support == 6
        again = PatternMiner.load(miner.save(tmp_path / "miner.safetensors"))
        assert again.random_state == again.seed_ == miner.seed_
    assert PatternMiner().random_state == 0
