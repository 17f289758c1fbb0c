"""``rwkplus detect`` as a user meets it."""

import io
import json
import re
import sys

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from rwkplus.cli.commands.detect import detect
from rwkplus.cli.console import RUNNING
from rwkplus.datasets import anomalous_molecules, load_graphs
from rwkplus.detect import SurpriseDetector
from rwkplus.errors import DataError, ParameterError
from rwkplus.io.json_lines import graph_to_json
from rwkplus.table import Text

app = typer.Typer(rich_markup_mode="rich")
app.command()(detect)


def invoke(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file to learn from and one to judge."""
    folder = tmp_path_factory.mktemp("graphs")
    graphs = anomalous_molecules(60, random_state=3).graphs
    for name, part in (("train", graphs[:40]), ("score", graphs[40:])):
        (folder / f"{name}.jsonl").write_text("\n".join(graph_to_json(graph) for graph in part))
    return folder


def test_the_embedded_database_judges_itself(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = invoke()
    assert "wrong color" in shown
    assert "Outliers planted in this data set: 15 of 20 flagged." in shown


def test_one_file_judges_another_and_all_is_written(files, tmp_path):
    out = tmp_path / "out"
    facts = json.loads(
        invoke("--train", files / "train.jsonl", "--score", files / "score.jsonl", "--out", out, "--json")
    )
    assert sorted(path.name for path in out.iterdir()) == [
        "detector.safetensors",
        "graphs.json",
        "report.html",
        "scores.jsonl",
    ]
    rows = [json.loads(line) for line in (out / "scores.jsonl").read_text().splitlines()]
    expected = -SurpriseDetector.load(out / "detector.safetensors").score_samples(load_graphs(files / "score.jsonl"))
    assert [row["score"] for row in rows] == pytest.approx(expected.tolist())
    assert {row["graph"] for row in rows if row["anomaly"]} == {row["graph"] for row in facts["flagged"]}
    again = json.loads(invoke("--model", out / "detector.safetensors", "--score", files / "score.jsonl", "--json"))
    assert again == facts
    with pytest.raises(ParameterError, match="--force"):
        invoke(files / "train.jsonl", "--out", out)


@pytest.mark.slow
def test_usual_graphs_are_those_that_were_not_flagged_in_training(files, tmp_path):
    graphs = load_graphs(files / "train.jsonl")
    odd = SurpriseDetector.load(_trained(files, tmp_path)).predict(graphs) == -1
    (tmp_path / "odd.jsonl").write_text(graph_to_json(graphs[int(odd.argmax())]) + "\n")
    invoke("--train", files / "train.jsonl", "--score", tmp_path / "odd.jsonl", "--out", tmp_path / "page")
    page = (tmp_path / "page" / "report.html").read_text(encoding="utf-8")
    shown = [int(number) for number in re.findall(r"<figcaption>graph (\d+), similarity", page)]
    assert len(shown) == 3
    assert "similarity 1.00" not in page


def _trained(files, tmp_path):
    invoke(files / "train.jsonl", "--out", tmp_path / "trained")
    return tmp_path / "trained" / "detector.safetensors"


@pytest.mark.slow
def test_the_page_of_an_earlier_run_goes_where_there_is_no_new_one(files, tmp_path):
    _trained(files, tmp_path)
    rows = [{"nodes": [{"id": 0, "x": [i, 1.5]}, {"id": 1, "x": [2, i]}], "edges": []} for i in range(9)]
    (tmp_path / "numbers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    invoke(tmp_path / "numbers.jsonl", "--detector", "kernel", "--out", tmp_path / "trained", "--force")
    assert not (tmp_path / "trained" / "report.html").exists()


def test_a_closed_stdin_is_told(files, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ParameterError, match="stdin, which is closed"):
        detect(train=str(files / "train.jsonl"), stream=True)


@pytest.mark.slow
@pytest.mark.parametrize("detector", ["kernel", "pattern"])
def test_other_detectors_can_be_chosen(files, detector):
    facts = json.loads(invoke(files / "train.jsonl", "--detector", detector, "--contamination", "0.2", "--json"))
    assert facts["graphs"] == 40
    assert len(facts["flagged"]) <= 8


@pytest.fixture
def running():
    """As if the command had been called from a shell: remedies are spelled with its options."""
    token = RUNNING.set(get_command(app).params)
    yield
    RUNNING.reset(token)


@pytest.mark.usefixtures("running")
def test_graphs_come_and_go_as_lines(files, monkeypatch, capsys):
    lines = (files / "score.jsonl").read_text().splitlines()[:3]
    aged = '{"nodes": [{"id": 0, "label": "C", "age": 3}], "edges": []}'
    source = io.TextIOWrapper(io.BytesIO("\n".join([*lines, "nonsense", aged]).encode()))
    monkeypatch.setattr(sys, "stdin", source)
    detect(train=str(files / "train.jsonl"), stream=True)
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["line"] for record in records] == [1, 2, 3, 4, 5]
    assert ["error" in record for record in records] == [False, False, False, True, True]
    assert "the nodes have a column 'age'" in records[-1]["error"]
    assert records[-1]["error"].endswith("leave it out: --ignore age.")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--train", "MUTAG"),
        ("--score", "MUTAG"),
        ("--stream",),
        ("MUTAG", "--train", "MUTAG", "--score", "MUTAG"),
        ("--train", "MUTAG", "--model", "m", "--score", "MUTAG"),
        ("--train", "MUTAG", "--score", "MUTAG", "--stream"),
        ("--contamination", "0.7"),
    ],
)
def test_contradictions_are_refused(arguments):
    with pytest.raises(ParameterError):
        invoke(*arguments)


def test_nothing_is_written_where_input_is_wrong(files, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes((files / "score.jsonl").read_bytes()[:-30])
    model = tmp_path / "model.safetensors"
    model.write_bytes(b"no model")
    for arguments in (("--train", files / "train.jsonl", "--score", bad), ("--model", model, "--score", bad)):
        with pytest.raises(DataError):
            invoke(*arguments, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_graphs_without_labels_can_be_streamed(tmp_path, monkeypatch, capsys):
    lines = [
        json.dumps(
            {"nodes": [{"id": v} for v in range(n)], "edges": [{"source": v, "target": v + 1} for v in range(n - 1)]}
        )
        for n in (*range(3, 12), 4, 5, 6)
    ]
    (tmp_path / "paths.jsonl").write_text("\n".join(lines))
    invoke(tmp_path / "paths.jsonl", "--contamination", "0.2", "--out", tmp_path / "out")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines[0].encode())))
    detect(model=tmp_path / "out" / "detector.safetensors", stream=True)
    assert "score" in json.loads(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("--stream", "--json"),
        ("--stream", "--out", "x"),
        ("--stream", "--detector", "kernel"),
        ("--stream", "--method", "lof"),
        ("--stream", "--ignore", "age"),
        ("--stream", "--seed", "1"),
        ("--stream", "--directed"),
        ("--stream", "--multigraph"),
        ("--stream", "--node-features", "both"),
    ],
)
def test_options_that_cannot_act_are_refused(files, tmp_path, options):
    invoke(files / "train.jsonl", "--out", tmp_path / "out")
    with pytest.raises(ParameterError, match=r"leave|give"):
        invoke("--model", tmp_path / "out" / "detector.safetensors", *options)


def test_a_model_leaves_out_what_it_was_trained_without(tmp_path):
    (tmp_path / "aged.jsonl").write_text("\n".join([_path("aba").replace('"label"', '"age": 3, "label"')] * 9))
    invoke(tmp_path / "aged.jsonl", "--ignore", "age", "--out", tmp_path / "out")
    model = ("--model", tmp_path / "out" / "detector.safetensors")
    assert "0 of 9 graphs flagged" in invoke(*model, "--score", tmp_path / "aged.jsonl")


def test_graphs_go_by_the_names_that_users_gave_them(tmp_path):
    graphs = anomalous_molecules(60).graphs
    named = graphs.with_columns(graphs={"name": Text.of(f"day {i}" for i in range(60))})
    lines = [_with_named_nodes(graph) for graph in named]
    (tmp_path / "days.jsonl").write_text("\n".join(lines))
    shown = invoke(tmp_path / "days.jsonl", "--out", tmp_path / "out")
    assert "day " in shown
    assert "atom-" in shown
    rows = [json.loads(line) for line in (tmp_path / "out" / "scores.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [f"day {i}" for i in range(60)]
    assert all(node.startswith("atom-") for row in rows if row["anomaly"] for node in row["nodes"])
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<h2>Graph day " in page
    assert "atom-" in page
    flagged = json.loads(invoke(tmp_path / "days.jsonl", "--json"))["flagged"]
    assert [row["nodes"] for row in flagged] == [rows[row["graph"]]["nodes"] for row in flagged]


def _with_named_nodes(graph):
    record = json.loads(graph_to_json(graph))
    for node in record["nodes"]:
        node["id"] = f"atom-{node['id']}"
    for edge in record["edges"]:
        edge.update(source=f"atom-{edge['source']}", target=f"atom-{edge['target']}")
    return json.dumps(record)


def test_a_detector_explains_once_whatever_is_written(files, tmp_path, monkeypatch):
    asked = []
    explain = SurpriseDetector.explain
    monkeypatch.setattr(SurpriseDetector, "explain", lambda self, X: asked.append(1) or explain(self, X))
    invoke(files / "train.jsonl", "--out", tmp_path / "out")
    assert asked == [1]


def test_the_most_unusual_nodes_are_shown_first(tmp_path):
    paths = [_path("a" * 20) for _ in range(26)] + [_path("b" * 20) for _ in range(3)] + [_path("b" * 20 + "z")]
    (tmp_path / "paths.jsonl").write_text("\n".join(paths))
    shown = invoke(tmp_path / "paths.jsonl", "--contamination", "0.04", "--out", tmp_path / "out")
    assert "z n20" in shown
    assert "z n20" in (tmp_path / "out" / "report.html").read_text()


def test_nodes_without_labels_go_by_their_names_alone(tmp_path):
    lines = ["graph,source,target", *(f"{i},ann,{name}" for i in range(20) for name in ("bob", "eve")), "7,bob,eve"]
    (tmp_path / "edges.csv").write_text("\n".join(lines))
    shown = invoke(tmp_path / "edges.csv", "--out", tmp_path / "out")
    assert re.search(r"\d +ann, bob, eve", shown)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<dd>ann, bob, eve</dd>" in page
    assert "<title>bob</title>" in page


def _path(labels):
    nodes = [{"id": f"n{i}", "label": label} for i, label in enumerate(labels)]
    edges = [{"source": f"n{i}", "target": f"n{i + 1}"} for i in range(len(labels) - 1)]
    return json.dumps({"nodes": nodes, "edges": edges})


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (0, "scores above 0. The highest score, 0, is shared by 20 graphs, 100% of all: no graph stands out."),
        (2, "is shared by 2 graphs, 10% of all: if these are outliers, raise the contamination"),
    ],
)
def test_where_nothing_is_flagged_the_reason_is_told(tmp_path, odd, reason):
    (tmp_path / "same.jsonl").write_text("\n".join([_path("aba")] * (20 - odd) + [_path("abc")] * odd))
    shown = " ".join(invoke(tmp_path / "same.jsonl").split())
    assert "0 of 20 graphs flagged" in shown
    assert reason in shown


def test_where_later_graphs_are_usual_no_other_contamination_is_advised(tmp_path):
    (tmp_path / "train.jsonl").write_text("\n".join([_path("aba")] * 20 + [_path("abab")]))
    (tmp_path / "later.jsonl").write_text("\n".join([_path("aba")] * 3))
    shown = invoke("--train", tmp_path / "train.jsonl", "--score", tmp_path / "later.jsonl")
    assert "0 of 3 graphs flagged" in shown
    assert "contamination" not in shown


def test_graphs_of_another_kind_are_doubted(files, tmp_path):
    record = {"nodes": [{"id": 0, "label": "page"}, {"id": 1, "label": "page"}], "edges": [{"source": 0, "target": 1}]}
    (tmp_path / "pages.jsonl").write_text("\n".join([json.dumps(record)] * 3))
    shown = invoke("--train", files / "train.jsonl", "--score", tmp_path / "pages.jsonl", "--ignore", "edge_attr")
    assert "are these graphs of the same kind" in " ".join(shown.split())
