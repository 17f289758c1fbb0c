import functools
import sys
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher, categorical_edge_match, categorical_node_match
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from rwkplus.datasets import functional_groups
from rwkplus.errors import MissingExtraError, ParameterError, RWKPlusWarning
from rwkplus.mining import Condition, Pattern, PatternMiner
from rwkplus.mining.pattern_parts import Occurrences
from rwkplus.mining.reading import PatternReader
from rwkplus.table import GraphTable
from tests.loops.test_embeddings import labelled_graphs

MATCH = categorical_node_match("label", None), categorical_edge_match("label", None)


Counting = functools.partial(PatternMiner, output="count")
Present = functools.partial(PatternMiner, output="presence")


def with_patterns(kind, graphs, *shapes):
    """A miner that knows the patterns, as if it had found them."""
    miner = kind()
    miner.reader_ = PatternReader.fit(GraphTable.of(graphs), (), n_classes=2, structural=False, seed=0)
    miner.patterns_ = [
        Pattern(
            tuple(str(shape.nodes[v]["label"]) for v in range(len(shape))),
            tuple((min(u, v), max(u, v), str(label)) for u, v, label in shape.edges(data="label")),
            *("maximal", 1.0, 0, 1, Occurrences(np.empty(0, int), np.empty((0, len(shape)), int)), 0.0, 0.0, 0.0),
        )
        for shape in shapes
    ]
    miner.explained_ = np.zeros(len(shapes))
    return miner


@pytest.fixture(scope="module")
def molecules():
    return functional_groups(40)


@pytest.fixture(scope="module")
def mined(molecules):
    return Counting(3, n_controls=0, beam_width=8).fit(molecules, molecules.y.tolist())


# Features


@st.composite
def databases(draw):
    """Graphs in which every label occurs."""
    key = nx.path_graph(3)
    nx.set_node_attributes(key, {0: 0, 1: 1, 2: 0}, "label")
    nx.set_edge_attributes(key, {(0, 1): 0, (1, 2): 1}, "label")
    return [*(draw(labelled_graphs()) for _ in range(draw(st.integers(1, 4)))), key]


def named(graph):
    """Labels as texts, as readers have them."""
    graph = graph.copy()
    for _, own in graph.nodes(data=True):
        own["label"] = str(own["label"])
    for _, _, own in graph.edges(data=True):
        own["label"] = str(own["label"])
    return graph


@given(databases(), st.lists(labelled_graphs(max_nodes=5), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_counts_are_those_of_monomorphisms_without_symmetries(graphs, shapes):
    graphs, shapes = [named(graph) for graph in graphs], [named(shape) for shape in shapes]
    expected = np.zeros((len(graphs), len(shapes)), int)
    for k, shape in enumerate(shapes):
        symmetries = sum(1 for _ in GraphMatcher(shape, shape, *MATCH).isomorphisms_iter())
        for i, graph in enumerate(graphs):
            found = sum(1 for _ in GraphMatcher(graph, shape, *MATCH).subgraph_monomorphisms_iter())
            expected[i, k] = found // symmetries
            assert found % symmetries == 0
    counts = with_patterns(Counting, graphs, *shapes).transform(graphs)
    assert issparse(counts)
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts.toarray(), expected)
    presence = with_patterns(Present, graphs, *shapes).transform(graphs)
    np.testing.assert_array_equal(presence.toarray(), expected > 0)
    assert presence.dtype == np.int64
    assert presence.nnz == (expected > 0).sum()


def test_counts_are_the_occurrences_that_patterns_list(molecules, mined):
    counts = mined.transform(molecules)
    for k, pattern in enumerate(mined.patterns_):
        listed = np.bincount(pattern.occurrences.graph, minlength=len(molecules))
        np.testing.assert_array_equal(counts[:, [k]].toarray().ravel(), listed)


def test_counts_that_stop_early_are_told(molecules):
    dense = nx.complete_graph(40)
    nx.set_node_attributes(dense, "a", "label")
    nx.set_edge_attributes(dense, "x", "label")
    triangle = nx.complete_graph(3)
    nx.set_node_attributes(triangle, "a", "label")
    nx.set_edge_attributes(triangle, "x", "label")
    with pytest.warns(RWKPlusWarning, match=r"more occurrences of triangle a-a-a .*than are counted.*presence"):
        with_patterns(Counting, [dense], triangle).transform([dense])
    assert with_patterns(Present, [dense], triangle).transform([dense]).toarray().tolist() == [[1]]


def test_an_unknown_output_is_refused(molecules, mined):
    miner = with_patterns(Counting, molecules)
    miner.output = "counts"
    with pytest.raises(ParameterError, match="output must be one of similarity, count, presence; got 'counts'"):
        miner.transform(molecules)


def test_features_have_the_names_of_the_patterns(mined):
    names = mined.get_feature_names_out()
    assert names.tolist() == [pattern.short_name for pattern in mined.patterns_]
    twice = with_patterns(Counting, functional_groups(3))
    twice.patterns_ = [mined.patterns_[0], mined.patterns_[1], mined.patterns_[0]]
    assert twice.get_feature_names_out().tolist() == [names[0], names[1], f"{names[0]} (2)"]


@pytest.mark.parametrize("kind", [PatternMiner, Counting, Present])
def test_features_come_as_frames(molecules, mined, kind):
    miner = with_patterns(kind, molecules).set_output(transform="pandas")
    miner.patterns_ = mined.patterns_
    frame = miner.transform(molecules[:5])
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == [pattern.short_name for pattern in mined.patterns_]
    assert frame.shape == (5, len(mined.patterns_))
    miner.set_output(transform="default")
    plain = miner.transform(molecules[:5])
    np.testing.assert_array_equal(frame, plain.toarray() if issparse(plain) else plain)


def test_a_miner_is_a_fingerprint_in_a_pipeline():
    graphs, y = [], []
    for i in range(40):
        graph = nx.cycle_graph(4) if i % 2 else nx.path_graph(5)
        graph.add_edge(0, 6 + i % 3)
        nx.set_node_attributes(graph, "a", "label")
        graphs.append(graph)
        y.append("ring" if i % 2 else "path")
    miner = Counting(2, 4, criterion="blocks", n_controls=0, beam_width=4)
    assert clone(miner).get_params() == miner.get_params()
    scores = cross_val_score(make_pipeline(miner, LogisticRegression()), GraphTable.of(graphs), y, cv=4)
    assert scores.tolist() == [1, 1, 1, 1]


def test_conditions_and_parallel_edges_leave_similarity_to_labels(mined, molecules):
    """The kernel compares labels: what a pattern asks of attributes is no label."""
    similar = with_patterns(PatternMiner, molecules)
    similar.patterns_ = mined.patterns_
    plain = similar.transform(molecules[:5])
    asked = ((Condition("mass", 2, None),), *((),) * (mined.patterns_[0].size - 1))
    similar.patterns_ = [replace(mined.patterns_[0], node_conditions=asked), *mined.patterns_[1:]]
    np.testing.assert_array_equal(similar.transform(molecules[:5]), plain)
    first = mined.patterns_[0]
    i, j, label = first.edges[0]
    other = "=" if label == "-" else "-"
    similar.patterns_ = [replace(first, edges=(*first.edges, (i, j, other))), *mined.patterns_[1:]]
    np.testing.assert_array_equal(similar.transform(molecules[:5])[:, 1:], plain[:, 1:])


# Tables


def test_a_frame_has_a_row_for_every_pattern(mined):
    frame = mined.to_frame()
    assert frame["name"].tolist() == mined.get_feature_names_out().tolist()
    for row, pattern in zip(frame.to_dict("records"), mined.patterns_, strict=True):
        assert row["smarts"] == pattern.to_smarts()
        assert (row["nodes"], row["edges"]) == (pattern.size, len(pattern.edges))
        for name in ("support", "frequency", "score", "gain", "node_coverage", "edge_coverage"):
            assert row[name] == getattr(pattern, name)
        for part in pattern.contrast:
            assert row[f"support_{part.name}"] == part.support
            assert row[f"share_{part.name}"] == part.support / part.graphs
            assert row[f"odds_ratio_{part.name}"] == part.odds_ratio
            assert row[f"q_{part.name}"] == part.corrected
    assert "mni" not in frame


def test_what_is_known_of_no_pattern_has_no_column():
    path = nx.path_graph(3)
    nx.set_node_attributes(path, dict(enumerate("xyz")), "label")
    frame = PatternMiner(1, 3, criterion="blocks", n_controls=0).fit([path] * 5).to_frame()
    assert not {"smarts", "mni"} & set(frame)
    nothing = with_patterns(Counting, [path])
    assert nothing.to_frame().empty
    assert nothing.occurrences_frame().empty
    assert {"name", "support"} <= set(nothing.to_frame())


def test_occurrences_are_listed_with_the_ids_of_the_user():
    cases = [f"case {i // 3}" for i in range(18)]
    people = [f"{['ann', 'bob', 'eve'][i % 3]} {i // 3}" for i in range(18)]
    others = [people[i - i % 3 + (i + 1) % 3] for i in range(18)]
    edges = pd.DataFrame({"case": cases, "from": people, "to": others})
    nodes = pd.DataFrame({"case": cases, "node": people, "label": [*"abc" * 6]})
    table = GraphTable.of(edges=edges, nodes=nodes, graph="case", source="from", target="to")
    miner = PatternMiner(1, 3, criterion="blocks", n_controls=0).fit(table)
    frame = miner.occurrences_frame()
    (pattern,) = miner.patterns_
    assert len(frame) == 3 * len(pattern.occurrences)
    for (graph, occurrence), rows in frame.groupby(["graph", "occurrence"]):
        place = pattern.occurrences[occurrence]
        assert (place.graph, place.nodes) == (graph, tuple(rows.sort_values("position")["node"]))
        assert set(place.nodes) == set(nodes["node"][nodes["case"] == graph])
        assert tuple(rows["label"]) == pattern.labels
    assert set(frame["graph"]) == set(cases)
    assert set(frame["pattern"]) == {0}


def test_without_pandas_that_is_what_is_missing(mined, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for table in (mined.to_frame, mined.occurrences_frame):
        with pytest.raises(MissingExtraError, match="pip install pandas"):
            table()
