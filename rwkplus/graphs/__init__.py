"""From whatever the user has to what the core reads: one door, checked and never silent."""

from rwkplus.graphs.closed_walks import ClosedWalks
from rwkplus.graphs.convert import Graphs, as_batch
from rwkplus.graphs.csv_files import read_csv
from rwkplus.graphs.egonets import EgoNets, egonets_of, extract_egonets
from rwkplus.graphs.features import constant_features, one_hot, one_hot_degree
from rwkplus.graphs.from_networkx import from_networkx
from rwkplus.graphs.json_lines import graph_to_json, read_json_lines
from rwkplus.graphs.schema import Schema
from rwkplus.graphs.smiles import from_smiles, read_smiles
from rwkplus.graphs.targets import classes_of
from rwkplus.graphs.tu import read_tu
from rwkplus.graphs.walk_kinds import WalkKinds

__all__ = [
    "ClosedWalks",
    "EgoNets",
    "Graphs",
    "Schema",
    "WalkKinds",
    "as_batch",
    "classes_of",
    "constant_features",
    "egonets_of",
    "extract_egonets",
    "from_networkx",
    "from_smiles",
    "graph_to_json",
    "one_hot",
    "one_hot_degree",
    "read_csv",
    "read_json_lines",
    "read_smiles",
    "read_tu",
]
