import json
import shlex

import pytest

from rwkplus.datasets import load_graphs
from rwkplus.table import GraphTable
from tests.cli.program import invoke


@pytest.mark.parametrize(("name", "to"), [("p.jsonl", "jsonl"), ("p", "csv"), ("p", "parquet"), ("p", "arrow")])
def test_payments_survive_in_every_form(tmp_path, name, to):
    pytest.importorskip("pyarrow")
    path = tmp_path / name
    facts = json.loads(invoke("convert", "payment-cases", path, "--to", to, "--json"))
    assert (facts["graphs"], facts["form"], facts["lost"]) == (400, to, [])
    kept, original = (
        json.loads(invoke("describe", *arguments, "--json"))
        for arguments in ((path, *shlex.split(" ".join(facts["options"]))), ("payment-cases",))
    )
    assert kept | {"dataset": 0} == original | {"dataset": 0}


def test_the_form_follows_from_the_name(tmp_path):
    assert "Wrote 200 graphs to" in invoke("convert", "functional-groups", tmp_path / "g.jsonl")
    assert GraphTable.of(tmp_path / "g.jsonl").num_edges == load_graphs("functional-groups").num_edges


def test_nothing_is_overwritten_without_force(rwkplus, tmp_path):
    path = tmp_path / "g.jsonl"
    path.write_text("precious")
    code, _, stderr = rwkplus("convert", "functional-groups", path)
    assert (code, path.read_text()) == (2, "precious")
    assert f"OUT {path} already exists; use --force to replace it." in stderr
    invoke("convert", "functional-groups", path, "--force")
    assert len(GraphTable.of(path)) == 200


def test_a_folder_of_other_files_is_not_replaced_even_with_force(rwkplus, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "diary.txt").write_text("precious")
    code, _, stderr = rwkplus("convert", "functional-groups", folder, "--to", "csv", "--force")
    assert code == 2
    assert "folder of other files" in stderr
    assert (folder / "diary.txt").read_text() == "precious"


def test_names_that_do_not_fit_the_form_are_refused(rwkplus, tmp_path):
    for name, to in (("g.jsonl", "csv"), ("g", "jsonl")):
        code, _, stderr = rwkplus("convert", "functional-groups", tmp_path / name, "--to", to)
        assert code == 2
        assert "a file ending in .jsonl" in stderr


def test_what_cannot_be_kept_is_told(rwkplus, tmp_path):
    (tmp_path / "g.jsonl").write_text(
        '{"nodes": [{"id": 0, "x": [1, 2]}, {"id": 1, "x": [3, 4]}], "edges": [{"source": 0, "target": 1}]}\n'
    )
    code, _, stderr = rwkplus("convert", tmp_path / "g.jsonl", tmp_path / "g", "--to", "csv")
    assert code == 0
    assert "warning: csv cannot keep everything: the nodes have no column 'x'." in stderr
