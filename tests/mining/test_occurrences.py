import numpy as np

from rwkplus.mining.search.occurrences import Shape, distinct_occurrences


def test_embeddings_that_differ_by_a_symmetry_are_one_occurrence():
    there_and_back = np.array([[0, 1, 2], [2, 1, 0]])
    assert len(distinct_occurrences(Shape((0, 0, 0), ((0, 1, 1), (1, 2, 1))), there_and_back)) == 1


def test_parallel_edges_of_other_labels_make_other_occurrences():
    there_and_back = np.array([[0, 1, 2], [2, 1, 0]])  # where nodes are joined by edges of both labels
    assert len(distinct_occurrences(Shape((0, 0, 0), ((0, 1, 0), (1, 2, 1))), there_and_back)) == 2
