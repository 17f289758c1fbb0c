import numpy as np
import pytest
import torch

from rwkplus.datasets.generators import triangle_chains
from rwkplus.descriptive.gradient import _changed_objective, _climb, _DiscreteBanks, _Kicks, _refine, _single_changes
from rwkplus.descriptive.views import WalkDatabase, paint
from rwkplus.io.pyg import as_batch


@pytest.fixture(scope="module")
def database():
    return WalkDatabase.of(paint(as_batch(triangle_chains(20, "base"))), 3, (3,))


def random_banks(restarts=6, k=2, size=3, num_colors=4, seed=0):
    rng = np.random.default_rng(seed)
    edges = torch.from_numpy(rng.random((restarts, k, size * (size - 1) // 2)) < 0.5)
    return _DiscreteBanks(edges, torch.from_numpy(rng.integers(num_colors, size=(restarts, k, size))))


def plan(kicks, restarts=6):
    return _Kicks.draw([np.random.default_rng(r) for r in range(restarts)], kicks, 2, 3, 4)


def score(database, banks):
    return database.objective(*banks.dense(database))


def test_single_changes_are_all_graphs_one_edge_or_color_away():
    banks = random_banks(restarts=1, k=1)
    candidates, owner = _single_changes(banks, 4)
    edges = (candidates.edges != banks.edges).sum(-1)
    colors = (candidates.colors != banks.colors).sum(-1)
    assert ((edges + colors) == 1).all()
    assert owner.tolist() == [0] * (3 + 3 * 3)
    seen = {(*e, *c) for e, c in zip(candidates.edges[0].tolist(), candidates.colors[0].tolist(), strict=True)}
    assert len(seen) == len(owner)


def test_changes_scored_as_one_bank_equal_changes_made_one_by_one(database):
    banks = random_banks(restarts=2)
    candidates, owner = _single_changes(banks, 4)
    together = _changed_objective(database, banks, candidates, owner)
    for n in range(0, len(owner), 5):
        edges, colors = banks.edges.clone(), banks.colors.clone()
        edges[:, owner[n]], colors[:, owner[n]] = candidates.edges[:, n], candidates.colors[:, n]
        torch.testing.assert_close(together[:, n], score(database, _DiscreteBanks(edges, colors)))


def test_climbing_ends_where_no_single_change_helps(database):
    banks = random_banks()
    reached, value = _climb(database, banks, score(database, banks))
    torch.testing.assert_close(value, score(database, reached))
    assert (value >= score(database, banks)).all()
    best = _changed_objective(database, reached, *_single_changes(reached, 4)).max(1).values
    assert (best <= value + 1e-8).all()


def test_refinement_never_lowers_the_objective(database):
    banks = random_banks(seed=1)
    before, values = score(database, banks), []
    for kicks in (0, 2, 6):
        refined, value = _refine(database, banks, plan(kicks))
        torch.testing.assert_close(value, score(database, refined))
        values.append(value)
    assert (values[0] >= before).all()
    assert (values[1] >= values[0]).all()
    assert (values[2] >= values[1]).all()


def test_a_restart_does_not_depend_on_its_company(database):
    banks = random_banks()
    _, together = _refine(database, banks, plan(3))
    for r in (0, 4):
        alone = _Kicks.draw([np.random.default_rng(r)], 3, 2, 3, 4)
        _, value = _refine(database, banks[torch.tensor([r])], alone)
        torch.testing.assert_close(value, together[r : r + 1])


def test_a_small_block_gives_the_same_answer(database, monkeypatch):
    banks = random_banks()
    expected, value = _climb(database, banks, score(database, banks))
    monkeypatch.setattr("rwkplus.descriptive.gradient.CHANGES", 1)
    reached, again = _climb(database, banks, score(database, banks))
    assert torch.equal(reached.edges, expected.edges)
    assert torch.equal(reached.colors, expected.colors)
    torch.testing.assert_close(again, value)
