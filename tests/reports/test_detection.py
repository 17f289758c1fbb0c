import re

import networkx as nx
import numpy as np
import pytest

from rwkplus.data import anomalous_molecules
from rwkplus.detect import SurpriseDetector
from rwkplus.graphs import from_networkx
from rwkplus.reports import detection_report, write_detection_report
from tests.reports.test_mining import Balanced


@pytest.fixture(scope="module")
def judged():
    graphs, anomalies = anomalous_molecules(40, seed=5)
    detector = SurpriseDetector(0.05).fit(graphs)
    usual = [graph for graph, label in zip(graphs, detector.labels_, strict=True) if not label]
    known = {i: anomaly.kind for i, anomaly in enumerate(anomalies) if anomaly is not None}
    return detector, "spoiled <40>", graphs, detector.decision_scores_, usual, known


def test_the_page_is_well_formed_and_shows_every_flagged_graph(judged, tmp_path):
    page = write_detection_report(tmp_path / "new" / "report.html", *judged).read_text(encoding="utf-8")
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert not re.search(r"https?://|url\(|@import|<script|\ssrc=|\shref=", page)
    assert "spoiled &lt;40&gt;" in page
    flagged = np.flatnonzero(judged[0].labels_)
    assert page.count("<section>") == flagged.size > 0
    for i in flagged:
        assert f"Graph {i}</h2>" in page
    assert page.count("similarity") >= 3 * flagged.size


def test_the_unusual_part_is_drawn_in_full(judged):
    detector, _, graphs, scores, _, _ = judged
    worst = int(np.argmax(scores))
    page = detection_report(detector, "one", [graphs[worst]], scores[[worst]], [])
    why = detector.explain([graphs[worst]])[0]
    circles = re.findall(r"<circle[^>]*opacity=\"([\d.]+)\"", page)
    assert len(circles) == graphs[worst].num_nodes
    assert sum(opacity == "1.0" for opacity in circles) == len(why.nodes)
    assert sum(opacity == "0.25" for opacity in circles) == graphs[worst].num_nodes - len(why.part)


def test_of_a_large_graph_the_surroundings_are_drawn():
    usual = [nx.cycle_graph(80) for _ in range(9)]
    odd = nx.cycle_graph(100)
    odd.add_edge(50, 100)
    graphs = from_networkx([*usual, odd])
    detector = SurpriseDetector(0.1).fit(usual)
    page = detection_report(detector, "rings", graphs, detector.anomaly_scores(graphs), [])
    assert "101, 60 of them drawn" in page
    assert page.count("<circle") == 60


def test_no_anomaly_makes_a_page_as_well(judged):
    detector, _, graphs, _, usual, _ = judged
    page = detection_report(detector, "calm", graphs, np.zeros(len(graphs)), usual)
    assert "0 of 40 graphs have scores above" in page
    assert "<section>" not in page
