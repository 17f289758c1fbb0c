"""The embedded medicines: the graphs, the SMILES and the formulas in the file are of the same molecules."""

from collections import Counter

import networkx as nx
import pytest

from rwkplus import GraphTable, load_graphs
from rwkplus.datasets.catalog import medicine_rows

ROWS = medicine_rows()
SMILES = [row["smiles"] for row in ROWS]


def test_graphs_are_those_of_the_smiles():
    pytest.importorskip("rdkit")
    same = nx.utils.graphs_equal
    embedded = load_graphs("medicines").to_networkx()
    for ours, read in zip(embedded, GraphTable.of(SMILES).to_networkx(), strict=True):
        assert same(nx.Graph(ours.edges(data=True)), nx.Graph(read.edges(data=True)))
        assert dict(ours.nodes(data="label")) == dict(read.nodes(data="label"))


def test_smiles_have_the_formulas_of_the_literature():
    pytest.importorskip("rdkit")
    from rdkit import Chem
    from rdkit.Chem.rdMolDescriptors import CalcMolFormula

    assert [CalcMolFormula(Chem.MolFromSmiles(smiles)) for smiles in SMILES] == [
        row["formula"] for row in medicine_rows()
    ]


def test_names_differ_and_every_family_has_several_members():
    table = load_graphs("medicines")
    assert len({table.graph_id(i) for i in range(len(table))}) == len(table)
    assert min(Counter(row["family"] for row in ROWS).values()) > 10
