"""Where graphs come from: named data sets, files, generators."""

from rwkplus.data.molecules import planted_groups, planted_molecules
from rwkplus.data.registry import REGISTRY, load
from rwkplus.data.synthetic import functional_groups

__all__ = ["REGISTRY", "functional_groups", "load", "planted_groups", "planted_molecules"]
