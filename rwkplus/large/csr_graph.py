"""A graph of any size in a folder: one ``.npy`` file per array, opened without being read.

Processes that open the same folder share its pages, so that a machine holds one copy however many of them train.
Edges that come in chunks are sorted by rows without ever being in memory together.
"""

# ruff: noqa: ANN401 -- numba infers the types of compiled loops

import hashlib
import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numba import njit
from numpy.lib.format import open_memmap, read_array_header_1_0, read_magic
from numpy.typing import DTypeLike, NDArray
from torch import Tensor
from torch_geometric.data import Data

from rwkplus.errors import DataError, GraphError, ParameterError
from rwkplus.files import damaged, read_json, write_atomic
from rwkplus.io.pyg_checks import NAME_FIELDS
from rwkplus.tensors import check_edge_index

HEADER, FORMAT = "graph.json", "rwkplus graph 1"
ENDS = ("indptr", "indices")
ROWS = 1 << 16
"""That are read at a time."""
Array = NDArray[Any]
Edges = tuple[Array, Array]
New = Callable[[str, tuple[int, ...], Any], Array]
Mapped = np.memmap[Any, np.dtype[Any]]


@dataclass(frozen=True)
class CSRGraph:
    """One large graph by rows: the edges that lead to node ``v`` come from ``indices[indptr[v]:indptr[v + 1]]``.

    Only where a graph is stored; what loaders cut out of it are PyG's ``Data``.

    Args:
        indptr: ``(N + 1,)`` of int64.
        indices: ``(E,)`` of int32, or int64 for more nodes than that can number.
        nodes: Further arrays with a row for each node, such as ``x``, ``y`` and ``train_mask``.
        facts: JSON values about where the graph comes from.
        folder: Where it was opened.

    Example:
        >>> ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
        >>> graph = CSRGraph.of(Data(x=torch.ones(3, 2), edge_index=ring))
        >>> graph.num_nodes, graph.num_edges, graph["x"].shape
        (3, 3, (3, 2))
    """

    indptr: Array
    indices: Array
    nodes: Mapping[str, Array] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    def __post_init__(self) -> None:
        for name in ENDS:
            self._check_integers(name, getattr(self, name))
        ptr = self.indptr
        rising = all(bool((part[1:] >= part[:-1]).all()) for part in _parts(ptr, overlap=1))
        if not ptr.size or ptr[0] != 0 or ptr[-1] != self.indices.size or not rising:
            raise self._error("indptr", f"indptr must rise from 0 to the {self.indices.size} entries of indices")
        # Compiled loops do not look where they read: here is the last place to notice.
        if not all(0 <= part.min() <= part.max() < self.num_nodes for part in _parts(self.indices)):
            raise self._error("indices", f"indices must name nodes from 0 to {self.num_nodes - 1}")
        for name, values in self.nodes.items():
            if name in ENDS or not name.isidentifier():
                raise GraphError(f"nodes cannot have an array {name!r}, which would be a file.", "Rename it.")
            if np.shape(values)[:1] != (self.num_nodes,):
                rows = len(values) if np.ndim(values) else "no"
                raise self._error(name, f"{name} has {rows} rows but there are {self.num_nodes} nodes")

    def _check_integers(self, name: str, values: object) -> None:
        if not isinstance(values, np.ndarray):
            raise GraphError(
                f"{name} must be an array of numpy, got {type(values).__name__}.", f"Give np.asarray({name})."
            )
        kind = values.dtype
        if values.ndim != 1 or kind.kind != "i" or not kind.isnative:
            found = f"{kind.name if kind.isnative else kind.str} {list(values.shape)}"
            raise self._error(name, f"{name} must be one row of integers, int32 or int64, and is {found}")

    def _error(self, name: str, why: str) -> DataError | GraphError:
        """What is wrong with an array, of a file if it comes from one."""
        return damaged(self.folder / f"{name}.npy", why) if self.folder else GraphError(f"{why}.")

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return int(self.indptr.size - 1)

    @property
    def num_edges(self) -> int:
        """Number of directed edges E."""
        return int(self.indices.size)

    def __getitem__(self, name: str) -> Array:
        """The array of a row per node with this name."""
        if name not in self.nodes:
            known = ", ".join(self.nodes) or "none"
            raise DataError(f"{self.folder or 'the graph'} has no array {name!r} for its nodes; there are: {known}.")
        return self.nodes[name]

    @classmethod
    def of(cls, data: Data) -> Self:
        """Sort the edges of a PyG graph; every tensor with a row per node comes along, and nothing may be lost.

        Example:
            >>> CSRGraph.of(Data(edge_index=torch.tensor([[2, 0], [1, 1]]), num_nodes=3)).indices
            array([2, 0], dtype=int32)
        """
        if not isinstance(data, Data):
            raise GraphError(f"expected one graph as PyG's Data, got {type(data).__name__}.")
        n = int(data.num_nodes or 0)
        if n == 0:
            raise GraphError("the graph has no nodes.")
        check_edge_index(data.edge_index, n)
        _refuse_losses(data)
        source, target = data.edge_index.numpy(force=True)
        indptr = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(target, minlength=n), out=indptr[1:])
        indices = source[np.argsort(target, kind="stable")].astype(_index_type(n))
        nodes = {key: value.numpy(force=True) for key, value in data.items() if _is_per_node(data, key, value)}
        return cls(indptr, indices, nodes)

    def digest(self) -> str:
        """Of all arrays, to tell graphs apart; reads them once.

        >>> graph = CSRGraph(np.array([0, 1, 2]), np.array([1, 0]))
        >>> graph.digest() == CSRGraph(np.array([0, 1, 2]), np.array([1, 0])).digest()
        True
        """
        digest = hashlib.sha256()
        for name, values in sorted({"indptr": self.indptr, "indices": self.indices, **self.nodes}.items()):
            digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
            for part in _parts(values):
                digest.update(part.tobytes())
        return digest.hexdigest()[:16]

    def data(self) -> Data:
        """The whole graph as PyG knows it; features stay where they are.

        Example:
            >>> CSRGraph(np.array([0, 1, 1]), np.array([1])).data().edge_index
            tensor([[1],
                    [0]])
        """
        target = np.repeat(np.arange(self.num_nodes), np.diff(self.indptr))
        edge_index = torch.from_numpy(np.stack([self.indices.astype(np.int64), target]))
        nodes = {}
        for name, values in self.nodes.items():
            try:
                nodes[name] = torch.from_numpy(values)
            except (TypeError, ValueError) as error:
                raise GraphError(
                    f"{name} is {values.dtype}, which no tensor holds.",
                    "Change it with .astype(), or leave it out of nodes.",
                ) from error
        return Data(edge_index=edge_index, num_nodes=self.num_nodes, **nodes)

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Map the files of a folder into memory; what they hold of the nodes is read when it is used.

        Pages are private: a process may write into its arrays, the files and other processes do not change.
        """
        folder = Path(folder)
        listed, facts = _read_header(folder)
        arrays = {name: _map(folder, name, shape, dtype) for name, (shape, dtype) in listed.items()}
        missing = [name for name in ENDS if name not in arrays]
        if missing:
            raise DataError(f"{folder / HEADER} lists no array {missing[0]!r}: the folder holds no graph.")
        indptr, indices = (arrays.pop(name) for name in ENDS)
        return cls(indptr, indices, arrays, facts, folder)

    def save(self, folder: str | Path) -> Path:
        """Write the folder, all of it or nothing.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     CSRGraph.open(CSRGraph(np.array([0, 1, 2]), np.array([1, 0])).save(f"{folder}/pair")).num_edges
        2
        """
        with new_graph(folder, self.facts) as files:
            for name, values in {"indptr": self.indptr, "indices": self.indices, **self.nodes}.items():
                files.array(name, values.shape, values.dtype)[...] = values
        return Path(folder)


def check_stored(graph: object) -> None:
    """Refuse everything but a :class:`CSRGraph`."""
    if not isinstance(graph, CSRGraph):
        raise ParameterError(f"graph must be a CSRGraph, got {type(graph).__name__}: give CSRGraph.of(data).")


class GraphFiles:
    """The files of a graph that is being made, in a folder of their own beside the final one.

    Args:
        folder: The final folder, which must not exist yet.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists():  # as does ".", which has no name to add to
            raise DataError(f"{self.folder} exists already.", "Remove it or choose another folder.")
        self.scratch = self.folder.with_name(self.folder.name + ".part")

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> Mapped:
        """Make a file of zeros to fill; it is written to disk bit by bit, as memory gets short."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        return open_memmap(self.scratch / f"{name}.npy", "w+", np.dtype(dtype), shape)

    def existing(self, name: str) -> Mapped:
        """Open a file made before, for reading and writing."""
        try:
            _layout(self.scratch / f"{name}.npy")  # or numpy would make it as long as its header says
            return open_memmap(self.scratch / f"{name}.npy", "r+")
        except (OSError, ValueError) as error:
            raise DataError(f"{self.scratch / name}.npy is missing or not complete.", "Remove the folder.") from error

    def forget(self, name: str) -> None:
        """Remove a file that was only of use on the way."""
        (self.scratch / f"{name}.npy").unlink()

    def finish(self, names: list[str], facts: Mapping[str, Any]) -> None:
        """Write the header that lists the arrays, give the folder its name, and remove what is not listed."""
        arrays = {}
        for name in names:
            values = self.existing(name)
            values.flush()
            arrays[name] = (values.shape, values.dtype.str)
        record = {"format": FORMAT, "arrays": arrays, "facts": dict(facts)}
        write_atomic(self.scratch / HEADER, json.dumps(record, indent=1) + "\n")
        self.scratch.rename(self.folder)
        for path in self.folder.iterdir():
            if path.name != HEADER and path.stem not in arrays:
                path.unlink()


@contextmanager
def new_graph(folder: str | Path, facts: Mapping[str, Any] | None = None) -> Iterator[GraphFiles]:
    """Make the files of a graph inside the block; the folder appears, complete, at its end."""
    files = GraphFiles(folder)
    shutil.rmtree(files.scratch, ignore_errors=True)
    try:
        yield files
        names = [path.stem for path in sorted(files.scratch.glob("*.npy"))]
        files.finish(names, facts or {})
    finally:
        shutil.rmtree(files.scratch, ignore_errors=True)


def _parts(values: Array, overlap: int = 0) -> Iterator[Array]:
    """Rows of an array of any size, some at a time, with the first ones of the next part."""
    for begin in range(0, len(values), ROWS):
        yield values[begin : begin + ROWS + overlap]


def _is_per_node(data: Data, key: str, value: object) -> bool:
    return isinstance(value, Tensor) and bool(data.is_node_attr(key))


def _refuse_losses(data: Data) -> None:
    for key, value in data.items():
        if key == "edge_index" or key in (*NAME_FIELDS, "name", "node_names"):  # no features, however many
            continue
        if data.is_node_attr(key) and not isinstance(value, Tensor):
            raise GraphError(
                f"{key} is a {type(value).__name__} with an entry for each node, and a CSRGraph keeps tensors.",
                f"Make it a tensor, or leave it out with del data.{key}.",
            )
        if _is_per_node(data, key, value) and (value.layout != torch.strided or value.dtype == torch.bfloat16):
            raise GraphError(
                f"{key} is {value.dtype} with {value.layout}, which no .npy file holds.",
                "Call .to_dense() or .float().",
            )
        if data.is_edge_attr(key):
            raise GraphError(
                f"{key} belongs to edges, and a CSRGraph keeps only their ends.",
                f"Leave it out with del data.{key}, or train on the Data itself with PyG's loaders.",
            )


def _read_header(folder: Path) -> tuple[dict[str, tuple[list[int], str]], dict[str, Any]]:
    """Shape and type of every array, and facts."""
    path = folder / HEADER
    header = read_json(path, f"{folder} is no folder of a graph: it has no {HEADER}.")
    found = header.get("format") if isinstance(header, dict) else None
    if found != FORMAT:
        raise DataError(f"{path} says format {found!r}, this version reads {FORMAT!r}.")
    try:
        arrays = {name: (list(shape), dtype) for name, (shape, dtype) in header["arrays"].items()}
        facts = dict(header["facts"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(path, "it does not list arrays and facts") from error
    strange = [name for name in arrays if not name.isidentifier()]
    if strange:  # "../x" is none of its files
        raise damaged(path, f"it lists {strange[0]!r}, which is no name of an array")
    return arrays, facts


def _map(folder: Path, name: str, shape: list[int], dtype: str) -> Array:
    path = folder / f"{name}.npy"
    if not path.is_file():
        raise DataError(f"{path} is missing, though {HEADER} lists it.")
    try:
        found, kind, order, begin = _layout(path)
        if list(found) == shape and kind.str == dtype:
            # Nothing cannot be mapped.
            return np.zeros(found, kind) if 0 in found else np.memmap(path, kind, "c", begin, found, order)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is damaged or not complete ({path.stat().st_size} bytes): {error}.") from error
    raise DataError(f"{path} holds {kind.str} {list(found)} but {HEADER} says {dtype} {shape}.")


def _layout(path: Path) -> tuple[tuple[int, ...], np.dtype[Any], Literal["C", "F"], int]:
    """Shape, type and order of an ``.npy`` file as numpy writes it, and where values begin; refuses another length."""
    with path.open("rb") as file:
        try:
            if read_magic(file) != (1, 0):
                raise ValueError("another version")
            shape, by_columns, dtype = read_array_header_1_0(file)
        except OSError:
            raise
        except Exception as error:  # also of Python's parser, which numpy asks
            raise ValueError("it does not begin as files of numpy that rwkplus writes") from error
        begin, size = file.tell(), path.stat().st_size
    if dtype.hasobject or min(shape, default=0) < 0:
        raise ValueError(f"{dtype.str} {list(shape)} is nothing that rwkplus writes")
    if size != begin + math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{dtype.str} {list(shape)} takes {begin + math.prod(shape) * dtype.itemsize} bytes")
    return shape, dtype, "F" if by_columns else "C", begin


def _index_type(num_nodes: int) -> type[np.int32] | type[np.int64]:
    """The smallest type that numbers so many nodes."""
    return np.int32 if num_nodes <= np.iinfo(np.int32).max else np.int64


def undirected_csr(chunks: Callable[[], Iterable[Edges]], num_nodes: int, new: New) -> Edges:
    """Both directions of all edges by rows, ascending, each once and without self-loops.

    Args:
        chunks: Gives sources and targets, ``(E,)`` each, chunk by chunk; asked twice, with the same answer.
        num_nodes: Number of nodes N.
        new: Makes an array of zeros from name, shape and type, perhaps on disk: ``indptr``, ``indices`` and
            ``repeated``, which may be thrown away.

    Returns:
        ``indptr (N + 1,)`` and ``indices (E,)``.

    Example:
        >>> edges = np.array([0, 1, 1]), np.array([1, 0, 2])
        >>> undirected_csr(lambda: [edges], 3, lambda name, shape, dtype: np.zeros(shape, dtype))
        (array([0, 1, 3, 4]), array([1, 0, 2, 1], dtype=int32))
    """
    counts = np.zeros(num_nodes, np.int64)
    for source, target in chunks():
        _count(source, target, counts)
    ends = np.cumsum(counts)
    repeated = new("repeated", (int(counts.sum()),), _index_type(num_nodes))
    free = ends - counts
    for source, target in chunks():
        _fill(source, target, free, repeated)
    indptr = new("indptr", (num_nodes + 1,), np.int64)
    _unique(ends - counts, ends, repeated, indptr)
    indices = new("indices", (int(indptr[-1]),), repeated.dtype)
    _pack(ends - counts, repeated, indptr, indices)
    return indptr, indices


@njit(cache=True, nogil=True)
def _count(source: Any, target: Any, counts: Any) -> None:
    for u, v in zip(source, target):  # noqa: B905 -- numba knows no strict
        if u != v:
            counts[u] += 1
            counts[v] += 1


@njit(cache=True, nogil=True)
def _fill(source: Any, target: Any, free: Any, indices: Any) -> None:
    for u, v in zip(source, target):  # noqa: B905
        if u != v:
            indices[free[u]] = v
            indices[free[v]] = u
            free[u] += 1
            free[v] += 1


@njit(cache=True, nogil=True)
def _unique(begins: Any, ends: Any, indices: Any, indptr: Any) -> None:
    """Sort every row in place, distinct numbers first, and add up how many they are."""
    for v in range(begins.size):
        row = np.sort(indices[begins[v] : ends[v]])
        place = begins[v]
        for k in range(row.size):
            if k == 0 or row[k] != row[k - 1]:
                indices[place] = row[k]
                place += 1
        indptr[v + 1] = indptr[v] + place - begins[v]


@njit(cache=True, nogil=True)
def _pack(begins: Any, repeated: Any, indptr: Any, indices: Any) -> None:
    for v in range(begins.size):
        for k in range(indptr[v + 1] - indptr[v]):
            indices[indptr[v] + k] = repeated[begins[v] + k]
