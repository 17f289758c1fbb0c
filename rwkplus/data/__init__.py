"""Where graphs come from: named data sets, files, generators."""

from rwkplus.data.csr_graph import CSRGraph
from rwkplus.data.molecule_sets import MoleculeSet, load_molhiv, load_molpcba, load_zinc
from rwkplus.data.molecules import planted_groups, planted_molecules
from rwkplus.data.node_sets import NODE_SETS, load_nodes, node_split, pubmed_topology, without_copies
from rwkplus.data.planted_anomalies import anomalous_chains, anomalous_molecules
from rwkplus.data.registry import REGISTRY, load
from rwkplus.data.screens import Screen, load_screen
from rwkplus.data.synthetic import functional_groups
from rwkplus.data.web_graph import WebGraph

__all__ = [
    "NODE_SETS",
    "REGISTRY",
    "CSRGraph",
    "MoleculeSet",
    "Screen",
    "WebGraph",
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
