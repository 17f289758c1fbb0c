"""Molecules with published splits: ZINC, ogbg-molhiv and ogbg-molpcba, with atoms and bonds as columns of integers."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data, download_url

from rwkplus.data.ogb_files import ATOM_COLUMNS, BOND_COLUMNS, SPLITS, read_ogb
from rwkplus.data.registry import DATA_VARIABLE, cache_folder, data_folder
from rwkplus.data.splits import Index
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
    found = Path(path) if path is not None else _local("ZINC", ("zinc12k.npz",))
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
    found = Path(path) if path is not None else _local(name, (folder, "*.tar", "*.zip")) or _local(folder, ("raw",))
    if found is not None and found.name == "raw":
        found = found.parent
    tables = read_ogb(found or _downloaded(name, f"{short}.zip"), num_labels)
    answers = tables.labels
    graphs = _cut(
        torch.from_numpy(tables.nodes),
        _both_ways(torch.from_numpy(tables.edges)),
        torch.from_numpy(tables.edge_features).repeat_interleave(2, 0),
        torch.from_numpy(answers.astype(np.float32 if np.isnan(answers).any() or num_labels > 1 else np.int64)),
        tables.num_nodes,
        2 * tables.num_edges,
    )
    train, validation, test = (tables.splits[part] for part in SPLITS)
    return MoleculeSet(name, graphs, train, validation, test, ATOM_COLUMNS, BOND_COLUMNS)


def _both_ways(bonds: Tensor) -> Tensor:
    """Every bond followed by its way back, as OGB has it: ``(2, 2E)``."""
    return torch.stack([bonds, bonds.flip(1)], 1).view(-1, 2).t()


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
    num_nodes, num_edges = (_sizes(array(field)) for field in ("x_ptr", "e_ptr"))
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


def _sizes(ptr: NDArray[Any]) -> Index:
    sizes: Index = np.diff(ptr).astype(np.int64)
    return sizes


def _pyg_zinc() -> list[list[Data]]:
    from torch_geometric.datasets import ZINC

    try:
        return [list(ZINC(str(cache_folder() / "ZINC"), subset=True, split=part)) for part in ("train", "val", "test")]
    except Exception as error:
        raise _missing("ZINC", "zinc12k.npz") from error


def _downloaded(name: str, file: str) -> Path:
    folder = cache_folder() / name
    if (folder / file).exists():
        return folder / file
    try:
        return Path(download_url(OGB_FILES + file, str(folder), log=False))
    except Exception as error:
        raise _missing(name, file) from error


def _missing(name: str, file: str) -> DataError:
    return DataError(
        f"{name} is not on this machine and could not be downloaded. Put {file} into the folder {name} below the "
        f"folder that the environment variable {DATA_VARIABLE} names."
    )


def _local(name: str, patterns: tuple[str, ...]) -> Path | None:
    root = data_folder()
    if root is None:
        return None
    found: Iterator[Path] = (path for pattern in patterns for path in sorted((root / name).glob(pattern)))
    return next(found, None)


MOLECULE_SETS: dict[str, Callable[..., MoleculeSet]] = {
    "zinc": load_zinc,
    "molhiv": load_molhiv,
    "molpcba": load_molpcba,
}
"""Loaders by the names of the experiments."""
