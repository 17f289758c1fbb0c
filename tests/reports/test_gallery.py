import html
import re
from time import process_time

import networkx as nx
import numpy as np
import pytest

from rwkplus.datasets import payment_cases
from rwkplus.errors import DataError
from rwkplus.mining import PatternMiner
from rwkplus.reports.gallery import ROWS, SHOW, Gallery, Score
from rwkplus.table import GraphTable, Numbers

MOLECULES = GraphTable.of(["CCO", "CN", "CCCC", "OCC=O", "N"]).with_targets(["a", "b", "a", None, "b"])


@pytest.fixture
def gallery():
    scores = [Score(float(k), k >= 3) for k in (2, 1, 4, 3, 0)]
    return Gallery(MOLECULES, "molecules", scores=scores)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"min": "3"}, [0, 2, 3]),
        ({"min": "2", "max": "3"}, [0, 1]),
        ({"label": "n-2"}, [0, 3]),  # O
        ({"label": "e-1"}, [3]),  # =
        ({"label": "n-1", "min": "2"}, [1]),
        ({"class": "a"}, [0, 2]),
        ({"score": "2"}, [0, 2, 3]),
        ({"flagged": "1"}, [2, 3]),
        ({"sort": "score"}, [2, 3, 0, 1, 4]),
        ({"sort": "largest"}, [2, 3, 0, 1, 4]),
        ({"sort": "smallest", "max": "3"}, [4, 1, 0]),
        ({"id": "3"}, [3]),
        ({"pattern": "1"}, []),
        ({"label": "n-99"}, []),
        ({"label": "<b>"}, []),
        ({"sort": "nonsense", "unknown": "x"}, [0, 1, 2, 3, 4]),
    ],
)
def test_graphs_are_found_by_what_is_asked_for(gallery, asked, expected):
    assert gallery.found(asked).tolist() == expected


@pytest.mark.parametrize("asked", [{"min": "many"}, {"score": "nan"}, {"page": "1e999"}, {"pattern": "x"}])
def test_what_is_no_number_is_told(gallery, asked):
    with pytest.raises(DataError, match="must be a number, got"):
        gallery.page(asked)


def test_graphs_are_found_by_pattern_and_drawn_with_it():
    payments = payment_cases(40)
    miner = PatternMiner(2, 3, criterion="blocks", n_controls=0).fit(payments)
    gallery = Gallery(payments, "payments", miner.patterns_)
    assert gallery.found({"pattern": "1"}).tolist() == list(miner.patterns_[0].graphs)
    page = gallery.page({"pattern": "1"})
    assert "fill-opacity" in page  # what is not of the pattern recedes
    assert html.escape(f"1. {miner.patterns_[0].short_name}") in page.replace("&#39;", "&#x27;")


def test_pages_follow_each_other():
    gallery = Gallery(GraphTable.of(["CO"] * 60), "molecules")
    first, second, last = (gallery.page({"min": "1", "page": number}) for number in ("1", "2", "99"))
    assert [page.count("<figure>") for page in (first, second, last)] == [SHOW[0], SHOW[0], 60 - 2 * SHOW[0]]
    links = {text: address for address, text in re.findall(r'<a href="([^"]*)">(first|previous|next|last)</a>', second)}
    assert links == {"first": "?min=1&amp;page=1", "previous": "?min=1&amp;page=1",
                     "next": "?min=1&amp;page=3", "last": "?min=1&amp;page=3"}  # fmt: skip
    assert "page 2 of 3" in second
    assert ">next<" not in last
    assert gallery.page({"show": "500"}).count("<figure>") == 60


def test_nothing_found_is_told(gallery):
    assert "0 of 5 graphs: no graph meets all conditions" in gallery.page({"min": "1000"})


def test_the_form_keeps_what_was_asked_for(gallery):
    page = gallery.page({"label": "n-2", "min": "2", "id": '"><script>'})
    assert '<option value="n-2" selected>O</option>' in page
    assert 'name="min" type="number" value="2"' in page
    assert 'value="&#34;&gt;&lt;script&gt;"' in page
    assert '<option value="e-1">edge: =</option>' in page


def test_one_graph_is_told_in_full():
    graph = nx.DiGraph([("ann", "<bob>", {"how": "card", "amount": 12.5})])
    nx.set_node_attributes(graph, "person", "kind")
    nx.set_node_attributes(graph, {"ann": 3.0, "<bob>": float("nan")}, "age")
    page = Gallery(
        GraphTable.of([graph, graph]), "payments", scores=[Score(1.5, True, ("ann",)), Score(0.5, False)]
    ).graph(0)
    assert '<td class="words" data-k="0">ann</td><td class="words" data-k="1">&lt;bob&gt;</td>' in page
    assert '<td data-v="12.5">12.5</td>' in page
    assert "<dt>score</dt><dd>1.5</dd><dt>flagged</dt><dd>yes</dd>" in page
    assert set(re.findall(r'<(?:circle|rect) [^>]*data-k="(\d)"', page)) == {"0", "1"}
    assert 'href="/graph/1">next' in page
    assert ">previous<" not in page


def test_of_a_large_graph_the_first_rows_are_listed():
    page = Gallery(GraphTable.of([nx.path_graph(ROWS + 7)]), "path").graph(0)
    assert f"The first {ROWS} nodes and edges are listed." in page
    assert page.count('<td class="words" data-k="') == ROWS * 3
    assert f"{ROWS + 7}, 30 of them drawn" in page


def test_what_does_not_fit_the_graphs_is_refused():
    with pytest.raises(DataError, match="scores of 2 graphs, but molecules has 5"):
        Gallery(MOLECULES, "molecules", scores=[Score(1.0, False)] * 2)


@pytest.mark.parametrize(
    "table",
    [
        GraphTable.of([nx.path_graph(3)]),
        GraphTable.of([nx.path_graph(3)]).with_columns(
            nodes={"x": Numbers(np.eye(3))}, edges={"w": Numbers(np.ones(2))}
        ),
        GraphTable.of([nx.empty_graph(0), nx.empty_graph(2)]),
        GraphTable.of(["C"])[:0],
    ],
    ids=["nothing", "numbers", "no edges", "no graphs"],
)
def test_graphs_of_any_kind_can_be_looked_at(table):
    gallery = Gallery(table, "graphs")
    assert gallery.page({}).count("<figure>") == len(table)
    assert all(f"Graph {i}" in gallery.graph(i) for i in range(len(table)))


def test_ten_thousand_graphs_are_as_quick_as_ten():
    """A page draws what it shows; filters are a pass over arrays."""
    table = GraphTable.of([f"{'C' * (1 + k % 20)}O" for k in range(10_000)])
    gallery = Gallery(table, "molecules")
    gallery.page({})
    begin = process_time()
    page = gallery.page({"label": "n-1", "min": "5", "sort": "largest", "page": "300", "id": "9"})
    assert process_time() - begin < 2
    assert page.count("<figure>") > 0


def test_a_graph_without_a_class_leaves_any_class_chosen(gallery):
    choice = next(part for part in gallery.form({}) if part.name == "class")
    assert [value for value, _ in choice.options] == ["a", "b"]
