"""Kernels of whole graphs with hidden graphs: plain torch, compiled loops, and nodes merged by kind."""

from itertools import product

import torch
from torch_geometric.data import Batch

from benchmarks.kernel_conv import check_agreement, interleaved_milliseconds
from benchmarks.measure import record
from rwkplus.data import load
from rwkplus.io.pyg import one_hot_degree
from rwkplus.nn import KernelLayer
from rwkplus.ops.egonet_kinds import row_hashes
from rwkplus.ops.walk_kinds import walk_kinds

GRAPHS = 128
SIZES = [(8, 5, 2), (16, 10, 3)]
WAYS = {"torch": (False, False), "compiled": (True, False), "merged": (True, True)}


def step(batch, compiled, merged, num_hidden, hidden_nodes, steps, kernel, step_norm):
    """A function that goes forward and backward once, and returns output and gradients added up so far."""
    layer = KernelLayer(
        batch.num_node_features,
        num_hidden,
        hidden_nodes=hidden_nodes,
        steps=steps,
        kernel=kernel,
        step_norm=step_norm,
        compiled=compiled,
        generator=torch.Generator().manual_seed(0),
    )
    kinds = walk_kinds(row_hashes(batch.x), batch.edge_index, steps) if merged else None

    def both_passes():
        output = layer(batch.x, batch.edge_index, batch.batch, num_graphs=batch.num_graphs, kinds=kinds)
        output.sum().backward()
        return output.detach(), *(parameter.grad for parameter in layer.parameters())

    return both_passes


def main():
    """Check that all ways agree on the layers of iGAD, small and large, then measure."""
    graphs = load("NCI1").to_pyg()
    chosen = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0))[:GRAPHS]
    chosen = [graphs[i] for i in chosen]
    batches = {"degrees": Batch.from_data_list(one_hot_degree(chosen)), "atoms": Batch.from_data_list(chosen)}
    rows = []
    for (colors, batch), size, kernel, step_norm in product(
        batches.items(), SIZES, ("rwk+", "rwk-"), (None, "propagate")
    ):
        ways = [step(batch, *way, *size, kernel, step_norm) for way in WAYS.values()]
        check_agreement([way() for way in ways])
        times = dict(zip(WAYS, interleaved_milliseconds(ways), strict=True))
        rows.append(
            {
                "colors": colors,
                "kernel": kernel,
                "StepNorm": step_norm or "none",
                "hidden graphs": size[0],
                "hidden nodes": size[1],
                "steps": size[2],
                **{f"{way} ms": time for way, time in times.items()},
                "torch / compiled": times["torch"] / times["compiled"],
                "compiled / merged": times["compiled"] / times["merged"],
            }
        )
    about = (
        f"Forward and backward, {GRAPHS} graphs of NCI1, one thread; the two hidden-graph sizes are iGAD's, and so are "
        "degrees as colors. *Merged*: nodes whose walks meet the same colors are walked from once. Outputs and "
        "gradients of all three ways agree."
    )
    record("kernel_layer", "Kernels of whole graphs with hidden graphs", about, rows)


if __name__ == "__main__":
    main()
