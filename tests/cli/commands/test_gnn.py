"""``rwkplus train``, ``tune`` and ``predict`` with the backbone of graph convolutions."""

import json

import pytest

from tests.cli.program import invoke

DATA = "functional-groups"
GNN = ("--model", "gnn", "--epochs", "2", "--param", "hidden_channels=4", "--param", "layers=1")
PLAIN = ("--ignore", "edge_attr")


@pytest.mark.parametrize(
    ("conv", "edges"), [("GCNConv", PLAIN), ("GINConv", PLAIN), ("RWKPlusConv", PLAIN), ("RWKPlusConv", ())]
)
def test_every_convolution_can_be_trained_and_predicts(tmp_path, conv, edges):
    invoke("train", DATA, *GNN, *edges, "--param", f"conv={conv}", "--folds", 0, "--out", tmp_path / "run")
    printed = invoke("predict", tmp_path / "run", DATA).splitlines()
    assert len(printed) == 201


def test_molecules_written_as_smiles(tmp_path):
    pytest.importorskip("rdkit")
    lines = ["CCO 0.5", "CCN 1.5", "OCC 0.25", "NCCN 3.5", "CO 0.1", "CN 1.1", "O=CO 0.2", "NC 1.3"]
    (tmp_path / "molecules.smi").write_text("\n".join(lines) + "\n")
    bonds = ("--param", "conv=GINEConv", "--param", "edge_channels=5")
    invoke("train", tmp_path / "molecules.smi", *GNN, *bonds, "--folds", 0, "--out", tmp_path / "run")
    assert len(invoke("predict", tmp_path / "run", tmp_path / "molecules.smi").splitlines()) == 9


def test_parameters_are_searched(tmp_path):
    pytest.importorskip("optuna")
    search = ("--trials", 2, "--folds", 2, "--model", "gnn", "--epochs", 1, *PLAIN, "--out", tmp_path / "search")
    facts = json.loads(invoke("tune", DATA, *search, "--json"))
    assert set(facts["folds"][0]["params"]) >= {"hidden_channels", "layers", "dropout"}


def test_edge_colors_are_used_or_refused(rwkplus, tmp_path):
    code, _, stderr = rwkplus("train", DATA, *GNN, "--param", "edge_channels=3", "--out", tmp_path / "run")
    assert (code, "edge_attr needs edge_channels=2" in " ".join(stderr.split())) == (2, True)
    code, _, stderr = rwkplus("train", DATA, *GNN, "--param", "conv=GCNConv", "--out", tmp_path / "run")
    assert (code, "take GINEConv or RWKPlusConv" in " ".join(stderr.split())) == (2, True)
