from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.kernels.node_colors import count_colors
from rwkplus.kernels.walk_sequences import count_walks
from tests.strategies import arrays_of, colored_graphs, data_list, random_graphs

STEPS = 3


def arrays(graphs):
    return arrays_of(data_list(graphs))


def hash_by_name(graphs, **how):
    labelled = arrays(graphs)
    tree = count_walks(labelled, STEPS, **how).tree
    names = chain.from_iterable(tree.names(list("abc"), list("xy")))
    return dict(zip(names, np.concatenate(list(tree.hashes(labelled))).tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("match_all", [True, False], ids=["rwk+", "rwk-"])
@given(graphs=st.lists(colored_graphs(max_nodes=4, edge_colors=True), min_size=2, max_size=3))
def test_a_sequence_hashes_alike_in_every_database_and_unlike_all_others(match_all, graphs):
    together = hash_by_name(graphs, match_all=match_all)
    assert len(set(together.values())) == len(together)
    for graph in graphs:
        alone = hash_by_name([graph], match_all=match_all)
        assert alone == {name: together[name] for name in alone}


@pytest.mark.parametrize("assignment", ["dirac", "optimal"])
def test_node_colors_hash_alike_in_every_database_and_apart_by_step(assignment):
    graphs = random_graphs(6)
    together, alone = (
        list(count_colors(part, STEPS, assignment).tree.hashes(part)) for part in (arrays(graphs), arrays(graphs[:2]))
    )
    for few, many in zip(alone, together, strict=True):
        assert set(few.tolist()) <= set(many.tolist())
    everything = np.concatenate(together)
    assert np.unique(everything).size == everything.size


def test_every_bit_of_the_hashes_is_a_fair_coin():
    hashed = np.array(list(hash_by_name(random_graphs(40, max_nodes=12, edge_colors=True)).values()), np.uint64)
    bits = (hashed[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert hashed.size > 500
    assert np.abs(bits.mean(0) - 0.5).max() < 5 * 0.5 / np.sqrt(hashed.size)  # five standard deviations
