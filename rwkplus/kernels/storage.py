"""A matrix that is filled block by block, in memory or in a file that survives an interruption."""

import hashlib
import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.lib.format import open_memmap

from rwkplus.files import read_json, write_whole
from rwkplus.table import GraphTable
from rwkplus.table.arrays import Floats


class ResumableMatrix:
    """Rows arrive in blocks; ``path.partial`` and ``path.progress`` remember them until all are there.

    The file at ``path`` appears only when it is complete. A fingerprint of graphs and settings keeps
    blocks of another computation from being taken for one's own.
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
            write_whole(self.progress, json.dumps(record))

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
