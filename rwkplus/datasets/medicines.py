"""An embedded set of real molecules: medicines of eleven families."""

import csv
import re
from importlib.resources import files

import networkx as nx

from rwkplus.table import GraphTable

BOND = re.compile(r"(\d+)([-=#:])(\d+)")


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
    for row in rows():
        molecule = nx.Graph(name=row["name"])
        molecule.add_nodes_from((v, {"label": symbol}) for v, symbol in enumerate(row["atoms"].split()))
        for first, bond, second in BOND.findall(row["bonds"]):
            molecule.add_edge(int(first), int(second), label=bond)
        molecules.append(molecule)
        families.append(row["family"])
    return GraphTable.of(molecules).with_targets(families, "family")


def rows() -> list[dict[str, str]]:
    """The lines of the file: name, family, formula, SMILES, atoms and bonds."""
    text = (files("rwkplus.datasets") / "medicines.tsv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))
