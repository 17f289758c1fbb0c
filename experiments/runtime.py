"""Run time of RWKPlusConv beside GCNConv on PubMed's graph (Sec. 5.2), in one process and in several."""

import os
import statistics
import tarfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import torch
import typer
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.io.planetoid import edge_index_from_dict, read_file
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_torch_csr_tensor

from experiments.pages import rows_table
from experiments.records import save_result
from rwkplus.cli.console import out
from rwkplus.datasets.catalog import data_folder
from rwkplus.datasets.node_sets import load_nodes
from rwkplus.errors import DataError
from rwkplus.nn.rwk_plus_conv import RWKPlusConv

FEATURES, HIDDEN = 500, 128
DEFAULT, ON_CSR = "GCNConv", "GCNConv on a cached CSR adjacency"
COMPARED: Mapping[str, Mapping[str, Any]] = {
    DEFAULT: {},
    "GCNConv, normalized once": {"cached": True},
    ON_CSR: {"normalize": False},
} | {f"RWKPlusConv, {steps} steps": {"steps": steps, "cached": True} for steps in (2, 3, 4, 5)}
LAYERS: Mapping[str, Mapping[str, Any]] = (
    {**COMPARED}
    | {"RWKPlusConv, 2 steps, not cached": {"steps": 2}}
    | {f"RWKPlusConv, {s} steps, recomputed": {"steps": s, "cached": True, "recompute": True} for s in (2, 5)}
    | {f"RWKPlusConv, {s} steps, torch only": {"steps": s, "cached": True, "fused": False} for s in (2, 5)}
)


class TwoLayers(nn.Module):
    """A named kind of layer, twice, with a ReLU between."""

    def __init__(self, name: str, features: int, hidden: int) -> None:
        super().__init__()
        conv = RWKPlusConv if name.startswith("RWK") else GCNConv
        self.convs = nn.ModuleList(conv(width, hidden, **LAYERS[name]) for width in (features, hidden))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Outputs ``(N, hidden)``."""
        outputs: Tensor = self.convs[1](self.convs[0](x, edges).relu(), edges)
        return outputs


class Worker:
    """One network and its input."""

    def __init__(self, name: str, graph: Data, features: int = FEATURES, hidden: int = HIDDEN) -> None:
        draw = torch.Generator().manual_seed(0)
        n = int(graph.num_nodes)
        # Like the words of PubMed: a tenth of them, with weights that sum to one.
        x = torch.rand(n, features, generator=draw) * (torch.rand(n, features, generator=draw) < 0.1)
        self.x, self.edges = x / x.sum(1, keepdim=True).clamp(min=1e-6), graph.edge_index
        if name == ON_CSR:
            ends, weight = gcn_norm(graph.edge_index, None, n)
            self.edges = to_torch_csr_tensor(ends.flip(0), weight, (n, n))
        self.gradient = torch.randn(n, hidden, generator=draw)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)
            self.model = TwoLayers(name, features, hidden)

    def seconds(self) -> float:
        """CPU time of one pass forward and backward."""
        begin = time.process_time()
        self.model(self.x, self.edges).backward(self.gradient)
        return time.process_time() - begin

    def results(self) -> list[NDArray[Any]]:
        """Output and gradients, to be compared."""
        out = self.model(self.x, self.edges)
        parts = (out, *torch.autograd.grad(out, list(self.model.parameters()), self.gradient))
        return [part.detach().numpy() for part in parts]

    def megabytes(self) -> float:
        """Activations that autograd keeps for the backward pass, the input included, parameters and edges not."""
        parameters = {parameter.data_ptr() for parameter in self.model.parameters()}
        kept: dict[int, int] = {}

        def keep(tensor: Tensor) -> Tensor:
            if tensor.layout == torch.strided and tensor.dim() > 1 and tensor.data_ptr() not in parameters:
                kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            out = self.model(self.x, self.edges)
        del out
        return sum(kept.values()) / 1e6


RESULT = "benchmarks/rwk_plus_conv"
WARM = 2
"""Passes until all is compiled, cached and warm."""
TUNED = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 34)}
ABOUT = (
    "Forward and backward through two layers ({features} to {hidden} to {hidden}) on the {nodes:,} nodes and {edges:,} "
    "directed edges of PubMed with random features; CPU time on one thread, medians of {repeats}, all layers taking "
    "turns. GCNConv is PyG's, as it comes: it normalizes in every pass, or once with ``cached=True``. *One process*: "
    "GCNConv in all forms and RWKPlusConv with 2 to 5 steps together in a fresh process. *Own processes*: each layer "
    "in a process of its own, where no other shapes its memory. *Tuned allocator*: one process whose allocator keeps "
    "freed pages (MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_), also those of the row that GCNConv makes for every "
    "edge; the ratios of RWKPlusConv are larger there. Kept are the activations that autograd saves, the input "
    "included; torch only is the straightforward version. Outputs and gradients of all ways to compute RWKPlusConv "
    "agree. The paper reports 1.38, 1.72, 1.94 and 2.30 times GCNConv for 2 to 5 steps."
)


def pubmed_topology() -> Data:
    """Load nodes and edges of PubMed; its features are not read and may be missing."""
    folder = data_folder()
    archives = [] if folder is None else sorted((folder / "PubMed_topology").glob("PubMed_raw*.tar.*"))
    if not archives:
        data = load_nodes("PubMed")
        return Data(edge_index=data.edge_index, num_nodes=data.num_nodes)
    try:
        with TemporaryDirectory() as scratch, tarfile.open(archives[0]) as file:
            file.extractall(scratch, filter="data")
            neighbors = read_file(str(Path(scratch) / "PubMed" / "raw"), "pubmed", "graph")
    except Exception as error:
        raise DataError(
            f"{archives[0]} does not hold the raw files of PubMed that PyG reads, or is not complete."
        ) from error
    return Data(edge_index=edge_index_from_dict(neighbors, len(neighbors)), num_nodes=len(neighbors))


_workers: dict[str, Worker] = {}
"""The networks of a process."""


def _begin(names: Sequence[str]) -> None:
    warnings.simplefilter("ignore")  # torch calls its sparse tensors beta
    torch.set_num_threads(1)
    graph = pubmed_topology()
    _workers.update({name: Worker(name, graph) for name in names})


def _ask(name: str, question: str) -> Any:  # noqa: ANN401
    return getattr(_workers[name], question)()


Ask = Callable[[str, str], Any]


@contextmanager
def _processes(names: Sequence[str], variables: Mapping[str, str], *, together: bool) -> Iterator[Ask]:
    """Set up the named networks in one fresh process or in one each; the block gets a function that asks them."""
    before = {key: os.environ.get(key) for key in variables}
    os.environ.update(variables)
    groups = [names] if together else [[name] for name in names]
    try:
        with ExitStack() as stack:
            pools: dict[str, ProcessPoolExecutor] = {}
            for group in groups:
                pool = stack.enter_context(ProcessPoolExecutor(1, get_context("spawn"), _begin, (group,)))
                pool.submit(int).result()  # begin while the variables are set
                pools |= dict.fromkeys(group, pool)
            yield lambda name, question: pools[name].submit(_ask, name, question).result()
    finally:
        for key, value in before.items():
            os.environ.pop(key) if value is None else os.environ.update({key: value})


def median_seconds(names: Sequence[str], ask: Ask, repeats: int) -> dict[str, float]:
    """Median by layer; all take turns, so that a slow moment hits all."""
    times: dict[str, list[float]] = {name: [] for name in names}
    for repeat in range(repeats + WARM):
        for name in names:
            seconds = ask(name, "seconds")
            if repeat >= WARM:
                times[name].append(seconds)
    return {name: statistics.median(values) for name, values in times.items()}


def run_runtime(*, repeats: int = 9) -> list[dict[str, Any]]:
    """Measure in one process, in processes of their own and with a tuned allocator; write and return a row by layer."""
    pubmed_topology()  # an error about it should not come out of a process pool
    measured: list[dict[str, float]] = []
    for variables in ({}, TUNED):
        with _processes(list(COMPARED), variables, together=True) as ask:
            measured.append(median_seconds(list(COMPARED), ask, repeats))
    with _processes(list(LAYERS), {}, together=False) as ask:
        apart = median_seconds(list(LAYERS), ask, repeats)
        megabytes = {name: ask(name, "megabytes") for name in LAYERS}
        for steps in (2, 5):
            check_agreement(steps, ask)
    together, tuned = measured
    rows = [
        {
            "layer": name,
            "milliseconds, one process": _times(together, name, 1e-3),
            "times GCNConv, one process": _times(together, name, together[DEFAULT]),
            "times GCNConv on CSR, one process": _times(together, name, together[ON_CSR]),
            "times GCNConv, own processes": apart[name] / apart[DEFAULT],
            "milliseconds, tuned allocator": _times(tuned, name, 1e-3),
            "times GCNConv, tuned allocator": _times(tuned, name, tuned[DEFAULT]),
            "kept MB": megabytes[name],
        }
        for name in LAYERS
    ]
    graph = pubmed_topology()
    sizes = {"features": FEATURES, "hidden": HIDDEN, "nodes": graph.num_nodes, "edges": graph.num_edges}
    about = ABOUT.format(**sizes, repeats=repeats)
    config = {"title": "RWKPlusConv on PubMed's graph", "about": about, "command": "python -m experiments runtime"}
    save_result(RESULT, config, {"rows": rows})
    return rows


def check_agreement(steps: int, ask: Ask) -> None:
    """Raise unless all ways to compute the layer give the same output and gradients."""
    expected = ask(f"RWKPlusConv, {steps} steps, torch only", "results")
    for way in ("", ", recomputed"):
        for one, other in zip(ask(f"RWKPlusConv, {steps} steps{way}", "results"), expected, strict=True):
            torch.testing.assert_close(torch.from_numpy(one), torch.from_numpy(other), rtol=1e-3, atol=1e-3)


def _times(seconds: Mapping[str, float], name: str, unit: float) -> float | str:
    return seconds[name] / unit if name in seconds else ""


def runtime(
    repeats: Annotated[int, typer.Option(help="Passes of every layer; medians are shown.", min=1)] = 9,
) -> None:
    """RWKPlusConv beside GCNConv on PubMed's graph (Sec. 5.2); writes benchmarks/rwk_plus_conv.json."""
    out.print(rows_table(run_runtime(repeats=repeats)))
