"""Names of graph databases, and the way from a name or path to graphs.

Single graphs with a class for every node are read by :mod:`rwkplus.datasets.node_sets`, molecules with published
splits by :mod:`rwkplus.datasets.molecule_sets`.
"""

import csv
import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import networkx as nx

from rwkplus.datasets.generators import (
    anomalous_molecules,
    functional_groups,
    payment_cases,
    planted_groups,
    planted_molecules,
)
from rwkplus.errors import DataError
from rwkplus.io.sources import ReadOptions, options_from, read_path
from rwkplus.io.tu import read_tu
from rwkplus.table import GraphTable, Text
from rwkplus.types import check_choice

WithoutLabels = Literal["degree", "nothing"]

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
BALANCED = "NCI_balanced"
NODE_SETS = (
    "Cora", "CiteSeer", "PubMed", "Actor", "Chameleon", "Squirrel", "Chameleon-filtered", "Squirrel-filtered",
)  # fmt: skip
"""Single graphs with a class for every node, see :func:`rwkplus.datasets.load_nodes`."""
TU_NAMES = (
    "AIDS", "BZR", "BZR_MD", "COX2", "COX2_MD", "DHFR", "DHFR_MD", "ER_MD", "FRANKENSTEIN", "MCF-7", "MCF-7H",
    "MOLT-4", "MOLT-4H", "Mutagenicity", "MUTAG", "NCI1", "NCI109", "NCI-H23", "NCI-H23H", "OVCAR-8", "OVCAR-8H",
    "P388", "P388H", "PC-3", "PC-3H", "PTC_FM", "PTC_FR", "PTC_MM", "PTC_MR", "SF-295", "SF-295H", "SN12C", "SN12CH",
    "SW-620", "SW-620H", "UACC257", "UACC257H", "Yeast", "YeastH", "DD", "ENZYMES", "KKI", "OHSU", "Peking_1",
    "PROTEINS", "PROTEINS_full", "COIL-DEL", "COIL-RAG", "Cuneiform", "Fingerprint", "FIRSTMM_DB", "Letter-high",
    "Letter-low", "Letter-med", "MSRC_9", "MSRC_21", "MSRC_21C", "COLLAB", "DBLP_v1", "deezer_ego_nets",
    "github_stargazers", "IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY", "REDDIT-MULTI-5K", "REDDIT-MULTI-12K",
    "reddit_threads", "twitch_egos", "TWITTER-Real-Graph-Partial", "COLORS-3", "SYNTHETIC", "SYNTHETICnew", "Synthie",
    "TRIANGLES", "Tox21_AhR_training", "Tox21_AhR_evaluation", "Tox21_AhR_testing", "QM9", "alchemy_full",
    "ZINC_full", "aspirin", "benzene",
)  # fmt: skip
"""Sets of the TU collection, which PyG can download."""


BOND = re.compile(r"(\d+)([-=#:])(\d+)")
"""Two atoms and their bond, in the file of medicines."""


def medicines() -> GraphTable:
    """Read 141 well-known medicines, among them penicillins, steroids and opioids, as graphs of atoms and bonds.

    What families share is known to every chemist, which makes the set good for a first look: the lactam ring of
    penicillins, the four rings of steroids. ``medicines.tsv`` also has the SMILES that the graphs were made from.

    Example:
        >>> medicines()
        GraphTable: 141 undirected graphs, 3,144 nodes, 3,425 edges
          graphs name: names
                 family: 11 labels (anti-inflammatory, barbiturate, benzodiazepine, beta blocker, ...), target
          nodes  label: 7 labels (Br, C, Cl, F, N, O, ...)
          edges  label: 4 labels (#, -, :, =)
    """
    molecules, families = [], []
    for row in medicine_rows():
        molecule = nx.Graph(name=row["name"])
        molecule.add_nodes_from((v, {"label": symbol}) for v, symbol in enumerate(row["atoms"].split()))
        for first, bond, second in BOND.findall(row["bonds"]):
            molecule.add_edge(int(first), int(second), label=bond)
        molecules.append(molecule)
        families.append(row["family"])
    return GraphTable.of(molecules).with_targets(families, "family")


def medicine_rows() -> list[dict[str, str]]:
    """The lines of ``medicines.tsv``: name, family, formula, SMILES, atoms and bonds."""
    text = (files("rwkplus.datasets") / "medicines.tsv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


@dataclass(frozen=True)
class Entry:
    """A known data set."""

    name: str
    about: str
    folder: str | None = None  # below the data folder, where it is not the name
    node_names: tuple[str, ...] | None = None
    edge_names: tuple[str, ...] | None = None
    make: Callable[[], GraphTable] | None = None  # for sets that are generated, not read
    planted: Callable[[], dict[str, nx.Graph]] | None = None  # what a miner should find in it, by name


REGISTRY = {
    entry.name: entry
    for entry in [
        Entry("medicines", "embedded: well-known medicines of eleven families", make=medicines),
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
        Entry(
            "payment-cases",
            "embedded: directed payments between accounts, one case in ten a fraud",
            make=payment_cases,
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
        *(
            Entry(
                f"{cell}_balanced", f"anti-cancer screen on {cell} cells, all actives and as many inactives", BALANCED
            )
            for cell in SCREENS
        ),
    ]
}
"""The data sets that are known by name, see ``rwkplus datasets``."""


def load_graphs(name: str | Path, *, without_labels: WithoutLabels = "degree", **options: Any) -> GraphTable:  # noqa: ANN401
    """Load a graph database by name or path.

    Looks for a registered name below ``RWKPLUS_DATA`` first (``NAME/NAME.zip`` or a folder of text files), then lets
    PyG download it. Anything else is a path, see :func:`rwkplus.io.read_graphs` for kinds of files and all options.

    Args:
        name: Name of a data set (see ``rwkplus datasets``; every name of the TU collection works) or a path.
        without_labels: What nodes get that have neither labels nor attributes: their ``"degree"`` as label, or
            ``"nothing"``, for estimators that can do without.
        options: How files are read. ``node_features="attributes"`` or ``"both"`` chooses the columns of sets in TU
            format that have labels and attributes; ``ignore=("edges.label",)`` leaves columns out.

    Example:
        >>> load_graphs("functional-groups")
        GraphTable: 200 undirected graphs, 3,483 nodes, 3,583 edges
          graphs y: numbers, 0 to 1, target
          nodes  label: 3 labels (C, N, O)
          edges  label: 2 labels (-, =)
    """
    check_choice("without_labels", without_labels, WithoutLabels)
    table = _read(name, options_from(options))
    described = any(not isinstance(column, Text) for column in table.nodes.values())
    return table if described or without_labels == "nothing" else table.with_degrees()


def _read(name: str | Path, options: ReadOptions) -> GraphTable:
    entry, path = REGISTRY.get(str(name)), Path(name)
    if entry is not None and entry.make is not None:
        options.check(f"the embedded set {name}", ("ignore",))
        return entry.make().without(options.ignore)
    if entry is None and path.exists():
        if path.suffix == ".safetensors":
            raise DataError(f"{path} holds something that was fitted and saved, not graphs.", "rwkplus.load opens it.")
        return read_path(path, options)
    known = entry is not None or str(name) in TU_NAMES
    entry = entry or Entry(str(name), "")
    folder = find(entry)
    if folder is None:
        if not known:
            raise _unknown(str(name))
        folder = _download(entry)
    return read_tu(folder, options, node_names=entry.node_names, edge_names=entry.edge_names)


def _unknown(name: str) -> DataError:
    """The error about a name that is neither that of a set nor that of a file."""
    if name in NODE_SETS:
        return DataError(
            f"{name} is a single graph with a class for every node: rwkplus.datasets.load_nodes({name!r})."
        )
    close = difflib.get_close_matches(name, [*REGISTRY, *TU_NAMES], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return DataError(
        f"there is no data set, file or folder {name!r}.{hint} Use `rwkplus datasets` to list the known names."
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


def find_local(folders: Sequence[str], patterns: Sequence[str]) -> Path | None:
    """The first file or folder of these names in the given folders below the data folder, or None."""
    root = data_folder()
    if root is None:
        return None
    found = (path for folder in folders for pattern in patterns for path in sorted((root / folder).glob(pattern)))
    return next(found, None)


def missing_data(name: str, what: str, folder: str, why: str = "could not be downloaded") -> DataError:
    """The error about a data set that is missing; ``what`` would help if it were in the ``folder``."""
    return DataError(
        f"{name} is not on this machine and {why}.",
        f"Put {what} into the folder {folder} below the folder that the environment variable {DATA_VARIABLE} names.",
    )


def _download(entry: Entry) -> Path:
    try:
        from torch_geometric.datasets import TUDataset

        TUDataset(str(cache_folder()), entry.name)
    except Exception as error:
        missing = isinstance(error, ImportError)
        why = "needs rwkplus[nn] to be downloaded" if missing else f"could not be downloaded ({type(error).__name__})"
        raise missing_data(entry.name, f"{entry.name}.zip in TU format", entry.folder or entry.name, why) from error
    found = find(entry)
    if found is None:
        raise DataError(f"{entry.name} was downloaded to {cache_folder()} but holds no {entry.name}_A.txt.")
    return found
