"""Graphs of the size of the web: drawing, clusters, epochs of a two-layer network and inference, by size."""

import math
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.measure import record
from experiments.speed import peak_gigabytes, reset_peak
from rwkplus.large.csr_graph import CSRGraph
from rwkplus.large.web_graph import WebGraph
from rwkplus.models.gnn import GNN
from rwkplus.training.large_graphs import Cutting, SampledTask
from rwkplus.training.layerwise import layerwise_outputs
from rwkplus.training.loop import Settings
from rwkplus.training.targets import Classes

CHANNELS = 128
SETTINGS = Settings(batch_size=10_000, metric="positive_f1")


def draw(folder, nodes):
    """Draw the graph."""
    WebGraph(nodes=nodes).write(folder)


def epoch(folder, cut, conv):
    """One epoch of training, clusters included, on a fresh network."""
    graph = CSRGraph.open(folder)
    task = task_of(graph, conv, recompute=cut == "full")
    optimizer = task.optimizer()
    for batch in Cutting(cut).loader(graph, np.nonzero(graph["train_mask"])[0], SETTINGS):
        optimizer.zero_grad()
        task.training_step(batch).backward()
        optimizer.step()


def infer(folder, conv):
    """Outputs of all nodes, layer by layer."""
    graph = CSRGraph.open(folder)
    layerwise_outputs(task_of(graph, conv).model, graph)


def task_of(graph, conv, *, recompute=False):
    """The backbone of the bot detection experiment."""
    model = GNN(graph["x"].shape[1], 2, conv=conv, level="node", hidden_channels=CHANNELS, steps=2, recompute=recompute)
    return SampledTask(model, Classes((0, 1), (1.0, 5.0)), SETTINGS, graph)


STAGES = {
    "draw the graph": (draw,),
    "epoch on clusters, RWKPlusConv": (epoch, "clusters", "RWKPlusConv"),
    "epoch on clusters, GCNConv": (epoch, "clusters", "GCNConv"),
    "epoch on the whole graph, RWKPlusConv": (epoch, "full", "RWKPlusConv"),
    "all outputs layer by layer, RWKPlusConv": (infer, "RWKPlusConv"),
}


def measure(stage, folder, nodes):
    """CPU seconds and peak memory of a stage, in a process that has compiled its loops on a small graph before."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    function, *arguments = STAGES[stage]
    with tempfile.TemporaryDirectory() as scratch:
        small = Path(scratch) / "small"
        draw(small, 500)
        if function is draw:
            arguments = [nodes]
        else:
            function(small, *arguments)
        reset_peak()
        begin = time.process_time()
        function(folder, *arguments)
        return time.process_time() - begin, peak_gigabytes()


def main(sizes):
    """Every stage of every size in a process of its own, one after the other."""
    context = multiprocessing.get_context("spawn")
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        edges = {}
        for nodes in sizes:
            folder = Path(scratch) / str(nodes)
            for stage in STAGES:
                with context.Pool(1) as pool:
                    found[stage, nodes] = pool.apply(measure, (stage, folder, nodes))
                    seconds, memory = found[stage, nodes]
                    print(f"{stage}, {nodes:,} nodes: {seconds:.1f} s, {memory:.2f} GB", file=sys.stderr)
            edges[nodes] = CSRGraph.open(folder).num_edges
    rows = []
    for stage in STAGES:
        for nodes in sizes:
            seconds, memory = found[stage, nodes]
            row = {"stage": stage, "nodes": nodes, "directed edges": edges[nodes], "seconds": seconds}
            row |= {"peak GB": memory, "microseconds per edge": 1e6 * seconds / edges[nodes]}
            rows.append(row | {"growth exponent": exponent(found[stage, sizes[0]][0], seconds, sizes[0], nodes)})
    record(
        "web_scale",
        "Generated web graphs with communities and bots",
        f"Two layers of {CHANNELS} channels, steps 2, batches of {SETTINGS.batch_size:,} nodes; an epoch on the whole "
        "graph recomputes walks in the backward pass. CPU time on one thread and peak memory in a process of its own. "
        "The growth exponent compares with the smallest size: 1 is linear.",
        rows,
    )


def exponent(seconds, more, size, larger):
    """Power of the size with which time grows; nothing for the size that others are compared with."""
    return math.log(more / seconds) / math.log(larger / size) if larger > size else ""


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [100_000, 300_000, 1_000_000])
