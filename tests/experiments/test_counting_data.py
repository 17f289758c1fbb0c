import os
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import GraphMatcher

from experiments.counting import TARGETS, count_subgraphs, load_counting
from rwkplus.errors import DataError, ParameterError

SHAPES = (
    nx.complete_graph(3),
    nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)]),
    nx.star_graph(3),
    nx.cycle_graph(4),
)


def by_search(graph):
    """Count each shape by its distinct sets of edges."""
    counts = []
    for shape in SHAPES:
        found = set()
        for mapping in GraphMatcher(graph, shape).subgraph_monomorphisms_iter():
            place = {p: v for v, p in mapping.items()}
            found.add(frozenset(frozenset((place[u], place[v])) for u, v in shape.edges))
        counts.append(len(found))
    return counts


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_a_search(seed):
    graph = nx.gnp_random_graph(9, 0.4, seed=seed)
    np.testing.assert_allclose(count_subgraphs(nx.to_numpy_array(graph)), by_search(graph))


def test_the_complete_graph():
    counts = count_subgraphs(nx.to_numpy_array(nx.complete_graph(4)))
    np.testing.assert_allclose(counts, [4, 12, 4, 3])


def test_a_missing_or_foreign_file_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("RWKPLUS_DATA", raising=False)
    with pytest.raises(ParameterError, match="RWKPLUS_DATA"):
        load_counting()
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(DataError, match=r"other\.npz"):
        load_counting(tmp_path / "other.npz")
    with pytest.raises(DataError, match=r"nothing\.npz"):
        load_counting(tmp_path / "nothing.npz")


@pytest.mark.skipif(not os.environ.get("RWKPLUS_DATA"), reason="needs RWKPLUS_DATA")
def test_the_real_set_has_the_published_split_and_right_counts():
    data = load_counting()
    assert (len(data.graphs), data.counts.shape) == (5000, (5000, len(TARGETS)))
    splits = [data.train, data.validation, data.test]
    assert [part.size for part in splits] == [1500, 1000, 2500]
    assert all(not np.intersect1d(a, b).size for a, b in combinations(splits, 2))
    for i in (0, 17, 4999):
        adjacency = np.zeros((data.graphs[i].num_nodes,) * 2)
        adjacency[tuple(data.graphs[i].edge_index.numpy())] = 1
        np.testing.assert_allclose(count_subgraphs(adjacency), data.counts[i])
