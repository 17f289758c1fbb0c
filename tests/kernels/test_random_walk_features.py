import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from rwkplus.datasets import load_graphs
from rwkplus.errors import GraphError, NumericError, ParameterError, RWKPlusError
from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel, explicit_features
from tests.contract import check_graph_estimator
from tests.strategies import colored_graphs, data_list, random_graphs

VARIANTS = [
    {},
    {"kernel": "rwk-"},
    {"walks": "closed"},
    {"kernel": "rwk-", "walks": "closed"},
    {"kernel": "node-centric"},
    {"kernel": "node-centric", "assignment": "dirac"},
    {"include_zero_step": True, "combine": [4.0, 0.0, 0.25]},
    {"combine": "last"},
]
any_variant = st.sampled_from(VARIANTS)


def databases(**fields):
    return st.lists(
        colored_graphs(min_nodes=0, max_nodes=4, edge_colors=True, blank=True, **fields), min_size=2, max_size=4
    )


@settings(max_examples=50)
@given(how=any_variant, graphs=databases())
def test_inner_products_are_exactly_the_kernel(how, graphs):
    features = RandomWalkFeatures(steps=3, **how).fit_transform(data_list(graphs))
    kernel = RandomWalkKernel(steps=3, **how).fit_transform(data_list(graphs))
    assert np.array_equal((features @ features.T).toarray(), kernel)


@pytest.mark.filterwarnings("ignore:no label in")
@settings(max_examples=50)
@given(how=any_variant, graphs=databases(), cut=st.integers(1, 3))
def test_features_of_later_graphs_meet_those_of_fitted_ones_as_in_the_kernel(how, graphs, cut):
    fitted, later = data_list(graphs[:cut]), data_list(graphs)
    features = RandomWalkFeatures(steps=3, **how).fit(fitted)
    products = features.transform(later) @ features.transform(fitted).T
    whole = RandomWalkKernel(steps=3, **how).fit_transform(later)
    assert np.array_equal(products.toarray(), whole[:, : len(fitted)])


@pytest.mark.parametrize("how", VARIANTS, ids=lambda how: " ".join(map(str, how.values())) or "rwk+")
def test_keeps_the_scikit_learn_contract(how):
    graphs = data_list(random_graphs(6, edge_colors=True))
    check_graph_estimator(RandomWalkFeatures(steps=3, **how), graphs)


def test_keeps_the_scikit_learn_contract_with_dense_output():
    graphs = data_list(random_graphs(6, edge_colors=True))
    check_graph_estimator(RandomWalkFeatures(steps=3, sparse_output=False), graphs)


def test_keeps_the_scikit_learn_contract_when_hashed():
    graphs = data_list(random_graphs(6, edge_colors=True, edge_weights=True))
    check_graph_estimator(RandomWalkFeatures(steps=2, hash_width=64), graphs)


def test_pandas_columns_are_named_after_the_sequences():
    pd = pytest.importorskip("pandas")
    features = RandomWalkFeatures(steps=1, sparse_output=False).set_output(transform="pandas")
    frame = features.fit_transform(load_graphs("functional-groups")[:5])
    assert isinstance(frame, pd.DataFrame)
    assert {"C-C", "C=C", "N=O"} <= set(frame.columns)


def test_blocks_of_graphs_counted_apart_give_the_same_matrix(monkeypatch):
    graphs = data_list(random_graphs(12, edge_colors=True))
    for how in ({}, {"kernel": "rwk-"}, {"kernel": "node-centric"}, {"walks": "closed"}, {"hash_width": 32}):
        whole = RandomWalkFeatures(steps=3, **how).fit(graphs)
        expected = whole.transform(graphs).toarray()
        with monkeypatch.context() as patch:
            patch.setattr(explicit_features, "BLOCK_NODES", 15)
            parts = RandomWalkFeatures(steps=3, **how).fit(graphs)
            assert np.array_equal(parts.transform(graphs).toarray(), expected)
        assert parts.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()


def test_names_are_in_the_order_of_the_columns():
    path = nx.path_graph(3)
    nx.set_node_attributes(path, {0: "H", 1: "O", 2: "H"}, "label")
    features = RandomWalkFeatures(steps=2, include_zero_step=True).fit([path])
    row = features.transform([path]).toarray()[0].tolist()
    named = dict(zip(features.get_feature_names_out(), row, strict=True))
    assert named == {"H": 2, "O": 1, "H-O": 2, "O-H": 2, "H-O-H": 4, "O-H-O": 2}


def test_unused_lengths_have_no_columns():
    graphs = data_list(random_graphs(3))
    names = RandomWalkFeatures(steps=3, combine=[0, 1, 0]).fit(graphs).get_feature_names_out()
    assert {name.count("-") for name in names} == {2}


# Hashing


@pytest.mark.parametrize("kernel", ["rwk+", "rwk-", "node-centric"])
def test_hashed_features_have_a_fixed_width_and_need_no_vocabulary(kernel):
    graphs = data_list(random_graphs(12, edge_colors=True))
    one = RandomWalkFeatures(kernel, 3, hash_width=50).fit(graphs[:3])
    other = RandomWalkFeatures(kernel, 3, hash_width=np.int64(50)).fit(graphs)
    mapped = one.transform(graphs)
    assert mapped.shape == (12, 50)
    assert sparse.issparse(mapped)
    assert np.array_equal(mapped.toarray(), other.transform(graphs).toarray())
    assert one.get_feature_names_out()[-1] == "hash49"
    assert one.vocabulary_ is None


def chain(nodes, bond="-"):
    graph = nx.path_graph(len(nodes))
    nx.set_node_attributes(graph, dict(enumerate(nodes)), "label")
    nx.set_edge_attributes(graph, bond, "label")
    return graph


@pytest.mark.filterwarnings("ignore:no label in")
@pytest.mark.parametrize("kernel", ["rwk+", "rwk-", "node-centric"])
def test_hashed_features_of_new_labels_do_not_depend_on_the_other_graphs(kernel):
    features = RandomWalkFeatures(kernel, 3, hash_width=64).fit([chain("COC"), chain("CO", "=")])
    later = [chain("CNSC", "#"), chain("CBr"), chain("FAC", "~"), chain("CSNC", "=")]
    together = features.transform(later).toarray()
    for graph, row in zip(later, together, strict=True):
        assert np.array_equal(features.transform([graph]).toarray()[0], row)
    assert np.unique(together, axis=0).shape[0] == len(later)


@pytest.mark.parametrize("kernel", ["rwk+", "rwk-", "node-centric"])
def test_hashed_features_are_exact_when_wide_and_take_no_memory_for_the_width(kernel):
    graphs = data_list(random_graphs(12, edge_colors=True))
    hashed = RandomWalkFeatures(kernel, 3, hash_width=2**50).fit_transform(graphs)
    assert hashed.shape == (12, 2**50)
    used, column = np.unique(hashed.indices, return_inverse=True)
    compact = sparse.csr_matrix((hashed.data, column, hashed.indptr), shape=(12, used.size))
    exact = RandomWalkKernel(kernel, 3).fit_transform(graphs)
    assert np.array_equal((compact @ compact.T).toarray(), exact)


def test_inner_products_of_hashed_features_are_right_on_average():
    graphs = data_list(random_graphs(60, edge_colors=True))
    exact = RandomWalkKernel(steps=3).fit(graphs)
    norms = np.sqrt(np.maximum(exact.diagonal(), 1.0))
    upper = np.triu_indices(60, 1)
    typical = {}
    for width in (64, 1024):
        hashed = RandomWalkFeatures(steps=3, hash_width=width).fit_transform(graphs)
        products = (hashed @ hashed.T).toarray()
        errors = ((products - exact.transform(graphs)) / np.outer(norms, norms))[upper]
        typical[width] = np.abs(errors).mean()
        # The error of one pair is about 1/sqrt(width) of the norms; signs make errors cancel over pairs.
        assert typical[width] < 1 / np.sqrt(width)
        assert abs(errors.mean()) < typical[width] / 2
    assert typical[1024] < typical[64] / 2


# With scikit-learn, and errors


def test_linear_models_learn_from_the_features():
    graphs = load_graphs("functional-groups")[:60]
    targets = graphs.y.tolist()
    search = GridSearchCV(
        make_pipeline(RandomWalkFeatures(), RidgeClassifier()), {"randomwalkfeatures__steps": [1, 2]}, cv=3
    )
    search.fit(graphs, targets)
    # Both classes have the same atoms and bonds: one step cannot tell them apart, two steps can.
    assert search.best_params_ == {"randomwalkfeatures__steps": 2}
    assert search.best_score_ > 0.8


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", "rwk"),
        ("steps", 0),
        ("combine", "max"),
        ("walks", "self-avoiding"),
        ("assignment", "greedy"),
        ("unknown_label", "drop"),
        ("ignore", "edge_attr"),
        ("ignore", None),
        ("n_jobs", 0),
        ("n_jobs", "all"),
        ("hash_width", 0),
        ("hash_width", 2.5),
        ("hash_width", True),
    ],
)
def test_impossible_arguments_are_refused_by_name(name, value):
    with pytest.raises(ParameterError, match=name) as caught:
        RandomWalkFeatures().set_params(**{name: value}).fit(data_list(random_graphs(2)))
    assert isinstance(caught.value, RWKPlusError)


def test_continuous_colors_are_refused_with_the_way_out():
    with pytest.raises(GraphError, match="RandomWalkNystroem"):
        RandomWalkFeatures().fit(data_list(random_graphs(2, real=True)))


def test_counts_beyond_float64_are_refused():
    complete = nx.complete_graph(10)
    nx.set_node_attributes(complete, "C", "label")
    with pytest.raises(NumericError, match="steps"):
        RandomWalkFeatures(steps=400).fit([complete])


def test_a_failed_fit_changes_nothing():
    good = load_graphs("functional-groups")[:3]
    features = RandomWalkFeatures(steps=2).fit(good)
    before = features.transform(good).toarray()
    features.hash_width = -1
    with pytest.raises(ParameterError):
        features.fit(good)
    np.testing.assert_array_equal(features.transform(good).toarray(), before)
