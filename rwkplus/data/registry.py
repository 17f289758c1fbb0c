"""Names of graph databases, and the way from a name or path to graphs.

Single graphs with a class for every node are listed in :mod:`rwkplus.data.node_sets`, molecules with published splits
in :mod:`rwkplus.data.molecule_sets`.
"""

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import networkx as nx
from torch_geometric.data import Data

from rwkplus.data.molecules import planted_groups, planted_molecules
from rwkplus.data.planted_anomalies import anomalous_molecules
from rwkplus.data.synthetic import functional_groups
from rwkplus.errors import DataError, ParameterError
from rwkplus.graphs import constant_features, one_hot_degree, read_csv, read_json_lines, read_smiles, read_tu
from rwkplus.graphs.csv_files import EDGE_WORDS, EDGES_FILE
from rwkplus.graphs.tu import NodeFeatures
from rwkplus.types import check_choice

WithoutFeatures = Literal["degree", "constant"]

DATA_VARIABLE = "RWKPLUS_DATA"
CACHE_VARIABLE = "RWKPLUS_CACHE"

MUTAG_ATOMS = ("C", "N", "O", "F", "I", "Cl", "Br")
MUTAGENICITY_ATOMS = ("C", "O", "Cl", "H", "N", "F", "Br", "S", "P", "I", "Na", "K", "Li", "Ca")
SCREENS: Mapping[str, tuple[int, int]] = {
    "NCI-H23": (40_353, 2_057),
    "UACC257": (39_988, 1_643),
    "PC-3": (27_509, 1_568),
    "SF-295": (40_271, 2_025),
    "SW-620": (40_532, 2_410),
    "MCF-7": (27_770, 2_294),
    "OVCAR-8": (40_516, 2_079),
    "MOLT-4": (39_765, 3_140),
    "SN12C": (40_004, 1_955),
}
"""Compounds and actives of every anti-cancer screen as it was published, by the cells it was made on."""


@dataclass(frozen=True)
class Entry:
    """A known data set."""

    name: str
    about: str
    folder: str | None = None  # below the data folder, where it is not the name
    node_names: tuple[str, ...] | None = None
    edge_names: tuple[str, ...] | None = None
    make: Callable[[], list[Data]] | None = None  # for sets that are generated, not read
    planted: Callable[[], dict[str, nx.Graph]] | None = None  # what a miner should find in it, by name


def _screens() -> list[Entry]:
    return [
        Entry(
            f"{cell}_balanced",
            f"anti-cancer screen on {cell} cells, all actives and as many inactives",
            "NCI_balanced",
        )
        for cell in SCREENS
    ]


REGISTRY = {
    entry.name: entry
    for entry in [
        Entry(
            "functional-groups",
            "embedded: molecule-like graphs with a nitro group or its isomer",
            make=functional_groups,
        ),
        Entry(
            "planted-molecules",
            "embedded: molecule-like graphs with planted functional groups",
            make=planted_molecules,
            planted=planted_groups,
        ),
        Entry(
            "planted-anomalies",
            "embedded: molecule-like graphs, one in twenty with something wrong",
            make=lambda: anomalous_molecules().graphs,
        ),
        Entry("MUTAG", "nitro compounds, mutagenic or not", None, MUTAG_ATOMS, (":", "-", "=", "#")),
        Entry("Mutagenicity", "molecules, mutagenic or not", None, MUTAGENICITY_ATOMS, ("-", "=", "#")),
        Entry("NCI1", "molecules, active against lung cancer cells or not"),
        Entry("PROTEINS", "proteins, enzyme or not"),
        Entry("ENZYMES", "enzymes of six classes"),
        Entry("DD", "proteins as graphs of amino acids, enzyme or not"),
        Entry("Tox21_AhR_training", "molecules, toxic by the AhR assay or not"),
        Entry("IMDB-BINARY", "actor collaborations of two genres, no labels"),
        Entry("IMDB-MULTI", "actor collaborations of three genres, no labels"),
        Entry("reddit10k", "discussion threads, no labels"),
        *_screens(),
    ]
}
"""The data sets that are known by name, see ``rwkplus datasets``."""


def load(
    name: str | Path,
    *,
    node_features: NodeFeatures = "labels",
    without_features: WithoutFeatures = "degree",
    ignore: Sequence[str] = (),
    directed: bool = False,
    multigraph: bool = False,
) -> list[Data]:
    """Load a graph database by name or path.

    Looks for a registered name below ``RWKPLUS_DATA`` first (``NAME/NAME.zip`` or a folder of text
    files), then lets PyG download it. Paths of folders or zip files in TU format, of ``.smi`` files (one SMILES per
    line, optionally with a target behind it), of ``.jsonl`` files (one graph per line, see
    :mod:`rwkplus.graphs.json_lines`) and of ``.csv`` files or folders with ``edges.csv`` (see
    :func:`rwkplus.graphs.read_csv`) work as well.

    Args:
        name: Name of a data set (see ``rwkplus datasets``; every name of the TU collection works) or a path.
        node_features: ``"labels"``, continuous ``"attributes"`` or ``"both"`` as ``x``, for sets that have
            both.
        without_features: What sets that have neither get: one-hot degrees, or the same for all.
        ignore: Fields of ``.jsonl`` and columns of ``.csv`` files to leave out on purpose.
        directed: Whether lines of ``.csv`` files are directed edges, each one of its own.
        multigraph: Whether they are edges of their own, so that two nodes may have several.

    Returns:
        A list of PyG ``Data`` with targets in ``y``: one number, or the name of a class.

    Example:
        >>> graphs = load("functional-groups")
        >>> len(graphs), graphs[0].node_label_names
        (200, ('C', 'N', 'O'))
    """
    check_choice("node_features", node_features, NodeFeatures)  # here too, for sets that have no choice
    check_choice("without_features", without_features, WithoutFeatures)
    entry, path = REGISTRY.get(str(name)), Path(name)
    is_table = entry is None and (path.suffix.lower() == ".csv" or (path / EDGES_FILE).is_file())
    if (directed or multigraph) and not is_table:
        raise ParameterError(f"{name} is no table of edges: {EDGE_WORDS}.")
    if entry is not None and entry.make is not None:
        _refuse_choice(name, node_features)
        return entry.make()
    if is_table and path.exists():
        _refuse_choice(name, node_features)
        graphs = read_csv(path, ignore=ignore, directed=directed, multigraph=multigraph)
    elif entry is None and path.exists():
        graphs = _read_file(path, node_features, ignore)
    else:
        entry = entry or Entry(str(name), "")
        graphs = read_tu(
            find(entry) or _download(entry),
            node_features=node_features,
            node_names=entry.node_names,
            edge_names=entry.edge_names,
        )
    if graphs[0].get("x") is not None:
        return graphs
    return one_hot_degree(graphs) if without_features == "degree" else constant_features(graphs)


def _refuse_choice(name: str | Path, node_features: NodeFeatures) -> None:
    if node_features != "labels":
        raise ParameterError(
            f"node_features={node_features!r} chooses among the files of a set in TU format, which {name} is not: "
            "leave it out."
        )


def find(entry: Entry) -> Path | None:
    """Return where the data set lies on this machine, or None."""
    given = data_folder()
    for root in (cache_folder(),) if given is None else (given, cache_folder()):
        folder = root / (entry.folder or entry.name)
        for candidate in (folder / f"{entry.name}.zip", folder, folder / entry.name, folder / "raw"):
            if candidate.is_file() or (candidate / f"{entry.name}_A.txt").is_file():
                return candidate
    return None


def data_folder() -> Path | None:
    """Return the folder of data sets that the environment names, if it does."""
    given = os.environ.get(DATA_VARIABLE)
    return Path(given) if given else None


def cache_folder() -> Path:
    """Return the folder for downloads."""
    given = os.environ.get(CACHE_VARIABLE)
    return Path(given) if given else Path.home() / ".cache" / "rwkplus"


def _download(entry: Entry) -> Path:
    from torch_geometric.datasets import TUDataset

    if entry.name not in REGISTRY:
        close = difflib.get_close_matches(entry.name, REGISTRY, n=1)
        if close or "/" in entry.name or "." in entry.name:
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise DataError(
                f"there is no data set or file {entry.name!r}.{hint} `rwkplus datasets` lists the known names."
            )
    try:
        TUDataset(str(cache_folder()), entry.name)
    except Exception as error:
        raise DataError(
            f"{entry.name} is not on this machine and could not be downloaded ({type(error).__name__}). Put "
            f"{entry.name}.zip in TU format into the folder {entry.folder or entry.name} below the folder that the "
            f"environment variable {DATA_VARIABLE} names."
        ) from error
    found = find(entry)
    if found is None:
        raise DataError(f"{entry.name} was downloaded to {cache_folder()} but holds no {entry.name}_A.txt.")
    return found


def _read_file(path: Path, node_features: NodeFeatures, ignore: Sequence[str]) -> list[Data]:
    kind = path.suffix.lower()
    if kind in (".smi", ".jsonl"):
        _refuse_choice(path, node_features)
    if kind == ".smi":
        return read_smiles(path)
    if kind == ".jsonl":
        return read_json_lines(path, ignore=ignore)
    if path.is_file() and kind != ".zip":
        raise DataError(f"{path} is of no known kind: give .smi, .jsonl, .csv or a .zip in TU format.")
    if path.is_dir() and not any(path.rglob("*_A.txt")):
        raise DataError(f"the folder {path} holds neither {EDGES_FILE} nor a data set in TU format (a file *_A.txt).")
    return read_tu(path, node_features=node_features)
