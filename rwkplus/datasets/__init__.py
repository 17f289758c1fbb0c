"""Data sets by name, embedded ones, generators and splits.

:func:`load_graphs` reads any of them, and files. This room reads tables (:mod:`rwkplus.table`) through
:mod:`rwkplus.io` and knows nothing of what is done with them; what needs PyTorch is imported when it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rwkplus.datasets.catalog import NODE_SETS, REGISTRY, load_graphs, medicines
from rwkplus.datasets.generators import (
    anomalous_chains,
    anomalous_molecules,
    functional_groups,
    payment_cases,
    planted_groups,
    planted_molecules,
)

if TYPE_CHECKING:
    from rwkplus.datasets.molecule_sets import MoleculeSet, load_molhiv, load_molpcba, load_zinc
    from rwkplus.datasets.node_sets import load_nodes, node_split, without_copies

__all__ = [
    "NODE_SETS",
    "REGISTRY",
    "MoleculeSet",
    "anomalous_chains",
    "anomalous_molecules",
    "functional_groups",
    "load_graphs",
    "load_molhiv",
    "load_molpcba",
    "load_nodes",
    "load_zinc",
    "medicines",
    "node_split",
    "payment_cases",
    "planted_groups",
    "planted_molecules",
    "without_copies",
]
TENSORS = {
    "molecule_sets": ("MoleculeSet", "load_molhiv", "load_molpcba", "load_zinc"),
    "node_sets": ("load_nodes", "node_split", "without_copies"),
}
"""What needs PyTorch, by module: imported when it is asked for (extra: ``nn``)."""


def __getattr__(name: str) -> Any:  # noqa: ANN401
    for module, names in TENSORS.items():
        if name in names:
            import_module("rwkplus.tensors")
            return getattr(import_module(f"rwkplus.datasets.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
