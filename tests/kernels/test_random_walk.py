import os
import resource
import sys
import warnings

import joblib
import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC
from torch_geometric.data import Batch, Data

from rwkplus.data import load
from rwkplus.errors import GraphError, NumericError, ParameterError, RWKPlusError, RWKPlusWarning
from rwkplus.functional.reference import count_matching_walks
from rwkplus.kernels import RandomWalkKernel, blocks, feature_map, random_walk
from tests.contract import check_graph_estimator
from tests.oracles import color_histogram, dense_kernel
from tests.strategies import colored_graphs, data_list, random_graphs, real_graphs

STEPS = 3
WALK_KERNELS = pytest.mark.parametrize("kernel", ["rwk+", "rwk-"])
WALKS = pytest.mark.parametrize("walks", ["open", "closed"])
ROUTES = pytest.mark.parametrize("route", ["explicit", "blocks"])


def databases(strategy=colored_graphs, min_size=2, **fields):
    return st.lists(strategy(min_nodes=0, max_nodes=4, **fields), min_size=min_size, max_size=4)


def labelled(graph, labels):
    nx.set_node_attributes(graph, dict(zip(graph, labels, strict=True)), "label")
    return graph


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


# Odd graphs


ODD = {
    "empty": Data(x=torch.empty(0, 2), edge_index=torch.empty(2, 0, dtype=torch.long)),
    "single": Data(x=torch.tensor([[1.0, 0.0]]), edge_index=torch.empty(2, 0, dtype=torch.long)),
    "isolated": Data(x=torch.eye(2), edge_index=torch.empty(2, 0, dtype=torch.long)),
    "loop": Data(x=torch.tensor([[1.0, 0.0]]), edge_index=torch.zeros(2, 1, dtype=torch.long)),
    "blank": Data(x=torch.zeros(2, 2), edge_index=torch.tensor([[0, 1], [1, 0]])),
    "parallel": Data(x=torch.eye(2), edge_index=torch.tensor([[0, 0], [1, 1]])),
    "edge": Data(x=torch.tensor([[1.0, 0.0]] * 2), edge_index=torch.tensor([[0, 1], [1, 0]])),
}


@WALKS
@ROUTES
@WALK_KERNELS
def test_odd_graphs_have_the_walks_they_have(kernel, route, walks):
    gram = RandomWalkKernel(kernel, 2, route=route, walks=walks).fit_transform(list(ODD.values()))
    table = {(a, b): gram[i, j] for i, a in enumerate(ODD) for j, b in enumerate(ODD)}
    assert not any(table[a, b] for a in ODD for b in ("empty", "single", "isolated", "blank"))
    assert table["loop", "loop"] == 2  # one walk of each length
    assert table["loop", "edge"] == (2 if walks == "closed" else 4)  # closed: there and back, from either end
    assert table["parallel", "parallel"] == (0 if walks == "closed" else 4)  # either edge on either side


@pytest.mark.parametrize("name", list(ODD))
@pytest.mark.parametrize("kernel", ["rwk+", "rwk-", "node-centric"])
def test_an_odd_graph_may_be_the_only_one(kernel, name):
    for how in ({}, {"normalize": True}, {"combine": "geometric", "decay": 0.1}, {"include_zero_step": True}):
        fitted = RandomWalkKernel(kernel, 2, **how).fit([ODD[name]])
        assert np.isfinite(fitted.transform(list(ODD.values()))).all()
        assert fitted.diagonal().shape == (1,)


def test_node_centric_colors_of_odd_graphs_are_their_nodes():
    gram = RandomWalkKernel("node-centric", 2, combine="last").fit_transform(list(ODD.values()))
    # Nodes without walks differ from each other by label only; unlabelled nodes match nothing.
    assert np.diag(gram).tolist() == [0, 1, 2, 1, 0, 2, 2]


def test_a_graph_of_100_000_nodes_meets_small_ones_without_anything_of_that_size_squared():
    size = 100_000
    nodes = torch.arange(size)
    ends = torch.stack([nodes[:-1], nodes[1:]])
    path = Data(x=torch.ones(size, 1), edge_index=torch.cat([ends, ends.flip(0)], 1))
    small = [nx.cycle_graph(3 + i % 4) for i in range(20)]
    for graph in small:
        nx.set_node_attributes(graph, 1.0, "x")
    kernel = RandomWalkKernel(steps=3, route="blocks").fit(small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gram = kernel.transform([path])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    # A ring of n nodes has n 2^i walks of i edges; the path has 2 (size - 1), then 4 size - 6, then 8 size - 16.
    per_node = 2 * 2 * (size - 1) + 4 * (4 * size - 6) + 8 * (8 * size - 16)
    assert gram.tolist() == [[len(graph) * per_node for graph in small]]
    assert grown < 300 * (1024**2 if sys.platform == "darwin" else 1024)


@ROUTES
def test_walks_too_many_for_float64_raise(route):
    complete = labelled(nx.complete_graph(10), "C" * 10)
    kernel = RandomWalkKernel(steps=170, route=route)
    with pytest.raises(NumericError, match="steps"):
        kernel.fit_transform([complete])
    with pytest.raises(NumericError, match="steps"):
        kernel.diagonal()


# Parallel


def several_blocks(monkeypatch):
    monkeypatch.setattr(feature_map, "BLOCK_NODES", 25)
    monkeypatch.setattr(blocks, "BLOCK_NODES", 25)


def serial_and_parallel(route, n_jobs=None):
    graphs = data_list(random_graphs(16, edge_colors=True))
    serial = RandomWalkKernel(steps=STEPS, route=route, normalize=True)
    expected = serial.fit_transform(graphs), serial.transform(graphs[5:])
    with joblib.parallel_config(backend="sequential"):
        assert np.array_equal(serial.fit_transform(graphs), expected[0])
    parallel = RandomWalkKernel(steps=STEPS, route=route, normalize=True, n_jobs=n_jobs)
    return expected, (lambda: (parallel.fit_transform(graphs), parallel.transform(graphs[5:])))


def test_two_processes_compute_the_same(monkeypatch):
    several_blocks(monkeypatch)
    for route in ("explicit", "blocks"):
        expected, parallel = serial_and_parallel(route, n_jobs=2)
        for result, other in zip(parallel(), expected, strict=True):
            assert np.array_equal(result, other)


@ROUTES
def test_threads_compute_the_same(monkeypatch, route):
    several_blocks(monkeypatch)
    expected, parallel = serial_and_parallel(route)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        for result, other in zip(parallel(), expected, strict=True):
            assert np.array_equal(result, other)


def test_a_dask_cluster_of_two_workers_computes_the_same(monkeypatch):
    distributed = pytest.importorskip("distributed")
    several_blocks(monkeypatch)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        for route in ("explicit", "blocks"):
            expected, parallel = serial_and_parallel(route)
            for result, other in zip(parallel(), expected, strict=True):
                assert np.array_equal(result, other)
        worked = client.run(lambda: "rwkplus.kernels.blocks" in sys.modules)
    assert len(worked) == 2
    assert any(worked.values())


# Results on disk


class BrokenOffError(Exception):
    pass


class Work:
    """Counts the blocks computed and, once, breaks off after some of them."""

    def __init__(self, patch, route):
        self.computed = 0
        self.break_after = None
        module, name = (random_walk, "feature_gram") if route == "explicit" else (blocks, "pair_scores")
        self.compute = getattr(module, name)
        patch.setattr(random_walk, "EXPLICIT_ROWS", 3)
        patch.setattr(blocks, "BLOCK_NODES", 20)
        patch.setattr(module, name, self)

    def __call__(self, *args, **kwargs):
        if self.computed == self.break_after:
            raise BrokenOffError
        self.computed += 1
        return self.compute(*args, **kwargs)


@pytest.fixture
def graphs():
    return data_list(random_graphs(12, edge_colors=True))


@ROUTES
@pytest.mark.parametrize("normalize", [False, True])
def test_a_file_holds_what_memory_would(tmp_path, monkeypatch, graphs, route, normalize):
    work = Work(monkeypatch, route)
    kernel = RandomWalkKernel(steps=STEPS, route=route, normalize=normalize)
    expected = kernel.fit_transform(graphs)
    assert work.computed > 3
    result = kernel.fit_transform(graphs, out=tmp_path / "gram.npy")
    assert isinstance(result, np.memmap)
    assert np.array_equal(result, expected)
    assert np.array_equal(np.load(tmp_path / "gram.npy"), expected)
    later = kernel.transform(graphs[:5], out=str(tmp_path / "later.npy"))
    np.testing.assert_allclose(later, expected[:5], rtol=1e-14)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["gram.npy", "later.npy"]


def interrupt(work, kernel, graphs, path, after=2):
    work.computed, work.break_after = 0, after
    with pytest.raises(BrokenOffError):
        kernel.fit_transform(graphs, out=path)
    work.computed, work.break_after = 0, None


@ROUTES
def test_an_interrupted_computation_goes_on_where_it_stopped(tmp_path, monkeypatch, graphs, route):
    work = Work(monkeypatch, route)
    kernel = RandomWalkKernel(steps=STEPS, route=route, normalize=True)
    expected = kernel.fit_transform(graphs)
    blocks_in_all = work.computed
    path = tmp_path / "gram.npy"
    interrupt(work, kernel, graphs, path)
    assert not path.exists()
    resumed = RandomWalkKernel(steps=STEPS, route=route, normalize=True, n_jobs=1)  # n_jobs changes no number
    assert np.array_equal(resumed.fit_transform(graphs, out=path), expected)
    assert work.computed == blocks_in_all - 2
    assert [file.name for file in tmp_path.iterdir()] == ["gram.npy"]


@ROUTES
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"steps": 3}, {"steps": 2}),
        ({"normalize": False}, {"normalize": True}),
        ({"kernel": "rwk+"}, {"kernel": "rwk-"}),
        ({"walks": "open"}, {"walks": "closed"}),
        ({"include_zero_step": False}, {"include_zero_step": True}),
        ({"combine": np.ones(STEPS)}, {"combine": np.array([1.0, 1.0, 1.0 + 1e-12])}),  # print alike
    ],
    ids=lambda how: next(iter(how)),
)
def test_a_changed_setting_starts_again(tmp_path, monkeypatch, graphs, route, before, after):
    work = Work(monkeypatch, route)
    how = {"steps": STEPS, "route": route}
    interrupt(work, RandomWalkKernel(**how | before), graphs, tmp_path / "gram.npy")
    other = RandomWalkKernel(**how | after)
    expected = other.fit_transform(graphs)
    blocks_in_all, work.computed = work.computed, 0
    assert np.array_equal(other.fit_transform(graphs, out=tmp_path / "gram.npy"), expected)
    assert work.computed == blocks_in_all


@ROUTES
def test_changed_graphs_start_again(tmp_path, monkeypatch, graphs, route):
    work = Work(monkeypatch, route)
    kernel = RandomWalkKernel(steps=STEPS, route=route)
    interrupt(work, kernel, graphs, tmp_path / "gram.npy")
    graphs[0].x = graphs[0].x.flip(1)
    expected = kernel.fit_transform(graphs)
    assert np.array_equal(kernel.fit_transform(graphs, out=tmp_path / "gram.npy"), expected)


@ROUTES
def test_another_size_of_blocks_after_an_interruption_does_no_harm(tmp_path, monkeypatch, graphs, route):
    work = Work(monkeypatch, route)
    kernel = RandomWalkKernel(steps=STEPS, route=route)
    expected = kernel.fit_transform(graphs)
    interrupt(work, kernel, graphs, tmp_path / "gram.npy", after=1)
    monkeypatch.setattr(random_walk, "EXPLICIT_ROWS", 5)
    monkeypatch.setattr(blocks, "BLOCK_NODES", 33)
    assert np.array_equal(kernel.fit_transform(graphs, out=tmp_path / "gram.npy"), expected)


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
    molecules = load("functional-groups")[:80]
    targets = [int(graph.y) for graph in molecules]
    model = make_pipeline(RandomWalkKernel(steps=2, normalize=True), SVC(kernel="precomputed", C=100))
    assert cross_val_score(model, molecules, targets, cv=4).mean() > 0.9


def test_grid_search_finds_the_length_of_walks():
    molecules = load("functional-groups")[:60]
    targets = [int(graph.y) for graph in molecules]
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


# Errors


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", "rwk"),
        ("kernel", None),
        ("steps", 0),
        ("steps", 1.0),
        ("steps", True),
        ("combine", "median"),
        ("combine", [1.0]),
        ("walks", "self-avoiding"),
        ("assignment", "greedy"),
        ("route", "fast"),
        ("unknown_label", "drop"),
        ("ignore", "edge_attr"),
        ("ignore", None),
        ("n_jobs", 0),
        ("n_jobs", 1.5),
    ],
)
def test_impossible_arguments_are_refused_by_name(name, value):
    for method in ("fit", "fit_transform"):
        with pytest.raises(ParameterError, match=name) as caught:
            getattr(RandomWalkKernel().set_params(**{name: value}), method)(data_list(random_graphs(2)))
        assert isinstance(caught.value, RWKPlusError)


@pytest.mark.parametrize("decay", [0, -0.1, float("nan"), "small"])
def test_an_impossible_decay_is_refused(decay):
    with pytest.raises(ParameterError, match="decay"):
        RandomWalkKernel(combine="geometric", decay=decay).fit(data_list(random_graphs(2)))


@pytest.mark.parametrize(
    ("how", "fields", "error", "message"),
    [
        ({"route": "blocks"}, {}, ParameterError, "route"),
        ({"walks": "closed"}, {}, ParameterError, "walks"),
        ({}, {"edge_weights": True}, ParameterError, "edge_weight"),
        ({}, {"real": True}, GraphError, "discrete labels"),
    ],
)
def test_the_node_centric_kernel_says_what_it_cannot_do(how, fields, error, message):
    with pytest.raises(error, match=message):
        RandomWalkKernel("node-centric", **how).fit(data_list(random_graphs(2, **fields)))


def test_continuous_colors_have_no_explicit_route():
    with pytest.raises(GraphError, match="route"):
        RandomWalkKernel(route="explicit").fit(data_list(random_graphs(2, real=True)))


@pytest.mark.parametrize(
    ("fitted", "later", "message"),
    [
        ({}, {"edge_weights": True}, "edge_weight"),
        ({"edge_weights": True}, {}, "edge_weight"),
        ({}, {"edge_colors": True}, "edge_attr"),
        ({"edge_colors": True}, {}, "edge_attr"),
        ({}, {"real": True}, "columns"),
    ],
)
def test_graphs_of_another_kind_than_the_fitted_ones_are_refused(fitted, later, message):
    kernel = RandomWalkKernel(steps=2).fit(data_list(random_graphs(2, **fitted)))
    with pytest.raises(GraphError, match=message):
        kernel.transform(data_list(random_graphs(2, **later)))


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
    molecules = load("MUTAG")[:40]
    explicit = RandomWalkKernel(kernel, 3, route="explicit").fit_transform(molecules)
    assert np.array_equal(RandomWalkKernel(kernel, 3, route="blocks").fit_transform(molecules), explicit)
