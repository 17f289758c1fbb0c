"""Where graphs come from: named data sets, generators, splits."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rwkplus.data.molecules import planted_groups, planted_molecules
from rwkplus.data.planted_anomalies import anomalous_chains, anomalous_molecules
from rwkplus.data.registry import NODE_SETS, REGISTRY, load
from rwkplus.data.screens import Screen, load_screen
from rwkplus.data.synthetic import functional_groups

if TYPE_CHECKING:
    from rwkplus.data.molecule_sets import MoleculeSet, load_molhiv, load_molpcba, load_zinc
    from rwkplus.data.node_sets import load_nodes, node_split, pubmed_topology, without_copies

__all__ = [
    "NODE_SETS",
    "REGISTRY",
    "MoleculeSet",
    "Screen",
    "anomalous_chains",
    "anomalous_molecules",
    "functional_groups",
    "load",
    "load_molhiv",
    "load_molpcba",
    "load_nodes",
    "load_screen",
    "load_zinc",
    "node_split",
    "planted_groups",
    "planted_molecules",
    "pubmed_topology",
    "without_copies",
]
TENSORS = {
    "molecule_sets": ("MoleculeSet", "load_molhiv", "load_molpcba", "load_zinc"),
    "node_sets": ("load_nodes", "node_split", "pubmed_topology", "without_copies"),
}
"""What needs PyTorch, by module: imported when it is asked for (extra: ``nn``)."""


def __getattr__(name: str) -> Any:  # noqa: ANN401
    for module, names in TENSORS.items():
        if name in names:
            import_module("rwkplus.tensors")
            return getattr(import_module(f"rwkplus.data.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
