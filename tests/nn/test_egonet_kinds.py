import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch

from rwkplus.functional import Egonets
from rwkplus.nn import EgoNets, egonets_of
from rwkplus.nn.transforms import merge_egonets
from tests.strategies import colored_graphs, data_list

graphs = st.lists(colored_graphs(min_nodes=1, edge_weights=True, edge_colors=True, colors=2), min_size=1, max_size=4)
EXTENT = (1, 3)


def transformed(graphs):
    return Batch.from_data_list([EgoNets(*EXTENT)(graph) for graph in data_list(graphs)])


def written(x, egonets):
    """All of every egonet, written down."""
    sizes, counts = egonets.size.tolist(), egonets.link_count.tolist()
    parts = (
        x[egonets.member].split(sizes),
        *(part.split(counts) for part in (egonets.link, egonets.weight, egonets.attr)),
    )
    return [str([part.tolist() for part in egonet]) for egonet in zip(*parts, strict=True)]


@given(graphs)
def test_kinds_are_equal_exactly_for_equal_egonets(graphs):
    batch = transformed(graphs)
    texts, kinds = written(batch.x, egonets_of(batch, *EXTENT)), batch.ego_kind.tolist()
    assert len(set(zip(texts, kinds, strict=True))) == len(set(texts)) == len(set(kinds))


@given(graphs)
def test_merging_keeps_one_egonet_of_each_kind(graphs):
    batch = transformed(graphs)
    egonets = egonets_of(batch, *EXTENT)
    distinct, which = merge_egonets(egonets)
    texts = written(batch.x, distinct)
    assert len(set(texts)) == len(texts)
    assert [texts[d] for d in which] == written(batch.x, egonets)
    assert distinct.multiplicity.tolist() == torch.bincount(which, minlength=len(texts)).tolist()


def test_nothing_to_merge():
    empty = torch.empty(0, dtype=torch.long)
    distinct, which = merge_egonets(Egonets(empty, empty, empty.view(0, 2), empty, kind=empty))
    assert which.numel() == distinct.size.numel() == 0
