import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from experiments.recovery import matches_strictly, recovered
from experiments.testbeds import bipartite_graphs, butterfly, chain_patterns, copies, prism, ring, tailed_triangle
from rwkplus.datasets.generators import triangle_chains
from rwkplus.descriptive.gradient import explained_patterns
from rwkplus.errors import GraphError, ParameterError
from rwkplus.mining.edit_distance import weighted_edit_distance
from tests.descriptive.plain_walks import PlainWalks

QUICK = {"n_restarts": 4, "epochs": 60, "kicks": 4}


def test_the_tailed_triangle_is_recovered_from_its_copies():
    found = explained_patterns(copies(tailed_triangle(), 100), 1, 4, n_restarts=5, epochs=80)
    for r in range(5):
        assert matches_strictly(found.adjacency[r, 0], found.labels(r)[0], tailed_triangle())


@pytest.mark.parametrize("linking", ["rand", "apexbase", "base"])
def test_both_triangles_of_the_chains_are_found(linking):
    found = explained_patterns(triangle_chains(30, linking), 2, 3, **QUICK)
    assert all(recovered(found.to_networkx(), target, strict=True) for target in chain_patterns())


def test_the_bipartite_core_is_the_butterfly():
    found = explained_patterns(bipartite_graphs(30), 1, 4, **QUICK)
    assert recovered(found.to_networkx(), butterfly(), strict=True)


@pytest.mark.parametrize("view", ["identity", "structural"])
@pytest.mark.parametrize("target", [prism(), ring("RRBRRB")], ids=["prism", "ring"])
def test_views_that_tell_nodes_apart_give_the_whole_graph(view, target):
    found = explained_patterns(copies(target, 10), 1, 6, view=view, **QUICK)
    assert (
        weighted_edit_distance(found.adjacency[found.best, 0], found.labels(found.best)[0], target, compare_labels=True)
        == 0
    )


@pytest.mark.slow
def test_the_same_seed_gives_the_same_patterns_and_restarts_do_not_depend_on_their_company():
    graphs = triangle_chains(10)
    together, again = (explained_patterns(graphs, 2, 3, **QUICK) for _ in range(2))
    alone = explained_patterns(graphs, 2, 3, **QUICK | {"n_restarts": 1, "first_restart": 2})
    for field in ("adjacency", "colors", "explained"):
        np.testing.assert_array_equal(getattr(together, field), getattr(again, field))
    np.testing.assert_array_equal(alone.adjacency[0], together.adjacency[2])
    np.testing.assert_array_equal(alone.colors[0], together.colors[2])
    assert alone.explained[0] == pytest.approx(together.explained[2])


@pytest.mark.slow
def test_the_uncompressed_database_gives_the_same_patterns(monkeypatch):
    graphs = triangle_chains(10)
    fast = explained_patterns(graphs, 2, 3, **QUICK)
    monkeypatch.setattr("rwkplus.descriptive.gradient.WalkDatabase", PlainWalks)
    plain = explained_patterns(graphs, 2, 3, **QUICK)
    np.testing.assert_allclose(fast.explained, plain.explained)


def test_refinement_only_adds():
    found = explained_patterns(triangle_chains(10), 3, 3, **QUICK)
    assert (found.explained >= found.decoded - 1e-12).all()
    assert ((found.relaxed > 0) & (found.explained < 1)).all()
    assert found.explained[found.best] == pytest.approx(found.explained.max())


def test_patterns_are_simple_graphs_with_labels():
    found = explained_patterns(triangle_chains(5), 2, 4, **QUICK)
    assert found.adjacency.shape == (4, 2, 4, 4)
    np.testing.assert_array_equal(found.adjacency, found.adjacency.swapaxes(-1, -2))
    assert set(np.unique(found.adjacency)) <= {0, 1}
    assert not np.diagonal(found.adjacency, axis1=-2, axis2=-1).any()
    graph = found.to_networkx()[0]
    assert set(nx.get_node_attributes(graph, "label").values()) <= {"red", "blue", "purple", "green"}


def test_progress_is_told():
    steps = []
    found = explained_patterns(triangle_chains(5), 1, 3, n_restarts=2, epochs=10, kicks=1, callback=steps.append)
    assert steps[0][:3] == ("epochs", 10, 10)
    assert steps[-1] == ("kicks", 1, 1, {"explained": found.explained.max()})


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"n_patterns": 0}, "n_patterns"),
        ({"pattern_size": 1}, "pattern_size"),
        ({"n_restarts": 0}, "n_restarts"),
        ({"n_restarts": 1.5}, "n_restarts"),
        ({"first_restart": -1}, "first_restart"),
        ({"closed": 3}, "closed"),
        ({"steps": 0}, "steps"),
        ({"epochs": -1}, "epochs"),
        ({"closed": (1,)}, "closed"),
        ({"view": "colors"}, "view"),
    ],
)
def test_impossible_arguments_are_named(arguments, name):
    with pytest.raises(ParameterError, match=name):
        explained_patterns(triangle_chains(2), **{"n_patterns": 1, "pattern_size": 3} | arguments)


def test_graphs_it_cannot_read_are_refused_with_the_remedy():
    x, edge_index = torch.eye(2), torch.tensor([[0, 1], [1, 0]])
    cases = {
        "ToUndirected": Data(x=x, edge_index=edge_index[:, :1]),
        "one-hot": Data(x=torch.rand(2, 2), edge_index=edge_index),
        "edge_attr": Data(x=x, edge_index=edge_index, edge_attr=torch.eye(2)),
    }
    for remedy, graph in cases.items():
        with pytest.raises(GraphError, match=remedy):
            explained_patterns([graph], 1, 2)


def test_graphs_without_edges_give_an_answer():
    found = explained_patterns([Data(x=torch.eye(2), edge_index=torch.empty(2, 0, dtype=torch.long))], 1, 2, **QUICK)
    assert np.isfinite(found.explained).all()


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0), np.int64(1)])
def test_numbers_of_numpy_and_seeds_of_chance_are_read(random_state):
    options = {"epochs": 2, "kicks": 0, "n_restarts": np.int64(2), "random_state": random_state}
    assert explained_patterns(triangle_chains(2), 1, 3, **options).explained.shape == (2,)
