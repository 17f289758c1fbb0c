from dataclasses import fields

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rwkplus.errors import GraphError
from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel, explicit_features
from rwkplus.table import GraphTable, Reader
from rwkplus.table.arrays import ReadGraphs, map_blocks
from tests.strategies import colored_graphs, random_graphs
from tests.table.test_reader import graph

SIZES = (3, 0, 1, 5, 2)


@pytest.fixture(name="read")
def _read():
    graphs = [graph("CONCO"[:n], {"label": "-=-="}) for n in SIZES]
    for own in graphs:
        nx.set_edge_attributes(own, 0.5, "sum")
    table = GraphTable.of(graphs, weight="sum")
    return ReadGraphs(table, Reader.fit(table))


def assert_same(one, other):
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b, field.name


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize(("start", "stop"), [(0, 5), (0, 2), (1, 2), (2, 5), (3, 4), (4, 5), (2, 2)])
def test_a_block_of_arrays_equals_the_arrays_of_its_graphs_alone(read, labels, start, stop):
    block = read.arrays(labels=labels).block(start, stop)
    assert_same(block, read.reader.read(read.table[start:stop], labels=labels))


@pytest.mark.parametrize("max_nodes", [1, 2, 3, 4, 5, 6, 100])
def test_blocks_cover_every_graph_once_and_keep_to_the_limit(read, max_nodes):
    arrays = read.arrays()
    ranges = list(arrays.blocks(max_nodes))
    assert [i for start, stop in ranges for i in range(start, stop)] == list(range(5))
    for start, stop in ranges:
        assert sum(SIZES[start:stop]) <= max_nodes or stop - start == 1
    for (start, stop), block in zip(ranges, read.blocks(max_nodes), strict=True):
        assert_same(arrays.block(start, stop), block.arrays())


def test_every_node_knows_its_graph(read):
    arrays = read.arrays()
    assert (len(read), arrays.num_graphs, arrays.num_nodes) == (5, 5, 11)
    assert arrays.graph.tolist() == [0, 0, 0, 2, 3, 3, 3, 3, 3, 4, 4]


def test_narrower_arrays_keep_the_first_columns(read):
    arrays = read.arrays(labels=False)
    narrow = arrays.with_width(2, 1)
    assert np.array_equal(narrow.x, arrays.x[:, :2])
    assert np.array_equal(narrow.edge_attr, arrays.edge_attr[:, :1])


@pytest.mark.parametrize("n_jobs", [None, 1])
@pytest.mark.parametrize("max_nodes", [1, 4, 11])
def test_results_come_in_the_order_of_the_blocks(read, max_nodes, n_jobs):
    sizes = list(map_blocks(_sizes, read, max_nodes, n_jobs))
    assert [size for part in sizes for size in part] == list(SIZES)


def _sizes(block):
    return np.diff(block.table.node_ptr).tolist()


def test_errors_in_a_block_name_the_graph_of_the_whole():
    graphs = [graph("C", mass=[1.0]) for _ in range(4)]
    fitted = GraphTable.of(graphs)
    graphs[3].nodes[0]["mass"] = None
    later = ReadGraphs(GraphTable.of(graphs), Reader.fit(fitted))
    with pytest.raises(GraphError, match="graph 3: node 0: 'mass'"):
        list(map_blocks(_sizes_read, later, 2, None))


def _sizes_read(block):
    return block.arrays(labels=False).num_nodes


@pytest.mark.parametrize("how", [{}, {"kernel": "rwk-"}, {"kernel": "node-centric"}], ids=["rwk+", "rwk-", "colors"])
def test_features_of_blocks_are_those_of_all_graphs_at_once(monkeypatch, how):
    graphs = random_graphs(9, edge_colors=True)
    table = GraphTable.of(graphs, labels=("color",), ignore=("x", "attr"))
    later = GraphTable.of(random_graphs(7, seed=1, edge_colors=True), labels=("color",), ignore=("x", "attr"))
    features, kernel = (make(steps=2, **how) for make in (RandomWalkFeatures, RandomWalkKernel))
    expected = features.fit_transform(table), features.transform(later), kernel.fit(table).transform(later)
    monkeypatch.setattr(explicit_features, "BLOCK_NODES", 12)
    found = features.fit_transform(table), features.transform(later), kernel.fit(table).transform(later)
    for one, other in zip(expected, found, strict=True):
        assert np.array_equal(*(part if isinstance(part, np.ndarray) else part.toarray() for part in (one, other)))


@settings(max_examples=10)
@given(st.lists(colored_graphs(directed=False), min_size=3, max_size=5))
def test_hashed_features_of_new_labels_do_not_depend_on_blocks(graphs):
    fitted, table = (GraphTable.of(own, labels=("color",)) for own in (graphs[:1], graphs))
    features = RandomWalkFeatures(steps=2, hash_width=64).fit(fitted)
    with pytest.MonkeyPatch.context() as patch:
        whole = features.transform(table)
        patch.setattr(explicit_features, "BLOCK_NODES", 2)
        assert np.array_equal(features.transform(table).toarray(), whole.toarray())
