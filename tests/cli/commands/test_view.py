import json
import os
import re
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rwkplus.cli.commands.view import TO_GRAPHS, pages
from rwkplus.cli.options import SOURCE, Reading
from rwkplus.errors import DataError, ParameterError
from tests.cli.program import invoke

NONE = Reading({})


@pytest.fixture(scope="module")
def mined(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mined") / "out"
    invoke("mine", "functional-groups", "--out", folder, "--patterns", "2", "--controls", "0", "--size", "3")
    return folder


@pytest.fixture(scope="module")
def detected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("detected")
    data = folder / "molecules.smi"
    data.write_text("".join(f"{'C' * (1 + k % 3)}O m{k}\n" for k in range(30)) + "CC(F)(F)S odd\n")
    invoke("detect", data, "--out", folder / "out", "--contamination", "0.1")
    return folder / "out"


def test_a_report_of_mine_is_shown_with_its_graphs(mined):
    answer = pages(str(mined), None, NONE)
    report = answer("/", {})
    assert '<a href="/graphs">' in report
    assert report.replace(TO_GRAPHS, "") == (mined / "report.html").read_text()
    page = answer("/graphs", {"pattern": "1"})
    patterns = json.loads((mined / "patterns.json").read_text())["patterns"]
    assert f"{patterns[0]['support']} of 200 graphs" in page
    assert '<a href="/">report</a>' in page
    assert "Graph 7" in answer("/graph/7", {})


@pytest.mark.parametrize(
    "path", ["/graph/200", "/graph/-1", "/graph/x", "/patterns.json", "/../report.html", "", "/graph/1/2"]
)
def test_there_is_nothing_else(mined, path):
    assert pages(str(mined), None, NONE)(path, {}) is None


def test_a_report_of_detect_is_shown_with_scores(detected):
    answer = pages(str(detected), None, NONE)
    page = answer("/graphs", {"sort": "score", "flagged": "1"})
    assert re.search(r"Graph odd</a></h2>.*score [\d.]+, flagged", page, re.DOTALL)
    assert "flagged</dt><dd>yes" in answer("/graph/30", {})


def test_graphs_are_shown_without_a_report():
    assert "200 of 200 graphs" in pages("functional-groups", None, NONE)("/", {})


def test_graphs_that_moved_can_be_named(detected, tmp_path, capsys):
    moved = tmp_path / "moved.smi"
    record = json.loads((detected / SOURCE).read_text())
    moved.write_text(Path(record["dataset"]).read_text())
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in detected.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    (copy / SOURCE).write_text(json.dumps(record | {"dataset": str(tmp_path / "gone.smi")}))
    answer = pages(str(copy), None, NONE)
    assert "only the report can be shown" in capsys.readouterr().err
    assert answer("/graphs", {}) is None
    assert answer("/", {}) is not None
    assert pages(str(copy), str(moved), NONE)("/graphs", {}) is not None
    (copy / "report.html").unlink()
    with pytest.raises(DataError, match=r"gone\.smi"):
        pages(str(copy), None, NONE)


@pytest.mark.parametrize(
    "content",
    ["{}", "[]", "not json", '{"dataset": 3, "options": {}}', '{"dataset": "x", "options": {"y": 1, "z": 2}}'],
)
def test_a_damaged_record_is_told(detected, tmp_path, content):
    (tmp_path / "scores.jsonl").write_bytes((detected / "scores.jsonl").read_bytes())
    (tmp_path / SOURCE).write_text(content)
    with pytest.raises(DataError, match=SOURCE.replace(".", r"\.")):
        pages(str(tmp_path), None, NONE)


@pytest.mark.parametrize("line", ["{}", "[1]", '{"score": "x", "anomaly": true}', "nothing"])
def test_damaged_scores_are_told(detected, tmp_path, line):
    (tmp_path / "scores.jsonl").write_text(line)
    (tmp_path / SOURCE).write_bytes((detected / SOURCE).read_bytes())
    with pytest.raises(DataError, match=r"scores\.jsonl is damaged"):
        pages(str(tmp_path), None, NONE)


def test_graphs_belong_to_a_report():
    with pytest.raises(ParameterError, match="--graphs names the graphs of a report"):
        pages("functional-groups", "MUTAG", NONE)


def test_what_does_not_exist_is_told(rwkplus):
    code, _, err = rwkplus("view", "nowhere.csv", "--no-browser")
    assert code == 2
    assert "nowhere.csv" in err


@pytest.mark.slow
def test_it_serves_until_ctrl_c():
    command = [
        sys.executable,
        "-c",
        "from rwkplus.cli.main import run; run()",
        "view",
        "functional-groups",
        "--no-browser",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    url = re.search(r"http://\S+", process.stdout.readline())[0]
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname, parts.port, timeout=30)
    connection.request("GET", f"{parts.path}?{parts.query}")
    assert "200 of 200 graphs" in connection.getresponse().read().decode()
    connection.close()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out in ("", "Ctrl-C ends it.\n")  # the rest of what it said
    assert err == "stopped\n"
