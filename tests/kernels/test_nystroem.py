import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from torch_geometric.data import Batch

from rwkplus.datasets import load_graphs
from rwkplus.errors import GraphError, ParameterError, RWKPlusError
from rwkplus.kernels import RandomWalkKernel, RandomWalkNystroem
from tests.contract import check_graph_estimator
from tests.strategies import data_list, random_graphs, real_graphs


@pytest.mark.parametrize(
    "kernel",
    [
        RandomWalkKernel(steps=3),
        RandomWalkKernel("rwk-", steps=2, normalize=True),
        RandomWalkKernel("node-centric", steps=2),
        RandomWalkKernel(steps=3, walks="closed"),
    ],
    ids=["rwk+", "rwk- normalized", "node-centric", "closed"],
)
def test_with_every_graph_a_landmark_the_kernel_is_reproduced(kernel):
    graphs = data_list(random_graphs(10, edge_colors=True))
    features = RandomWalkNystroem(kernel, n_components=50).fit_transform(graphs)
    expected = clone(kernel).fit_transform(graphs)
    np.testing.assert_allclose(features @ features.T, expected, atol=1e-9 * expected.max())


@given(st.lists(real_graphs(edge_colors=True, edge_weights=True), min_size=1, max_size=6))
def test_reproduces_the_kernel_of_continuous_attributes(graphs):
    graphs = data_list(graphs)
    features = RandomWalkNystroem(RandomWalkKernel(steps=2)).fit_transform(graphs)
    expected = RandomWalkKernel(steps=2).fit_transform(graphs)
    np.testing.assert_allclose(features @ features.T, expected, atol=1e-8 * max(expected.max(), 1))


def test_products_with_landmarks_are_exact_and_others_improve_with_their_number():
    graphs = data_list(random_graphs(30, real=True))
    exact = RandomWalkKernel(steps=2, normalize=True).fit_transform(graphs)
    errors = []
    for n_components in (2, 10, 25):
        estimator = RandomWalkNystroem(RandomWalkKernel(steps=2, normalize=True), n_components, random_state=0)
        features = estimator.fit_transform(graphs)
        approximate = features @ features.T
        chosen = estimator.landmarks_
        np.testing.assert_allclose(approximate[:, chosen], exact[:, chosen], atol=1e-8)
        errors.append(np.abs(approximate - exact).mean())
    assert errors[0] > errors[1] > errors[2]


def test_keeps_the_scikit_learn_contract():
    estimator = RandomWalkNystroem(RandomWalkKernel(steps=2), n_components=3, random_state=0)
    check_graph_estimator(estimator, data_list(random_graphs(6, edge_colors=True)))
    check_graph_estimator(estimator, data_list(random_graphs(6, real=True)))


def test_the_draw_is_seeded_and_without_replacement():
    graphs = data_list(random_graphs(20))

    def drawn(seed):
        return RandomWalkNystroem(n_components=8, random_state=seed).fit(graphs).landmarks_.tolist()

    assert drawn(0) == drawn(0) != drawn(1)
    assert len(set(drawn(0))) == 8
    assert drawn(np.random.default_rng(0)) == drawn(np.random.default_rng(0))
    assert drawn(np.random.RandomState(0)) == drawn(0)


def test_arguments_of_the_kernel_can_be_searched():
    graphs = load_graphs("functional-groups")[:40]
    model = make_pipeline(RandomWalkNystroem(RandomWalkKernel(), 20, random_state=0), RidgeClassifier())
    search = GridSearchCV(model, {"randomwalknystroem__kernel__steps": [1, 2]}, cv=2)
    search.fit(graphs, graphs.y.tolist())
    assert search.best_estimator_[0].kernel_.steps == search.best_params_["randomwalknystroem__kernel__steps"]


def test_graphs_may_come_as_a_batch():
    graphs = data_list(random_graphs(5))
    expected = RandomWalkNystroem(random_state=0).fit_transform(graphs)
    np.testing.assert_array_equal(
        RandomWalkNystroem(random_state=0).fit_transform(Batch.from_data_list(graphs)), expected
    )


def test_graphs_without_walks_have_zero_features():
    lonely = random_graphs(2)
    for graph in lonely:
        graph.remove_edges_from(list(graph.edges))
    assert not RandomWalkNystroem().fit_transform(data_list(lonely)).any()


@pytest.mark.parametrize(
    ("name", "value"), [("n_components", 0), ("n_components", 1.5), ("n_components", True), ("kernel", "rwk+")]
)
def test_impossible_arguments_are_refused_by_name(name, value):
    with pytest.raises(ParameterError, match=name) as caught:
        RandomWalkNystroem().set_params(**{name: value}).fit(data_list(random_graphs(2)))
    assert isinstance(caught.value, RWKPlusError)


def test_a_single_graph_or_none_is_refused():
    for wrong in (data_list(random_graphs(1))[0], random_graphs(1)[0], []):
        with pytest.raises(GraphError, match="list"):
            RandomWalkNystroem().fit(wrong)


def test_a_generator_of_graphs_is_read_once():
    graphs = load_graphs("functional-groups")[:6]
    model = RandomWalkNystroem(n_components=3, random_state=0)
    np.testing.assert_array_equal(model.fit_transform(graph for graph in graphs), model.fit_transform(graphs))


def test_a_failed_fit_changes_nothing():
    graphs = load_graphs("functional-groups")[:6]
    model = RandomWalkNystroem(n_components=3, random_state=0).fit(graphs)
    before = model.transform(graphs)
    model.kernel = RandomWalkKernel("node-centric", walks="closed")
    with pytest.raises(ParameterError):
        model.fit(graphs)
    np.testing.assert_array_equal(model.transform(graphs), before)
