import pytest
import torch
from torch_geometric.data import Batch

from rwkplus.errors import GraphError, ParameterError, ShapeError
from rwkplus.functional import rwk_minus, rwk_plus
from rwkplus.nn import KernelConv, KernelLayer
from tests.strategies import data_list, random_graphs

BATCH = Batch.from_data_list(data_list(random_graphs(4, real=True, edge_colors=True, edge_weights=True)))
GRAPHS = (BATCH.x, BATCH.edge_index, BATCH.batch)
PATHS = {"compiled": True, "torch": False}
WAYS = pytest.mark.parametrize("compiled", PATHS.values(), ids=PATHS)


def layer(in_channels=2, **options):
    options = {"hidden_nodes": 3, "steps": 2, "generator": torch.Generator().manual_seed(0)} | options
    return KernelLayer(in_channels, 5, **options).double()


@pytest.mark.parametrize(("name", "kernel"), [("rwk+", rwk_plus), ("rwk-", rwk_minus)])
@pytest.mark.parametrize("walks", ["open", "closed"])
@pytest.mark.parametrize("zero", [True, False])
@WAYS
def test_outputs_are_the_kernels_with_the_hidden_graphs_step_by_step(name, kernel, walks, zero, compiled):
    model = layer(kernel=name, walks=walks, include_zero_step=zero, edge_dim=2, compiled=compiled)
    expected = kernel(
        *GRAPHS,
        model.hidden.x,
        model.hidden.adj,
        steps=2,
        edge_weight=BATCH.edge_weight,
        edge_attr=BATCH.edge_attr,
        hidden_edge_attr=model.hidden.edge_attr,
        closed=walks == "closed",
        include_zero_step=zero,
    )
    output = model(*GRAPHS, BATCH.edge_weight, BATCH.edge_attr)
    assert output.shape == (4, model.num_outputs)
    torch.testing.assert_close(output.view(4, -1, 5), expected.transpose(0, 1))


@pytest.mark.parametrize("placement", ["propagate", "readout"])
@WAYS
def test_step_norm_is_where_it_is_told_to_be(placement, compiled):
    model = layer(step_norm=placement, compiled=compiled)
    y0 = torch.einsum("nd,kmd->nkm", BATCH.x, model.hidden.x)

    def propagate(y):
        moved = torch.einsum("nkm,klm->nkl", y, model.hidden.adj)
        return torch.zeros_like(y).index_add(0, BATCH.edge_index[0], moved[BATCH.edge_index[1]])

    def norm(y):
        mean, var = y.mean((0, 2)), y.var((0, 2), correction=0)
        return ((y - mean.view(1, -1, 1)) / (var.view(1, -1, 1) + 1e-5).sqrt()).sigmoid()

    y, expected = y0, []
    for _ in range(2):
        y = norm(propagate(y)) if placement == "propagate" else propagate(y)
        matched = y0 * y
        read = matched if placement == "propagate" else norm(matched)
        expected.append(torch.zeros(4, 5, dtype=y.dtype).index_add(0, BATCH.batch, read.sum(-1)))
        y = y0 * matched
    torch.testing.assert_close(model(*GRAPHS), torch.cat(expected, 1))


@pytest.mark.parametrize("kernel", ["rwk+", "rwk-"])
@pytest.mark.parametrize("step_norm", [None, "propagate"])
@pytest.mark.parametrize("training", [True, False])
def test_compiled_loops_agree_with_the_plain_recurrence(kernel, step_norm, training):
    found = []
    for compiled in PATHS.values():
        model = layer(kernel=kernel, step_norm=step_norm, edge_dim=2, compiled=compiled).train(training)
        x = BATCH.x.clone().requires_grad_()
        output = model(x, *GRAPHS[1:], BATCH.edge_weight, BATCH.edge_attr)
        output.square().sum().backward()
        gradients = [x.grad, *(parameter.grad for parameter in model.parameters())]
        found.append([output, *gradients, *model.buffers()])
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("step_norm", [None, "propagate"])
def test_neither_nodes_nor_edges_need_to_be_sorted(step_norm):
    draw, model = torch.Generator().manual_seed(1), layer(step_norm=step_norm, edge_dim=2)
    nodes = torch.randperm(BATCH.num_nodes, generator=draw)
    edges = torch.randperm(BATCH.num_edges, generator=draw)
    renamed = nodes.argsort()[BATCH.edge_index[:, edges]]
    mixed = model(BATCH.x[nodes], renamed, BATCH.batch[nodes], BATCH.edge_weight[edges], BATCH.edge_attr[edges])
    torch.testing.assert_close(mixed, model(*GRAPHS, BATCH.edge_weight, BATCH.edge_attr))


def test_edge_weights_can_be_learned():
    weight = BATCH.edge_weight.clone().requires_grad_()
    layer()(*GRAPHS, weight).sum().backward()
    assert weight.grad.any()


def test_edges_between_graphs_are_refused():
    wrong = BATCH.batch.clone()
    wrong[-1] = 0
    with pytest.raises(GraphError, match="name the graph of each node"):
        layer()(BATCH.x, BATCH.edge_index, wrong)


@WAYS
def test_graphs_without_nodes_at_the_end_have_zeros(compiled):
    output = layer(compiled=compiled)(*GRAPHS, num_graphs=6)
    assert output.shape == (6, 10)
    assert not output[4:].any()


def test_sizes_are_read_off_the_first_input_and_kept():
    lazy = KernelLayer(-1, 5, hidden_nodes=3)
    assert lazy(BATCH.x.float(), *GRAPHS[1:]).shape == (4, 15)
    with pytest.raises(ShapeError, match="KernelLayer"):
        lazy(torch.ones(BATCH.num_nodes, 3), *GRAPHS[1:])


def test_impossible_arguments_are_refused():
    with pytest.raises(ParameterError, match="combine"):
        KernelLayer(2, 5, combine="max")


@WAYS
def test_weights_of_another_length_are_refused(compiled):
    with pytest.raises(ShapeError, match="edges but edge_weight is"):
        layer(compiled=compiled)(*GRAPHS, torch.ones(1).double())
    with pytest.raises(ShapeError, match="colors"):
        layer(compiled=compiled, edge_dim=2)(*GRAPHS, edge_attr=torch.ones(BATCH.num_edges, 3).double())


@WAYS
def test_weights_and_colors_may_be_of_another_type(compiled):
    model = layer(compiled=compiled, edge_dim=2).float()
    graphs = (BATCH.x.float(), *GRAPHS[1:])
    expected = model(*graphs, BATCH.edge_weight.float(), BATCH.edge_attr.float())
    torch.testing.assert_close(model(*graphs, BATCH.edge_weight, BATCH.edge_attr), expected)


def test_a_layer_of_open_size_can_be_saved():
    state = KernelLayer(-1, 5).state_dict()
    KernelLayer(-1, 5).load_state_dict(state)


@WAYS
@pytest.mark.parametrize("walks", ["open", "closed"])
def test_a_single_graph_needs_no_batch(compiled, walks):
    model, graph = layer(compiled=compiled, walks=walks), BATCH[0]
    expected = model(graph.x, graph.edge_index, torch.zeros(graph.num_nodes, dtype=torch.long))
    torch.testing.assert_close(model(graph.x, graph.edge_index), expected)


@pytest.mark.parametrize("compiled", [True, False])
def test_batches_that_do_not_fit_are_refused(compiled):
    conv, x, edges = KernelLayer(3, 2, compiled=compiled), torch.rand(4, 3), torch.tensor([[0, 1], [1, 0]])
    with pytest.raises(ShapeError, match="batch must name a graph for each of the 4 nodes"):
        conv(x, edges, torch.zeros(3, dtype=torch.long))


def test_edges_and_graphs_that_are_not_there_are_refused():
    conv, x, batch = KernelLayer(3, 2), torch.rand(4, 3), torch.tensor([0, 0, 1, 1])
    with pytest.raises(GraphError, match="edge_index names nodes from -1 to 0 but there are 4"):
        conv(x, torch.tensor([[0], [-1]]), batch)
    with pytest.raises(ShapeError, match="batch names 2 graphs but num_graphs is 1"):
        conv(x, torch.tensor([[0], [1]]), batch, num_graphs=1)


@pytest.mark.parametrize("compiled", PATHS.values(), ids=PATHS)
def test_a_single_color_of_edges_may_be_flat(compiled):
    model = layer(edge_dim=1, compiled=compiled)
    color = BATCH.edge_attr[:, 0]
    expected = model(*GRAPHS, edge_attr=color.unsqueeze(1))
    torch.testing.assert_close(model(*GRAPHS, edge_attr=color), expected)
    with pytest.raises(ShapeError, match="edge_attr"):
        model(*GRAPHS, edge_attr=BATCH.edge_attr)


@pytest.mark.parametrize("make", [KernelLayer, KernelConv])
@pytest.mark.parametrize("walks", ["open", "closed"])
def test_many_layers_run_under_vmap(make, walks):
    layers = [make(2, 3, steps=2, walks=walks).double() for _ in range(3)]
    state = torch.func.stack_module_state(layers)
    together = torch.func.vmap(lambda *s: torch.func.functional_call(layers[0], s, GRAPHS[:2]))(*state)
    torch.testing.assert_close(together, torch.stack([layer(*GRAPHS[:2]) for layer in layers]))


@pytest.mark.parametrize("options", [{}, {"walks": "closed"}, {"step_norm": "readout"}, {"compiled": False}])
@pytest.mark.parametrize(
    ("edge_index", "batch", "num_graphs", "error", "message"),
    [
        ([[0, 2], [1, 3]], [0, 0, 0, 1], None, GraphError, "edge 1 leads from node 2 to node 3"),
        ([[0, 2], [1, 9]], [0, 0, 0, 0], None, GraphError, "from 0 to 9"),
        ([[0, 2], [1, 1]], [1, 1, 1, 1], 1, ShapeError, "num_graphs is 1"),
    ],
)
def test_edges_and_graphs_that_do_not_fit_are_named_on_every_path(
    options, edge_index, batch, num_graphs, error, message
):
    x = torch.ones(4, 2, dtype=torch.double)
    with pytest.raises(error, match=message):
        layer(**options)(x, torch.tensor(edge_index), torch.tensor(batch), num_graphs=num_graphs)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((None, BATCH.edge_index), "x must be a tensor, got NoneType"),
        ((BATCH.x.to("meta"), BATCH.edge_index), "x is on meta"),
        ((BATCH.x, [[0], [1]]), "edge_index must be a tensor, got list"),
        ((BATCH.x, BATCH.edge_index, BATCH.batch.to("meta")), "batch is on meta"),
    ],
)
def test_inputs_that_are_no_tensors_or_elsewhere_are_named(inputs, message):
    with pytest.raises(ParameterError, match=message):
        layer()(*inputs)


@pytest.mark.parametrize(
    ("option", "value"),
    [("steps", "2"), ("steps", True), ("edge_dim", 1.5), ("hidden_nodes", 2.5), ("edge_dim", 0)],
)
def test_sizes_must_be_whole_numbers(option, value):
    with pytest.raises(ParameterError, match=f"{option} must be a whole number of at least 1"):
        layer(**{option: value})
