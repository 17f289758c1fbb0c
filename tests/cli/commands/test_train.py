"""``rwkplus train``, ``tune`` and ``predict``: files, exit codes, clear errors."""

import csv
import json
import shutil

import numpy as np
import pytest
import yaml

from rwkplus.cli.experiment import parse_yaml
from rwkplus.datasets import load_graphs
from rwkplus.saving import load
from rwkplus.training import Settings, cross_validate
from tests.cli.program import invoke

DATA = "functional-groups"
QUICK = ("--model", "gin", "--epochs", "3", "--ignore", "edge_attr", "--no-baselines")
SMILES = ["CCO 0", "CCN 1", "OCC 0", "NCCN 1", "CO 0", "CN 1", "OCCO 0", "NC 1", "COC 0", "CNC 1"]


def train(*arguments):
    return json.loads(invoke("train", DATA, *QUICK, "--json", *arguments))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train") / "run"
    train("--folds", 0, "--out", folder, "--param", "hidden_channels=4")
    return folder


def test_scores_are_those_of_the_library(tmp_path):
    facts = train("--folds", 2, "--out", tmp_path / "run", "--seed", 3, "--param", "hidden_channels=4")
    settings = Settings(epochs=3, random_state=3)
    expected = cross_validate(
        "gin", load_graphs(DATA), model_params={"hidden_channels": 4}, folds=2, settings=settings, ignore=("edge_attr",)
    )
    assert facts["mean"] == pytest.approx(expected.to_dict()["mean"])
    assert json.loads((tmp_path / "run" / "result.json").read_text())["values"]["mean"] == facts["mean"]
    with (tmp_path / "run" / "fold-1" / "history.csv").open() as file:
        assert [int(row["epoch"]) for row in csv.DictReader(file)] == [0, 1, 2]
    assert load(tmp_path / "run" / "fold-0" / "model.safetensors").predict(load_graphs(DATA)).shape == (200,)
    names = {path.name for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert names == {"config.yaml", "result.json", "history.csv", "model.safetensors"}


def test_baselines_see_the_same_folds(tmp_path, monkeypatch):
    asked = []

    def baseline_scores(graphs, y, **choices):
        asked.append((len(graphs), y.tolist(), choices))
        return {"majority": [0.5, 0.5]}

    monkeypatch.setattr("rwkplus.kernels.evaluation.baseline_scores", baseline_scores)
    output = invoke("train", DATA, *QUICK, "--baselines", "--folds", 2, "--seed", 4, "--out", tmp_path / "run")
    assert "majority" in output
    y = load_graphs(DATA).y.tolist()
    assert asked == [(200, y, {"folds": 2, "inner_folds": 5, "random_state": 4})]
    stored = json.loads((tmp_path / "run" / "result.json").read_text())
    assert stored["values"]["baselines"] == {"majority": [0.5, 0.5]}


def test_options_win_over_the_file_and_the_file_over_defaults(tmp_path):
    params = {"layers": 1, "dropout": 0.1}
    config = {"model": "gin", "epochs": 9, "lr": 0.5, "folds": 2, "threads": 2, "model_params": params}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    arguments = ("--config", tmp_path / "config.yaml", "--epochs", 1, "--param", "layers=3", "--out", tmp_path / "run")
    invoke("train", DATA, "--ignore", "edge_attr", "--no-baselines", *arguments)
    used = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert (used["epochs"], used["lr"], used["batch_size"], used["threads"]) == (1, 0.5, 64, 2)
    assert used["model_params"] == {"layers": 3, "dropout": 0.1}


@pytest.mark.slow
def test_the_goal_reaches_the_model(tmp_path):
    train("--folds", 0, "--balance", "logits", "--out", tmp_path / "run")
    prior = load(tmp_path / "run").trained_.target.prior
    assert sum(prior) == pytest.approx(1)


def test_fields_that_training_left_out_are_left_out_of_predictions(tmp_path):
    line = '{{"nodes": [{{"id": 0, "label": "{}", "charge": 1}}], "edges": [], "y": {}}}\n'
    (tmp_path / "atoms.jsonl").write_text("".join(line.format("CN"[i % 2], i % 2) for i in range(8)))
    quick = ("--model", "gin", "--epochs", 1, "--folds", 0, "--ignore", "charge", "--out", tmp_path / "run")
    invoke("train", tmp_path / "atoms.jsonl", *quick)
    assert len(invoke("predict", tmp_path / "run", tmp_path / "atoms.jsonl").splitlines()) == 9


def test_files_may_call_options_by_their_names(tmp_path):
    (tmp_path / "config.yaml").write_text("seed: 3\nsteps: 2\nkernel: rwk-\nignore: edge_attr\n")
    quick = ("--epochs", 1, "--folds", 2, "--no-baselines", "--out", tmp_path / "run")
    invoke("train", DATA, "--config", tmp_path / "config.yaml", *quick)
    used = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert (used["random_state"], used["ignore"]) == (3, ["edge_attr"])
    assert used["model_params"] == {"steps": 2, "kernel": "rwk-"}


@pytest.mark.parametrize(
    ("space", "message"),
    [("lr: {low: 1, high: 0.1}", "lower to a higher"), ("lr: {low: a, high: b}", "lower to a"), ("wdth: [1]", "wdth")],
)
def test_a_search_that_cannot_begin_leaves_no_folder(rwkplus, tmp_path, space, message):
    (tmp_path / "space.yaml").write_text(space)
    arguments = ("--space", tmp_path / "space.yaml", "--out", tmp_path / "search")
    code, _, stderr = rwkplus("tune", DATA, *QUICK[:-1], *arguments)
    assert code == 2
    assert message in stderr.replace("\n", " ")
    assert not (tmp_path / "search").exists()


def test_several_candidates_come_from_a_file(tmp_path):
    (tmp_path / "config.yaml").write_text("model_params: [{layers: 1}, {layers: 2}]\nfolds: 2\n")
    facts = train("--config", tmp_path / "config.yaml", "--out", tmp_path / "run")
    assert all(fold["params"]["layers"] in (1, 2) for fold in facts["folds"])
    assert (tmp_path / "run" / "fold-1" / "candidate-1" / "model.safetensors").exists()


def test_predictions_are_those_of_the_model(model, tmp_path):
    invoke("predict", model, DATA, "--out", tmp_path / "predictions.csv")
    with (tmp_path / "predictions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    trained = load(model / "model.safetensors")
    assert [int(row["prediction"]) for row in rows] == trained.predict(load_graphs(DATA)).tolist()
    shares = [[float(row["p(0)"]), float(row["p(1)"])] for row in rows]
    np.testing.assert_allclose(shares, trained.predict_proba(load_graphs(DATA)), rtol=1e-4)
    assert [path.name for path in tmp_path.iterdir()] == ["predictions.csv"]
    printed = invoke("predict", model / "model.safetensors", DATA).splitlines()
    assert printed[0] == "graph,prediction,p(0),p(1)"
    assert len(printed) == 201


@pytest.mark.parametrize(
    ("labels", "kind"), [("01", "classification"), (("0.5", "1.5"), "regression"), (("no", "yes"), "classification")]
)
def test_labels_of_smiles_stand_beside_them(tmp_path, labels, kind):
    pytest.importorskip("rdkit")
    lines = [line.split()[0] + " " + labels[int(line.split()[1])] for line in SMILES]
    (tmp_path / "molecules.smi").write_text("\n".join(lines) + "\n\n")
    (tmp_path / "later.smi").write_text("CCCO\nCCCN\nCS\n")
    invoke("train", tmp_path / "molecules.smi", *QUICK, "--folds", 0, "--out", tmp_path / "run")
    printed = invoke("predict", tmp_path / "run", tmp_path / "later.smi").splitlines()
    assert len(printed) == 4
    assert ("p(" in printed[0]) == (kind == "classification")


def test_the_search_writes_a_configuration_to_train_with(tmp_path):
    space = tmp_path / "space.yaml"
    space.write_text("hidden_channels: [3, 5]\nlr: {low: 0.001, high: 0.1, log: true}\n")
    search = ("--trials", 2, "--folds", 2, "--space", space, "--param", "layers=1", "--out", tmp_path / "search")
    facts = json.loads(invoke("tune", DATA, *QUICK[:-1], *search, "--json"))
    best = yaml.safe_load((tmp_path / "search" / "best.yaml").read_text())
    found = [fold["params"] for fold in facts["folds"]]
    assert best["model_params"] | {"lr": best["lr"]} in found
    assert best["model_params"]["layers"] == 1
    train("--config", tmp_path / "search" / "best.yaml", "--out", tmp_path / "run")
    assert "test accuracy" in invoke("tune", DATA, "--resume", "--out", tmp_path / "search")


def test_what_a_file_fixes_is_not_searched(tmp_path):
    (tmp_path / "config.yaml").write_text("lr: 0.05\nepochs: 1\nfolds: 2\nmodel: gin\n")
    search = ("--trials", 1, "--config", tmp_path / "config.yaml", "--out", tmp_path / "search")
    invoke("tune", DATA, "--ignore", "edge_attr", *search)
    used = yaml.safe_load((tmp_path / "search" / "config.yaml").read_text())
    assert used["lr"] == yaml.safe_load((tmp_path / "search" / "best.yaml").read_text())["lr"] == 0.05
    assert "lr" not in used["space"]
    assert used["space"]


def test_folders_and_files_are_not_overwritten_without_force(rwkplus, model, tmp_path):
    before = (model / "model.safetensors").read_bytes()
    code, _, stderr = rwkplus("train", DATA, *QUICK, "--out", model)
    assert (code, "use --resume to continue it, or --force to start over" in stderr) == (2, True)
    assert (model / "model.safetensors").read_bytes() == before
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("precious")
    (tmp_path / "run" / "fold-7").mkdir()
    train("--folds", 0, "--out", tmp_path / "run", "--force")
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {"notes.txt", "model.safetensors"}
    assert not (tmp_path / "run" / "fold-7").exists()
    (tmp_path / "out.csv").write_text("precious")
    code, _, stderr = rwkplus("predict", model, DATA, "--out", tmp_path / "out.csv")
    assert (code, (tmp_path / "out.csv").read_text()) == (2, "precious")
    invoke("predict", model, DATA, "--out", tmp_path / "out.csv", "--force")


def test_tensorboard_gets_every_epoch(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train("--folds", 0, "--out", tmp_path / "run", "--tensorboard")
    events = EventAccumulator(str(tmp_path / "run")).Reload()
    assert [event.step for event in events.Scalars("val_score")] == [0, 1, 2]


BAD = [
    (("train", DATA, "--model", "gim", "--out", "{out}"), "no model 'gim'"),
    (("train", DATA, "--model", "gin", "--out", "{out}"), "--ignore edges.label"),
    (("train", DATA, *QUICK, "--kernel", "rwk+", "--out", "{out}"), "no parameter 'kernel'"),
    (("train", DATA, *QUICK, "--param", "layers", "--out", "{out}"), "--param must be name=value"),
    (("train", DATA, *QUICK, "--metric", "mae", "--out", "{out}"), "metric must be one of accuracy"),
    (("train", DATA, *QUICK, "--lr", "-1", "--out", "{out}"), "lr must be"),
    (("train", DATA, *QUICK, "--folds", "150", "--out", "{out}"), "too few for 150 folds"),
    (("train", DATA, *QUICK, "--task", "regression", "--metric", "f1", "--out", "{out}"), "metric must be one of mae"),
    (("train", DATA, *QUICK, "--config", "no.yaml", "--out", "{out}"), "cannot read no.yaml"),
    (("train", DATA, *QUICK, "--resume", "--force", "--out", "{out}"), "give only one of them"),
    (("train", DATA, *QUICK, "--resume", "--out", "{out}"), "cannot read"),
    (("train", "no-such-set.zip", *QUICK, "--out", "{out}"), "no data set, file or folder"),
    (("train", "{smi}", *QUICK, "--out", "{out}"), "line 2: a target is missing after the SMILES"),
    (("train", DATA, *QUICK, "--balance", "weights", "--out", "{out}"), "'weights' is not one of 'none', 'logits'"),
    (("train", DATA, *QUICK, "--loss", "cubic", "--out", "{out}"), "'cubic' is not one of 'squared', 'absolute'"),
    (("train", DATA, *QUICK, "--folds", "1", "--out", "{out}"), "at least 2 folds"),
    (("train", DATA, *QUICK, "--param", "layers=[1", "--out", "{out}"), "the value is not valid YAML"),
    (("train", DATA, *QUICK, "--out", "{smi}/run"), "molecules.smi is not a folder"),
    (("train", DATA, *QUICK, "--threads", "100000", "--out", "{out}"), "--threads must be at most"),
    (("train", DATA, *QUICK, "--param", "layers=!!int abc", "--out", "{out}"), "the value is not valid YAML"),
    (("train", DATA, *QUICK, "--param", f"layers={'[' * 5000}", "--out", "{out}"), "the value is not valid YAML"),
    (("tune", DATA, *QUICK[:-1], "--threads", "100000", "--out", "{out}"), "--threads must be at most"),
    (("tune", DATA, *QUICK[:-1], "--space", "no.yaml", "--out", "{out}"), "cannot read no.yaml"),
    (("predict", "no.safetensors", DATA), "cannot read the file no.safetensors"),
    (("predict", "{smi}", DATA), "is not a file saved by rwkplus"),
    (("predict", "{folder}", DATA), "should hold one file saved by rwkplus, and has none"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_wrong_input_ends_with_code_2_one_clear_line_and_no_folder(rwkplus, tmp_path, arguments, message):
    out, smi = tmp_path / "run", tmp_path / "molecules.smi"
    smi.write_text("CCO 1\nCCN\n")
    code, stdout, stderr = rwkplus(*(a.format(out=out, smi=smi, folder=tmp_path) for a in arguments))
    assert (code, stdout) == (2, "")
    assert message in stderr
    assert len(stderr.splitlines()) == 1
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epoch: 3", "unknown option 'epoch'"),
        ("- 3", "names and values"),
        ("a: [", "not valid YAML: line 1: expected the node content"),
        ("folds: two", "folds must be 0 or a whole number of at least 2, got 'two'"),
        ("model_params: 3", "model_params must be names and values"),
        ("model: 3", "model must be a name"),
        ("steps: 2\nmodel_params: 3", "write steps into model_params"),
        ("ignore: 3", "ignore must be a name or a list of names"),
        ("lr: 2001-99-99", "--lr must be a number of more than 0, got '2001-99-99'"),
        ("lr: !!timestamp 2001-99-99", "is not valid YAML"),
        ("epochs: !!int abc", "is not valid YAML: invalid literal for int()"),
        (f"epochs: {'9' * 5000}", "is not valid YAML: Exceeds the limit"),
        (f"model_params: {{a: {'[' * 5000}{']' * 5000}}}", "brackets are nested too deeply"),
        ("model_params: {a: !!binary aGk=}", "got a bytes"),
        ("model_params: {3: 4}", "names must be text, got 3"),
        ("a: &a [1]\nb: [*a, *a]", "anchors and aliases"),
        ("&a [*a]", "anchors and aliases"),
        ("? [a]\n: 3", "is not valid YAML"),
        ("threads: 100000", "--threads must be at most"),
        (f"lr: 1{'0' * 400}", "--lr must be a number of more than 0"),
    ],
)
def test_broken_configurations_are_named(rwkplus, tmp_path, text, message):
    (tmp_path / "config.yaml").write_text(text)
    code, _, stderr = rwkplus("train", DATA, "--config", tmp_path / "config.yaml", "--out", tmp_path / "run")
    assert (code, message in stderr, len(stderr.splitlines())) == (2, True, 1)


def test_a_file_whose_targets_are_all_missing_is_refused(rwkplus, tmp_path):
    (tmp_path / "molecules.csv").write_text("smiles,y\nCCO,\nCN,\n")
    code, _, stderr = rwkplus("train", tmp_path / "molecules.csv", "--out", tmp_path / "run")
    assert code == 2
    assert "no graph of" in stderr
    assert "has a target: every y is missing" in stderr
    assert len(stderr.splitlines()) == 1


def test_folds_that_are_missing_are_run_again(tmp_path):
    whole = train("--folds", 2, "--out", tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "fold-1")
    (tmp_path / "run" / "result.json").unlink()
    again = json.loads(invoke("train", DATA, "--resume", "--no-baselines", "--out", tmp_path / "run", "--json"))
    assert again["mean"] == whole["mean"]
    assert again["folds"][0]["seconds"] == whole["folds"][0]["seconds"]  # taken from the folder, not trained again


def test_numbers_of_yaml_need_no_point(tmp_path):
    assert parse_yaml("lr: 1e-3") == {"lr": 1e-3}
    assert parse_yaml("[-2E+3, 1.5e2, 1e, e1, 10]") == [-2e3, 150.0, "1e", "e1", 10]


def test_graphs_and_classes_go_by_their_names(tmp_path):
    nodes = [{"id": 0, "label": "a"}, {"id": 1, "label": "b"}]
    graphs = [{"id": f"day {i}", "nodes": nodes, "edges": [], "y": ("fraud", "ok")[i % 2]} for i in range(8)]
    (tmp_path / "days.jsonl").write_text("".join(json.dumps(graph) + "\n" for graph in graphs))
    quick = ("--model", "gin", "--epochs", 1, "--folds", 0, "--validation", 0.25, "--out", tmp_path / "run")
    assert "refer to the class ok." in invoke("train", tmp_path / "days.jsonl", *quick)
    _, *rows = invoke("predict", tmp_path / "run", tmp_path / "days.jsonl").splitlines()
    assert [row.split(",")[0] for row in rows] == [f"day {i}" for i in range(8)]
    about_fraud = (*quick, "--force", "--positive", "fraud")
    assert "refer to the class fraud." in invoke("train", tmp_path / "days.jsonl", *about_fraud)


def test_a_run_that_came_to_nothing_does_not_block_its_folder(rwkplus, tmp_path):
    arguments = ("train", DATA, *QUICK, "--folds", 0, "--out", tmp_path / "run")
    code, _, stderr = rwkplus(*arguments, "--lr", 1e30)
    assert (code, "smaller learning rate" in stderr) == (2, True)
    invoke(*arguments, "--lr", 0.01)
    assert yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["lr"] == 0.01


def test_remedies_are_options(rwkplus, tmp_path):
    (tmp_path / "days.csv").write_text("source,target,day\na,b,2026-01-03\n")
    _, _, stderr = rwkplus("detect", tmp_path / "days.csv")
    assert "leave them out: --ignore day" in " ".join(stderr.split())
    (tmp_path / "both.csv").write_text("source,target,label\na,b,card\nb,a,cash\n")
    _, _, stderr = rwkplus("detect", tmp_path / "both.csv")
    assert "use --multigraph. If edges point from source to target, use --directed" in " ".join(stderr.split())
    wrong = ("--kernel", "node-centric", "--route", "blocks", "--out", tmp_path / "gram.npz")
    _, _, stderr = rwkplus("kernel", "functional-groups", *wrong)
    assert "error: the node-centric kernel has explicit features only. Use --route auto." in " ".join(stderr.split())
