from threading import Thread

import pytest

from experiments.records import add_row, change_result, finished, read_result, save_result
from rwkplus.errors import DataError

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
