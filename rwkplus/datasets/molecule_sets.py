"""Molecules with published splits: ZINC, ogbg-molhiv and ogbg-molpcba, with atoms and bonds as columns of integers."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data, download_url

from rwkplus.datasets.catalog import cache_folder, find_local, missing_data
from rwkplus.datasets.splits import Index
from rwkplus.errors import DataError

ZINC_ATOMS, ZINC_BONDS = (28,), (4,)
OGB_FILES = "http://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download/"


@dataclass(frozen=True)
class MoleculeSet:
    """Molecules in the conventions of PyG and OGB.

    Attributes:
        name: Name of the set.
        graphs: Molecules with integers in ``x (N, F)`` and in ``edge_attr (E,)`` or ``(E, C)``, every bond in both
            directions, and ``y``: a number, a class, or answers ``(1, T)`` with nan for those not known.
        train: Published training molecules.
        validation: Those that choose.
        test: Those that judge.
        categories: Number of values in each column of ``x``.
        edge_categories: The same for ``edge_attr``.
    """

    name: str
    graphs: list[Data]
    train: Index
    validation: Index
    test: Index
    categories: tuple[int, ...]
    edge_categories: tuple[int, ...]

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Number of molecules in each part, and a digest of all that is in them, to tell sets of one name apart."""
        digest, parts = hashlib.sha256(), {name: getattr(self, name) for name in ("train", "validation", "test")}
        for graph in self.graphs:
            for field in ("x", "edge_index", "edge_attr", "y"):
                values = graph[field].numpy(force=True)
                digest.update(f"{field} {values.shape}".encode() + values.astype(np.float64).tobytes())
        for part in parts.values():
            digest.update(part.astype(np.int64).tobytes())
        return {name: len(part) for name, part in parts.items()} | {"digest": digest.hexdigest()[:16]}


def load_zinc(path: str | Path | None = None) -> MoleculeSet:
    """Load the 12,000 molecules of ZINC with their constrained solubility (10,000 / 1,000 / 1,000).

    Reads ``ZINC/zinc12k.npz`` below ``RWKPLUS_DATA`` (or ``path``): arrays ``{train,val,test}_{x,edge_index,edge_attr,
    y,x_ptr,e_ptr}``, where ``ptr`` begins each molecule. Otherwise PyG downloads its own files.
    """
    found = Path(path) if path is not None else find_local(["ZINC"], ["zinc12k.npz"])
    parts = _pyg_zinc() if found is None else _zinc_arrays(found)
    sizes = np.cumsum([0, *map(len, parts)])
    train, validation, test = (np.arange(*bounds) for bounds in pairwise(sizes))
    graphs = [graph for part in parts for graph in part]
    return MoleculeSet("ZINC", graphs, train, validation, test, ZINC_ATOMS, ZINC_BONDS)


def load_molhiv(path: str | Path | None = None) -> MoleculeSet:
    """Load ogbg-molhiv: 41,127 molecules that inhibit HIV or not, split by scaffold.

    Reads OGB's folder, tar or zip file below ``RWKPLUS_DATA`` (or ``path``), or downloads it.
    """
    return _load_ogb("ogbg-molhiv", "hiv", 1, path)


def load_molpcba(path: str | Path | None = None) -> MoleculeSet:
    """Load ogbg-molpcba: 437,929 molecules and 128 bioassays with gaps, split by scaffold; files as in molhiv."""
    return _load_ogb("ogbg-molpcba", "pcba", 128, path)


def _load_ogb(name: str, short: str, num_labels: int, path: str | Path | None) -> MoleculeSet:
    folder = name.replace("-", "_")
    found = (
        Path(path)
        if path is not None
        else find_local([name], [folder, "*.tar", "*.zip"]) or find_local([folder], ["raw"])
    )
    if found is not None and found.name == "raw":
        found = found.parent
    with TemporaryDirectory() as scratch:
        files = _OGBFiles(found or _downloaded(name, f"{short}.zip"), Path(scratch))
        num_nodes = files.integers("raw/num-node-list.csv.gz", (None,)).ravel()
        num_edges = files.integers("raw/num-edge-list.csv.gz", (None,), num_nodes.size).ravel()
        answers = files.answers("raw/graph-label.csv.gz", num_labels, num_nodes.size)
        nodes = files.integers("raw/node-feat.csv.gz", ATOM_COLUMNS, num_nodes.sum())
        edges = files.integers("raw/edge.csv.gz", (None, None), num_edges.sum())
        edge_features = files.integers("raw/edge-feat.csv.gz", BOND_COLUMNS, num_edges.sum())
        parts = {part: files.integers(f"split/scaffold/{part}.csv.gz", (len(answers),)).ravel() for part in SPLITS}
    _check_ends(files.path, edges, np.repeat(num_nodes, num_edges))
    _check_splits(files.path, parts)
    graphs = _cut(
        torch.from_numpy(nodes),
        torch.from_numpy(np.stack([edges, edges[:, ::-1]], 1).reshape(-1, 2)).t(),  # as OGB: a bond, then its way back
        torch.from_numpy(edge_features).repeat_interleave(2, 0),
        torch.from_numpy(answers.astype(np.float32 if np.isnan(answers).any() or num_labels > 1 else np.int64)),
        num_nodes,
        2 * num_edges,
    )
    train, validation, test = parts.values()
    return MoleculeSet(name, graphs, train, validation, test, ATOM_COLUMNS, BOND_COLUMNS)


def _cut(x: Tensor, edge_index: Tensor, edge_attr: Tensor, y: Tensor, num_nodes: Index, num_edges: Index) -> list[Data]:
    nodes, edges = num_nodes.tolist(), num_edges.tolist()
    fields = (x.split(nodes), edge_index.split(edges, 1), edge_attr.split(edges), y.split(1))
    return [Data(x=a, edge_index=b, edge_attr=c, y=d) for a, b, c, d in zip(*fields, strict=True)]


def _zinc_arrays(path: Path) -> list[list[Data]]:
    path = path / "zinc12k.npz" if path.is_dir() else path
    try:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
    except Exception as error:  # a damaged archive raises whatever its decompressor does
        raise DataError(f"{path} cannot be read as arrays of ZINC ({error}). Is the file complete?") from error
    return [_zinc_part(path, arrays, part) for part in ("train", "val", "test")]


def _zinc_part(path: Path, arrays: dict[str, NDArray[Any]], part: str) -> list[Data]:
    def array(field: str, kinds: str = "iu") -> NDArray[Any]:
        if f"{part}_{field}" not in arrays:
            raise DataError(f"{path} has no array {part}_{field}.")
        values, rows = arrays[f"{part}_{field}"], (2,) if field == "edge_index" else ()
        if values.dtype.kind not in kinds or values.ndim == 0 or values.shape[:-1] != rows:
            expected = f"{'integers' if kinds == 'iu' else 'numbers'} {'(2, E)' if rows else '(n,)'}"
            raise DataError(f"{path}: {part}_{field} must hold {expected}, found {values.dtype} {values.shape}.")
        return values

    x, edge_index, edge_attr = (
        torch.from_numpy(array(field).astype(np.int64)) for field in ("x", "edge_index", "edge_attr")
    )
    y = torch.from_numpy(array("y", "iuf").astype(np.float32))
    num_nodes, num_edges = (np.diff(array(field)).astype(np.int64) for field in ("x_ptr", "e_ptr"))
    expected = (int(num_nodes.sum()), int(num_edges.sum()), int(num_edges.sum()), len(num_nodes))
    if (len(x), edge_index.size(1), len(edge_attr), len(y)) != expected or len(num_edges) != len(num_nodes):
        raise DataError(f"{path}: the arrays {part}_* do not fit together.")
    for name, values, limit in (("x", x, ZINC_ATOMS[0]), ("edge_attr", edge_attr, ZINC_BONDS[0])):
        wrong = ((values < 0) | (values >= limit)).nonzero()
        if wrong.numel():
            place = int(wrong[0])
            raise DataError(f"{path}: {part}_{name} holds {int(values[place])} at {place}, expected less than {limit}.")
    sizes = torch.from_numpy(np.repeat(num_nodes, num_edges))
    if bool(((edge_index < 0) | (edge_index >= sizes)).any()):
        raise DataError(f"{path}: {part}_edge_index names atoms that its molecule does not have.")
    return _cut(x.view(-1, 1), edge_index, edge_attr, y, num_nodes, num_edges)


def _pyg_zinc() -> list[list[Data]]:
    from torch_geometric.datasets import ZINC

    try:
        return [list(ZINC(str(cache_folder() / "ZINC"), subset=True, split=part)) for part in ("train", "val", "test")]
    except Exception as error:
        raise missing_data("ZINC", "zinc12k.npz", "ZINC") from error


def _downloaded(name: str, file: str) -> Path:
    folder = cache_folder() / name
    if (folder / file).exists():
        return folder / file
    try:
        return Path(download_url(OGB_FILES + file, str(folder), log=False))
    except Exception as error:
        raise missing_data(name, file, name) from error


ATOM_COLUMNS = (119, 5, 12, 12, 10, 6, 6, 2, 2)
"""Values of every column of ``x``: element, chirality, degree, charge, hydrogens, radicals, hybridization, aromatic,
in a ring. The last value of a column stands for all others."""
BOND_COLUMNS = (5, 6, 2)
"""Values of every column of ``edge_attr``: type, stereo, conjugated."""
SPLITS = ("train", "valid", "test")
Table = NDArray[Any]


class _OGBFiles:
    """Compressed tables ``raw/*.csv.gz`` and ``split/scaffold/*.csv.gz`` in a folder, or unpacked from an archive."""

    def __init__(self, path: Path, scratch: Path) -> None:
        self.path = path
        if not path.exists():
            raise DataError(f"there is no file or folder {path}.")
        folder = path if path.is_dir() else _unpacked(path, scratch)
        self.files = {}
        for file in folder.rglob("*.csv.gz"):  # archives differ in what comes before raw and split
            parts = file.relative_to(folder).parts
            start = next((i for i, part in enumerate(parts) if part in ("raw", "split")), 0)
            self.files["/".join(parts[start:])] = file

    def integers(self, part: str, limits: tuple[int | None, ...], rows: int | None = None) -> Index:
        """Read a table of whole numbers of at least 0, each column below its limit."""
        values = self._numbers(part, len(limits), rows)
        bounds = np.array([2**53 if limit is None else limit for limit in limits])
        expected = ["a whole number of at least 0" + ("" if limit is None else f" below {limit}") for limit in limits]
        self._refuse(part, values, (values < 0) | (values >= bounds) | (values != np.round(values)), expected)
        return values.astype(np.int64)

    def answers(self, part: str, columns: int, rows: int) -> Table:
        """Read a table of 0 and 1; empty cells are nan."""
        values = self._numbers(part, columns, rows, gaps=True)
        known = np.isnan(values) | (values == 0) | (values == 1)
        self._refuse(part, values, ~known, ["0, 1 or an empty cell"] * columns)
        return values

    def _numbers(self, part: str, columns: int, rows: int | None, *, gaps: bool = False) -> Table:
        """Read a table of numbers; with ``gaps``, empty cells are nan."""
        raw = self._read(part)
        if gaps:  # not left to the parser, which refuses empty cells
            raw = b"\n".join(b",".join(c if c.strip() else b"nan" for c in row.split(b",")) for row in raw.splitlines())
        try:
            values = np.empty((0, columns))
            if raw.strip():
                values = np.loadtxt(io.BytesIO(raw), delimiter=",", comments=None, ndmin=2)
        except ValueError as error:
            raise DataError(f"{self.path}, {part}, {_bad_place(raw, columns)}") from error
        if values.shape[1] != columns:
            raise DataError(f"{self.path}, {part}: expected {columns} columns, found {values.shape[1]}.")
        if rows is not None and len(values) != rows:
            raise DataError(f"{self.path}, {part}: expected {rows} lines, found {len(values)}. Is the file complete?")
        return values

    def _refuse(self, part: str, values: Table, wrong: NDArray[np.bool_], expected: list[str]) -> None:
        """Name the first wrong cell, if there is one, and what is expected in its column."""
        for row, column in np.argwhere(wrong)[:1].tolist():
            raise DataError(
                f"{self.path}, {part}, line {row + 1}, column {column + 1}: expected {expected[column]}, found "
                f"{values[row, column]:g}."
            )

    def _read(self, part: str) -> bytes:
        if part not in self.files:
            raise DataError(f"{self.path} has no {part}, which every molecule set of OGB needs.")
        try:
            return gzip.decompress(self.files[part].read_bytes())
        except Exception as error:  # whatever, as above
            raise DataError(f"{self.path}, {part} cannot be read ({error}). Is the file complete?") from error


def _unpacked(path: Path, folder: Path) -> Path:
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder)
        else:
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
    except Exception as error:  # damaged archives raise whatever their decompressors do
        raise DataError(f"{path} cannot be read as a folder, tar or zip file ({error}).") from error
    return folder


def _bad_place(raw: bytes, columns: int) -> str:
    for number, line in enumerate(raw.splitlines(), 1):
        cells = line.split(b",")
        if len(cells) != columns and line.strip():
            return f"line {number}: expected {columns} columns, found {len(cells)}. Is the file complete?"
        for column, cell in enumerate(cells if line.strip() else [], 1):
            try:
                float(cell)
            except ValueError:
                return f"line {number}, column {column}: expected a number, found {cell.decode(errors='replace')!r}."
    return "expected numbers with commas between."


def _check_ends(path: Path, edges: Index, sizes: Index) -> None:
    for row, column in np.argwhere(edges >= sizes[:, None])[:1].tolist():
        raise DataError(
            f"{path}, raw/edge.csv.gz, line {row + 1}, column {column + 1}: the bond names atom {edges[row, column]} "
            f"of a molecule with {sizes[row]} atoms, counted from 0."
        )


def _check_splits(path: Path, splits: dict[str, Index]) -> None:
    for part, listed in splits.items():
        if not listed.size:
            raise DataError(f"{path}, split/scaffold/{part}.csv.gz lists no molecule. Is the file complete?")
    graphs, times = np.unique(np.concatenate(list(splits.values())), return_counts=True)
    if (times > 1).any():
        raise DataError(f"{path}, split/scaffold: molecule {graphs[times.argmax()]} is listed more than once.")
