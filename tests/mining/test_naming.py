import random
from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import categorical_edge_match, categorical_node_match

from rwkplus.mining import describe

BUTTERFLY = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]
BARBELL = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)]


def fused(size, first, second):
    graph = nx.cycle_graph(size)
    graph.add_edge(first, second)
    return graph


def tailed(graph, host):
    graph.add_edge(host, len(graph))
    return graph


@pytest.mark.parametrize(
    ("graph", "labels", "name"),
    [
        (nx.path_graph(1), "A", "node A"),
        (nx.path_graph(3), "BAC", "path B-A-C"),
        (nx.path_graph(2), "BA", "path A-B"),
        (nx.cycle_graph(3), "BAA", "triangle A-A-B"),
        (nx.cycle_graph(4), "ABAB", "4-ring A-B-A-B"),
        (nx.complete_graph(4), "AABB", "4-clique 2 x A, 2 x B"),
        (tailed(nx.complete_graph(4), 1), "AABBC", "4-clique 2 x A, 2 x B with C at A"),
        (nx.star_graph(3), "CAAB", "star C(2 x A, B)"),
        (nx.Graph([(0, 1), (1, 2), (2, 3), (1, 4)]), "ABCAA", "tree B(2 x A, C-A)"),
        (nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)]), "AABC", "triangle A-A-B with C at B"),
        (tailed(nx.cycle_graph(6), 2), "CCCCCCN", "6-ring C-C-C-C-C-C with N attached"),
        (tailed(tailed(nx.cycle_graph(4), 0), 4), "AABBCD", "4-ring A-A-B-B with C-D at 1"),
        (tailed(tailed(nx.cycle_graph(4), 0), 0), "ABBBCC", "4-ring A-B-B-B with 2 x C at A"),
        (fused(9, 0, 5), "C" * 9, "fused 5-ring and 6-ring C-C-C-C-C-C-C-C-C, joined 1-5"),
        (nx.Graph(BUTTERFLY), "AABCD", "triangle and triangle sharing a node: A-A-B, joined 3-C-D-3"),
        (nx.Graph([*BUTTERFLY, (3, 5)]), "AABCDE", "triangle A-A-B, joined 3-C(D-3, E)"),
        (nx.Graph(BARBELL), "AABCDE", "triangle A-A-B with (triangle C-D-E) at B"),
        (nx.complete_bipartite_graph(2, 3), "AABBB", "4-ring A-B-A-B, joined 1-B-3"),
        (nx.wheel_graph(5), "HABAB", "5-ring A-B-A-B-H, joined 1-4, 2-5, 3-5"),
        (nx.DiGraph([(0, 1), (2, 1)]), "ABC", "path A → B ← C"),
        (nx.DiGraph([(0, 1), (1, 0), (1, 2)]), "ABC", "path A ⇄ B → C"),
        (nx.DiGraph([(0, 1), (1, 2), (2, 0)]), "BAC", "triangle A → C → B → (back)"),
        (nx.DiGraph([(1, 0), (0, 2), (3, 0)]), "CAAB", "star C(→ A, ← A, ← B)"),
    ],
)  # fmt: skip
def test_forms_have_names(graph, labels, name):
    nx.set_node_attributes(graph, dict(zip(sorted(graph), labels, strict=True)), "label")
    assert describe(graph) == name


@pytest.mark.parametrize(
    ("kind", "words", "name"),
    [
        (nx.Graph, ["card", "cash"], "path a -card- b -cash- c"),
        (nx.Graph, ["card", "card"], "path a-b-c (all card)"),
        (nx.Graph, ["=", "-"], "path a=b-c"),
        (nx.Graph, [":", ":"], "path a:b:c"),
        (nx.DiGraph, ["card", "cash"], "path a -card→ b -cash→ c"),
        (nx.DiGraph, ["card", "card"], "path a → b → c (all card)"),
    ],
)
def test_labels_of_edges_are_told_once_if_they_are_alike(kind, words, name):
    graph = kind([(0, 1, {"label": words[0]}), (1, 2, {"label": words[1]})])
    nx.set_node_attributes(graph, dict(enumerate("abc")), "label")
    assert describe(graph) == name


def test_parallel_edges_and_conditions_are_told():
    graph = nx.MultiDiGraph([(0, 1, {"label": "card"}), (1, 0, {"label": "cash", "conditions": "amount < 5"})])
    nx.set_node_attributes(graph, {0: "shop", 1: "bank"}, "label")
    graph.nodes[0]["conditions"] = "balance < 0"
    assert describe(graph) == "path bank -cash [amount < 5]→/←card- shop [balance < 0]"


@st.composite
def named_graphs(draw, most=8):
    directed, several = draw(st.booleans()), draw(st.booleans())
    kind = [[nx.Graph, nx.MultiGraph], [nx.DiGraph, nx.MultiDiGraph]][directed][several]
    size = draw(st.integers(1, most))
    graph = kind()
    graph.add_nodes_from((v, {"label": draw(st.sampled_from("ab"))}) for v in range(size))
    pairs = [(v, draw(st.integers(0, v - 1))) for v in range(1, size)]
    pairs += [pair for pair in combinations(range(size), 2) if draw(st.integers(0, 3)) == 0]
    for u, v in pairs:
        label = {"label": draw(st.sampled_from(["card", "cash"]))} if several else {}
        graph.add_edge(*((u, v) if draw(st.booleans()) else (v, u)), **label)
    return graph


@given(named_graphs(), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_names_do_not_depend_on_numbers(graph, rng):
    order = list(graph)
    rng.shuffle(order)
    again = graph.__class__()
    again.add_nodes_from((order[v], graph.nodes[v]) for v in rng.sample(list(graph), len(graph)))
    edges = [(order[u], order[v], own) for u, v, own in graph.edges(data=True)]
    rng.shuffle(edges)
    again.add_edges_from(edges if graph.is_directed() else [(v, u, own) for u, v, own in edges])
    assert describe(again) == describe(graph)


@pytest.mark.parametrize("directed", [False, True])
def test_other_graphs_of_up_to_five_nodes_have_other_names(directed):
    """Of graphs with two labels of nodes and edges, some thousand drawn at random, all but one in a hundred."""
    rng = random.Random(7)
    nodes, edges = categorical_node_match("label", None), categorical_edge_match("label", None)
    known: dict[str, list[nx.Graph]] = {}
    for _ in range(4000):
        size = rng.randint(2, 5)
        graph = nx.DiGraph() if directed else nx.Graph()
        graph.add_nodes_from((v, {"label": rng.choice("ab")}) for v in range(size))
        pairs = {(v, rng.randrange(v)) for v in range(1, size)}
        pairs |= {(v, u) for u, v in combinations(range(size), 2) if rng.random() < 0.4}
        ways = [rng.sample(pair, 2) for pair in sorted(pairs)]
        graph.add_edges_from((u, v, {"label": rng.choice("-=")}) for u, v in ways)
        alike = known.setdefault(describe(graph), [])
        if not any(nx.is_isomorphic(graph, other, nodes, edges) for other in alike):
            alike.append(graph)
    different = sum(map(len, known.values()))
    assert different > 1000
    assert different - len(known) <= different / 100


@pytest.mark.parametrize("size", [9, 14])
def test_dense_graphs_are_named_without_trying_every_way_around(size):
    graph = nx.complete_graph(size)
    graph.remove_edge(0, 1)
    nx.set_node_attributes(graph, "a", "label")
    assert describe(graph) == f"{size}-clique {size} x a without a-a"
    sparser = nx.gnm_random_graph(size, 3 * size, seed=1)
    nx.set_node_attributes(sparser, "a", "label")
    assert describe(sparser).startswith(f"graph with {3 * size} edges of {size} x a (")
