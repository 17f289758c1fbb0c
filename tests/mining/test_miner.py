import json
import warnings

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import GraphMatcher, categorical_edge_match, categorical_node_match
from rdkit.Chem import MolFromSmarts
from sklearn.base import clone

from experiments.testbeds import planted_database, random_pattern
from rwkplus.datasets import functional_groups
from rwkplus.errors import DataError, GraphError, ParameterError, RWKPlusWarning
from rwkplus.mining import Pattern, PatternMiner

NODES = categorical_node_match("label", None)


def same(pattern, target):
    renamed = nx.relabel_nodes(target, {})
    nx.set_node_attributes(renamed, {v: str(label) for v, label in target.nodes(data="label")}, "label")
    return nx.is_isomorphic(pattern.to_networkx(), renamed, node_match=NODES)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("size", "cyclic", "distortion"), [(4, True, 0.1), (6, True, 0.2), (7, False, 0.1)])
def test_a_random_planted_pattern_is_found_exactly(seed, size, cyclic, distortion):
    rng = np.random.default_rng(770_000 + seed)
    target = random_pattern(size, rng, cyclic=cyclic)
    graphs = planted_database([target], rng, distortion=distortion)
    miner = PatternMiner(n_patterns=1, n_controls=0, beam_width=20, random_state=0).fit(graphs)
    assert same(miner.patterns_[0], target)


@pytest.mark.slow
def test_two_planted_patterns_are_found_one_after_the_other():
    rng = np.random.default_rng(880_000)
    targets = [random_pattern(6, rng), random_pattern(5, rng)]
    graphs = planted_database(targets, rng, distortion=0.05)
    miner = PatternMiner(n_patterns=2, n_controls=0, beam_width=20, random_state=0).fit(graphs)
    assert all(any(same(pattern, target) for pattern in miner.patterns_) for target in targets)


@pytest.mark.slow
def test_a_database_without_patterns_yields_none_and_says_so():
    graphs = planted_database([], np.random.default_rng(990_000), num_graphs=60)
    miner = PatternMiner(n_controls=5, beam_width=10, random_state=0)
    with pytest.warns(RWKPlusWarning, match="no pattern occurs more often than by chance"):
        miner.fit(graphs)
    assert miner.patterns_ == []
    with pytest.raises(GraphError, match="no patterns"):
        miner.transform(graphs)


@pytest.fixture(scope="module")
def molecules():
    return functional_groups(60)


@pytest.fixture(scope="module")
def mined(molecules):
    return PatternMiner(n_patterns=3, n_controls=0, beam_width=10, random_state=0).fit(molecules)


def test_support_and_occurrences_are_those_of_subgraph_isomorphism(molecules, mined):
    for pattern in mined.patterns_:
        shape = pattern.to_networkx()
        found = {}
        for i, molecule in enumerate(molecules.to_networkx()):
            matcher = GraphMatcher(molecule, shape, NODES, categorical_edge_match("label", None))
            images = {
                frozenset(frozenset((place[u], place[v])) for u, v in shape.edges)
                for mapping in matcher.subgraph_monomorphisms_iter()
                for place in [{p: v for v, p in mapping.items()}]
            }
            if images:
                found[i] = len(images)
        assert pattern.support == len(found)
        assert pattern.graphs == tuple(sorted(found))
        assert len(pattern.occurrences) == sum(found.values())


def test_occurrences_name_nodes_with_the_labels_of_the_pattern(molecules, mined):
    for pattern in mined.patterns_:
        for occurrence in pattern.occurrences[:20]:
            (graph,) = molecules[occurrence.graph].to_networkx()
            assert tuple(graph.nodes[v]["label"] for v in occurrence.nodes) == pattern.labels
            for i, j, label in pattern.edges:
                assert graph.edges[occurrence.nodes[i], occurrence.nodes[j]]["label"] == label


def test_explained_edges_add_up_from_the_gains(mined):
    np.testing.assert_allclose(mined.explained_, np.cumsum([pattern.gain for pattern in mined.patterns_]))
    assert all(0 < pattern.gain <= pattern.edge_coverage <= 1 for pattern in mined.patterns_)


def test_the_same_seed_gives_the_same_patterns(molecules, mined):
    again = clone(mined).fit(molecules)
    assert [pattern.to_dict() for pattern in again.patterns_] == [pattern.to_dict() for pattern in mined.patterns_]


def test_transform_is_the_cosine_of_walks_with_each_pattern(molecules, mined):
    similarity = mined.transform(molecules)
    assert similarity.shape == (60, len(mined.patterns_))
    assert (similarity >= 0).all()
    assert (similarity <= 1 + 1e-12).all()


def test_a_pattern_survives_json(mined):
    for pattern in mined.patterns_:
        assert Pattern.from_dict(json.loads(json.dumps(pattern.to_dict()))) == pattern


def test_a_pattern_of_elements_and_bonds_is_a_part_of_molecules(mined):
    for pattern in mined.patterns_:
        query = MolFromSmarts(pattern.to_smarts())
        assert (query.GetNumAtoms(), query.GetNumBonds()) == (pattern.size, len(pattern.edges))


def test_building_blocks_of_the_molecules_begin_with_the_ring(molecules):
    miner = PatternMiner(1, criterion="blocks", n_controls=0, beam_width=10, random_state=0).fit(molecules)
    ring = miner.patterns_[0]
    assert ring.labels == ("C",) * 6
    assert len(ring.edges) == 6
    assert ring.support == 60


def test_large_patterns_are_found_where_smaller_ones_score_higher(molecules):
    miner = PatternMiner(2, 7, n_controls=0, beam_width=3, candidates=("grown",)).fit(molecules[:20])
    assert [pattern.size for pattern in miner.patterns_] == [7, 7]


def parallel_triangle(seed):
    """A triangle of y, each side with a random parallel edge, and a random tail."""
    rng = np.random.default_rng(seed)
    graph = nx.MultiGraph()
    for v, label in enumerate("ABC"):
        graph.add_node(v, label=label)
    for u, v in ((0, 1), (1, 2), (0, 2)):
        graph.add_edge(u, v, label="y")
        graph.add_edge(u, v, label=str(rng.choice([*"klmn"])))
    for v in range(3, 7):
        graph.add_node(v, label=str(rng.choice([*"DEFG"])))
        graph.add_edge(v, int(rng.integers(v)), label=str(rng.choice([*"klmn"])))
    return graph


@pytest.mark.parametrize("criterion", ["maximal", "blocks"])
def test_parallel_edges_of_other_labels_are_not_what_a_pattern_explains(criterion):
    graphs = [parallel_triangle(seed) for seed in range(30)]
    miner = PatternMiner(2, (3, 4), criterion=criterion, n_controls=0, beam_width=5).fit(graphs)
    first, *others = miner.patterns_
    assert sorted(first.labels) == ["A", "B", "C"]
    assert first.edge_coverage == pytest.approx(3 / 10)  # the triangle, of ten edges
    assert all(pattern.gain > 0 for pattern in others)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"n_patterns": 0}, "n_patterns"),
        ({"n_patterns": "many"}, "n_patterns"),
        ({"pattern_size": 1}, "pattern_size"),
        ({"pattern_size": (5, 3)}, "pattern_size"),
        ({"pattern_size": "large"}, "pattern_size"),
        ({"criterion": "best"}, "criterion"),
        ({"fidelity": 0}, "fidelity"),
    ],
)
def test_impossible_parameters_are_named(molecules, parameters, named):
    with pytest.raises(ParameterError, match=named):
        PatternMiner(**parameters).fit(molecules)


def test_graphs_of_one_label_are_mined_without_complaint():
    ring = nx.cycle_graph(6)
    nx.set_node_attributes(ring, "A", "label")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        miner = PatternMiner(1, n_controls=0, beam_width=5).fit([ring] * 100)
    assert miner.patterns_[0].support == 100


def test_labels_that_are_no_elements_make_no_molecule():
    pattern = Pattern(("R", "B"), ((0, 1, None),), "maximal", 1.0, 1, 1, (), 1.0, 1.0, 1.0)
    with pytest.raises(DataError, match="molecule"):
        pattern.to_smiles()
    assert pattern.short_name == "path B-R"


def interrupt(*arguments):
    raise KeyboardInterrupt


def interrupt_compiled(*arguments):
    """What Python makes of Ctrl-C as a compiled function returns."""
    raise SystemError("CPUDispatcher returned a result with an exception set") from KeyboardInterrupt()


@pytest.mark.parametrize(
    ("where", "interrupt"),
    [("control", interrupt), ("control", interrupt_compiled), ("one_after_the_other", interrupt)],
)
def test_before_the_first_pattern_there_is_nothing_to_keep(molecules, monkeypatch, where, interrupt):
    """An empty result would look as if there were no patterns."""
    monkeypatch.setattr(f"rwkplus.mining.search.greedy.Search.{where}", interrupt)
    with pytest.raises(KeyboardInterrupt):
        PatternMiner(n_controls=1).fit(molecules)


@pytest.mark.parametrize("interrupt", [interrupt, interrupt_compiled])
def test_an_interrupted_miner_keeps_its_patterns(molecules, interrupt):
    with pytest.warns(RWKPlusWarning, match="stopped early: 1 pattern so far"):
        miner = PatternMiner(3, n_controls=0, random_state=0).fit(molecules, callback=interrupt)
    assert miner.interrupted_
    assert miner.transform(molecules[:4]).shape == (4, 1)


def test_other_errors_of_the_system_are_no_interruption(molecules):
    def fail(*arguments):
        raise SystemError("something else")

    with pytest.raises(SystemError, match="something else"):
        PatternMiner(3, n_controls=0).fit(molecules, callback=fail)


def test_a_single_class_is_refused_before_the_work(molecules, monkeypatch):
    monkeypatch.setattr("rwkplus.mining.search.greedy.Search.control", interrupt)
    with pytest.raises(ParameterError, match="only the class '1'"):
        PatternMiner().fit(molecules, [1] * len(molecules))


@pytest.mark.slow
def test_a_callback_hears_of_controls_and_patterns(molecules):
    steps = []
    miner = PatternMiner(2, n_controls=2, beam_width=5).fit(molecules, callback=steps.append)
    assert [step[:3] for step in steps] == [
        ("controls", 1, 2),
        ("controls", 2, 2),
        *(("patterns", k + 1, 2) for k in range(len(miner.patterns_))),
    ]
    assert [step.values["score"] for step in steps] == [*miner.control_, *(p.score for p in miner.patterns_)]
