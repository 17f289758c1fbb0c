from rwkplus.reproduce import planted


def test_a_small_run_recovers_patterns_and_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planted, "_cells", lambda: iter([(True, 1, 5, 0.1)]))
    monkeypatch.setattr(planted, "_false_alarm", lambda seed: False)
    (row,) = planted.run_planted(2)
    assert row["recovered"] == 2
    assert (tmp_path / "results" / "planted.json").exists()
