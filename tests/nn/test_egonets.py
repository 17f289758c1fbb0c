import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from rwkplus.errors import GraphError, ParameterError
from rwkplus.nn import EgoNets, egonets_of, extract_egonets
from rwkplus.nn.transforms import FIELDS
from tests.strategies import as_data, data_list, dense, random_graphs, real_graphs

extents = st.tuples(st.integers(1, 3), st.sampled_from([None, 1, 2, 3, 4]))
anything = real_graphs(min_nodes=0, max_nodes=7, edge_colors=True, edge_weights=True)


def breadth_first(graph, center, hops, max_nodes):
    """The members of an egonet, as plain as possible."""
    near = graph.to_undirected(as_view=True)
    queue, distance = [center], {center: 0}
    for u in queue:
        for v in sorted(near[u]):
            if v not in distance and distance[u] < hops:
                distance[v] = distance[u] + 1
                queue.append(v)
    return queue[:max_nodes]


def parts(egonets):
    """Members, and links with what belongs to them, egonet by egonet."""
    sizes, counts = egonets.size.tolist(), egonets.link_count.tolist()
    fields = [field for field in (egonets.link, egonets.weight, egonets.attr) if field is not None]
    return egonets.member.split(sizes), list(zip(*(field.split(counts) for field in fields), strict=True))


@given(anything, extents)
def test_members_are_the_nodes_that_breadth_first_search_visits(graph, extent):
    egonets = egonets_of(as_data(graph), *extent)
    for v, members in enumerate(parts(egonets)[0]):
        assert members.tolist() == breadth_first(graph, v, *extent)


@given(anything, extents)
def test_links_are_the_edges_between_members_in_the_order_of_the_members(graph, extent):
    data = as_data(graph)
    _, adj, colors = dense(graph)
    adj, colors = torch.from_numpy(adj), torch.from_numpy(colors)
    members, links = parts(egonets_of(data, *extent))
    for nodes, (link, weight, attr) in zip(members, links, strict=True):
        rebuilt_adj = torch.zeros(len(nodes), len(nodes), dtype=torch.float64)
        rebuilt_colors = torch.zeros(*rebuilt_adj.shape, colors.size(2), dtype=torch.float64)
        rebuilt_adj[link[:, 0], link[:, 1]] = weight
        rebuilt_colors[link[:, 0], link[:, 1]] = attr
        assert torch.equal(rebuilt_adj, adj[nodes][:, nodes])
        assert torch.equal(rebuilt_colors, colors[nodes][:, nodes])
        assert len(link.unique(dim=0)) == len(link)


@given(st.lists(anything, min_size=1, max_size=4), extents)
def test_batches_of_egonets_are_egonets_of_batches(graphs, extent):
    transform, graphs = EgoNets(*extent), data_list(graphs)
    before, after = (
        Batch.from_data_list([transform(g) for g in graphs]),
        transform(Batch.from_data_list(graphs)),
    )
    for field in FIELDS:
        assert torch.equal(before[field], after[field])


@given(st.lists(anything, min_size=0, max_size=4), extents, st.booleans())
def test_many_graphs_at_once_are_like_one_by_one(graphs, extent, bare):
    transform, graphs = EgoNets(*extent), data_list(graphs)
    for graph in graphs if bare else ():
        del graph.x, graph.edge_weight
        graph.ego_weight = torch.ones(1)  # from an earlier time
    fields = [list(graph.keys()) for graph in graphs]
    for one, found in zip([transform(graph) for graph in graphs], transform.batched(graphs), strict=True):
        assert sorted(one.keys()) == sorted(found.keys())
        assert all(torch.equal(one[field], found[field]) for field in list(one.keys()) if torch.is_tensor(one[field]))
    assert [list(graph.keys()) for graph in graphs] == fields  # those given are left alone


def test_graphs_of_different_forms_are_transformed_at_once_all_the_same():
    graphs = data_list(random_graphs(3, real=True))
    graphs[1].edge_weight = torch.ones(graphs[1].num_edges)
    graphs[2].x = graphs[2].x.float()
    for one, found in zip([EgoNets()(graph) for graph in graphs], EgoNets().batched(graphs), strict=True):
        assert torch.equal(one.ego_kind, found.ego_kind)
        assert torch.equal(one.ego_edges, found.ego_edges)


def test_a_wrong_graph_among_many_is_refused():
    graphs = data_list(random_graphs(2, real=True))
    graphs[1].edge_index = graphs[1].edge_index + 1  # a node of the next graph, if there were one
    with pytest.raises(GraphError, match="names nodes"):
        EgoNets().batched([graphs[1], graphs[0]])


def test_loaders_batch_egonets_and_batches_give_them_back():
    transform, graphs = EgoNets(2, 4), data_list(random_graphs(5, real=True))
    transformed = [transform(graph) for graph in graphs]
    (batch,) = DataLoader(transformed, batch_size=5)
    expected = extract_egonets(batch.edge_index, batch.num_nodes, 2, 4)
    found = egonets_of(batch, 2, 4)
    for field in ("member", "size", "link", "link_count"):
        assert torch.equal(getattr(found, field), getattr(expected, field))
    for graph, again in zip(transformed, batch.to_data_list(), strict=True):
        assert all(torch.equal(graph[field], again[field]) for field in FIELDS if field in graph)


@given(anything, extents, st.randoms(use_true_random=False))
def test_the_order_of_edges_does_not_matter(graph, extent, random):
    data = as_data(graph)
    order = random.sample(range(data.num_edges), data.num_edges)
    shuffled = Data(**{key: data[key] for key in ("x",)}, edge_index=data.edge_index[:, order])
    shuffled.edge_attr, shuffled.edge_weight = data.edge_attr[order], data.edge_weight[order]
    one, other = EgoNets(*extent)(data), EgoNets(*extent)(shuffled)
    assert all(torch.equal(one[field], other[field]) for field in FIELDS)


def test_parallel_edges_and_loops_are_links_of_their_own():
    edge_index = torch.tensor([[0, 1, 1, 0, 1], [1, 0, 1, 1, 0]])
    members, links = parts(extract_egonets(edge_index, 2))
    assert [nodes.tolist() for nodes in members] == [[0, 1], [1, 0]]
    assert links[0][0].tolist() == [[0, 1], [0, 1], [1, 0], [1, 0], [1, 1]]
    assert links[1][0].tolist() == [[0, 1], [0, 1], [0, 0], [1, 0], [1, 0]]


def test_nodes_without_edges_are_alone():
    egonets = extract_egonets(torch.empty(2, 0, dtype=torch.long), 3, hops=2)
    assert egonets.member.tolist() == [0, 1, 2]
    assert egonets.link.shape == (0, 2)


def test_kinds_are_forgotten_when_features_change():
    graph = EgoNets()(as_data(random_graphs(1, real=True)[0]))
    assert egonets_of(graph, 1, None).kind is not None
    graph.x = graph.x.float()  # as exact as before
    assert egonets_of(graph, 1, None).kind is not None
    graph.x = graph.x + 1
    assert egonets_of(graph, 1, None).kind is None


def rich():
    return EgoNets(2, 4)(as_data(random_graphs(1, real=True, edge_colors=True, edge_weights=True)[0]))


@pytest.mark.parametrize("field", ["edge_weight", "edge_attr", "x"])
def test_nothing_is_left_from_an_earlier_time(field):
    graph = rich()
    extracted = {"edge_weight": "ego_weight", "edge_attr": "ego_attr", "x": "ego_kind"}
    assert extracted[field] in graph
    graph.num_nodes, graph[field] = graph.num_nodes, None
    again = EgoNets(2, 4)(graph)
    assert extracted[field] not in again
    assert ("ego_color" in again) == (field != "x")
    assert extracted[field] in graph  # the other graph is left alone


def changed(graph, change):
    """The graph after one change that egonets should know of."""
    edges, weight, attr = graph.edge_index, graph.edge_weight, graph.edge_attr
    one = (torch.arange(edges.size(1)) == 0).double()
    new = {
        "fewer edges": (edges[:, 1:], weight[1:], attr[1:]),
        "only fewer edges": (edges[:, 1:], weight, attr),
        "another edge": (torch.stack([edges[0], (edges[1] + one.long()) % graph.num_nodes]), weight, attr),
        "other weights": (edges, weight + one, attr),
        "no weights": (edges, None, attr),
        "other colors": (edges, weight, attr + one[:, None]),
        "no colors": (edges, weight, None),
    }
    graph.edge_index, graph.edge_weight, graph.edge_attr = new[change]
    return graph


@pytest.mark.parametrize(
    "change",
    ["fewer edges", "only fewer edges", "another edge", "other weights", "no weights", "other colors", "no colors"],
)
@pytest.mark.parametrize("how", ["one graph", "in a batch", "before batching"])
def test_changes_of_edges_are_noticed(change, how):
    graph = rich()
    if how == "one graph":
        stale = changed(graph, change)
    elif how == "in a batch":
        stale = changed(Batch.from_data_list([graph, graph.clone()]), change)
    else:
        stale = changed(graph, change)
        stale = Batch.from_data_list([stale, stale])
    with pytest.raises(GraphError, match=r"have changed since.*EgoNets\(hops=2, max_nodes=4\) again"):
        egonets_of(stale, 2, 4)
    if change != "only fewer edges":
        assert egonets_of(EgoNets(2, 4)(stale), 2, 4).size.numel() == stale.num_nodes


def test_other_orders_types_and_graphs_are_no_change():
    graph, other = rich(), EgoNets(2, 4)(as_data(random_graphs(2, real=True, edge_colors=True, edge_weights=True)[1]))
    order = torch.randperm(graph.num_edges, generator=torch.Generator().manual_seed(0))
    shuffled = graph.clone()
    for field in ("edge_attr", "edge_weight"):
        shuffled[field] = graph[field][order].float()
    shuffled.edge_index = graph.edge_index[:, order]
    batch = Batch.from_data_list([other, shuffled, other])
    half = batch.clone()
    half.edge_weight = half.edge_weight.half()
    without_ptr = batch.clone()
    del without_ptr.ptr
    for fine in (shuffled, batch, half, without_ptr, *batch.to_data_list(), batch[[2, 0]]):
        for part in fine if isinstance(fine, list) else [fine]:
            assert egonets_of(part, 2, 4).size.numel() == part.num_nodes


def test_no_graph_at_all():
    egonets = extract_egonets(torch.empty(2, 0, dtype=torch.long), 0)
    assert [len(part) for part in egonets[:4]] == [0, 0, 0, 0]


def test_a_hub_of_any_size_is_found_whole():
    star = as_data(real(nx.star_graph(300)))
    egonets = egonets_of(star, 2, None)
    assert egonets.size.tolist() == [301] * 301
    assert egonets.link_count.tolist() == [600] * 301


def real(graph):
    graph.graph.update(real=False, edge_colors=False, edge_weights=False)
    nx.set_node_attributes(graph, 0, "color")
    return graph


def test_the_graph_itself_is_left_alone():
    graph = as_data(random_graphs(1, real=True)[0])
    keys = set(graph.keys())
    transformed = EgoNets()(graph)
    assert set(graph.keys()) == keys
    assert transformed.num_nodes == graph.num_nodes
    assert transformed.num_edges == graph.num_edges
    assert repr(EgoNets(2, 9)) == "EgoNets(hops=2, max_nodes=9)"


def test_graphs_without_features_need_a_number_of_nodes():
    graph = EgoNets()(Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3))
    assert graph.num_nodes == 3
    assert Batch.from_data_list([graph, graph]).ego_index.tolist() == [0, 1, 1, 0, 2, 3, 4, 4, 3, 5]


def test_weights_and_colors_may_be_columns_or_not():
    edge_index = torch.tensor([[0, 1], [1, 0]])
    column = torch.tensor([[2.0], [2.0]])
    egonets = extract_egonets(edge_index, 2, edge_weight=column, edge_attr=column[:, 0])
    assert egonets.weight.shape == (4,)
    assert egonets.attr.shape == (4, 1)


@pytest.mark.parametrize("extent", [{"hops": 0}, {"hops": 1.5}, {"max_nodes": 0}, {"max_nodes": "10"}])
def test_impossible_extents_are_refused(extent):
    with pytest.raises(ParameterError, match=next(iter(extent))):
        EgoNets(**extent)


def test_egonets_of_another_extent_are_refused():
    graph = EgoNets(1, 5)(as_data(random_graphs(1)[0]))
    with pytest.raises(GraphError, match=r"EgoNets\(hops=1, max_nodes=5\).*EgoNets\(hops=1, max_nodes=None\)"):
        egonets_of(graph, 1, None)


def test_edges_to_nodes_that_are_not_there_are_refused():
    with pytest.raises(GraphError, match="from 0 to 7 but there are 2"):
        extract_egonets(torch.tensor([[0], [7]]), 2)
    with pytest.raises(GraphError, match="edge_index"):
        EgoNets()(Data(x=torch.ones(2, 1)))
