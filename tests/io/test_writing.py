"""Tables as files, and back."""

from dataclasses import replace

import numpy as np
import pytest

from rwkplus.datasets import load_graphs
from rwkplus.errors import DataError, ParameterError
from rwkplus.io import write_graphs
from rwkplus.table import Categories, GraphTable, Numbers, Text

FORMS = {"arrow": "t", "csv": "t", "jsonl": "t.jsonl", "parquet": "t"}


def odd_table():
    """Labels that look like numbers, missing cells, several targets, a weight and a graph of one node."""
    table = GraphTable.of(["CCO", "N#N", "C"]).with_columns(
        graphs={"toxic": Numbers(np.array([1.0, np.nan, 0.0])), "soluble": Numbers(np.array([0, 1, 1]))},
        nodes={"type": Categories.of(["1", "2", None, "1", "1", "2"]), "age": Numbers(np.arange(6) / 4)},
        edges={"strength": Numbers(np.array([0.5, 1.0, 2.0]))},
    )
    return replace(table, weight="strength", targets=("toxic", "soluble"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("table", [odd_table(), load_graphs("payment-cases")[:20]], ids=["odd", "payments"])
def test_a_table_comes_back_with_the_options_that_are_told(tmp_path, form, table):
    pytest.importorskip("pyarrow")
    written = write_graphs(table, tmp_path / FORMS[form], form)
    again = GraphTable.of(written.path, **written.options)
    assert written.lost == []
    assert (again.directed, again.weight, again.targets) == (table.directed, table.weight, table.targets)
    for side in ("nodes", "edges"):
        for name, column in getattr(table, side).items():
            assert getattr(again, side)[name].values().tolist() == column.values().tolist()


def test_what_csv_cannot_tell_is_said(tmp_path):
    table = GraphTable.of(["CO", "N"]).with_columns(nodes={"type": Categories.of(["", "a", "a"])})
    (lost,) = write_graphs(table, tmp_path / "t", "csv").lost
    assert lost == "the column 'type' of the nodes has other values"


def test_other_forms_and_other_folders_are_refused(tmp_path):
    table = GraphTable.of(["CO"])
    with pytest.raises(ParameterError, match="form must be one of arrow, csv, jsonl, parquet"):
        write_graphs(table, tmp_path / "t", "xml")
    folder = write_graphs(table, tmp_path / "t", "csv").path
    assert write_graphs(table, folder, "csv").lost == []  # may be replaced
    (folder / "diary.txt").write_text("precious")
    with pytest.raises(DataError, match="other files"):
        write_graphs(table, folder, "csv")


def test_ids_stay(tmp_path):
    table = GraphTable.of(["CO"]).with_columns(nodes={"id": Text.of(["ann", "bob"])}, graphs={"name": Text.of(["x"])})
    written = write_graphs(table, tmp_path / "t", "csv")
    assert GraphTable.of(written.path, **written.options) == table
