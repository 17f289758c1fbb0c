import networkx as nx
import numpy as np
from networkx.algorithms.isomorphism import GraphMatcher, categorical_edge_match, categorical_node_match

from rwkplus.datasets import functional_groups
from rwkplus.mining.search.chance import Chance
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.greedy import labelled_shapes, rated_along_a_path, sampled_shapes
from rwkplus.mining.search.growth import Beam, grow_patterns, single_edges
from rwkplus.mining.search.occurrences import Shape
from tests.strategies import arrays_of

MOLECULES = MiningDatabase.of(arrays_of(functional_groups(40)))
BEAM = Beam(width=10, max_size=6, max_edges=12)


def whole(database):
    graph = nx.Graph()
    graph.add_nodes_from((v, {"label": int(label)}) for v, label in enumerate(database.rows.label))
    ends = zip(database.source.tolist(), database.rows.neighbor.tolist(), database.rows.edge_label, strict=True)
    graph.add_edges_from((u, v, {"label": int(e)}) for u, v, e in ends)
    return graph


def occurs(database, shape):
    graph = nx.Graph()
    graph.add_nodes_from((v, {"label": label}) for v, label in enumerate(shape.labels))
    graph.add_edges_from((i, j, {"label": e}) for i, j, e in shape.edges)
    matcher = GraphMatcher(
        whole(database), graph, categorical_node_match("label", None), categorical_edge_match("label", None)
    )
    return matcher.subgraph_is_monomorphic()


def test_samples_occur_and_are_connected():
    shapes = sampled_shapes(MOLECULES, BEAM, np.random.default_rng(0))
    assert len(shapes) > 5
    assert len({shape.fingerprint for shape in shapes}) == len(shapes)
    for shape in shapes:
        assert 3 <= shape.size <= 6
        assert shape.is_connected
        assert occurs(MOLECULES, shape)


def test_the_same_generator_gives_the_same_samples():
    first, second = (sampled_shapes(MOLECULES, BEAM, np.random.default_rng(7)) for _ in range(2))
    assert first == second


def test_a_shape_grown_along_the_beam_is_rated_as_the_beam_rated_it():
    chance = Chance.of(MOLECULES)
    beam = Beam(width=5, max_size=5, max_edges=5)
    compared = 0
    edges = single_edges(MOLECULES, beam.min_support)
    starts = {grown.shape: grown for grown in edges}
    for grown in grow_patterns(MOLECULES, chance, edges, beam, 0):
        again = rated_along_a_path(MOLECULES, chance, starts, grown.shape, beam)
        if again is not None and again.shape == grown.shape:  # the same path, not only the same shape
            compared += 1
            assert again.support == grown.support
            np.testing.assert_allclose(again.score, grown.score)
    assert compared > 10


def test_what_does_not_occur_is_not_rated():
    nitrogen = Shape((1, 1, 1), ((0, 1, 0), (1, 2, 0), (0, 2, 0)))
    starts = {grown.shape: grown for grown in single_edges(MOLECULES, 1)}
    assert rated_along_a_path(MOLECULES, Chance.of(MOLECULES), starts, nitrogen, BEAM) is None


def test_edge_labels_are_those_most_often_seen():
    ring = Shape((0,) * 6, tuple((min(i, (i + 1) % 6), max(i, (i + 1) % 6), 0) for i in range(6)))
    clique = Shape((0,) * 4, tuple((i, j, 0) for i in range(4) for j in range(i + 1, 4)))
    (found,) = labelled_shapes(MOLECULES, [ring, clique])
    assert occurs(MOLECULES, found)
    assert sorted(e for *_, e in found.edges) == [0, 0, 0, 1, 1, 1]
