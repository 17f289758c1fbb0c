"""Results on disk: Gram matrices that survive an interruption, and sparse features that are opened, not read."""

import hashlib
import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.lib.format import open_memmap
from scipy import sparse

from rwkplus.errors import DataError
from rwkplus.files import read_json, write_atomic
from rwkplus.table import GraphTable
from rwkplus.table.arrays import Floats, Ints

FORMAT = "rwkplus features, version 1"
PARTS = {"data": "<f8", "indices": "<i4"}
"""Entries and their columns."""


class ResumableMatrix:
    """Rows arrive in blocks; ``path.partial`` and ``path.progress`` remember them until all are there.

    The file at ``path`` appears only when it is complete. A fingerprint of graphs and settings keeps
    blocks of another computation from being taken for one's own.

    >>> matrix = ResumableMatrix((2, 2), None, "")
    >>> matrix.write(0, 1, 0, np.array([[1.0, 2.0]]), mirror=True)
    >>> matrix.write(1, 2, 1, np.array([[4.0]]), mirror=True)
    >>> matrix.complete()
    array([[1., 2.],
           [2., 4.]])
    """

    def __init__(self, shape: tuple[int, int], path: str | Path | None, fingerprint: str) -> None:
        self.path = None if path is None else Path(path)
        self.finished: set[tuple[int, int]] = set()
        self._shape = shape
        if self.path is None:
            return
        self.partial = self.path.with_name(self.path.name + ".partial")
        self.progress = self.path.with_name(self.path.name + ".progress")
        self.fingerprint = fingerprint
        self.finished = self._finished_before()
        if not self.finished:  # a note about another computation must not outlive its blocks
            self.progress.unlink(missing_ok=True)
            self.partial.unlink(missing_ok=True)

    @cached_property
    def values(self) -> Floats:
        """The matrix; a file is made when the first block is there."""
        if self.path is None:
            return np.empty(self._shape)
        mode: Literal["r+", "w+"] = "r+" if self.finished else "w+"
        return open_memmap(self.partial, mode=mode, dtype=np.float64, shape=self._shape)

    def write(self, start: int, stop: int, first: int, values: Floats, *, mirror: bool) -> None:
        """Store the rows ``start:stop`` from column ``first`` on; ``mirror`` stores the transpose as well."""
        self.values[start:stop, first:] = values
        if mirror:
            self.values[first:, start:stop] = values.T
        self.finished.add((start, stop))
        if self.path is not None:
            self.values.flush()  # type: ignore[attr-defined]
            record = {"fingerprint": self.fingerprint, "finished": sorted(self.finished)}
            write_atomic(self.progress, json.dumps(record))

    def complete(self) -> Floats:
        """Give the file its name and return the matrix."""
        if self.path is not None:
            self.values.flush()  # type: ignore[attr-defined]
            self.partial.replace(self.path)
            self.progress.unlink(missing_ok=True)
            self.values = np.load(self.path, mmap_mode="r+")
        return self.values

    def _finished_before(self) -> set[tuple[int, int]]:
        try:
            record = read_json(self.progress)
            whole = self.partial.exists() and self.partial.stat().st_size >= 8 * self._shape[0] * self._shape[1]
            if whole and record["fingerprint"] == self.fingerprint:  # numpy would fill up a cut file with zeros
                return {(start, stop) for start, stop in record["finished"]}
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return set()


def fingerprint(settings: object, tables: Iterable[GraphTable]) -> str:
    """Digest of settings and graphs."""
    digest = hashlib.sha256(repr(settings).encode())
    for table in tables:
        digest.update(table.digest().encode())
    return digest.hexdigest()


class Written(NamedTuple):
    """A block of rows on disk."""

    first: int  # number of its first row
    sizes: Ints  # entries of each row
    width: int


def write_block(features: sparse.csr_matrix, folder: Path, first: int) -> Written:
    """Write a block of rows, in whatever process it was computed."""
    for name, dtype in PARTS.items():
        getattr(features, name).astype(dtype).tofile(folder / f"{first}.{name}")
    return Written(first, np.diff(features.indptr).astype(np.int64), features.shape[1])


def join_blocks(blocks: Iterable[Written], folder: Path) -> None:
    """Put blocks behind one another as arrays of numpy, and remove their files; never more than one is in memory."""
    written = list(blocks)
    indptr = np.concatenate([np.zeros(1, np.int64), *(block.sizes for block in written)]).cumsum()
    for name, dtype in PARTS.items():
        header = {"descr": dtype, "fortran_order": False, "shape": (int(indptr[-1]),)}
        with (folder / f"{name}.npy").open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for block in written:
                part = folder / f"{block.first}.{name}"
                file.write(part.read_bytes())
                part.unlink()
    np.save(folder / "indptr.npy", indptr)
    shape = [indptr.size - 1, written[-1].width if written else 0]
    (folder / "about.json").write_text(json.dumps({"format": FORMAT, "shape": shape}))


def open_features(path: str | Path) -> sparse.csr_matrix:
    """Open features that :meth:`rwkplus.kernels.RandomWalkFeatures.transform` wrote: a matrix of memory maps.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rwkplus.kernels import RandomWalkFeatures, open_features
    >>> with TemporaryDirectory() as folder:
    ...     rows = RandomWalkFeatures(steps=1).fit(["CCO"]).transform(["CCO"], out=Path(folder) / "features")
    ...     open_features(Path(folder) / "features").toarray()
    array([[2., 1., 1.]])
    """
    path = Path(path)
    about = read_json(path / "about.json", f"{path} holds no features: there is no about.json.")
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise DataError(f"{path} does not hold features that this version of rwkplus reads.")
    try:
        data, indices, indptr = (np.load(path / f"{name}.npy", mmap_mode="r") for name in ("data", "indices", "indptr"))
        rows, columns = about["shape"]
        if indptr.size != rows + 1 or not data.size == indices.size == indptr[-1]:
            raise ValueError("its arrays do not fit together")
        matrix = sparse.csr_matrix((rows, columns))
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"the features in {path} are damaged: {error}.") from error
    return matrix
