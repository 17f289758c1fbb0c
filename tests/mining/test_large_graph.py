import warnings
from itertools import permutations

import networkx as nx
import numpy as np
import pytest

from rwkplus.errors import GraphError, ParameterError, RWKPlusWarning
from rwkplus.loops.cycles import short_cycles
from rwkplus.mining import PatternMiner, load_patterns, save_patterns
from rwkplus.mining.reading import PatternReader
from rwkplus.mining.search import large_graph, whole_graph
from rwkplus.mining.search.chance import Chance
from rwkplus.mining.search.large_graph import cycle_seeds
from rwkplus.mining.search.occurrences import Shape
from rwkplus.mining.search.whole_graph import count_whole, neighborhoods
from rwkplus.table import GraphTable

RING = nx.cycle_graph(4)
RING.add_edge(0, 4)
nx.set_node_attributes(RING, dict(enumerate("abcde")), "label")


def labelled_triangle():
    triangle = nx.cycle_graph(3)
    nx.set_node_attributes(triangle, dict(enumerate("abc")), "label")
    return triangle


def background(nodes, edges, seed, directed=False):
    graph = nx.gnm_random_graph(nodes, edges, seed=seed, directed=directed)
    rng = np.random.default_rng(seed)
    nx.set_node_attributes(graph, {v: "abcde"[rng.integers(5)] for v in graph}, "label")
    return graph, rng


def planted(pattern=RING, copies=60, nodes=2_000, edges=6_000, seed=0, directed=False):
    graph, rng = background(nodes, edges, seed, directed)
    places = rng.permutation(nodes)[: copies * len(pattern)].reshape(copies, -1).tolist()
    for place in places:
        for v, own in enumerate(place):
            graph.nodes[own]["label"] = pattern.nodes[v]["label"]
        graph.add_edges_from((place[u], place[v]) for u, v in pattern.edges)
    return graph, places


def database(graph):
    table = GraphTable.of([graph])
    return PatternReader.fit(table, (), n_classes=8, structural=False, seed=0).read(table)


def miner(n_patterns=1, **settings):
    return PatternMiner(n_patterns, random_state=0, **settings)


def same(pattern, target):
    match = nx.algorithms.isomorphism.categorical_node_match("label", None)
    return nx.is_isomorphic(pattern.to_networkx(), target, node_match=match)


def brute_force(graph, pattern):
    """Occurrences and minimum image by networkx: every monomorphism."""
    matcher = nx.isomorphism.GraphMatcher if not graph.is_directed() else nx.isomorphism.DiGraphMatcher
    match = nx.algorithms.isomorphism.categorical_node_match("label", None)
    maps = list(matcher(graph, pattern, node_match=match).subgraph_monomorphisms_iter())
    images = [{v: node for node, v in found.items()} for found in maps]
    places = {frozenset(frozenset([f[u], f[v]]) for u, v in pattern.edges) for f in images}
    return len(places), min(len({found[v] for found in images}) for v in pattern) if images else 0


@pytest.mark.parametrize("seed", range(2))
def test_a_planted_motif_is_found_with_its_minimum_image(seed):
    graph, places = planted(seed=seed)
    fitted = miner(2).fit([graph])
    pattern = fitted.patterns_[0]
    assert same(pattern, RING)
    times, mni = brute_force(graph, RING)
    assert (pattern.num_occurrences, pattern.mni) == (times, mni)
    assert pattern.mni >= 60
    assert pattern.exhaustive
    assert len(pattern.occurrences) == times
    found = {frozenset(occurrence.nodes) for occurrence in pattern.occurrences}
    assert {frozenset(place) for place in places} <= found
    assert fitted.threshold_ < pattern.score
    assert "minimum image" in str(pattern)


def test_directions_are_part_of_a_pattern():
    ring = nx.DiGraph([(0, 1), (1, 2), (2, 0), (2, 3)])
    nx.set_node_attributes(ring, dict(enumerate("aabc")), "label")
    graph, _ = planted(ring, directed=True, edges=4_000)
    (pattern,) = miner(n_controls=3).fit([graph]).patterns_
    assert pattern.directed
    assert same(pattern, ring)
    assert (pattern.num_occurrences, pattern.mni) == brute_force(graph, ring)


def test_amounts_are_part_of_a_pattern():
    graph, places = planted(edges=5_000)
    rng = np.random.default_rng(0)
    amounts = {(u, v): float(rng.uniform(1, 100)) for u, v in graph.edges}
    for place in places:
        edge = (place[0], place[1])
        amounts[edge if edge in amounts else edge[::-1]] = float(rng.uniform(5_000, 6_000))
    nx.set_edge_attributes(graph, amounts, "amount")
    (pattern,) = miner(n_controls=3).fit([graph]).patterns_
    asked = {
        frozenset(pattern.labels[v] for v in edge[:2]): parts
        for edge, parts in zip(pattern.edges, pattern.edge_conditions, strict=True)
        if parts
    }
    assert set(asked) == {frozenset("ab")}
    assert asked[frozenset("ab")][0].low > 100


def test_a_rewired_graph_has_no_pattern():
    graph, _ = planted()
    nx.double_edge_swap(graph, nswap=30_000, max_tries=300_000, seed=1)
    with pytest.warns(RWKPlusWarning, match="no pattern occurs more often than by chance|no pattern of"):
        assert not miner().fit([graph]).patterns_


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("directed", [False, True])
def test_counts_equal_brute_force(seed, directed):
    graph, rng = background(25, 90, seed, directed)
    for v in graph:
        graph.nodes[v]["label"] = "ab"[int(rng.integers(2))]
    if not directed:
        graph.add_edges_from([(0, 1), (1, 2)])
    nodes = [*graph]
    data, names = database(graph), ("a", "b")
    for size in (2, 3, 4):
        pattern = graph.subgraph(_connected(graph, nodes[int(rng.integers(25))], size)).copy()
        place = {v: k for k, v in enumerate(pattern)}
        pattern = nx.relabel_nodes(pattern, place)
        edges = [(u, v, 0) if u < v else (v, u, 1 * directed) for u, v in pattern.edges]
        shape = Shape(tuple(names.index(pattern.nodes[v]["label"]) for v in range(size)), tuple(edges), directed)
        counted = count_whole(data, shape)
        images = {
            row
            for row in permutations(range(25), size)
            if all(graph.has_edge(row[u], row[v]) for u, v in pattern.edges)
            and all(graph.nodes[row[v]]["label"] == pattern.nodes[v]["label"] for v in pattern)
        }
        assert counted.mni == min(len({row[v] for row in images}) for v in range(size))
        assert counted.times == len(images) // len(shape.automorphisms)
        assert counted.found.exhaustive
        assert np.flatnonzero(counted.nodes).tolist() == sorted({v for row in images for v in row})


def _connected(graph, first, size):
    undirected = graph.to_undirected(as_view=True)
    nodes = [first]
    while len(nodes) < size:
        nodes.append(next(w for v in nodes for w in undirected[v] if w not in nodes))
    return nodes


def test_what_cannot_be_listed_is_counted(monkeypatch):
    star = nx.star_graph(40)
    path = Shape((0, 0, 0), ((0, 1, 0), (1, 2, 0)))
    monkeypatch.setattr(whole_graph, "LISTED", 100)
    counted = count_whole(database(star), path)
    assert (counted.times, counted.mni) == (40 * 39 // 2, 1)
    assert len(counted.found.rows) <= 100
    assert not counted.found.exhaustive
    assert counted.covered.all()


@pytest.mark.parametrize("longest", range(3, 8))
@pytest.mark.parametrize("seed", range(3))
def test_every_short_cycle_is_listed_once(seed, longest):
    graph = nx.gnm_random_graph(30, 75, seed=seed)
    rows, source = database(graph).rows, database(graph).source
    tops = np.random.default_rng(seed).permutation(30)
    found = short_cycles(rows, np.ones(150, bool), tops, longest, most=10**6, steps=10**9).entries
    expected = {
        frozenset(zip(cycle, cycle[1:] + cycle[:1], strict=True))
        for cycle in nx.simple_cycles(graph, length_bound=longest)
    }
    either = {edges | {(v, u) for u, v in edges} for edges in expected}
    ours = [row[row >= 0] for row in found]
    assert all((rows.neighbor[row] == np.roll(source[row], -1)).all() for row in ours)
    listed = [frozenset(zip(source[row].tolist(), rows.neighbor[row].tolist(), strict=True)) for row in ours]
    assert len(listed) == len(expected)
    assert {edges | {(v, u) for u, v in edges} for edges in listed} == either


@pytest.mark.parametrize("directed", [False, True])
def test_pairs_of_ends_are_counted_by_hand(directed):
    graph, _ = background(60, 240, 0, directed)
    data = database(graph)
    pairs = Chance.of(data).end_pairs
    counted = np.zeros_like(pairs)
    for v, label in enumerate(data.rows.label):
        ends = data.direction[data.rows.indptr[v] : data.rows.indptr[v + 1]].tolist()
        for into, out in permutations(ends, 2):
            counted[label, into, out] += 1
    assert (pairs == counted).all()


@pytest.mark.parametrize("directed", [False, True])
def test_chance_expects_as_many_cycles_as_rewired_graphs_have(monkeypatch, directed):
    monkeypatch.setattr(large_graph, "FEWEST", 1)
    graph, rng = background(300, 1_200, 0, directed)
    data = database(graph)
    seeds = list(cycle_seeds(data, Chance.of(data), rng, 4))[:80]
    rewired = [data.shuffled(rng) for _ in range(30)]
    there = np.mean([[count_whole(once, seed.shape).times for seed in seeds] for once in rewired], 0)
    assert sum(seed.expected for seed in seeds) == pytest.approx(there.sum(), rel=0.08)


def test_neighborhoods_are_induced():
    graph, _ = background(300, 900, 0)
    data = database(graph)
    cut = neighborhoods(data, 10, np.random.default_rng(0))
    assert cut.num_graphs == 10
    degree = np.diff(cut.rows.indptr)
    assert (degree > 0).all()
    assert cut.rows.graph[cut.source].tolist() == cut.rows.graph[cut.rows.neighbor].tolist()


def test_blocks_of_one_graph():
    rings = nx.disjoint_union_all([labelled_triangle() for _ in range(200)])
    rng = np.random.default_rng(0)
    rings.add_edges_from(
        (3 * k + int(rng.integers(3)), 3 * int(rng.integers(k)) + int(rng.integers(3))) for k in range(1, 200)
    )
    fitted = miner(criterion="blocks", n_controls=2, search_graphs=60).fit([rings])
    (pattern,) = fitted.patterns_
    assert same(pattern, labelled_triangle())
    assert (pattern.num_occurrences, pattern.mni) == (200, 200)
    assert fitted.score([rings]) == pytest.approx(fitted.explained_[-1])


def test_nodes_that_take_part():
    graph, _ = planted(seed=3)
    fitted = miner(n_controls=0).fit([graph])
    part = fitted.participation([graph])
    assert part.shape == (2_000, 1)
    nodes = {node for occurrence in fitted.patterns_[0].occurrences for node in occurrence.nodes}
    assert set(np.flatnonzero(part.toarray()[:, 0]).tolist()) == nodes
    assert part.sum() == round(fitted.patterns_[0].node_coverage * 2_000)


def test_counts_are_kept_in_files_and_tables(tmp_path):
    pytest.importorskip("pandas")
    graph, _ = planted(seed=3)
    fitted = miner(n_controls=0).fit([graph])
    assert load_patterns(save_patterns(fitted.patterns_, tmp_path / "patterns.json")) == fitted.patterns_
    row = fitted.to_frame().iloc[0]
    assert (row["mni"], row["num_occurrences"]) == (fitted.patterns_[0].mni, fitted.patterns_[0].num_occurrences)


def test_bad_input():
    graph, _ = planted(copies=10, nodes=200, edges=300)
    with pytest.raises(GraphError, match="no graph has an edge"):
        miner().fit([nx.empty_graph(3)])
    with pytest.raises(ParameterError, match="at least 7 nodes, but the largest graph has 5"):
        miner(pattern_size=7).fit([nx.path_graph(5)])
    with pytest.raises(ParameterError, match="there is only one"):
        miner(candidates=("grown", "gradient")).fit([graph])
    with pytest.raises(ParameterError, match="only the class"):
        miner(criterion="contrast").fit([graph], [1])


def test_sizes_are_kept_to():
    graph, _ = planted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = miner(3, pattern_size=(3, 4), n_controls=0).fit([graph])
    assert {pattern.size for pattern in fitted.patterns_} <= {3, 4}


def test_patterns_without_anything_around_them():
    graph = nx.disjoint_union_all([labelled_triangle() for _ in range(30)] + [background(100, 150, 0)[0]])
    (pattern,) = miner(n_controls=3).fit([graph]).patterns_
    assert same(pattern, labelled_triangle())
    assert pattern.mni >= 30


def test_counting_stops_at_a_deadline_and_says_so():
    graph, _ = planted(copies=20, nodes=400, edges=800)
    found = miner(n_controls=0).fit([graph])
    shape, data = found.reader_.shape(found.patterns_[0]), database(graph)
    whole, hasty = count_whole(data, shape), count_whole(data, shape, deadline=0.0)
    assert (whole.found.exhaustive, hasty.found.exhaustive) == (True, False)
    assert 0 < hasty.mni <= hasty.times < whole.times
