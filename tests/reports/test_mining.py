import re
from copy import copy
from dataclasses import replace
from html.parser import HTMLParser

import networkx as nx
import pytest

from rwkplus.datasets import functional_groups
from rwkplus.mining import Condition, PatternMiner
from rwkplus.mining.contrast import ClassContrast
from rwkplus.reports import mining_report, write_mining_report
from rwkplus.reports.mining import EXAMPLES
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
        if tag not in ("meta", "input"):
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
    names = {attributes["id"] for _, attributes in parser.seen if "id" in attributes}
    for _, attributes in parser.seen:
        assert "src" not in attributes
        assert attributes.get("href", "#s1").removeprefix("#") in names
    assert not re.search(r"https?://|url\(|@import|<script [^>]|fetch\(|XMLHttp", page)
    assert "molecules &lt;30&gt;" in page


@pytest.mark.slow
def test_every_pattern_is_drawn_with_its_support_and_examples(miner, graphs):
    page = mining_report(miner, graphs, "molecules")
    assert page.count("<section ") == len(miner.patterns_)
    for pattern in miner.patterns_:
        assert f"{pattern.support} of 30" in page
        for graph in pattern.graphs[:EXAMPLES]:
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
    assert "graph 0: nodes 93, 30 of them drawn" in page
    assert page.count("</title></circle>") == 3 + 6 * 30  # the pattern and six examples


def test_directions_conditions_and_classes_are_shown(miner, graphs):
    fitted = copy(miner)
    contrast = (ClassContrast("fraud", 3, 4, 5.25, 0.01, 0.02), ClassContrast("<b>usual", 1, 26, 0.19, 0.01, 0.02))
    conditions = ((Condition("amount", 1e4, None),), *((),) * (len(miner.patterns_[0].edges) - 1))
    fitted.patterns_ = [
        replace(miner.patterns_[0], directed=True, contrast=contrast, edge_conditions=conditions, mni=17)
    ]
    page = mining_report(fitted, graphs, "payments")
    assert re.search(r'--v:75%" data-v="0.75">\s*3 of 4 \(75%\)</td><td data-v="5.25">5.2</td><td data-v="0.02">', page)
    assert "fraud (odds ratio 5.2)" in page
    assert "<b>" not in page
    assert "<dt>conditions</dt><dd>amount &gt;= 10,000</dd>" in page
    assert "<dt>edges</dt><dd>directed</dd>" in page
    assert page.count("<polygon") >= len(miner.patterns_[0].edges)
    assert "17 distinct nodes in the rarest position" in page
    assert "minimum image" not in mining_report(miner, graphs, "molecules")


def test_nodes_of_an_occurrence_are_linked_with_the_pattern_and_named(miner, graphs):
    page = mining_report(miner, graphs, "molecules")
    pattern = miner.patterns_[0]
    section = page[page.index('id="s1"') : page.index('id="s2"')]
    drawn, *examples = section.split("<figure>")[1:]
    places = {str(k) for k in range(pattern.size)}
    assert set(re.findall(r'<circle [^>]*data-k="(\d+)"', drawn)) == places
    first = pattern.occurrences[0]
    assert re.findall(r'<li data-k="(\d+)">(\d+)</li>', examples[0]) == [
        (str(k), str(v)) for k, v in enumerate(first.nodes)
    ]
    for example in examples:
        assert set(re.findall(r'<circle [^>]*data-k="(\d+)"', example)) == places


def test_of_one_graph_occurrences_from_first_to_last_are_drawn():
    ring = nx.cycle_graph(200)
    nx.set_node_attributes(ring, {v: "ab"[v % 2] for v in ring}, "label")
    miner = PatternMiner(1, 3, criterion="blocks", n_controls=0).fit([ring])
    page = mining_report(miner, [ring], "ring")
    assert page.count("30 of them drawn") == EXAMPLES
    assert "minimum image" in page
    assert "in 1 graph;" in page


def test_text_from_outside_is_text(miner, graphs):
    fitted = copy(miner)
    hostile = "<script>alert(1)</script>\u202e\x1b[2J"
    fitted.patterns_ = [replace(miner.patterns_[0], contrast=(ClassContrast(hostile, 3, 4, 5.25, 0.01, 0.02),))]
    page = mining_report(fitted, graphs, hostile)
    assert page.count("<script") == 1  # our own
    assert not re.search("[\u202e\x1b]", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u202e\\x1b[2J" in page


def test_real_targets_are_told():
    graphs = [nx.cycle_graph(3 + i % 2) for i in range(40)]
    for graph in graphs:
        nx.set_node_attributes(graph, "a", "label")
    y = [1.5 + i / 100 if i % 2 else 7.25 + i / 100 for i in range(40)]
    miner = PatternMiner(1, 3, criterion="blocks", n_controls=0).fit(graphs, y)
    page = mining_report(miner, graphs, "rings")
    assert "<dt>mean with pattern</dt>" in page
