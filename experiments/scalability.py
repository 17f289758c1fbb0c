"""Seconds per training epoch against hidden graphs, steps and graphs (Sec. 5.1), and of the explicit product graph."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch
import typer
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch_geometric.data import Batch, Data

from experiments.pages import drawing, ran, show, svg, table
from experiments.progress import progress
from experiments.records import RESULTS, exists, read_result, save_result
from rwkplus.cli.console import out
from rwkplus.datasets import load_graphs
from rwkplus.functional.kernels import Egonets
from rwkplus.functional.reference import rwk_plus_by_product_graph
from rwkplus.models import KerGNN
from rwkplus.models.gnn import GIN
from rwkplus.nn import KernelConv
from rwkplus.training.dataset import GraphDataset
from rwkplus.training.loop import Batches, threads

if TYPE_CHECKING:
    pass

BATCH_SIZE, MAX_NODES = 64, 10
HIDDEN_GRAPHS, STEPS, SHARES = (4, 8, 16, 32, 64), (1, 2, 3, 4, 5, 6), (0.125, 0.25, 0.5, 1.0)
NAIVE_BATCHES = 3
"""Batches that the explicit product graph is timed on; its epochs are scaled up from them."""
MERGED = "RWK+, equal egonets once"
WAYS = ("RWK-", "RWK+", "RWK+ naive", MERGED)


class ProductGraphConv(KernelConv):
    """Kernel convolution by the definition: the product graph of every egonet with every hidden graph is built."""

    def scores(self, x: Tensor, egonets: Egonets) -> Tensor:
        """Values of all steps ``(T, B, K)``, as those of the fast way."""
        return rwk_plus_by_product_graph(
            x[egonets.member], egonets.edge_index, egonets.owner, self.hidden.x, self.hidden.adj, steps=self.steps
        )


def run_scalability(
    dataset: str = "NCI1", *, turns: int = 3, on_step: Callable[[str], None] | None = None
) -> list[dict[str, Any]]:
    """Time every way at every size; write and return rows.

    All ways of a row take turns, on one thread, so that they see the same machine; times are those of the processor.
    """
    tell = on_step or (lambda _: None)
    data = network_data(dataset)
    graphs = data.graphs
    rows = []
    for what, size, steps, share in _sizes():
        tell(f"{what} {size:g}")
        index = np.random.default_rng(0).permutation(len(graphs))[: max(1, round(share * len(graphs)))]
        hidden = int(size) if what == "hidden graphs" else 8
        networks = {way: timed_network(data, way, hidden, steps) for way in WAYS}
        networks["GIN"] = GIN(data.inputs.width, data.width, layers=2, hidden_channels=hidden)
        epochs = {way: Epoch(data, network, index, way) for way, network in networks.items()}
        seconds = interleaved(epochs, turns)
        nodes = sum(int(graphs[i].num_nodes or 0) for i in index)
        edges = sum(graphs[i].num_edges for i in index)
        rows.append({"varied": what, "size": size, "graphs": index.size, "nodes": nodes, "edges": edges} | seconds)
    config = {
        "command": f"python -m experiments scalability --dataset {dataset} --turns {turns}",
        "dataset": dataset,
        "batch_size": BATCH_SIZE,
        "naive_batches": NAIVE_BATCHES,
        "turns": turns,
    }
    save_result("scalability", config, {"rows": rows})
    return rows


def network_data(dataset: str) -> GraphDataset:
    """Graphs without edge colors, which these networks do not see."""
    graphs = load_graphs(dataset).to_pyg()
    return GraphDataset([Data(x=graph.x, edge_index=graph.edge_index, y=graph.y) for graph in graphs])


def _sizes() -> Iterator[tuple[str, float, int, float]]:
    """What is varied, its size, the steps, and the share of all graphs."""
    yield from (("hidden graphs", size, 2, 1.0) for size in HIDDEN_GRAPHS)
    yield from (("steps", size, size, 1.0) for size in STEPS)
    yield from (("graphs", share, 2, share) for share in SHARES)


def timed_network(data: GraphDataset, way: str, num_hidden: int, steps: int) -> nn.Module:
    """A KerGNN without StepNorm."""
    width = data.inputs.width
    kernel = "rwk-" if way == "RWK-" else "rwk+"
    options = {"kernel": kernel, "num_hidden": num_hidden, "steps": steps, "step_norm": None, "max_nodes": MAX_NODES}
    network = KerGNN(width, data.width, **options)  # type: ignore[arg-type]
    if way == "RWK+ naive":
        network.convs[0].__class__ = ProductGraphConv
    return network


class Epoch:
    """One pass over the training graphs with Adam."""

    def __init__(self, data: GraphDataset, network: nn.Module, index: np.ndarray[Any, Any], way: str) -> None:
        self.network = network
        self.optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
        assert data.classes is not None
        labels = torch.from_numpy(data.classes[index])
        self.batches = Batches(data.store(network), index, BATCH_SIZE, labels, seed=0)
        self.most = NAIVE_BATCHES if way == "RWK+ naive" else len(self.batches)
        self.merge = way == MERGED

    def seconds(self) -> float:
        """Processor time, scaled up where only some batches are seen."""
        begin = time.process_time()
        for number, batch in enumerate(self.batches):
            if number == self.most:
                break
            self._step(batch)
        return (time.process_time() - begin) * len(self.batches) / min(self.most, len(self.batches))

    def _step(self, batch: Batch) -> None:
        if "ego_color" in batch and not self.merge:
            del batch.ego_color  # without colors no two egonets are known to be alike
        self.optimizer.zero_grad()
        cross_entropy(self.network(batch), batch.y).backward()
        self.optimizer.step()


def interleaved(epochs: dict[str, Epoch], turns: int) -> dict[str, float]:
    """Median seconds of every epoch, all taking turns on one thread."""
    with threads(1):
        for epoch in epochs.values():
            epoch._step(next(iter(epoch.batches)))  # compiles
        times: list[Sequence[float]] = [[epoch.seconds() for epoch in epochs.values()] for _ in range(turns)]
    return {way: statistics.median(taken) for way, taken in zip(epochs, zip(*times, strict=True), strict=True)}


COLUMNS = (*WAYS, "GIN")


def scalability_page(folder: Path = RESULTS) -> str | None:
    """All rows, with the exponents that fit them."""
    if not exists("scalability", folder):
        return None
    record = read_result("scalability", folder)
    config = record["config"]
    return (
        "# Cost of kernel networks\n\n"
        f"Seconds of processor time per training epoch on {config['dataset']}, one thread, batches of "
        f"{config['batch_size']}: KerGNN of one layer with hidden graphs of 6 nodes, 2 steps and 8 hidden graphs where "
        "these are not varied, without StepNorm (the paper does not say whether its figure has it); a GIN of two "
        f"layers and the same width beside. All columns take turns; medians of {config['turns']}.\n\n"
        "- *RWK+ naive* builds the product graph of every egonet with every hidden graph; its epochs are scaled up "
        f"from {config['naive_batches']} batches.\n"
        "- The first three columns compute every egonet; *equal egonets once* is what the library does by itself where "
        "nodes have labels, with the same result.\n\n"
        f"{show('scalability', 'Seconds per epoch against hidden graphs, steps and graphs')}\n"
        f"{scalability_table(folder)}\n"
        "The exponent of a column is the slope of its times over sizes on logarithmic axes, by least squares: 1 is "
        "linear growth, less means that fixed costs weigh in. The paper shows linear growth with RWK+ close to RWK-, "
        "and the naive product graph far above, without figures.\n\n"
        f"{ran(record)}"
    )


def scalability_table(folder: Path = RESULTS) -> str:
    """One block per varied size."""
    rows = read_result("scalability", folder)["values"]["rows"]
    lines = []
    for what in dict.fromkeys(row["varied"] for row in rows):
        block = [row for row in rows if row["varied"] == what]
        for row in block:
            times = [f"{row[column]:.3f}" for column in COLUMNS]
            lines.append([what, f"{row['size']:g}", f"{row['graphs']:,}", f"{row['edges']:,}", *times])
        lines.append([f"{what}: exponent", "", "", "", *(f"{_exponent(block, column):.2f}" for column in COLUMNS)])
    return table(["varied", "size", "graphs", "edges", *COLUMNS], lines)


def _exponent(rows: list[dict[str, Any]], column: str) -> float:
    sizes, times = ([row[key] for row in rows] for key in ("size", column))
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


AXES = {"hidden graphs": "hidden graphs", "steps": "steps", "graphs": "share of the graphs"}


def scalability_figure(folder: Path = RESULTS) -> str | None:
    """Seconds per epoch against hidden graphs, steps and graphs."""
    if not exists("scalability", folder):
        return None
    rows = read_result("scalability", folder)["values"]["rows"]
    varied = list(dict.fromkeys(row["varied"] for row in rows))
    with drawing(len(varied)) as (figure, panels):
        for axes, what in zip(panels, varied, strict=True):
            block = [row for row in rows if row["varied"] == what]
            sizes = [row["size"] for row in block]
            for way in (*WAYS, "GIN"):
                axes.plot(sizes, [row[way] for row in block], marker="o", label=way)
            axes.set(xscale="log", yscale="log", xlabel=AXES[what], xticks=sizes, xticklabels=[f"{x:g}" for x in sizes])
            axes.minorticks_off()
        panels[0].set_ylabel("seconds per epoch")
        return svg(figure, panels[0])


def scalability(
    dataset: Annotated[str, typer.Option(help="Data set.")] = "NCI1",
    turns: Annotated[int, typer.Option(help="Repetitions; medians are shown.", min=1)] = 3,
) -> None:
    """Seconds per epoch against hidden graphs, steps and graphs (Sec. 5.1); writes scalability.json."""
    with progress("scalability") as advance:
        run_scalability(dataset, turns=turns, on_step=advance)
    out.print(scalability_table(), soft_wrap=True)
