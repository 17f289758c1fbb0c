"""Graphs in the text format of the TU collection, from a folder or a zip file.

Self-loops and parallel edges count in walks, so they are kept as the files list them.
"""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import DataError, ParameterError, Remedy
from rwkplus.io.rows import integer_labels
from rwkplus.io.sources import ReadOptions
from rwkplus.table import Categories, Column, GraphTable, Numbers
from rwkplus.table.arrays import merge_directions
from rwkplus.table.columns import pointers
from rwkplus.types import TUFeatures, check_choice

ACCEPTED = ("ignore", "node_features")
ATTRIBUTES = {"node": "x", "edge": "attr"}
LARGEST = 2**53
"""Whole numbers up to here are exact as floats."""


def read_tu(
    path: str | Path,
    options: ReadOptions = ReadOptions(),
    *,
    edge_features: TUFeatures = "labels",
    node_names: Sequence[str] | None = None,
    edge_names: Sequence[str] | None = None,
) -> GraphTable:
    r"""Read a data set in TU format.

    Labels are the column ``label``, or ``label0``, ``label1`` and so on where a line has several; attributes are ``x``
    of nodes and ``attr`` of edges; targets are ``y``: classes counted from 0, or real numbers. Edges that are all
    listed in both directions are undirected.

    Args:
        path: Folder or zip file with ``NAME_A.txt``, ``NAME_graph_indicator.txt`` and whatever else there is.
        options: ``node_features`` chooses among labels and attributes where the nodes have both; sets with only one of
            them use that one.
        edge_features: The same for edges.
        node_names: Readable names of the node labels, in ascending order of the label numbers.
        edge_names: Readable names of the edge labels.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> parts = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n", "node_labels": "6\n8\n"}
        >>> with TemporaryDirectory() as folder:
        ...     for part, text in parts.items():
        ...         _ = (Path(folder) / f"SET_{part}.txt").write_text(text)
        ...     read_tu(folder, node_names=("C", "O"))
        GraphTable: 1 undirected graph, 2 nodes, 1 edge
          nodes  label: 2 labels (C, O)
    """
    options.check("files in TU format", ACCEPTED)
    files = _TUFiles(Path(path))
    indicator = _indicator(files)
    num_nodes = np.bincount(indicator - 1, minlength=int(indicator[-1]))
    edges = files.integers("A", columns=2) - 1
    _check_edges(files, edges, indicator)
    graph = indicator[edges[:, 0]] - 1
    order = np.argsort(graph, kind="stable")
    ends = edges[order] - pointers(num_nodes)[graph[order]][:, None]
    edge_columns = _columns(files, "edge", order.size, edge_features, edge_names)
    table = GraphTable(
        pointers(num_nodes),
        pointers(np.bincount(graph, minlength=num_nodes.size)),
        ends[:, 0],
        ends[:, 1],
        _targets(files, num_nodes.size),
        _columns(files, "node", indicator.size, options.node_features, node_names),
        {name: column.take(order) for name, column in edge_columns.items()},
        directed=True,
    )
    return options.mark_columns(merge_directions(table)).without(options.ignore)


class _TUFiles:
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
            names = [name for name in self.zip.namelist() if not name.startswith("__MACOSX/")]
        else:
            raise DataError(f"{path} is neither a folder nor a zip file in TU format. Is the file complete?")
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
        whole = (values == np.round(values)) & (np.abs(values) < LARGEST)
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


def _indicator(files: _TUFiles) -> NDArray[np.int64]:
    """Graph of every node, counted from 1."""
    indicator = files.integers("graph_indicator", columns=1).ravel()
    ascending = indicator.size > 0 and indicator[0] >= 1 and (np.diff(indicator) >= 0).all()
    if not ascending or indicator[-1] > indicator.size:
        raise DataError(f"{files.name('graph_indicator')}: graph numbers must ascend from 1, a line per node.")
    return indicator


def _check_edges(files: _TUFiles, edges: NDArray[np.int64], indicator: NDArray[np.int64]) -> None:
    outside = ((edges < 0) | (edges >= indicator.size)).any(1)
    if outside.any():
        line = int(np.flatnonzero(outside)[0]) + 1
        raise DataError(f"{files.name('A')}, line {line}: node number out of range, there are {indicator.size} nodes.")
    crossing = indicator[edges[:, 0]] != indicator[edges[:, 1]]
    if crossing.any():
        line = int(np.flatnonzero(crossing)[0]) + 1
        raise DataError(f"{files.name('A')}, line {line}: the edge joins two different graphs.")


def _columns(
    files: _TUFiles, kind: str, rows: int, wanted: TUFeatures, names: Sequence[str] | None
) -> dict[str, Column]:
    """Labels and attributes of nodes or edges, as far as they are wanted."""
    check_choice(f"{kind}_features", wanted, TUFeatures)
    has_labels, has_attributes = files.has(f"{kind}_labels"), files.has(f"{kind}_attributes")
    if kind == "node" and wanted != "labels" and not has_attributes:
        raise ParameterError(
            f"there is no {files.name('node_attributes')} to be read as {wanted}.",
            Remedy("Read labels: {node_features}.", node_features="labels"),
        )
    columns: dict[str, Column] = {}
    if has_labels and (wanted != "attributes" or not has_attributes):
        columns |= _labels(files, kind, rows, names)
    if has_attributes and (wanted != "labels" or not has_labels):
        values = _with_rows(files, f"{kind}_attributes", files.floats(f"{kind}_attributes"), rows)
        columns[ATTRIBUTES[kind]] = Numbers(values)
    return columns


def _labels(files: _TUFiles, kind: str, rows: int, names: Sequence[str] | None) -> dict[str, Column]:
    part = f"{kind}_labels"
    values = _with_rows(files, part, files.integers(part), rows)
    several = values.shape[1] > 1
    columns: dict[str, Column] = {}
    for k, column in enumerate(values.T):
        own = integer_labels(column)
        if names is not None and not several:
            if len(names) != len(own.names):
                raise ParameterError(
                    f"{kind}_names has {len(names)} names, but {files.name(part)} has {len(own.names)} labels: "
                    f"{', '.join(own.names[:10])}. Give one name for each."
                )
            if len(set(names)) < len(names):
                raise ParameterError(f"{kind}_names has a name twice: two labels would become one. Give each its own.")
            own = Categories.numbered(own.codes, names)
        columns[f"label{k}" if several else "label"] = own
    return columns


def _with_rows(files: _TUFiles, part: str, values: NDArray[np.generic], rows: int) -> NDArray[np.generic]:
    if len(values) != rows:
        raise DataError(f"{files.name(part)} has {len(values)} lines, expected {rows}. Is the file complete?")
    return values


def _targets(files: _TUFiles, num_graphs: int) -> dict[str, Column]:
    if files.has("graph_labels"):
        labels = _with_rows(files, "graph_labels", files.integers("graph_labels"), num_graphs)
        return {"y": Numbers(np.unique(labels[:, 0], return_inverse=True)[1])}
    if files.has("graph_attributes"):
        values = _with_rows(files, "graph_attributes", files.floats("graph_attributes"), num_graphs)
        return {"y": Numbers(values[:, 0] if values.shape[1] == 1 else values)}
    return {}
