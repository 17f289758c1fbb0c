import json
import os
import subprocess
from hashlib import sha256
from pathlib import Path
from threading import Thread

import pytest

from experiments.provenance import OPTIONS, digest_of, started
from experiments.records import add_row, change_result, finished, read_result, save_result
from rwkplus.errors import DataError

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results"
CONFIG = {"command": "run --data here", "settings": {"epochs": 100, "lr": 0.1}, "steps": (1, 2)}


def test_values_of_the_same_configuration_are_found_again(tmp_path):
    assert finished("a/b", CONFIG, tmp_path) == {}
    save_result("a/b", CONFIG, {"rows": [1]}, tmp_path)
    assert finished("a/b", CONFIG | {"command": "run --data ../folder/here"}, tmp_path) == {"rows": [1]}


def test_a_file_of_another_configuration_is_refused_with_what_differs(tmp_path):
    save_result("a/b", CONFIG, {"rows": [1]}, tmp_path)
    before = (tmp_path / "a" / "b.json").read_text()
    other = {**CONFIG, "settings": {"epochs": 1, "lr": 0.1}, "digest": "0f"}
    said = r"a/b\.json.*settings\.epochs \(100 there, 1 now\), digest \(missing there, '0f' now\).*[Mm]ove.*folder"
    with pytest.raises(DataError, match=said):
        finished("a/b", other, tmp_path)
    with pytest.raises(DataError, match=said):
        change_result("a/b", other, lambda values: None, tmp_path)
    assert (tmp_path / "a" / "b.json").read_text() == before


def test_a_damaged_file_is_not_taken_for_none(tmp_path):
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(DataError, match=r"a\.json is not valid JSON"):
        finished("a", CONFIG, tmp_path)


def test_rows_are_added_to_what_is_there_at_that_moment(tmp_path):
    first = add_row("a", CONFIG, {"method": "x", "seed": 0, "score": 1.0}, ("method", "seed"), tmp_path)
    add_row("a", CONFIG, {"method": "y", "seed": 0, "score": 2.0}, ("method", "seed"), tmp_path)
    again = add_row("a", CONFIG, {"method": "x", "seed": 0, "score": 9.0}, ("method", "seed"), tmp_path)
    assert again["rows"] == [*first["rows"], {"method": "y", "seed": 0, "score": 2.0}]
    assert read_result("a", tmp_path)["values"] == again


def test_no_row_is_lost_when_several_write_at_the_same_time(tmp_path):
    def write(method):
        for seed in range(10):
            add_row("a", CONFIG, {"method": method, "seed": seed}, ("method", "seed"), tmp_path)

    threads = [Thread(target=write, args=(method,)) for method in "xyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(finished("a", CONFIG, tmp_path)["rows"]) == 30


def test_a_file_tells_what_ran_with_what_and_when(tmp_path, monkeypatch):
    data = tmp_path / "data" / "SET" / "set.txt"
    data.parent.mkdir(parents=True)
    data.write_text("graphs")
    monkeypatch.setenv("RWKPLUS_DATA", str(tmp_path / "data"))
    started()
    data.read_text()
    os.close(os.open(data.parent, os.O_RDONLY))  # a folder, opened for a lock, is no input
    token = OPTIONS.set({"seed": 3, "data": data.parent})
    save_result("a", CONFIG, {"rows": [1]}, tmp_path)
    OPTIONS.reset(token)
    (run,) = read_result("a", tmp_path)["runs"]
    assert run["begin"] <= run["end"]
    assert run["options"] == {"seed": 3, "data": str(data.parent)}
    assert run["inputs"] == {"SET/set.txt": sha256(b"graphs").hexdigest()}
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    assert run["commit"] == (head.stdout.strip() or None)


def test_runs_that_left_rows_stay_in_the_file(tmp_path):
    row = {"method": "x", "seed": 0}
    add_row("a", CONFIG, row, ("method", "seed"), tmp_path)
    add_row("a", CONFIG, row | {"seed": 1}, ("method", "seed"), tmp_path)
    assert len(read_result("a", tmp_path)["runs"]) == 1
    record = json.loads((tmp_path / "a.json").read_text())
    del record["runs"]  # as before commits were recorded
    (tmp_path / "a.json").write_text(json.dumps(record))
    add_row("a", CONFIG, row | {"seed": 2}, ("method", "seed"), tmp_path)
    assert [run["commit"] for run in read_result("a", tmp_path)["runs"]] == [None, started()["commit"]]


def test_values_that_were_edited_are_not_read(tmp_path):
    path = save_result("a", CONFIG, {"accuracy": 0.5}, tmp_path)
    path.write_text(path.read_text().replace("0.5", "0.9"))
    with pytest.raises(DataError, match=r"a\.json is damaged or was changed by hand"):
        read_result("a", tmp_path)


@pytest.mark.parametrize("path", sorted(RESULTS.rglob("*.json")), ids=lambda path: path.stem)
def test_no_result_was_edited(path):
    assert read_result(str(path.relative_to(RESULTS).with_suffix("")), RESULTS)["values"]


def test_another_order_of_names_has_the_same_digest_and_another_number_has_not():
    assert digest_of({"a": [1.0, None], "b": "x"}) == digest_of({"b": "x", "a": [1.0, float("nan")]})
    assert digest_of({"a": 0.1}) != digest_of({"a": 0.1 + 1e-16})
