import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.large.csr_graph import undirected_csr


@given(st.lists(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20), max_size=4))
def test_rows_hold_every_neighbor_once_in_ascending_order(chunks):
    arrays = [np.array(chunk, np.int64).reshape(-1, 2) for chunk in chunks]
    indptr, indices = undirected_csr(
        lambda: ((chunk[:, 0], chunk[:, 1]) for chunk in arrays), 8, lambda _, shape, dtype: np.zeros(shape, dtype)
    )
    pairs = {(u, v) for chunk in chunks for u, v in chunk if u != v}
    for v in range(8):
        neighbors = sorted({b for a, b in pairs if a == v} | {a for a, b in pairs if b == v})
        assert indices[indptr[v] : indptr[v + 1]].tolist() == neighbors
