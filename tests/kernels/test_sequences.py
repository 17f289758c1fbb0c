import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.kernels.walk_sequences import count_walks, number
from tests.oracles import count_label_sequences, dense_kernel, sequence_names
from tests.strategies import COLORS, EDGE_COLORS, arrays_of, colored_graphs, data_list

STEPS = 3
NODE_NAMES = [str(i) for i in range(COLORS)]
EDGE_NAMES = [str(i) for i in range(EDGE_COLORS)]
MATCH_ALL = pytest.mark.parametrize("match_all", [True, False], ids=["rwk+", "rwk-"])
CLOSED = pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])


def lists(**fields):
    return st.lists(colored_graphs(min_nodes=0, max_nodes=4, **fields), min_size=1, max_size=3)


def arrays(graphs):
    return arrays_of(data_list(graphs))


def counts_by_name(graphs, **how):
    """Per graph and length, the counts of all sequences that occur, by name."""
    counted = count_walks(arrays(graphs), STEPS, **how)
    names = counted.tree.names(NODE_NAMES, EDGE_NAMES if graphs[0].graph["edge_colors"] else None)
    return [
        [
            {name: count for name, count in zip(names[i], row, strict=True) if count}
            for i, row in enumerate(level.toarray()[g] for level in counted.counts)
        ]
        for g in range(len(graphs))
    ]


def enumerated(graphs, **how):
    levels = range(STEPS + 1)
    return [[{n: c for n, c in sequence_names(g, i, **how).items() if c} for i in levels] for g in graphs]


@MATCH_ALL
@CLOSED
@given(graphs=lists())
def test_counts_equal_enumeration_of_label_sequences(match_all, closed, graphs):
    how = {"match_all": match_all, "closed": closed}
    assert counts_by_name(graphs, **how) == enumerated(graphs, **how)


@MATCH_ALL
@CLOSED
@given(graphs=lists(edge_colors=True, edge_weights=True))
def test_counts_equal_enumeration_with_edge_labels_and_weights(match_all, closed, graphs):
    how = {"match_all": match_all, "closed": closed}
    assert counts_by_name(graphs, **how) == enumerated(graphs, **how)


@CLOSED
@given(graphs=lists(edge_colors=True, edge_weights=True))
def test_as_many_sequences_as_the_oracle_of_the_library_finds(closed, graphs):
    counted = count_walks(arrays(graphs), STEPS, closed=closed)
    for i, level in enumerate(counted.counts):
        for row, graph in zip(level.toarray(), graphs, strict=True):
            oracle = count_label_sequences(graph, i, closed=closed)
            assert sorted(row[row != 0]) == sorted(c for c in oracle.values() if c)


@MATCH_ALL
@CLOSED
@given(graphs=lists(edge_colors=True, edge_weights=True, blank=True))
def test_inner_products_are_the_kernel_also_where_nodes_or_edges_have_no_label(match_all, closed, graphs):
    counted = count_walks(arrays(graphs), STEPS, match_all=match_all, closed=closed)
    for i, level in enumerate(counted.counts[1:]):
        gram = (level @ level.T).toarray()
        for g in range(len(graphs)):
            for h in range(len(graphs)):
                expected = dense_kernel(graphs[g], graphs[h], STEPS, match_all=match_all, closed=closed)
                assert gram[g, h] == expected[i]


def test_the_feature_map_of_a_small_molecule_fits_in_the_head():
    water = nx.path_graph(3)
    water.graph.update(real=False, edge_colors=False, edge_weights=False)
    nx.set_node_attributes(water, {0: 0, 1: 1, 2: 0}, "color")  # 0: hydrogen, 1: oxygen
    counted = count_walks(arrays([water]), 2)
    names = counted.tree.names(["H", "O", "?"], None)
    assert names == [["H", "O"], ["H-O", "O-H"], ["H-O-H", "O-H-O"]]
    assert [level.toarray()[0].tolist() for level in counted.counts] == [[2, 1], [2, 2], [4, 2]]


@pytest.mark.slow
@given(st.lists(st.integers(0, 50), max_size=20), st.sampled_from([0, 3_000_000]))
def test_numbering_is_that_of_unique_for_dense_and_for_wide_keys(keys, offset):
    keys = np.array([key + offset * (key % 2) for key in keys], dtype=np.int64)
    distinct, place = number(keys)
    expected, where = np.unique(keys, return_inverse=True)
    assert np.array_equal(distinct, expected)
    assert np.array_equal(place, where)
