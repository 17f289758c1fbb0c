"""Kernel convolution on 64 molecules: time and memory beside the straightforward padded formulation."""

import statistics
import time

import torch
from threadpoolctl import threadpool_limits
from torch.nn.functional import cross_entropy
from torch_geometric.data import Batch

from benchmarks.measure import record
from benchmarks.padded import PaddedConv, PaddedEgonets, PaddedKerGNN
from rwkplus.datasets import load_graphs
from rwkplus.models import KerGNN
from rwkplus.nn import EgoNets, KernelConv, egonets_of

GRAPHS, HIDDEN_NODES, MAX_NODES, FEATURES = 64, 6, 10, 8
TURNS, CALLS = 7, 5
WAYS = ("padded", "torch", "compiled")


def sample():
    """A batch of molecules with their egonets."""
    graphs = load_graphs("NCI1").to_pyg()
    chosen = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0))[:GRAPHS]
    return Batch.from_data_list([EgoNets(1, MAX_NODES)(graphs[i]) for i in chosen])


def interleaved_milliseconds(functions):
    """Median CPU time of each on one thread, in turns of a few calls so that all see the same machine, and warm."""
    times = [[] for _ in functions]
    with threadpool_limits(1):
        for _ in range(TURNS):
            for function, taken in zip(functions, times, strict=True):
                function()
                for _ in range(CALLS):
                    begin = time.process_time()
                    function()
                    taken.append(1e3 * (time.process_time() - begin))
    return [statistics.median(taken) for taken in times]


def check_agreement(results):
    """Stop unless all ways gave the same outputs and gradients, but for rounding."""
    for result in results[1:]:
        for part, expected in zip(result, results[0], strict=True):
            scale = expected.abs().max()
            torch.testing.assert_close(part / scale, expected / scale, rtol=0, atol=1e-4)


def saved_megabytes(function):
    """Floating-point numbers that a forward pass keeps for the backward pass, parameters left out."""
    seen = {}

    def keep(tensor):
        if tensor.is_floating_point() and not isinstance(tensor, torch.nn.Parameter):
            seen[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        function()
    return sum(seen.values()) / 1e6


def layers(steps, num_hidden, step_norm, padded_size, batch, inputs, merge, kernel):
    """The same layer in three ways, as functions that return its output."""
    egonets = egonets_of(batch, 1, MAX_NODES)
    padded = PaddedEgonets(egonets, padded_size)
    ways = {}
    for way in WAYS:
        conv = KernelConv(
            FEATURES,
            num_hidden,
            hidden_nodes=HIDDEN_NODES,
            steps=steps,
            kernel=kernel,
            step_norm=step_norm,
            compiled=way == "compiled",
            generator=torch.Generator().manual_seed(0),
        )
        layer = PaddedConv(conv) if way == "padded" else conv
        arguments, options = ((padded,), {}) if way == "padded" else ((egonets,), {"merge": merge})
        ways[way] = (lambda layer=layer, rest=arguments, options=options: layer(inputs(), *rest, **options)), conv
    return ways


def layer_row(steps, num_hidden, step_norm, padded_size, batch, kernel="rwk+", *, atoms=False):
    """Forward and backward pass of a layer, on random features or on linearly encoded atoms."""
    draw = torch.Generator().manual_seed(1)
    encoder = torch.rand(batch.x.size(1), FEATURES, generator=draw).requires_grad_()
    x = torch.rand(batch.num_nodes, FEATURES, generator=draw).requires_grad_()
    learned, inputs = (encoder, lambda: batch.x @ encoder) if atoms else (x, lambda: x)
    ways = layers(steps, num_hidden, step_norm, padded_size, batch, inputs, atoms, kernel)
    target = torch.rand(batch.num_nodes, num_hidden, generator=torch.Generator().manual_seed(2))

    def both_passes(function, conv):
        learned.grad = None
        conv.zero_grad()
        output = function()
        (output * target).sum().backward()
        return output.detach(), learned.grad, conv.hidden.edge_logits.grad

    results = [both_passes(*way) for way in ways.values()]
    check_agreement(results)
    times = interleaved_milliseconds([lambda way=way: both_passes(*way) for way in ways.values()])
    kept = [saved_megabytes(function) for function, _ in ways.values()]
    what = f"layer on {'atoms' if atoms else 'random features'}, padded to {padded_size}"
    return row(what, kernel, steps, num_hidden, step_norm, times, kept)


def training_row(steps, step_norm, batch):
    """A step of Adam on a network of one layer."""
    batch.y = torch.as_tensor([int(y) for y in batch.y])
    padded = PaddedEgonets(egonets_of(batch, 1, MAX_NODES), MAX_NODES)
    calls = []
    for way in WAYS:
        torch.manual_seed(0)
        model = KerGNN(batch.x.size(1), 2, steps=steps, step_norm=step_norm, max_nodes=MAX_NODES)
        model.convs[0].compiled = way == "compiled"
        network = PaddedKerGNN(model) if way == "padded" else model
        optimizer = torch.optim.Adam(network.parameters(), 1e-2)

        def step(network=network, optimizer=optimizer, arguments=(batch, padded) if way == "padded" else (batch,)):
            optimizer.zero_grad()
            loss = cross_entropy(network(*arguments), batch.y)
            loss.backward()
            optimizer.step()
            return loss.item()

        calls.append(step)
    losses = [[call() for _ in range(3)] for call in calls]
    for other in losses[1:]:
        torch.testing.assert_close(other, losses[0], rtol=1e-3, atol=1e-3)
    return row("training step of KerGNN", "rwk+", steps, 8, step_norm, interleaved_milliseconds(calls))


def row(what, kernel, steps, num_hidden, step_norm, times, kept=None):
    """A line of the table."""
    line = {"work": what, "kernel": kernel, "StepNorm": step_norm or "none"}
    line |= {"steps": steps, "hidden graphs": num_hidden}
    line |= {f"{way} ms": taken for way, taken in zip(WAYS, times, strict=True)}
    line |= {f"times faster, {way}": times[0] / taken for way, taken in zip(WAYS[1:], times[1:], strict=True)}
    if kept is not None:
        line |= {"padded keeps MB": kept[0], "compiled keeps MB": kept[2]}
    return line


def main():
    """Check that all ways agree, then measure."""
    torch.set_num_threads(1)
    batch = sample()
    rows = [layer_row(steps, 8, norm, MAX_NODES, batch) for norm in (None, "propagate") for steps in (2, 3)]
    rows += [layer_row(steps, 8, norm, MAX_NODES, batch, "rwk-") for norm in (None, "propagate") for steps in (2, 3)]
    rows += [layer_row(2, 32, norm, MAX_NODES, batch) for norm in (None, "propagate")]
    for steps, num_hidden in ((2, 8), (3, 8), (2, 32)):
        rows += [layer_row(steps, num_hidden, norm, MAX_NODES, batch, atoms=True) for norm in (None, "propagate")]
    largest = int(batch.ego_size.max())
    rows += [layer_row(2, 8, norm, largest, batch) for norm in (None, "propagate")]
    rows += [training_row(steps, norm, batch) for norm in (None, "propagate") for steps in (2, 3)]
    record(
        "kernel_conv",
        "Kernel convolution on 64 molecules of NCI1",
        f"{batch.num_nodes:,} egonets of one hop, {HIDDEN_NODES} nodes per hidden graph, {FEATURES} features; forward "
        "and backward pass, or a whole step of training a network of one layer with Adam. Padded: Algorithm 1 on dense "
        f"adjacencies of {MAX_NODES} nodes per egonet, the paper's setting, or of the largest egonet at hand, with "
        "the same parameters; outputs, gradients and losses agree. Torch: the same layer without compiled loops. "
        "Random features leave no two egonets alike; on atoms and in training, egonets with the same atoms and edges "
        "are computed once. Kept: what the forward pass leaves for the backward pass. CPU time on one thread, medians "
        "of calls taken in turns.",
        rows,
    )


if __name__ == "__main__":
    main()
