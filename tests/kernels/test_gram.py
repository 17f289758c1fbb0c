import numpy as np
import pytest
from scipy import sparse

from rwkplus.errors import NumericError
from rwkplus.kernels import explicit_features
from rwkplus.kernels.explicit_features import feature_gram
from rwkplus.kernels.graph_kernel import finite
from rwkplus.kernels.random_walk import cosine


def sparse_rows(num_rows, num_columns=60, seed=0):
    rng = np.random.default_rng(seed)
    share = rng.choice([0.0, 0.01, 0.05, 0.9], num_columns)  # absent, rare and frequent features
    return sparse.csr_matrix(
        rng.integers(1, 9, (num_rows, num_columns)) * (rng.random((num_rows, num_columns)) < share)
    )


@pytest.mark.parametrize("dense_share", [0.0, 0.03, 1.0], ids=["all dense", "mixed", "all sparse"])
def test_equals_the_dense_product_wherever_the_line_between_rare_and_frequent_is(monkeypatch, dense_share):
    monkeypatch.setattr(explicit_features, "DENSE_SHARE", dense_share)
    rows, cols = sparse_rows(30, seed=1), sparse_rows(40, seed=2)
    assert np.array_equal(feature_gram(rows, cols), rows.toarray() @ cols.toarray().T)
    assert np.array_equal(feature_gram(cols, cols), cols.toarray() @ cols.toarray().T)


def test_no_features_at_all_give_zeros():
    assert feature_gram(sparse.csr_matrix((2, 0)), sparse.csr_matrix((3, 0))).tolist() == [[0.0] * 3] * 2


def test_cosine_has_a_unit_diagonal_and_keeps_zeros_of_graphs_without_walks():
    features = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 0.0]])
    products = features @ features.T
    norms = np.diag(products).copy()
    np.testing.assert_allclose(cosine(products, norms, norms), [[1, 0.6, 0], [0.6, 1, 0], [0, 0, 0]])


def test_what_is_not_finite_is_refused():
    assert finite(np.ones(2)).tolist() == [1, 1]
    for wrong in (np.inf, np.nan):
        with pytest.raises(NumericError, match="steps"):
            finite(np.array([1.0, wrong]))
