import os
import warnings

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC
from torch_geometric.data import Batch

from rwkplus.datasets import load_graphs
from rwkplus.errors import GraphError, NumericError, ParameterError, RWKPlusWarning
from rwkplus.kernels import RandomWalkKernel, random_walk
from rwkplus.table import GraphTable
from tests.contract import check_graph_estimator
from tests.kernels.choices import ROUTES, STEPS, WALK_KERNELS, WALKS, databases, labelled
from tests.oracles import color_histogram, count_matching_walks, dense_kernel
from tests.strategies import colored_graphs, data_list, random_graphs, real_graphs

# What the numbers are


@ROUTES
@given(graphs=st.lists(colored_graphs(max_nodes=3, edge_colors=True, edge_weights=True), min_size=2, max_size=3))
def test_entries_are_weighted_numbers_of_matching_walks(route, graphs):
    expected = [[sum(count_matching_walks(g, h, i) for i in (1, 2)) for h in graphs] for g in graphs]
    assert RandomWalkKernel(steps=2, route=route).fit_transform(data_list(graphs)).tolist() == expected


@WALK_KERNELS
@WALKS
@given(graphs=databases(real_graphs, edge_colors=True, edge_weights=True))
def test_entries_of_continuous_colors_are_those_of_the_product_graph(kernel, walks, graphs):
    how = {"match_all": kernel == "rwk+", "closed": walks == "closed"}
    expected = [[sum(dense_kernel(g, h, STEPS, **how)) for h in graphs] for g in graphs]
    fitted = RandomWalkKernel(kernel, STEPS, walks=walks)
    np.testing.assert_allclose(fitted.fit_transform(data_list(graphs)), expected, rtol=1e-11, atol=1e-9)
    assert fitted.route_ == "blocks"


@pytest.mark.parametrize("assignment", ["dirac", "optimal"])
@given(graphs=databases(colors=2, edge_colors=True))
def test_node_centric_entries_compare_histograms_of_walk_colors(assignment, graphs):
    def compare(a, b):
        return (a & b).total() if assignment == "optimal" else sum(a[color] * b[color] for color in a)

    levels = [[color_histogram(graph, i) for graph in graphs] for i in range(STEPS + 1)]
    expected = np.sum([[[compare(a, b) for b in level] for a in level] for level in levels], axis=0)
    fitted = RandomWalkKernel("node-centric", STEPS, assignment=assignment)
    assert np.array_equal(fitted.fit_transform(data_list(graphs)), expected)


@WALK_KERNELS
@WALKS
@given(graphs=databases(edge_colors=True, edge_weights=True, blank=True), zero=st.booleans())
def test_both_routes_agree_exactly(kernel, walks, graphs, zero):
    data = data_list(graphs)
    how = {"kernel": kernel, "steps": STEPS, "walks": walks, "include_zero_step": zero}
    explicit = RandomWalkKernel(route="explicit", **how)
    through_blocks = RandomWalkKernel(route="blocks", **how)
    assert np.array_equal(explicit.fit_transform(data), through_blocks.fit_transform(data))
    assert (explicit.route_, through_blocks.route_) == ("explicit", "blocks")
    assert np.array_equal(explicit.diagonal(), through_blocks.diagonal())
    assert np.array_equal(explicit.transform(data[::-1]), through_blocks.transform(data[::-1]))


@ROUTES
@pytest.mark.parametrize("zero", [False, True])
def test_steps_combine_as_they_are_told(route, zero):
    graphs = data_list(random_graphs(6))

    def gram(combine, steps=STEPS, decay=0.25):
        how = {"combine": combine, "decay": decay, "include_zero_step": zero, "route": route}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RWKPlusWarning)
            return RandomWalkKernel(steps=steps, **how).fit_transform(graphs)

    single = [gram("last", steps) for steps in (1, 2, 3)]
    nodes = gram("sum") - sum(single)  # the zero step, if it is there
    assert nodes.any() == zero
    assert np.array_equal(gram([4.0, 0.0, 0.25]), nodes + 4 * single[0] + 0.25 * single[2])
    assert np.array_equal(gram(np.array([4.0, 0.0, 0.25])), nodes + 4 * single[0] + 0.25 * single[2])
    np.testing.assert_allclose(gram("mean"), (nodes + sum(single)) / (3 + zero), rtol=1e-12)
    expected = nodes + single[0] / 4 + single[1] / 16 + single[2] / 64
    np.testing.assert_allclose(gram("geometric"), expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", ["rwk+", "rwk-", "node-centric"])
def test_gram_matrix_is_symmetric_and_positive_semidefinite(kernel):
    for fields in ({}, {"edge_colors": True, "edge_weights": kernel != "node-centric"}):
        gram = RandomWalkKernel(kernel, 4).fit_transform(data_list(random_graphs(12, **fields)))
        assert np.array_equal(gram, gram.T)
        assert np.linalg.eigvalsh(gram).min() >= -1e-9 * gram.max()


# Fit, transform and labels that come later


CHOICES = st.fixed_dictionaries(
    {
        "kernel": st.sampled_from(["rwk+", "rwk-", "node-centric"]),
        "walks": st.sampled_from(["open", "closed"]),
        "normalize": st.booleans(),
        "route": st.sampled_from(["explicit", "blocks"]),
    }
).filter(lambda how: how["kernel"] != "node-centric" or (how["walks"], how["route"]) == ("open", "explicit"))


@pytest.mark.filterwarnings("ignore:no label in")
@settings(max_examples=50)
@given(how=CHOICES, graphs=databases(edge_colors=True), cut=st.integers(1, 3))
def test_transform_equals_the_slice_of_everything_at_once(how, graphs, cut):
    # The first graphs often lack labels that the others have: unknown_label="new" is the default.
    data = data_list(graphs)
    cut = min(cut, len(data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RWKPlusWarning)
        whole = RandomWalkKernel(steps=STEPS, **how).fit_transform(data)
        fitted = RandomWalkKernel(steps=STEPS, **how).fit(data[:cut])
        first = RandomWalkKernel(steps=STEPS, **how).fit_transform(data[:cut])
    check = np.testing.assert_allclose if how["normalize"] else np.testing.assert_array_equal
    check(fitted.transform(data), whole[:, :cut])
    check(first, whole[:cut, :cut])
    check(fitted.transform(data[cut - 1 : cut]), whole[cut - 1 : cut, :cut])


@given(graphs=databases(real_graphs, edge_colors=True, edge_weights=True), normalize=st.booleans())
def test_transform_equals_the_slice_for_continuous_colors(graphs, normalize):
    data = data_list(random_graphs(1, real=True, edge_colors=True, edge_weights=True) + graphs)
    kernel = RandomWalkKernel(steps=STEPS, normalize=normalize)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RWKPlusWarning)
        whole = kernel.fit_transform(data)
    np.testing.assert_allclose(kernel.fit(data[:1]).transform(data), whole[:, :1], rtol=1e-10, atol=1e-9)


@pytest.mark.filterwarnings("ignore:no label in")
@ROUTES
@pytest.mark.parametrize("normalize", [False, True])
def test_labels_are_matched_by_name_also_when_fitting_did_not_see_them(route, normalize):
    rng = np.random.default_rng(0)
    graphs = [
        labelled(nx.gnp_random_graph(6, 0.5, seed=i), rng.choice(list(letters), 6))
        for i, letters in enumerate(["CN", "CN", "BCN", "ANO", "XYZ"])  # later alphabets shift every column
    ]
    for i, graph in enumerate(graphs):
        nx.set_edge_attributes(graph, {edge: "-=#"[(sum(edge) + i) % (2 + (i > 1))] for edge in graph.edges}, "label")
    how = {"steps": STEPS, "route": route, "normalize": normalize}
    whole = RandomWalkKernel(**how).fit_transform(graphs)
    fitted = RandomWalkKernel(**how).fit(graphs[:2])
    np.testing.assert_allclose(fitted.transform(graphs), whole[:, :2], rtol=1e-12)
    for i, graph in enumerate(graphs):
        np.testing.assert_allclose(fitted.transform([graph]), whole[i : i + 1, :2], rtol=1e-12)


@ROUTES
def test_new_labels_count_in_the_norm_and_ignored_ones_do_not(route):
    fitted_graph = labelled(nx.path_graph(2), "CC")
    later = nx.disjoint_union(labelled(nx.path_graph(2), "CC"), labelled(nx.path_graph(2), "XX"))
    how = {"steps": 1, "normalize": True, "route": route}
    new = RandomWalkKernel(unknown_label="new", **how).fit([fitted_graph])
    ignored = RandomWalkKernel(unknown_label="ignore", **how).fit([fitted_graph])
    # Two walks C-C on either side and two walks X-X: 2 * 2 / (2 * sqrt(2^2 + 2^2)).
    assert new.transform([later])[0, 0] == pytest.approx(np.sqrt(0.5))
    assert ignored.transform([later])[0, 0] == pytest.approx(1.0)
    assert new.diagonal([later]).tolist() == [8.0]
    assert ignored.diagonal([later]).tolist() == [4.0]


@ROUTES
@WALK_KERNELS
@pytest.mark.filterwarnings("ignore:no label")
@given(graphs=databases(edge_colors=True), cut=st.integers(1, 3))
def test_ignored_labels_are_blanked_alike_on_both_routes(route, kernel, graphs, cut):
    data = data_list(graphs)
    how = {"kernel": kernel, "steps": STEPS, "unknown_label": "ignore"}
    fitted = RandomWalkKernel(route=route, **how).fit(data[:cut])
    seen, edge_seen = (torch.cat([g[field] for g in data[:cut]]).any(0) for field in ("x", "edge_attr"))
    blanked = [g.clone() for g in data]
    for graph in blanked:
        graph.x = graph.x * seen
        graph.edge_attr = graph.edge_attr * edge_seen
    whole = RandomWalkKernel(route="blocks", **how).fit_transform(blanked)
    assert np.array_equal(fitted.transform(data), whole[:, :cut])


@ROUTES
def test_unknown_labels_can_be_refused_with_the_graph_that_has_them(route):
    kernel = RandomWalkKernel(steps=1, unknown_label="error", route=route)
    kernel.fit([labelled(nx.path_graph(2), "CC")])
    assert kernel.transform([labelled(nx.path_graph(3), "CCC")]).tolist() == [[8.0]]
    with pytest.raises(GraphError, match="graph 1"):
        kernel.transform([labelled(nx.path_graph(2), "CC"), labelled(nx.path_graph(2), "CO")])


# Normalization


@pytest.mark.parametrize(
    ("kernel", "walks"),
    [("rwk+", "open"), ("rwk-", "open"), ("node-centric", "open"), ("rwk+", "closed"), ("rwk-", "closed")],
)
def test_normalized_matrix_is_the_cosine_with_a_unit_diagonal(kernel, walks):
    graphs = [graph for graph in random_graphs(12) if graph.number_of_edges()]
    plain = RandomWalkKernel(kernel, 4, walks=walks)
    gram = plain.fit_transform(data_list(graphs))
    norms = np.sqrt(np.diag(gram))
    assert np.array_equal(plain.diagonal(), np.diag(gram))
    normalized = RandomWalkKernel(kernel, 4, walks=walks, normalize=True).fit_transform(data_list(graphs))
    np.testing.assert_allclose(np.diag(normalized), 1.0, rtol=1e-14)
    np.testing.assert_allclose(normalized, gram / np.outer(norms, norms), rtol=1e-12)


@ROUTES
def test_a_graph_without_walks_keeps_zeros_when_normalized(route):
    lonely, edge = labelled(nx.empty_graph(2), "CC"), labelled(nx.path_graph(2), "CC")
    kernel = RandomWalkKernel(steps=2, normalize=True, route=route)
    assert kernel.fit_transform([lonely, edge]).tolist() == [[0.0, 0.0], [0.0, pytest.approx(1.0)]]
    assert kernel.transform([lonely]).tolist() == [[0.0, 0.0]]


def test_graphs_that_all_look_alike_are_worth_a_warning():
    graphs = [labelled(nx.cycle_graph(n), "C" * n) for n in (4, 5, 6)]
    with pytest.warns(RWKPlusWarning, match="look alike"):
        RandomWalkKernel(normalize=True).fit_transform(graphs)


# scikit-learn


@pytest.mark.parametrize(
    "how",
    [
        {"route": "explicit"},
        {"route": "blocks"},
        {"kernel": "rwk-", "normalize": True, "combine": "mean"},
        {"walks": "closed", "combine": [1.0, 0.5, 0.25]},
        {"kernel": "node-centric", "normalize": True},
        {"combine": "geometric", "decay": 1e-4, "unknown_label": "ignore"},
    ],
    ids=lambda how: " ".join(str(value) for value in how.values()),
)
def test_keeps_the_scikit_learn_contract(how):
    check_graph_estimator(RandomWalkKernel(steps=3, **how), data_list(random_graphs(6, edge_colors=True)))


def test_keeps_the_scikit_learn_contract_on_continuous_weighted_graphs():
    check_graph_estimator(RandomWalkKernel(steps=2), data_list(random_graphs(6, real=True, edge_weights=True)))


def test_a_failed_fit_is_not_a_fit():
    continuous = data_list(random_graphs(2, real=True))
    kernel = RandomWalkKernel(route="explicit")
    with pytest.raises(GraphError):
        kernel.fit(continuous)
    with pytest.raises(ValueError, match="not fitted"):
        kernel.transform(continuous)


def test_support_vector_machines_take_the_matrix():
    molecules = load_graphs("functional-groups")[:80]
    targets = molecules.y.tolist()
    model = make_pipeline(RandomWalkKernel(steps=2, normalize=True), SVC(kernel="precomputed", C=100))
    assert cross_val_score(model, molecules, targets, cv=4).mean() > 0.9


def test_grid_search_finds_the_length_of_walks():
    molecules = load_graphs("functional-groups")[:60]
    targets = molecules.y.tolist()
    model = Pipeline([("kernel", RandomWalkKernel(normalize=True)), ("svm", SVC(kernel="precomputed", C=100))])
    search = GridSearchCV(model, {"kernel__steps": [1, 2]}, cv=3).fit(molecules, targets)
    # Both classes have the same atoms and bonds: one step cannot tell them apart, two steps can.
    assert search.best_params_ == {"kernel__steps": 2}
    assert search.predict(molecules[:3]).shape == (3,)


def test_graphs_may_come_as_data_batch_or_networkx():
    graphs = random_graphs(4)
    data = data_list(graphs)
    for graph in graphs:
        for v, color in graph.nodes(data="color"):
            graph.nodes[v].clear()
            graph.nodes[v]["label"] = "CNO"[color]
    from_networkx = RandomWalkKernel(steps=2).fit_transform(graphs)
    assert np.array_equal(RandomWalkKernel(steps=2).fit_transform(data), from_networkx)
    assert np.array_equal(RandomWalkKernel(steps=2).fit_transform(Batch.from_data_list(data)), from_networkx)


# Against others


def test_equals_grakel_up_to_its_label_blind_zero_step():
    grakel = pytest.importorskip("grakel")
    graphs = [graph for graph in random_graphs(5, max_nodes=5) if graph.number_of_edges()]
    theirs = [
        grakel.Graph(
            nx.to_numpy_array(graph), node_labels=dict(enumerate(nx.get_node_attributes(graph, "color").values()))
        )
        for graph in graphs
    ]
    sizes = np.array([len(graph) for graph in graphs])
    expected = grakel.RandomWalkLabeled(lamda=1, p=2).fit_transform(theirs) - np.outer(sizes, sizes)
    np.testing.assert_allclose(RandomWalkKernel(steps=2).fit_transform(data_list(graphs)), expected, rtol=1e-12)


@pytest.mark.skipif(not os.environ.get("RWKPLUS_DATA"), reason="RWKPLUS_DATA names no folder with data sets")
@WALK_KERNELS
def test_both_routes_agree_on_real_molecules(kernel):
    molecules = load_graphs("MUTAG")[:40]
    explicit = RandomWalkKernel(kernel, 3, route="explicit").fit_transform(molecules)
    assert np.array_equal(RandomWalkKernel(kernel, 3, route="blocks").fit_transform(molecules), explicit)


def weighted_pair(a, b, weight):
    graph = nx.Graph()
    graph.add_node(0, label=a)
    graph.add_node(1, label=b)
    graph.add_edge(0, 1, weight=weight)
    return GraphTable.of([graph], weight="weight")


def test_a_failed_fit_changes_nothing():
    kernel = RandomWalkKernel(steps=11, route="explicit").fit(weighted_pair("a", "b", 1.0))
    before = kernel.transform(weighted_pair("a", "b", 1.0))
    with pytest.raises(NumericError):
        kernel.fit(weighted_pair("0", "a", 1e30))
    np.testing.assert_array_equal(kernel.transform(weighted_pair("a", "b", 1.0)), before)
    closed = RandomWalkKernel("node-centric", walks="closed")
    with pytest.raises(ParameterError):
        closed.fit(weighted_pair("a", "b", 1.0))
    with pytest.raises(NotFittedError):
        closed.transform(weighted_pair("a", "b", 1.0))


@pytest.mark.parametrize("n_jobs", [0, True, 1.5])
def test_numbers_of_jobs_that_joblib_would_misread_are_refused(n_jobs):
    with pytest.raises(ParameterError, match="n_jobs must be None or a whole number other than 0"):
        RandomWalkKernel(n_jobs=n_jobs).fit(["CO"])


@pytest.mark.parametrize("choice", ["yes", 1, 0.0])
def test_single_nodes_are_counted_or_not(choice):
    with pytest.raises(ParameterError, match="include_zero_step must be True, False or None"):
        RandomWalkKernel(include_zero_step=choice).fit(weighted_pair("a", "b", 1.0))


def test_labels_of_which_none_is_known_are_worth_a_warning():
    kernel = RandomWalkKernel(steps=1).fit([labelled(nx.path_graph(2), (1, 2))])
    with pytest.warns(RWKPlusWarning, match="no label of the nodes occurs"):
        assert kernel.transform([labelled(nx.path_graph(2), (1.0, 2.0))]) == 0
    assert kernel.transform([labelled(nx.path_graph(3), (1, 2, 3))]) > 0


@ROUTES
def test_rows_that_are_done_are_told(route, monkeypatch):
    monkeypatch.setattr(random_walk, "EXPLICIT_ROWS", 3)
    monkeypatch.setattr(random_walk, "BLOCK_NODES", 9)
    told, kernel = [], RandomWalkKernel(steps=2, route=route)
    graphs = data_list(random_graphs(7))
    kernel.fit_transform(graphs, callback=told.append)
    assert len(told) > 1
    assert [step.done for step in told] == sorted(step.done for step in told)
    assert (told[-1].phase, told[-1].done, told[-1].total) == ("rows", 7, 7)
    kernel.transform(graphs[:2], callback=told.append)
    assert told[-1][:3] == ("rows", 2, 2)
