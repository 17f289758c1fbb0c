"""Reader for the text format of the TU graph collection, from a folder or a zip file.

PyG's own reader drops self-loops and merges parallel edges; walks count both, so the files are read as
they stand. Truncated or malformed files get an error that names file and line.
"""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from rwkplus.errors import DataError, ParameterError
from rwkplus.graphs.vocabulary import Vocabulary
from rwkplus.types import check_choice

NodeFeatures = Literal["labels", "attributes", "both"]


def read_tu(
    path: str | Path,
    *,
    node_features: NodeFeatures = "labels",
    edge_features: NodeFeatures = "labels",
    node_names: Sequence[str] | None = None,
    edge_names: Sequence[str] | None = None,
) -> list[Data]:
    """Read a data set in TU format.

    Args:
        path: Folder or zip file with ``NAME_A.txt``, ``NAME_graph_indicator.txt`` and whatever else there is.
        node_features: What becomes ``x`` where the set has both node labels and continuous attributes.
            Sets with only one of them use that one; sets with neither have no ``x``.
        edge_features: The same for ``edge_attr``.
        node_names: Readable names of the node labels, in ascending order of the label numbers.
        edge_names: Readable names of the edge labels.

    Returns:
        Graphs with ``x``, ``edge_index``, ``edge_attr`` (one-hot edge labels or attributes) and ``y``
        (classes counted from 0, or real targets).
    """
    files = TUFiles(Path(path))
    indicator = _indicator(files)
    num_nodes = np.bincount(indicator - 1, minlength=int(indicator[-1]))
    edges = files.integers("A", columns=2) - 1
    _check_edges(files, edges, indicator)
    order = np.argsort(indicator[edges[:, 0]], kind="stable")
    edges = edges[order]
    num_edges = np.bincount(indicator[edges[:, 0]] - 1, minlength=num_nodes.size)

    x, x_names = _colors(files, "node", indicator.size, node_features, node_names)
    edge_attr, edge_label_names = _colors(files, "edge", order.size, edge_features, edge_names)
    targets = _targets(files, num_nodes.size)
    first = np.concatenate([[0], num_nodes.cumsum()])
    local = torch.from_numpy(edges - first[indicator[edges[:, 0]] - 1][:, None]).t().contiguous()

    edge_parts = local.split(num_edges.tolist(), dim=1)
    x_parts = None if x is None else x.split(num_nodes.tolist())
    attr_parts = None if edge_attr is None else edge_attr[torch.from_numpy(order)].split(num_edges.tolist())
    graphs = []
    for i in range(num_nodes.size):  # clones: a view would drag the whole set along when pickled
        data = Data(edge_index=edge_parts[i].clone(), num_nodes=int(num_nodes[i]))
        if x_parts is not None:
            data.x = x_parts[i].clone()
        if attr_parts is not None:
            data.edge_attr = attr_parts[i].clone()
        if targets is not None:
            data.y = targets[i : i + 1].clone()
        if x_names is not None:
            data.node_label_names = x_names
        if edge_label_names is not None:
            data.edge_label_names = edge_label_names
        graphs.append(data)
    return graphs


class TUFiles:
    """The text files of one data set, whether in a folder or zipped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.zip: zipfile.ZipFile | None = None
        if path.is_dir():
            names = [p.name for p in path.iterdir()]
        elif zipfile.is_zipfile(path):
            try:
                self.zip = zipfile.ZipFile(path)
            except zipfile.BadZipFile as error:
                raise DataError(f"{path} is damaged ({error}). Is the file complete?") from error
            names = self.zip.namelist()
        else:
            raise DataError(
                f"{path} is neither a folder nor a zip file in TU format. rwkplus.data.load reads other files, too."
            )
        found = [name for name in names if name.endswith("_A.txt")]
        if len(found) != 1:
            raise DataError(f"{path} holds {len(found)} files named *_A.txt; a TU data set has exactly one.")
        self.prefix = found[0].removesuffix("_A.txt")
        self.names = set(names)

    def name(self, part: str) -> str:
        """File name of a part such as ``graph_labels``."""
        return f"{self.prefix}_{part}.txt"

    def has(self, part: str) -> bool:
        """Whether the data set has this part."""
        return self.name(part) in self.names

    def integers(self, part: str, columns: int | None = None) -> NDArray[np.int64]:
        """Read a file of whole numbers; ``columns`` demands a width."""
        values = self.floats(part, columns)
        whole = (values == np.round(values)) & (np.abs(values) < 2**53)
        if not whole.all():
            line = int(np.flatnonzero(~whole.all(1))[0]) + 1
            raise DataError(f"{self.name(part)}, line {line}: expected whole numbers.")
        return values.astype(np.int64)

    def floats(self, part: str, columns: int | None = None) -> NDArray[np.float64]:
        """Read a file of comma-separated numbers as a matrix."""
        if not self.has(part):
            raise DataError(f"{self.path} has no {self.name(part)}, which every TU data set needs.")
        raw = self._read(part)
        if not raw.strip():
            return np.empty((0, columns or 1))
        try:
            values = np.loadtxt(io.BytesIO(raw), delimiter=",", comments=None, ndmin=2)
        except ValueError as error:
            raise DataError(
                f"{self.name(part)}, line {_bad_line(raw)}: expected numbers with commas between, as many as in the "
                "first line. Is the file complete?"
            ) from error
        if columns is not None and values.shape[1] != columns:
            raise DataError(f"{self.name(part)}: expected {columns} columns, found {values.shape[1]}.")
        return values

    def _read(self, part: str) -> bytes:
        try:
            return self.zip.read(self.name(part)) if self.zip else (self.path / self.name(part)).read_bytes()
        except Exception as error:  # a damaged zip raises whatever its decompressor does
            raise DataError(f"{self.name(part)} cannot be read ({error}). Is {self.path} complete?") from error


def _bad_line(raw: bytes) -> int:
    """Number of the first line that is not a row of numbers as long as the first row."""
    width = None
    for line, text in enumerate(raw.split(b"\n"), 1):
        if not text.strip():
            continue
        try:
            numbers = [float(word) for word in text.split(b",")]
        except ValueError:
            return line
        width = width or len(numbers)
        if len(numbers) != width:
            return line
    return 1


def _indicator(files: TUFiles) -> NDArray[np.int64]:
    indicator = files.integers("graph_indicator", columns=1).ravel()
    ascending = indicator.size > 0 and indicator[0] >= 1 and (np.diff(indicator) >= 0).all()
    if not ascending or indicator[-1] > indicator.size:
        raise DataError(f"{files.name('graph_indicator')}: graph numbers must ascend from 1, a line per node.")
    return indicator


def _check_edges(files: TUFiles, edges: NDArray[np.int64], indicator: NDArray[np.int64]) -> None:
    outside = ((edges < 0) | (edges >= indicator.size)).any(1)
    if outside.any():
        line = int(np.flatnonzero(outside)[0]) + 1
        raise DataError(f"{files.name('A')}, line {line}: node number out of range, there are {indicator.size} nodes.")
    crossing = indicator[edges[:, 0]] != indicator[edges[:, 1]]
    if crossing.any():
        line = int(np.flatnonzero(crossing)[0]) + 1
        raise DataError(f"{files.name('A')}, line {line}: the edge joins two different graphs.")


def _colors(
    files: TUFiles, kind: str, rows: int, wanted: NodeFeatures, names: Sequence[str] | None
) -> tuple[Tensor | None, tuple[str, ...] | None]:
    check_choice(f"{kind}_features", wanted, NodeFeatures)
    has_labels, has_attributes = files.has(f"{kind}_labels"), files.has(f"{kind}_attributes")
    if kind == "node" and wanted != "labels" and not has_attributes:
        raise ParameterError(
            f"there is no {files.name('node_attributes')} for node_features={wanted!r}: leave it out, or use 'labels'."
        )
    use_labels = has_labels and (wanted != "attributes" or not has_attributes)
    use_attributes = has_attributes and (wanted != "labels" or not has_labels)
    parts: list[Tensor] = []
    label_names: tuple[str, ...] | None = None
    if use_attributes:
        values = _with_rows(files, f"{kind}_attributes", files.floats(f"{kind}_attributes"), rows)
        parts.append(torch.from_numpy(values).to(torch.get_default_dtype()))
    if use_labels:
        labels = _with_rows(files, f"{kind}_labels", files.integers(f"{kind}_labels"), rows)
        for column in labels.T.tolist():
            vocabulary = Vocabulary.of(column)
            parts.append(vocabulary.one_hot(column))
            label_names = vocabulary.names
        if len(parts) > 1:
            label_names = None
        elif names is not None and label_names is not None:
            if len(names) != len(label_names):
                raise ParameterError(
                    f"{kind}_names has {len(names)} names, but {files.name(f'{kind}_labels')} has {len(label_names)} "
                    f"labels: {', '.join(label_names[:10])}. Give one name for each."
                )
            label_names = tuple(names)
    return (torch.cat(parts, 1), label_names) if parts else (None, None)


def _with_rows(files: TUFiles, part: str, values: NDArray[np.generic], rows: int) -> NDArray[np.generic]:
    if len(values) != rows:
        raise DataError(f"{files.name(part)} has {len(values)} lines, expected {rows}. Is the file complete?")
    return values


def _targets(files: TUFiles, num_graphs: int) -> Tensor | None:
    if files.has("graph_labels"):
        labels = _with_rows(files, "graph_labels", files.integers("graph_labels"), num_graphs)
        classes = np.unique(labels[:, 0], return_inverse=True)[1]
        return torch.from_numpy(classes).long()
    if files.has("graph_attributes"):
        values = _with_rows(files, "graph_attributes", files.floats("graph_attributes"), num_graphs)
        return torch.from_numpy(values).to(torch.get_default_dtype()).squeeze(-1)
    return None
