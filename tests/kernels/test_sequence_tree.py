import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rwkplus.kernels.walk_sequences import SequenceTree, count_walks
from tests.strategies import arrays_of, colored_graphs, data_list, pyg_graphs

STEPS = 3
any_walks = st.fixed_dictionaries({"match_all": st.booleans(), "closed": st.booleans()})


def databases(**fields):
    return st.lists(
        colored_graphs(min_nodes=0, max_nodes=4, edge_colors=True, blank=True, **fields), min_size=2, max_size=5
    )


def arrays(graphs):
    return arrays_of(data_list(graphs))


def placed(counts, place, width):
    """Columns at their places, those without one dropped."""
    coo = counts.tocoo()
    columns = place[coo.col]
    known = columns >= 0
    shape = (counts.shape[0], width)
    return sparse.csr_matrix((coo.data[known], (coo.row[known], columns[known])), shape=shape).toarray()


def levels(tree):
    return [[column.tolist() for column in level] for level in (*tree.prefixes, *tree.sequences)]


@settings(max_examples=40)
@given(how=any_walks, graphs=databases(), cut=st.integers(1, 4))
def test_blocks_counted_apart_and_merged_equal_everything_at_once(how, graphs, cut):
    whole = count_walks(arrays(graphs), STEPS, **how)
    parts = [count_walks(arrays(part), STEPS, **how) for part in (graphs[:cut], graphs[cut:]) if part]
    merged = SequenceTree.merged([part.tree for part in parts])
    assert levels(merged) == levels(whole.tree)
    places = [list(merged.locate(part.tree)) for part in parts]
    for i, level in enumerate(whole.counts):
        rows = [placed(p.counts[i], place[i], level.shape[1]) for p, place in zip(parts, places, strict=True)]
        assert np.array_equal(np.concatenate(rows), level.toarray())


@settings(max_examples=40)
@given(how=any_walks, graphs=databases())
def test_merging_is_the_same_in_any_order_and_idempotent(how, graphs):
    trees = [count_walks(arrays([graph]), STEPS, **how).tree for graph in graphs]
    merged = SequenceTree.merged(trees)
    assert levels(SequenceTree.merged(trees[::-1])) == levels(merged)
    assert levels(SequenceTree.merged([merged, *trees])) == levels(merged)


@settings(max_examples=40)
@given(how=any_walks, graphs=databases(), cut=st.integers(1, 4))
def test_sequences_are_found_exactly_when_they_are_there(how, graphs, cut):
    fitted = count_walks(arrays(graphs[:cut]), STEPS, **how)
    later = count_walks(arrays(graphs), STEPS, **how)
    names = [list("abc"), list("xy")]
    known, unknown = fitted.tree.names(*names), later.tree.names(*names)
    for i, place in enumerate(fitted.tree.locate(later.tree)):
        assert len(set(known[i])) == len(known[i])
        assert place.tolist() == [known[i].index(n) if n in known[i] else -1 for n in unknown[i]]


def test_names_are_written_like_chemistry():
    acid = nx.Graph([(0, 1, {"label": "-"}), (1, 2, {"label": "="}), (1, 3, {"label": "-"})])
    nx.set_node_attributes(acid, {0: "C", 1: "C", 2: "O", 3: "O"}, "label")
    (data,) = pyg_graphs([acid])
    tree = count_walks(arrays_of([data]), 2).tree
    names = tree.names(data.node_label_names, data.edge_label_names)
    assert names[0] == ["C", "O"]
    assert set(names[1]) == {"C-C", "C-O", "C=O", "O-C", "O=C"}
    assert {"C-C=O", "O=C-O", "O-C-O"} <= set(names[2])


def test_long_edge_names_are_bracketed_and_nodes_not_compared_are_stars():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, "A", "label")
    nx.set_edge_attributes(graph, "bond", "label")
    tree = count_walks(arrays_of([graph]), 2, match_all=False).tree
    assert tree.names(["A"], ["bond"])[2] == ["A-[bond]-*-[bond]-A"]
    assert tree.names(["A"], None)[2] == ["A-*-A"]
