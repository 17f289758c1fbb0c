"""Random graphs with the counts of four small subgraphs, the data of the paper's counting experiment."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from rwkplus.data.registry import DATA_VARIABLE, data_folder
from rwkplus.errors import DataError, ParameterError
from rwkplus.io.pyg import one_hot_degree

TARGETS = ("triangle", "tailed triangle", "star", "4-cycle")
FILE = Path("SUBGRAPHCOUNT") / "counting.npz"


class CountingData(NamedTuple):
    """Graphs with one-hot degrees, counts ``(B, 4)`` in the order of :data:`TARGETS`, and the published split."""

    graphs: list[Data]
    counts: NDArray[np.float64]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def load_counting(path: str | Path | None = None) -> CountingData:
    """Read the data set from a file, by default ``SUBGRAPHCOUNT/counting.npz`` below ``RWKPLUS_DATA``."""
    if path is None:
        folder = data_folder()
        if folder is None:
            raise ParameterError(f"give the path of counting.npz, or set {DATA_VARIABLE} to the folder of data sets.")
        path = folder / FILE
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
        counts = parts["counts"].astype(np.float64)
        splits = [parts[f"{name}_idx"].astype(np.int64).reshape(-1) for name in ("train", "val", "test")]
        graphs = _graphs(parts["num_nodes"], parts["edges"], parts["ptr"])
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{path} is not the counting data: {error}.") from error
    return CountingData(one_hot_degree(graphs), counts, *splits)


def count_subgraphs(adjacency: NDArray[np.float64]) -> NDArray[np.float64]:
    """Count triangles, tailed triangles, stars of three leaves and 4-cycles of a simple undirected graph."""
    square = adjacency @ adjacency
    degree = adjacency.sum(1)
    closed = np.einsum("ij,ji->i", square, adjacency)  # closed walks of three edges at every node
    fourth = float((square**2).sum())
    return np.array(
        [
            closed.sum() / 6,
            (closed * (degree - 2)).sum() / 2,
            (degree * (degree - 1) * (degree - 2)).sum() / 6,
            (fourth - 2 * (degree**2).sum() + degree.sum()) / 8,
        ]
    )


def _graphs(num_nodes: NDArray[np.int64], edges: NDArray[np.int64], ptr: NDArray[np.int64]) -> list[Data]:
    graphs = []
    for i, nodes in enumerate(num_nodes.tolist()):
        part = torch.from_numpy(edges[:, ptr[i] : ptr[i + 1]].astype(np.int64))
        graphs.append(Data(edge_index=torch.cat([part, part.flip(0)], 1), num_nodes=nodes))
    return graphs
