import json

import pytest

from tests.cli.program import invoke

EDGES = """case,from,to,channel,amount
1,ann,bob,card,20
1,bob,eve,cash,
2,ann,bob,card,20
2,bob,eve,cash,7
3,ann,ann,card,8
"""
READ = ("--graph", "case", "--source", "from", "--target", "to")


@pytest.fixture
def payments(tmp_path):
    (tmp_path / "payments.csv").write_text(EDGES)
    return tmp_path / "payments.csv"


def test_what_is_in_a_file(payments):
    facts = json.loads(invoke("describe", payments, *READ, "--json"))
    assert (facts["graphs"], facts["directed"], facts["loops"]) == (3, False, 1)
    assert facts["nodes"] == {"total": 7, "smallest": 1, "median": 3.0, "mean": pytest.approx(7 / 3), "largest": 3}
    channel, amount = (next(own for own in facts["columns"] if own["name"] == name) for name in ("channel", "amount"))
    assert channel == {
        "of": "edges", "name": "channel", "kind": "labels", "missing": 0, "labels": 2, "counts": {"card": 3, "cash": 2},
    }  # fmt: skip
    assert (amount["missing"], amount["lowest"], amount["highest"]) == (1, 7.0, 20.0)
    assert facts["duplicates"] == {"graphs": 2, "examples": [["1", "2"]]}
    assert facts["compared"] == {
        "nodes": {"labels": [], "numbers": []},
        "edges": {"labels": ["channel"], "numbers": ["amount"]},
    }


def test_what_a_new_user_reads(payments, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    shown = invoke("describe", payments, *READ)
    for line in (
        "3 undirected graphs",
        "2 labels: card 3, cash 2",
        "7 to 20, mean 13.75",
        "1 edge is a self-loop.",
        "2 graphs have a duplicate, apart from the order of nodes and from numbers: 1 = 2",
        "name it with --target-column",
        "compare edges.channel, edges.amount",
    ):
        assert line in shown


def test_options_of_reading_change_what_is_told(payments):
    facts = json.loads(invoke("describe", payments, *READ, "--directed", "--ignore", "amount", "--json"))
    assert facts["directed"]
    assert facts["compared"]["edges"] == {"labels": ["channel"], "numbers": []}


def test_classes_and_duplicates_of_molecules(tmp_path):
    pytest.importorskip("rdkit")
    (tmp_path / "molecules.smi").write_text("CCO 1\nOCC 0\nCCN 1\nCC=O 1\n")
    facts = json.loads(invoke("describe", tmp_path / "molecules.smi", "--json"))
    assert facts["targets"] == [{"name": "y", "missing": 0, "classes": {"1": 3, "0": 1}}]
    assert facts["duplicates"] == {"graphs": 2, "examples": [[0, 1]]}


def test_graphs_without_labels(tmp_path):
    (tmp_path / "ring.csv").write_text("source,target\n0,1\n1,2\n2,0\n")
    assert "commands use the degree of a node as its label" in " ".join(
        invoke("describe", tmp_path / "ring.csv").split()
    )
