"""Molecules in the files of the Open Graph Benchmark: compressed tables of numbers, unpacked or in an archive."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.data.splits import Index
from rwkplus.errors import DataError

ATOM_COLUMNS = (119, 5, 12, 12, 10, 6, 6, 2, 2)
"""Values of every column of ``x``: element, chirality, degree, charge, hydrogens, radicals, hybridization, aromatic,
in a ring. The last value of a column stands for all others."""
BOND_COLUMNS = (5, 6, 2)
"""Values of every column of ``edge_attr``: type, stereo, conjugated."""
SPLITS = ("train", "valid", "test")
Table = NDArray[Any]


class OGBTables(NamedTuple):
    """The tables of one data set, graphs one after the other."""

    nodes: Table  # (N, 9) integers
    edges: Table  # (E, 2) integers, each bond once, nodes counted from 0 in every graph
    edge_features: Table  # (E, 3) integers
    labels: Table  # (B, T) with nan where nothing is known
    num_nodes: Index  # (B,)
    num_edges: Index  # (B,)
    splits: dict[str, Index]


def read_ogb(path: Path, num_labels: int) -> OGBTables:
    """Read a folder, tar or zip file with ``raw/*.csv.gz`` and ``split/scaffold/*.csv.gz``, or name what is wrong."""
    files = OGBFiles(path)
    num_nodes = files.integers("raw/num-node-list.csv.gz", (None,)).ravel()
    num_edges = files.integers("raw/num-edge-list.csv.gz", (None,)).ravel()
    labels = files.answers("raw/graph-label.csv.gz", num_labels)
    files.expect_rows("raw/num-edge-list.csv.gz", len(num_edges), len(num_nodes))
    files.expect_rows("raw/graph-label.csv.gz", len(labels), len(num_nodes))
    tables = OGBTables(
        nodes=files.integers("raw/node-feat.csv.gz", ATOM_COLUMNS),
        edges=files.integers("raw/edge.csv.gz", (None, None)),
        edge_features=files.integers("raw/edge-feat.csv.gz", BOND_COLUMNS),
        labels=labels,
        num_nodes=num_nodes,
        num_edges=num_edges,
        splits={part: files.integers(f"split/scaffold/{part}.csv.gz", (len(labels),)).ravel() for part in SPLITS},
    )
    files.expect_rows("raw/node-feat.csv.gz", len(tables.nodes), int(num_nodes.sum()))
    files.expect_rows("raw/edge.csv.gz", len(tables.edges), int(num_edges.sum()))
    files.expect_rows("raw/edge-feat.csv.gz", len(tables.edge_features), int(num_edges.sum()))
    _check_ends(files, tables)
    _check_splits(files, tables.splits)
    return tables


class OGBFiles:
    """Compressed tables below a folder or inside an archive."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            raise DataError(f"there is no file or folder {path}.")
        self.names = {_inner(name): name for name in self._listed()}

    def integers(self, part: str, limits: tuple[int | None, ...]) -> Index:
        """Read a table of whole numbers of at least 0, each column below its limit."""
        values = self.numbers(part, len(limits))
        bounds = np.array([2**53 if limit is None else limit for limit in limits])
        expected = ["a whole number of at least 0" + ("" if limit is None else f" below {limit}") for limit in limits]
        self._refuse(part, values, (values < 0) | (values >= bounds) | (values != np.round(values)), expected)
        return values.astype(np.int64)

    def answers(self, part: str, columns: int) -> Table:
        """Read a table of 0 and 1; empty cells are nan."""
        values = self.numbers(part, columns, gaps=True)
        known = np.isnan(values) | (values == 0) | (values == 1)
        self._refuse(part, values, ~known, ["0, 1 or an empty cell"] * columns)
        return values

    def numbers(self, part: str, columns: int, *, gaps: bool = False) -> Table:
        """Read a table of numbers; with ``gaps``, empty cells are nan."""
        raw = self._read(part)
        if gaps:  # not left to the parser, which refuses empty cells
            raw = b"\n".join(_filled(line) for line in raw.splitlines())
        if not raw.strip():
            return np.empty((0, columns))
        try:
            values = np.loadtxt(io.BytesIO(raw), delimiter=",", comments=None, ndmin=2)
        except ValueError as error:
            raise DataError(f"{self.path}, {part}, {_bad_place(raw, columns)}") from error
        if values.shape[1] != columns:
            raise DataError(f"{self.path}, {part}: expected {columns} columns, found {values.shape[1]}.")
        return values

    def expect_rows(self, part: str, found: int, expected: int) -> None:
        """Compare the length of a table with what others say."""
        if found != expected:
            raise DataError(f"{self.path}, {part}: expected {expected} lines, found {found}. Is the file complete?")

    def _refuse(self, part: str, values: Table, wrong: NDArray[np.bool_], expected: list[str]) -> None:
        """Name the first wrong cell, if there is one, and what is expected in its column."""
        for row, column in np.argwhere(wrong)[:1].tolist():
            raise DataError(
                f"{self.path}, {part}, line {row + 1}, column {column + 1}: expected {expected[column]}, found "
                f"{values[row, column]:g}."
            )

    def _listed(self) -> list[str]:
        try:
            if self.path.is_dir():
                return [file.relative_to(self.path).as_posix() for file in self.path.rglob("*.csv.gz")]
            if zipfile.is_zipfile(self.path):
                with zipfile.ZipFile(self.path) as archive:
                    return archive.namelist()
            with tarfile.open(self.path) as archive:
                return archive.getnames()
        except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
            raise DataError(f"{self.path} is no folder, tar or zip file that can be read ({error}).") from error

    def _read(self, part: str) -> bytes:
        name = self.names.get(part)
        if name is None:
            raise DataError(f"{self.path} has no {part}, which every molecule set of OGB needs.")
        try:
            return gzip.decompress(self._bytes(name))
        except Exception as error:  # damaged archives raise whatever their decompressors do
            raise DataError(f"{self.path}, {part} cannot be read ({error}). Is the file complete?") from error

    def _bytes(self, name: str) -> bytes:
        if self.path.is_dir():
            return (self.path / name).read_bytes()
        if zipfile.is_zipfile(self.path):
            with zipfile.ZipFile(self.path) as archive:
                return archive.read(name)
        with tarfile.open(self.path) as archive:
            member = archive.extractfile(name)
            return b"" if member is None else member.read()


def _inner(name: str) -> str:
    """The part of a path from ``raw`` or ``split`` on; archives differ in what comes before."""
    parts = PurePosixPath(name).parts
    start = next((i for i, part in enumerate(parts) if part in ("raw", "split")), 0)
    return "/".join(parts[start:])


def _filled(line: bytes) -> bytes:
    return b",".join(cell if cell.strip() else b"nan" for cell in line.split(b","))


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


def _check_ends(files: OGBFiles, tables: OGBTables) -> None:
    sizes = np.repeat(tables.num_nodes, tables.num_edges)
    wrong = np.argwhere(tables.edges >= sizes[:, None])
    if wrong.size:
        row, column = wrong[0]
        raise DataError(
            f"{files.path}, raw/edge.csv.gz, line {row + 1}, column {column + 1}: the bond names atom "
            f"{tables.edges[row, column]} of a molecule with {sizes[row]} atoms, counted from 0."
        )


def _check_splits(files: OGBFiles, splits: dict[str, Index]) -> None:
    for part, listed in splits.items():
        if not listed.size:
            raise DataError(f"{files.path}, split/scaffold/{part}.csv.gz lists no molecule. Is the file complete?")
    graphs, times = np.unique(np.concatenate(list(splits.values())), return_counts=True)
    if (times > 1).any():
        raise DataError(f"{files.path}, split/scaffold: molecule {graphs[times.argmax()]} is listed more than once.")
