import numpy as np
import pytest
import torch
from sklearn.base import clone

from experiments.testbeds import bipartite_graphs, copies, tailed_triangle
from rwkplus.datasets.generators import triangle_chains
from rwkplus.descriptive.rwk_cn import DescriptiveKCN
from rwkplus.errors import ParameterError
from rwkplus.functional.objectives import diversity_penalty

GRAPHS = triangle_chains(4)
FAST = {"epochs": 12, "lr": 0.05}


def test_shapes_and_attributes_of_a_fit():
    miner = DescriptiveKCN(2, 3, n_restarts=5, **FAST).fit(GRAPHS)
    assert miner.weights_.shape == (5, 2, 3, 3)
    assert miner.colors_.shape == (5, 2, 3, 4)
    assert miner.history_.shape == (13, 5)
    assert miner.best_ == miner.losses_.argmin()
    assert set(miner.label_names_) == {"red", "blue", "purple", "green"}
    assert miner.labels() == miner.labels(miner.best_)
    strongest = miner.colors_[1, 0, 2].argmax()
    assert miner.labels(1)[0][2] == miner.label_names_[strongest]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"diversity": 1.0},
        {"kernel": "rwk-", "combine": "sum"},
        {"views": ("labels", "gat"), "loss": "raw", "lr": 1e-4},
    ],
    ids=["plain", "diverse", "rwnn", "views"],
)
def test_restarts_in_one_tensor_move_as_they_would_alone(settings):
    settings = FAST | settings
    together = DescriptiveKCN(2, 3, n_restarts=3, dtype="float64", **settings).fit(GRAPHS)
    for restart in range(3):
        alone = DescriptiveKCN(2, 3, n_restarts=1, first_restart=restart, dtype="float64", **settings).fit(GRAPHS)
        np.testing.assert_allclose(alone.weights_[0], together.weights_[restart], rtol=1e-9)
        np.testing.assert_allclose(alone.colors_[0], together.colors_[restart], rtol=1e-9)
        np.testing.assert_allclose(alone.losses_[0], together.losses_[restart], rtol=1e-9)


def test_restarts_differ_and_more_of_them_keep_the_first():
    few, many = (DescriptiveKCN(1, 3, n_restarts=n, epochs=0).fit(GRAPHS) for n in (2, 4))
    np.testing.assert_array_equal(few.weights_, many.weights_[:2])
    assert not np.allclose(many.weights_[0], many.weights_[1])


def test_training_lowers_every_loss_and_tells_of_every_epoch():
    told = []
    miner = DescriptiveKCN(1, 4, n_restarts=3, **FAST).fit(copies(tailed_triangle(), 3), callback=told.append)
    assert [step[:3] for step in told] == [("epochs", epoch, 12) for epoch in range(1, 13)]
    assert told[4].values == {"loss": miner.history_[4].min()}
    assert (miner.history_[-1] < miner.history_[0]).all()


def test_color_matching_learns_the_two_sides_of_bipartite_graphs():
    graphs = bipartite_graphs(10)
    settings = {"n_restarts": 8, "epochs": 120, "lr": 0.05, "steps": 2}
    plus = DescriptiveKCN(1, 4, **settings).fit(graphs)
    ends = DescriptiveKCN(1, 4, kernel="rwk-", **settings).fit(graphs)
    both = [[len(set(miner.labels(r)[0])) == 2 for r in range(8)] for miner in (plus, ends)]
    assert all(both[0])
    assert sum(both[1]) <= 3  # nodes two steps apart share a color: only the ends see no reason for two


def test_diversity_keeps_hidden_graphs_apart():
    settings = {"n_restarts": 4, "epochs": 40, "lr": 0.05}
    plain, diverse = (DescriptiveKCN(2, 3, diversity=weight, **settings).fit(GRAPHS) for weight in (0.0, 100.0))

    def overlap(miner):
        sets = (torch.from_numpy(part) for part in (miner.colors_, miner.weights_))
        return diversity_penalty(*sets, steps=3).max()

    assert overlap(diverse) < 0.01 * overlap(plain)


def test_it_is_an_estimator_that_follows_its_seed():
    miner = DescriptiveKCN(1, 3, n_restarts=2, random_state=5, **FAST)
    first, again = clone(miner).fit(GRAPHS), clone(miner).fit(GRAPHS)
    np.testing.assert_array_equal(first.weights_, again.weights_)
    other = clone(miner).set_params(random_state=6).fit(GRAPHS)
    assert not np.allclose(first.weights_, other.weights_)
    state = torch.random.get_rng_state()
    clone(miner).fit(GRAPHS)
    assert torch.equal(state, torch.random.get_rng_state())  # no draw from the global generator


@pytest.mark.parametrize(
    "wrong",
    [{"n_patterns": 0}, {"steps": 1.5}, {"n_restarts": 0}, {"loss": "square"}, {"dtype": "half"}, {"views": ()}],
)
def test_impossible_settings_are_named(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        DescriptiveKCN(**wrong).fit(GRAPHS)


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0)])
def test_a_seed_of_chance_can_be_used_again(random_state):
    first = DescriptiveKCN(1, 3, n_restarts=2, random_state=random_state, **FAST).fit(GRAPHS)
    again = DescriptiveKCN(1, 3, n_restarts=2, random_state=first.seed_, **FAST).fit(GRAPHS)
    np.testing.assert_array_equal(first.weights_, again.weights_)
