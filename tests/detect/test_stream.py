import io
import json
from itertools import permutations

import numpy as np
import pytest
from sklearn.base import clone

from rwkplus.detect import SurpriseDetector, stream
from rwkplus.detect.stream import score_stream
from rwkplus.io.json_lines import graph_to_json
from rwkplus.io.json_records import parse_lines
from rwkplus.table import Text
from tests.detect.conftest import DETECTORS


class Slow(io.BytesIO):
    """A source that hands out a few bytes at a time."""

    def __init__(self, content, size):
        super().__init__(content)
        self.size = size

    def read1(self, _=-1):
        return super().read1(self.size)


@pytest.fixture(scope="module")
def detector(graphs):
    return SurpriseDetector(0.1).fit(graphs)


@pytest.fixture(scope="module")
def lines(database):
    named = database.graphs[:12].with_columns(graphs={"name": Text.of(f"g{i}" for i in range(12))})
    return [graph_to_json(graph).encode() for graph in named]


def run(detector, content, size=1 << 20, **options):
    sink = io.StringIO()
    counts = score_stream(detector, Slow(content, size), sink, **options)
    return counts, [json.loads(line) for line in sink.getvalue().splitlines()]


@pytest.mark.parametrize("size", [7, 1000, 1 << 20])
def test_scores_are_those_of_the_detector_however_bytes_arrive(detector, graphs, lines, size):
    counts, records = run(detector, b"\n".join(lines), size)
    expected = -detector.score_samples(graphs[:12])
    assert [record["id"] for record in records] == [f"g{i}" for i in range(12)]
    assert [record["score"] for record in records] == pytest.approx(expected.tolist())
    flagged = (detector.predict(graphs[:12]) == -1).tolist()
    assert [record["anomaly"] for record in records] == flagged
    assert counts == (12, sum(flagged), 0)


BAD = {
    b"{": "not JSON",
    b"\xff\xfe": "not JSON",
    b"[" * 5000: "not JSON",
    b"[]": "expected an object",
    b"{}": "'nodes' must be a list",
    b'{"nodes": [], "edges": []}': "empty",
    b'{"nodes": [{"id": 0}, {"id": 0}], "edges": []}': "id",
    b'{"nodes": [{"id": 0, "label": "C"}], "edges": [{"source": 0, "target": 9}]}': "target is 9",
    b'{"nodes": [{"id": 0, "label": ["C"]}], "edges": []}': "hashable",
    b'{"nodes": [{"id": 0, "label": "C", "charge": 1}], "edges": []}': "charge",
    b'{"nodes": [{"id": 0}], "edges": []}': "nodes have no labels",
    b'{"nodes": [{"id": 0, "label": "\\ud83d"}], "edges": []}': "half of a character ('\\ud83d' alone)",
    b'{"nodes": [{"id": 0, "label": "\xed\xa0\xbd"}], "edges": []}': "half of a character",
    b'{"nodes": [{"id": 0, "label": "C"}, {"id": 1}], "edges": []}': "no 'label'",
}


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad[:30].decode("latin1"))
def test_a_bad_line_gets_an_error_and_the_stream_goes_on(detector, lines, bad):
    counts, records = run(detector, b"\n".join([lines[0], bad, b"", lines[1]]))
    assert counts.scored == 2
    assert counts.errors == 1
    assert [record["line"] for record in records] == [1, 2, 4]
    assert BAD[bad] in records[1]["error"]
    _, good = run(detector, b"\n".join(lines[:2]))
    assert [record["score"] for record in records[::2]] == [record["score"] for record in good]


def test_unusual_nodes_are_named_by_their_ids(detector, database):
    planted = next(i for i, a in enumerate(database.anomalies) if a is not None and a.kind == "wrong color")
    record = json.loads(graph_to_json(database.graphs[planted]))
    for node in record["nodes"]:
        node["id"] = f"n{node['id']}"
    for edge in record["edges"]:
        edge.update(source=f"n{edge['source']}", target=f"n{edge['target']}")
    _, (judged,) = run(detector, json.dumps(record).encode(), explain=True)
    assert judged["anomaly"]
    assert f"n{database.anomalies[planted].nodes[0]}" in judged["nodes"]


@pytest.mark.parametrize("size", [50, 1 << 20])
def test_nothing_is_kept_of_a_line_that_is_too_long(detector, lines, monkeypatch, size):
    monkeypatch.setattr(stream, "LONGEST_LINE", max(map(len, lines)))
    long = b'{"x": "' + b"a" * 20000 + b'"}'
    _, records = run(detector, b"\n".join([lines[0], long, lines[1], long]), size)
    assert ["error" in record for record in records] == [False, True, False, True]
    assert "longer than" in records[1]["error"]


def test_a_truncated_last_line_is_an_error(detector, lines):
    counts, records = run(detector, lines[0] + b"\n" + lines[1][:40])
    assert counts == (1, counts.flagged, 1)
    assert "not JSON" in records[1]["error"]


def test_a_label_of_another_type_does_not_spoil_its_neighbors(detector, lines):
    spoiled = json.loads(lines[1])
    for node, label in zip(spoiled["nodes"], (1, "1"), strict=False):
        node["label"] = label
    sink = io.StringIO()
    score_stream(detector, io.BytesIO(b"\n".join([lines[0], json.dumps(spoiled).encode(), lines[2]])), sink)
    scores = [json.loads(line)["score"] for line in sink.getvalue().splitlines()]
    for k in (0, 2):
        alone = io.StringIO()
        score_stream(detector, io.BytesIO(lines[k]), alone)
        assert json.loads(alone.getvalue())["score"] == scores[k]


TWO_CARBONS = [{"id": 0, "label": "C"}, {"id": 1, "label": "C"}]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"nodes": TWO_CARBONS, "edges": [{"source": 0, "target": 1, "u_of_edge": 2}]}, "u_of_edge"),
        ({"id": float("inf"), "nodes": TWO_CARBONS, "edges": []}, "id is larger than any number"),
        ({"id": [float("inf")], "nodes": TWO_CARBONS, "edges": []}, "id is larger than any number"),
        ({"nodes": [{"id": float("inf"), "label": "C"}], "edges": []}, "nodes[0]: id is larger than any number"),
    ],
)
def test_odd_names_are_answered_like_all_mistakes(detector, lines, record, message):
    sink = io.StringIO()
    text = json.dumps(record).replace("Infinity", "1e400").encode()
    counts = score_stream(detector, io.BytesIO(b"\n".join([lines[0], text, lines[1]])), sink)
    assert (counts.scored, counts.errors) == (2, 1)
    assert message in json.loads(sink.getvalue().splitlines()[1])["error"]


@pytest.mark.parametrize("rest", ['"nodes": [{"id": 0}]', '"nodes": [{"id": 0}], "edges": [], "directed": 3'])
def test_errors_keep_the_name_of_their_graph(detector, rest):
    _, (record,) = run(detector, f'{{"id": "odd one", {rest}}}'.encode())
    assert record["id"] == "odd one"
    assert "error" in record


def test_whole_characters_beyond_ascii_are_fine(detector, lines):
    named = json.loads(lines[0]) | {"id": "\N{GRINNING FACE}"}
    _, (escaped,) = run(detector, json.dumps(named).encode())
    _, (plain,) = run(detector, json.dumps(named, ensure_ascii=False).encode())
    assert escaped == plain
    assert plain["id"] == "\N{GRINNING FACE}"


def chain(labels, name):
    nodes = [{"id": i, "label": label} for i, label in enumerate(labels)]
    edges = [{"source": i, "target": i + 1} for i in range(len(labels) - 1)]
    return json.dumps({"id": name, "nodes": nodes, "edges": edges}).encode()


def test_a_line_is_judged_alike_in_any_company():
    (usual,) = parse_lines([chain("1212" if i % 2 else "121", i) for i in range(40)]).tables
    detector = SurpriseDetector().fit(usual)
    kinds = {"text": ["1", "2"], "whole": [1, 2], "float": [1.0, 2.0], "true": [True, 2], "new": ["1.50", "2"]}
    lines = [chain(labels, name) for name, labels in kinds.items()]
    alone = {record["id"]: record["score"] for line in lines for record in run(detector, line)[1]}
    assert alone["text"] == alone["whole"] == alone["float"] < alone["true"] == alone["new"]
    for order in permutations(lines):
        assert {record["id"]: record["score"] for record in run(detector, b"\n".join(order))[1]} == alone


@pytest.mark.parametrize("name", ["surprise", "nearest", "density", "lof", "svm", "forest"])
def test_measurements_stream_with_or_without_explanations(name):
    rng = np.random.default_rng(0)
    lines = [json.dumps({"nodes": [{"id": v, "x": rng.normal(size=2).tolist()} for v in range(4)],
                         "edges": [{"source": v, "target": v + 1} for v in range(3)]}) for _ in range(30)]  # fmt: skip
    detector = clone(DETECTORS[name]).fit(parse_lines([line.encode() for line in lines]).tables)
    odd = json.dumps({"nodes": [{"id": 0, "x": [1e6, -1e6]}, {"id": 1, "x": [5, 5]}], "edges": []})
    counts, records = run(detector, "\n".join([lines[0], odd, lines[1]]).encode(), explain=True)
    assert counts.scored == 3
    assert counts.errors == 0
    if name == "surprise":
        assert records[1]["anomaly"]
        assert 0 in records[1]["nodes"]
