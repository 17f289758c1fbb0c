"""RWKPlusConv beside GCNConv on a graph of a million nodes: time and memory of one layer, forward and backward."""

import multiprocessing
import sys
import time

import torch
from torch_geometric.nn import GCNConv

from benchmarks.measure import record
from experiments.speed import peak_gigabytes
from rwkplus.nn import RWKPlusConv

CHANNELS = 128
LAYERS = {
    "GCNConv": (GCNConv, {}),
    "RWKPlusConv, 2 steps": (RWKPlusConv, {"steps": 2, "cached": True}),
    "RWKPlusConv, 2 steps, recomputed": (RWKPlusConv, {"steps": 2, "cached": True, "recompute": True}),
}


def measure(name, nodes):
    """Seconds of the better of two passes after a first, and peak memory of a process that does nothing else."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    half = torch.randint(nodes, (2, 5 * nodes))
    edge_index = torch.cat([half, half.flip(0)], 1)  # undirected, ten directed edges per node
    x = torch.rand(nodes, CHANNELS)
    conv, options = LAYERS[name]
    layer = conv(CHANNELS, CHANNELS, **options)
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        layer(x, edge_index).sum().backward()
        seconds.append(time.process_time() - begin)
    return min(seconds[1:]), peak_gigabytes()


def main(sizes):
    """One process for each layer and size, one after the other."""
    rows = []
    context = multiprocessing.get_context("spawn")
    for nodes in sizes:
        found = {}
        for name in LAYERS:
            with context.Pool(1) as pool:
                found[name] = pool.apply(measure, (name, nodes))
        rows += [
            {
                "layer": name,
                "nodes": nodes,
                "directed edges": 10 * nodes,
                "seconds": seconds,
                "times GCNConv": seconds / found["GCNConv"][0],
                "peak GB": memory,
            }
            for name, (seconds, memory) in found.items()
        ]
    record(
        "rwk_plus_conv_large",
        "RWKPlusConv on a million nodes",
        f"Forward and backward through one layer ({CHANNELS} to {CHANNELS}) on random graphs with ten directed edges "
        "per node; CPU time on one thread, the better of two passes after a first, and the peak memory of a process "
        "of its own, graph and features included.",
        rows,
    )


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [100_000, 1_000_000])
