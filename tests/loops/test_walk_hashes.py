import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.loops.walk_hashes import hash_step

PRIMES = np.array([2_147_483_647, 2_147_483_629])


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(0, 20))
def test_the_loop_equals_exact_integers(seed, nodes, edges):
    rng = np.random.default_rng(seed)
    walks = rng.integers(0, PRIMES, size=(nodes, 2))
    source, target = rng.integers(0, nodes, size=(2, edges))
    edge_label, label = rng.integers(-1, 2, size=edges), rng.integers(-1, 3, size=nodes)
    of_edge, of_label = rng.integers(0, PRIMES, size=(3, 2)), rng.integers(0, PRIMES, size=(4, 2))
    longer = hash_step(walks, source, target, edge_label, label, of_edge, of_label, PRIMES)
    for v in range(nodes):
        for h, prime in enumerate(PRIMES.tolist()):
            total = sum(
                int(walks[target[k], h]) * int(of_edge[edge_label[k], h]) for k in range(edges) if source[k] == v
            )
            assert int(longer[v, h]) == int(of_label[label[v], h]) * total % prime
