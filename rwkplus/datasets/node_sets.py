"""Single graphs with a class for every node: citations, actors, and Wikipedia pages with and without copied nodes."""

import io
import shutil
import tarfile
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data, Dataset
from torch_geometric.datasets import Actor, Planetoid, WikipediaNetwork
from torch_geometric.utils import coalesce, cumsum, degree

from rwkplus.datasets.catalog import NODE_SETS, cache_folder, find_local, missing_data
from rwkplus.datasets.splits import Index, hold_out
from rwkplus.errors import DataError, ParameterError

READERS: dict[str, Callable[[Path], Dataset]] = {
    "Cora": lambda root: Planetoid(root, "Cora"),
    "CiteSeer": lambda root: Planetoid(root, "CiteSeer"),
    "PubMed": lambda root: Planetoid(root, "PubMed"),
    "Actor": lambda root: Actor(root / "actor"),
    "Chameleon": lambda root: WikipediaNetwork(root, "chameleon"),
    "Squirrel": lambda root: WikipediaNetwork(root, "squirrel"),
}
RAW = {"Actor": "actor/raw", "Chameleon": "chameleon/geom_gcn/raw", "Squirrel": "squirrel/geom_gcn/raw"}
"""Where PyG looks for raw files below its root; for the others in ``NAME/raw``."""
FILTERED = "-filtered"


def load_nodes(name: str) -> Data:
    """Load a graph for node classification by name, as PyG gives it: directed where it is, with its published masks.

    Reads raw files of PyG below ``RWKPLUS_DATA``, from an archive ``NAME/*_pyg_raw.tar.*`` or from the folder in which
    PyG has them, such as ``NAME/raw``; or lets PyG download them.
    ``Chameleon-filtered`` and ``Squirrel-filtered`` come without their copied nodes, see :func:`without_copies`.

    Args:
        name: ``Cora``, ``CiteSeer``, ``PubMed``, ``Actor``, ``Chameleon``, ``Squirrel``, ``Chameleon-filtered`` or
            ``Squirrel-filtered``.
    """
    base = name.removesuffix(FILTERED)
    if name not in NODE_SETS:
        raise ParameterError(f"there is no node set {name!r}; known are {', '.join(NODE_SETS)}.")
    folders = (base, base.lower())  # PyG writes the folders of Wikipedia's graphs in lower case
    source = find_local(folders, ["*_pyg_raw.tar.*"]) or find_local(folders, ["raw", "geom_gcn/raw"])
    try:
        with TemporaryDirectory() as scratch, redirect_stderr(io.StringIO()):  # PyG talks while it works
            if source is not None:
                _lay_out(source, base, Path(scratch))
            data: Data = READERS[base](cache_folder() / "nodes" if source is None else Path(scratch))[0]
    except Exception as error:
        if source is None:
            raise missing_data(base, f"its raw files as {base}_pyg_raw.tar.xz", base) from error
        message = f"{source} does not hold the raw files of {base} that PyG reads, or is not complete."
        raise DataError(message) from error
    return without_copies(data) if name.endswith(FILTERED) else data


def node_split(
    y: Index | Tensor, random_state: int, shares: tuple[float, float] = (0.2, 0.2)
) -> tuple[Index, Index, Index]:
    """Split nodes into training, validation and test, by class; ``shares`` are those of the last two.

    Example:
        >>> [part.tolist() for part in node_split(np.repeat([0, 1], 5), 0)]
        [[1, 2, 3, 5, 6, 7], [0, 9], [4, 8]]
    """
    validation, test = shares
    if min(shares) < 0 or validation + test >= 1:
        raise ParameterError(f"shares of validation and test must leave nodes to train on, got {validation}, {test}.")
    y = np.asarray(y)
    rest, tested = hold_out(np.arange(y.size), test, random_state, y)
    train, chosen = hold_out(rest, validation / (1 - test), random_state, y[rest])
    return train, chosen, tested


def without_copies(data: Data) -> Data:
    """Remove copied nodes: nobody links to them, and they link to just what another node of their class links to.

    In Chameleon and Squirrel most nodes are such copies, so that test nodes stand in the training set (Platonov et al.,
    "A critical look at the evaluation of GNNs under heterophily", 2023). This leaves their 890 and 2,223 nodes.

    Example:
        Nodes 1 and 2 are of one class and link to node 0; nobody links to node 2.

        >>> graph = Data(edge_index=torch.tensor([[0, 1, 2], [1, 0, 0]]), y=torch.tensor([0, 1, 1]), num_nodes=3)
        >>> without_copies(graph).num_nodes
        2
    """
    edge_index = coalesce(data.edge_index)  # sorted by source
    ends = cumsum(degree(edge_index[0], data.num_nodes, torch.long)).tolist()
    targets, classes = edge_index[1].tolist(), data.y.tolist()
    pages = [(classes[i], *targets[ends[i] : ends[i + 1]]) for i in range(data.num_nodes)]
    linked = torch.zeros(data.num_nodes, dtype=torch.bool)
    linked[edge_index[1]] = True
    originals = {pages[i] for i in linked.nonzero().flatten().tolist()}
    kept: Data = data.subgraph(linked | torch.tensor([page not in originals for page in pages]))
    return kept


def _lay_out(source: Path, name: str, folder: Path) -> None:
    """Put raw files where PyG looks for them, in a folder where it may write what it makes of them."""
    if source.is_dir():
        shutil.copytree(source, folder / RAW.get(name, f"{name}/raw"))
        return
    with tarfile.open(source) as file:
        file.extractall(folder, filter="data")
