import re

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from rwkplus.datasets import anomalous_molecules
from rwkplus.detect import Judgments, PatternDetector, SurpriseDetector, WalkKernelDetector
from rwkplus.kernels import RandomWalkKernel
from rwkplus.mining import PatternMiner
from rwkplus.reports import detection_report, write_detection_report
from rwkplus.table import GraphTable
from tests.reports.test_mining import Balanced


def flagged(detector):
    """One graph, an anomaly."""
    return Judgments(np.array([detector.offset_ - 1]), np.array([True]))


@pytest.fixture(scope="module")
def judged():
    graphs, anomalies = anomalous_molecules(40, random_state=5)
    detector = SurpriseDetector(0.05)
    found = detector.fit_judge(graphs)
    known = {i: anomaly.kind for i, anomaly in enumerate(anomalies) if anomaly is not None}
    return detector, graphs, "spoiled <40>", found, None, known


def test_the_page_is_well_formed_and_shows_every_flagged_graph(judged, tmp_path):
    page = write_detection_report(tmp_path / "new" / "report.html", *judged).read_text(encoding="utf-8")
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert not re.search(r'https?://|url\(|@import|<script |\ssrc=|\shref="[^#]', page)
    assert "spoiled &lt;40&gt;" in page
    flagged = np.flatnonzero(judged[3].flagged)
    assert page.count("<section ") == flagged.size > 0
    for i in flagged:
        assert f">Graph {i}</h2>" in page
    captions = re.findall(r"<figcaption>graph (\d+), similarity", page)
    assert len(captions) == 3 * flagged.size
    assert not set(map(int, captions)) & set(flagged.tolist())


def test_the_unusual_part_is_drawn_in_full(judged):
    detector, graphs, _, found, _, _ = judged
    worst = int(np.argmin(found.scores))
    page = detection_report(detector, [graphs[worst]], "one", Judgments(*(part[[worst]] for part in found)), [])
    why = detector.explain([graphs[worst]])[0]
    spots = re.findall(r'<circle [^>]*?(?: data-k="(\d+)")?><title>(\w+ \d+)</title>', page)
    assert len(spots) == graphs[worst].num_nodes
    named = {name for key, name in spots if key}
    assert named == {f"{label} {v}" for v, label in enumerate(labels_of(graphs[worst])) if v in why.nodes}
    ground = re.search(r'<g[^>]*stroke-width="18".*?</g>', page)[0]
    assert len(re.findall(r'<path d="[^"]*"/>', ground)) >= len(why.nodes)
    assert 'opacity="0.50"' in ground  # of neighbors


def labels_of(graph):
    return GraphTable.of([graph]).nodes["label"].values().tolist()


def test_of_a_large_graph_the_surroundings_are_drawn():
    usual = [nx.cycle_graph(80) for _ in range(9)]
    odd = nx.cycle_graph(100)
    odd.add_edge(50, 100)
    graphs = GraphTable.of([*usual, odd])
    detector = SurpriseDetector(0.1).fit(usual)
    page = detection_report(detector, graphs, "rings", None, [])
    assert "101, 30 of them drawn" in page
    assert page.count("</title></circle>") == 30


def test_the_most_unusual_node_of_a_large_graph_is_drawn():
    usual = [nx.path_graph(20) for _ in range(30)]
    odd = nx.path_graph(200)
    for graph in (*usual, odd):
        nx.set_node_attributes(graph, "a", "label")
    for graph in usual[:4]:
        nx.set_node_attributes(graph, "rare", "label")
    nx.set_node_attributes(odd, dict.fromkeys(range(110), "rare") | {180: "new"}, "label")
    detector = SurpriseDetector().fit(usual)
    why = detector.explain([odd])[0]
    assert len(why.part) > 60
    assert why.node_scores.argmax() == 180
    page = detection_report(detector, [odd], "paths", flagged(detector), usual)
    assert "<title>new 180</title>" in page


def test_reversed_edges_can_be_seen():
    graphs = [nx.DiGraph([(0, 1), (1, 2)]) for _ in range(20)] + [nx.DiGraph([(1, 0), (1, 2)])]
    for graph in graphs:
        nx.set_node_attributes(graph, dict(enumerate("abc")), "label")
    detector = SurpriseDetector(0.05).fit(graphs)
    page = detection_report(detector, graphs, "chains")
    assert page.count("<section ") == 1
    assert page.count("<polygon") == 2 * (1 + 3)


@pytest.mark.parametrize(
    "detector",
    [
        SurpriseDetector(ignore=("weight",)),
        PatternDetector(miner=PatternMiner(1, criterion="blocks", n_controls=0, ignore=("weight",))),
        WalkKernelDetector(kernel=RandomWalkKernel(steps=2, normalize=True, ignore=("weight",))),
    ],
)
def test_networkx_graphs_and_ignored_fields_are_drawn(detector):
    graphs = [nx.cycle_graph(6 + 2 * (i % 2)) for i in range(39)] + [nx.star_graph(5)]
    for graph in graphs:
        nx.set_node_attributes(graph, {v: "ab"[v % 2] for v in graph}, "label")
        nx.set_edge_attributes(graph, 0.5, "weight")
    detector.fit(graphs)
    odd = np.arange(40) == 39
    scores = np.where(odd, detector.offset_ - 1, detector.fitted_scores_)
    page = detection_report(detector, graphs, "rings", Judgments(scores, odd))
    assert "similarity" in page
    assert "Graph 39</h2>" in page


def measured(rows):
    ends = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    return Data(x=torch.tensor(rows, dtype=torch.float), edge_index=ends)


@pytest.mark.parametrize("why", [None, {}])
def test_detectors_that_cannot_explain_make_a_page_without_highlights(why):
    rng = np.random.default_rng(0)
    graphs = [measured(rng.normal(size=(3, 2))) for _ in range(20)]
    detector = WalkKernelDetector().fit(graphs)
    page = detection_report(detector, graphs, "measurements", why=why)
    assert page.count("<section ") == (detector.predict(graphs) == -1).sum() > 0
    assert "scored as a whole" in page
    assert "fill-opacity" not in page
    assert "unusual" not in page.lower()


def test_measurements_that_happen_to_look_like_labels_are_compared_as_measurements():
    rng = np.random.default_rng(0)
    graphs = [measured(rng.normal(size=(3, 2))) for _ in range(20)]
    odd, detector = measured(np.zeros((3, 2))), SurpriseDetector().fit(graphs)
    page = detection_report(detector, [odd], "zeros", flagged(detector), graphs)
    assert page.count("similarity 0.00") == 3


def test_no_anomaly_makes_a_page_as_well(judged):
    detector, graphs, _, _, usual, _ = judged
    calm = Judgments(np.zeros(len(graphs)), np.zeros(len(graphs), bool))
    page = detection_report(detector, graphs, "calm", calm, usual)
    assert "flags 0 of 40 graphs: those with scores above" in page
    assert "<section " not in page


def test_classes_of_measured_edges_are_explained():
    graphs = []
    for i in range(10):
        graph = nx.cycle_graph(3)
        nx.set_node_attributes(graph, {0: "a", 1: "b", 2: "c"}, "label")
        nx.set_edge_attributes(graph, {(0, 1): [7.25 + i / 100], (1, 2): [0.5], (0, 2): [0.5]}, "attr")
        graphs.append(graph)
    graphs[-1].add_edge(0, 3, attr=[7.25])
    graphs[-1].nodes[3]["label"] = "a"
    detector = SurpriseDetector(0.2, n_colors=2).fit(graphs)
    page = detection_report(detector, graphs, "payments")
    assert "Edge intervals: typical values of attr" in page
    assert re.search(r"<dt>attr &lt; \d\.\d+</dt><dd>0\.5</dd>", page)
    assert "Node intervals" not in page
