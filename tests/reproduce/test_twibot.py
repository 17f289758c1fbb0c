import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from rwkplus.cli.reproduce.twibot import twibot
from rwkplus.data.web_graph import WebGraph
from rwkplus.errors import DataError, ParameterError
from rwkplus.reproduce import twibot as twibot_rows
from rwkplus.reproduce.twibot import SETTINGS, Plan, _guarded, run_twibot
from rwkplus.reproduce.twibot_tables import twibot_page
from rwkplus.result_files import read_result
from rwkplus.training.run_folder import Checkpoints
from rwkplus.training.large_graphs import Cutting


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RWKPLUS_CACHE", str(tmp_path / "cache"))
    return tmp_path


def plan():
    settings = replace(SETTINGS, epochs=2, batch_size=300)
    return Plan(nodes=600, cutting=Cutting(cluster_size=100), settings=settings, seeds=(0,), hidden_channels=8)


def test_rows_are_written_one_by_one_and_not_repeated(here):
    first = run_twibot(plan(), methods=["GCN"])
    stored = read_result("twibot/generated-600-clusters")["values"]
    assert stored == first
    told = []
    both = run_twibot(plan(), methods=["GCN", "RWK+Conv"], on_step=told.append)
    assert both["rows"][0] == first["rows"][0]
    assert [row["method"] for row in both["rows"]] == ["GCN", "RWK+Conv"]
    assert not any(message.startswith("GCN") for message in told)
    assert list((here / "cache" / "runs").rglob("*.safetensors")) == []
    row = both["rows"][1]
    assert set(row["test"]) == {"f1", "precision", "recall", "roc_auc"}
    assert row["epoch_s"] > row["of_it_validation_s"] > 0
    assert row["peak_gb"] > 0


def test_another_plan_is_refused_and_keeps_its_own_checkpoints(here, monkeypatch):
    rows = run_twibot(plan(), methods=["RWK+Conv"])["rows"]
    often = lambda path, identity, seconds: Checkpoints(path, identity, 0)  # noqa: E731
    monkeypatch.setattr(twibot_rows, "Checkpoints", often)

    def kill(message):
        if "epoch 1" in message:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_twibot(plan(), methods=["GCN"], on_step=kill)
    longer = replace(plan(), settings=replace(plan().settings, epochs=3))
    with pytest.raises(DataError, match=r"generated-600-clusters\.json .* settings\.epochs \(2 there, 3 now\)"):
        run_twibot(longer, methods=["GCN"])
    path = here / "results" / "twibot" / "generated-600-clusters.json"
    assert read_result("twibot/generated-600-clusters")["values"]["rows"] == rows
    path.rename(here / "kept.json")
    assert [row["method"] for row in run_twibot(longer, methods=["GCN"])["rows"]] == ["GCN"]


def test_a_row_without_an_epoch_of_its_own_has_no_seconds(here, monkeypatch):
    often = lambda path, identity, seconds: Checkpoints(path, identity, 0)  # noqa: E731
    monkeypatch.setattr(twibot_rows, "Checkpoints", often)

    def kill(message):
        if "epoch 1" in message:  # the last one
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_twibot(plan(), methods=["GCN"], on_step=kill)
    (row,) = run_twibot(plan(), methods=["GCN"])["rows"]
    assert row["epoch_s"] is None
    line = next(line for line in twibot_page().splitlines() if line.startswith("| GCN |"))
    assert line.split(" | ")[-3:-1] == ["", ""]


def test_graphs_in_folders_of_one_name_are_told_apart(here):
    WebGraph(nodes=400).write(here / "a" / "graph")
    shutil.copytree(here / "a", here / "b")
    features = np.load(here / "b" / "graph" / "x.npy", mmap_mode="r+")
    features[7, 0] += 1
    features.flush()
    first, second, same = (replace(plan(), data=Path(path)) for path in ("a/graph", "b/graph", "b/../a/graph"))
    rows = run_twibot(first, methods=["GCN"])["rows"]
    with pytest.raises(DataError, match=r"twibot/graph-clusters\.json .*graph\.digest"):
        run_twibot(second, methods=["GIN"])
    assert run_twibot(same, methods=["GCN"])["rows"] == rows


def test_rows_that_another_process_writes_meanwhile_are_kept(here, monkeypatch):
    row = twibot_rows._row

    def slow(*arguments):
        monkeypatch.setattr(twibot_rows, "_row", row)
        run_twibot(plan(), methods=["GIN"])
        return row(*arguments)

    monkeypatch.setattr(twibot_rows, "_row", slow)
    values = run_twibot(plan(), methods=["GCN"])
    assert [row["method"] for row in values["rows"]] == ["GIN", "GCN"]
    assert read_result("twibot/generated-600-clusters")["values"] == values


def test_the_page_tells_that_the_paper_had_other_data(here):
    assert twibot_page() is None
    values = run_twibot(plan(), methods=["GCN"])
    page = twibot_page()
    assert "53.7 (other data)" in page
    assert "not comparable" in page
    assert f"{100 * values['rows'][0]['test']['f1']:.1f} |" in page
    share = values["guards"]["all bots"]["precision"]
    assert values["guards"]["all bots"]["f1"] == pytest.approx(2 * share / (1 + share))
    assert values["guards"]["all human"]["f1"] == 0
    assert 0 < values["guards"]["features"]["f1"] < 0.6


def test_scores_of_guards_by_hand():
    scores = _guarded(np.array([2.0, 1.0, -1.0, -2.0]), np.array([1, 0, 1, 0]))
    assert scores == {"f1": 0.5, "precision": 0.5, "recall": 0.5, "roc_auc": 0.75}


def test_the_command_runs_every_layer(here):
    app = typer.Typer()
    app.command()(twibot)
    numbers = {"nodes": 400, "epochs": 1, "seeds": 1, "hidden": 4, "cut": "neighbors", "neighbors": "2,1"}
    options = [word for name, value in numbers.items() for word in (f"--{name}", str(value))]
    result = CliRunner().invoke(app, [*options, "--batch-size", "200"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert all(f"| {name} |" in result.output for name in ("GCN", "GIN", "RWK+Conv", "guard: features"))


@pytest.mark.parametrize("neighbors", ["", "2,", "--3", "many"])
def test_neighbors_that_are_no_numbers_are_named(here, neighbors):
    with pytest.raises(ParameterError, match="--neighbors numbers with commas"):
        twibot(neighbors=neighbors)


def test_a_part_without_bots_is_refused_before_anything_is_written(here, monkeypatch):
    graph = plan().graph()
    graph.nodes["test_mask"] = graph["test_mask"] & (graph["y"] == 0)
    monkeypatch.setattr(Plan, "graph", lambda _: graph)
    with pytest.raises(DataError, match=r"test_mask of .* must choose nodes of two classes or more"):
        run_twibot(plan(), methods=["GCN"])
    assert not (here / "results").exists()
