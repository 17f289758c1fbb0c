import re
from copy import copy
from dataclasses import replace
from html.parser import HTMLParser

import networkx as nx
import pytest

from rwkplus.datasets import functional_groups
from rwkplus.drawing import curve, draw, label_colors
from rwkplus.mining import Condition, PatternMiner
from rwkplus.mining.contrast import ClassContrast
from rwkplus.reports import mining_report, write_mining_report
from tests.strategies import pyg_graphs


@pytest.fixture(scope="module")
def graphs():
    return functional_groups(30)


@pytest.fixture(scope="module")
def miner(graphs):
    return PatternMiner(2, criterion="blocks", n_controls=0, beam_width=8).fit(graphs)


class Balanced(HTMLParser):
    """Follows the tags of a page and fails where they do not nest."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_asks_for_nothing_from_outside(miner, graphs):
    page = mining_report(miner, graphs, "molecules <30>")
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert not any({"src", "href"} & attributes.keys() for _, attributes in parser.seen)
    assert not re.search(r"https?://|url\(|@import|<script", page)
    assert "molecules &lt;30&gt;" in page


@pytest.mark.slow
def test_every_pattern_is_drawn_with_its_support_and_examples(miner, graphs):
    page = mining_report(miner, graphs, "molecules")
    assert page.count("<section>") == len(miner.patterns_)
    for pattern in miner.patterns_:
        assert f"{pattern.support} of 30" in page
        for graph in pattern.graphs[:3]:
            assert f"graph {graph}</figcaption>" in page


def test_networkx_graphs_are_drawn_with_their_own_labels():
    graphs = [nx.path_graph(3) for _ in range(12)]
    for i, graph in enumerate(graphs):
        nx.set_node_attributes(graph, dict(enumerate("yyz" if i else "xxz")), "label")
    miner = PatternMiner(1, (2, 3), criterion="blocks", n_controls=0).fit(graphs)
    from_pyg = mining_report(miner, pyg_graphs(graphs), "paths")
    assert mining_report(miner, graphs, "paths") == from_pyg
    assert all(f">{label}</text>" in from_pyg for label in "yz")


def test_the_file_is_written_whole(miner, graphs, tmp_path):
    path = write_mining_report(tmp_path / "new" / "report.html", miner, graphs, "molecules")
    assert path.read_text(encoding="utf-8").endswith("</html>")
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_a_drawing_has_every_node_and_bond():
    acid = nx.Graph([(0, 1), (0, 2)])
    nx.set_node_attributes(acid, {0: "C", 1: "O", 2: "O"}, "label")
    nx.set_edge_attributes(acid, {(0, 1): "=", (0, 2): "-"}, "label")
    picture = draw(acid, label_colors("CO"))
    assert picture.count("<circle") == 3
    assert picture.count("<line") == 3  # two for the double bond
    faded = draw(acid, label_colors("CO"), highlighted=[0, 1])
    assert faded.count('opacity="0.25"') == 2  # the third atom and its bond


def test_elements_have_the_colors_of_chemistry_and_others_distinct_ones():
    assert label_colors(["O", "C"]) != label_colors(["O", "Q"])
    assert len(set(label_colors(["red", "blue", "green"]).values())) == 3


def test_the_curve_rises_with_the_share():
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', curve([0.25, 0.5, 1.0]))]
    assert heights == sorted(heights, reverse=True)


@pytest.mark.slow
def test_of_large_graphs_the_surroundings_of_an_occurrence_are_drawn():
    graphs = []
    for tail in range(90, 96):
        graph = nx.disjoint_union(nx.path_graph(tail), nx.cycle_graph(3))
        graph.add_edge(tail - 1, tail)
        labels = dict.fromkeys(graph, "b") | dict(zip(range(tail, tail + 3), "xyz", strict=True))
        nx.set_node_attributes(graph, labels, "label")
        graphs.append(graph)
    miner = PatternMiner(1, 3, criterion="blocks", n_controls=0, beam_width=3).fit(graphs)
    page = mining_report(miner, graphs, "tails")
    assert "graph 0: nodes 93, 60 of them drawn" in page
    assert page.count("</title></circle>") == 3 + 3 * 60  # the pattern and three examples


def test_directions_conditions_and_classes_are_shown(miner, graphs):
    fitted = copy(miner)
    contrast = (ClassContrast("fraud", 3, 4, 5.25, 0.01, 0.02), ClassContrast("<b>usual", 1, 26, 0.19, 0.01, 0.02))
    conditions = ((Condition("amount", 1e4, None),), *((),) * (len(miner.patterns_[0].edges) - 1))
    fitted.patterns_ = [
        replace(miner.patterns_[0], directed=True, contrast=contrast, edge_conditions=conditions, mni=17)
    ]
    page = mining_report(fitted, graphs, "payments")
    assert "3 of 4 (75%), odds ratio 5.25, q = 0.02" in page
    assert ">75%</text>" in page
    assert "<b>" not in page
    assert "amount &gt;= 10,000" in page
    assert page.count("<polygon") >= len(miner.patterns_[0].edges)
    assert "17 nodes in its rarest place" in page
    assert "minimum image" not in mining_report(miner, graphs, "molecules")
