import re
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest

from rwkplus.drawing import (
    BEYOND,
    ELEMENT_COLORS,
    FADED,
    LONGEST,
    MARGIN,
    PALETTE,
    SIZE,
    USUAL,
    bars,
    curve,
    draw,
    graphs_to_draw,
    histogram,
    label_colors,
    needs_legend,
)  # fmt: skip
from rwkplus.table import GraphTable, Reader


def labelled(graph, labels=None):
    nx.set_node_attributes(graph, dict(zip(graph, labels or "C" * len(graph), strict=True)), "label")
    return graph


def picture(graph, **options):
    """The picture as a tree: only well-formed ones can be read."""
    labels = {str(label) for _, label in graph.nodes(data="label")}
    return ElementTree.fromstring(draw(graph, label_colors(labels), **options))


def numbers(elements, *fields):
    return np.array([[float(element.get(field)) for field in fields] for element in elements])


def bond(label):
    graph = labelled(nx.path_graph(2))
    graph.edges[0, 1].update({} if label is None else {"label": label})
    return picture(graph)


# Nodes


def test_every_node_is_a_circle_with_its_label_in_its_color():
    drawn = picture(labelled(nx.path_graph(4), ["C", "N", "C", "Cl"]))
    circles, texts = drawn.findall("circle"), drawn.findall("text")
    assert [text.text for text in texts] == ["C", "N", "C", "Cl"]
    assert [circle.get("fill") for circle in circles] == [ELEMENT_COLORS[text.text] for text in texts]
    np.testing.assert_array_equal(numbers(circles, "cx", "cy"), numbers(texts, "x", "y"))


@pytest.mark.parametrize(
    "graph",
    [nx.path_graph(9), nx.cycle_graph(5), nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(4)), nx.empty_graph(3),
     nx.disjoint_union_all([nx.star_graph(3)] * 8)],
    ids=["path", "ring", "two parts", "isolated", "eight parts"],
)  # fmt: skip
def test_nodes_lie_apart_from_each_other_and_fill_the_picture(graph):
    places = numbers(picture(labelled(graph)).findall("circle"), "cx", "cy")
    assert places.min() == pytest.approx(MARGIN, abs=0.1)
    assert places.max() == pytest.approx(SIZE - MARGIN, abs=0.1)
    distances = np.hypot(*(places[:, None] - places).T)
    assert distances[~np.eye(len(graph), dtype=bool)].min() > 10


def test_a_single_node_lies_in_the_middle():
    circles = picture(labelled(nx.empty_graph(1))).findall("circle")
    assert numbers(circles, "cx", "cy").tolist() == [[SIZE / 2, SIZE / 2]]


def test_no_node_at_all_is_an_empty_picture():
    assert list(picture(nx.empty_graph(0), title="nothing")) == []


def test_many_nodes_are_drawn_smaller():
    few, many = (numbers(picture(labelled(nx.path_graph(n))).findall("circle"), "r") for n in (15, 16))
    assert many.max() < few.min()


def test_the_same_graph_has_the_same_picture():
    assert len({draw(labelled(nx.cycle_graph(7)), {"C": "#000"}) for _ in range(3)}) == 1


# Edges


@pytest.mark.parametrize(("label", "lines"), [(None, 1), ("-", 1), (":", 1), ("=", 2), ("#", 3)])
def test_bonds_have_as_many_lines_as_their_order(label, lines):
    drawn = bond(label)
    ends = numbers(drawn.findall("line"), "x1", "y1", "x2", "y2")
    assert len(ends) == lines
    assert len(np.unique(ends, axis=0)) == lines  # side by side, not on top of each other
    nodes = numbers(drawn.findall("circle"), "cx", "cy").ravel()
    np.testing.assert_allclose(ends.mean(0), nodes, atol=0.1)  # on either side alike
    assert len(drawn.findall("text")) == 2  # bonds are not written beside


def test_only_aromatic_bonds_are_dashed():
    dashed = {label: bond(label).find("line").get("stroke-dasharray") is not None for label in ("-", "=", "#", ":")}
    assert dashed == {"-": False, "=": False, "#": False, ":": True}


def test_other_edge_labels_are_written_beside_the_edge():
    drawn = bond("cites")
    assert len(drawn.findall("line")) == 1
    assert [text.text for text in drawn.findall("text")] == ["cites", "C", "C"]


# What stands out


def test_nodes_that_are_not_highlighted_fade_with_their_edges():
    drawn = picture(labelled(nx.path_graph(3)), highlighted={0, 1})
    assert numbers(drawn.findall("circle"), "opacity").ravel().tolist() == [1, 1, FADED]
    assert numbers(drawn.findall("line"), "opacity").ravel().tolist() == [1, FADED]


def test_nodes_are_as_strong_as_their_number_between_0_and_1():
    drawn = picture(labelled(nx.path_graph(5)), strength={0: -1.0, 1: 0.0, 2: 0.5, 3: 1.0, 4: 7.0})
    expected = [FADED, FADED, (1 + FADED) / 2, 1, 1]
    assert numbers(drawn.findall("circle"), "opacity").ravel().tolist() == pytest.approx(expected)


def test_labels_stay_readable_on_faded_nodes():
    drawn = picture(labelled(nx.path_graph(2)), highlighted=())
    assert numbers(drawn.findall("text"), "opacity").min() > numbers(drawn.findall("circle"), "opacity").max()


def test_edges_are_as_strong_as_their_weight():
    graph = labelled(nx.Graph([(0, 1, {"weight": 0.125}), (1, 2, {"weight": 0.75})]))
    assert numbers(picture(graph).findall("line"), "opacity").ravel().tolist() == [0.125, 0.75]
    assert numbers(picture(graph, highlighted={0}).findall("line"), "opacity").ravel().tolist() == [0.125, FADED]


# Text from outside


def test_labels_and_titles_cannot_break_out_of_the_picture():
    hostile = """<b a="1" b='2'>&amp;</b>"""
    graph = labelled(nx.path_graph(2), [hostile, "x"])
    graph.edges[0, 1]["label"] = hostile
    drawn = picture(graph, title=hostile)
    assert "<b" not in draw(graph, label_colors([hostile, "x"]), title=hostile)
    assert drawn.get("aria-label") == hostile
    cut = hostile[: LONGEST - 1] + "…"
    assert [text.text for text in drawn.findall("text")] == [cut, cut, "x"]


def test_long_names_stand_below_their_nodes():
    drawn = picture(labelled(nx.path_graph(2), ["Cl", "merchant"]))
    nodes, names = drawn.findall("circle"), drawn.findall("text")
    below = numbers(names, "y")[:, 0] - numbers(nodes, "cy")[:, 0]
    assert below.tolist() == [0, float(nodes[1].get("r"))]


def test_words_need_room_and_come_up_under_the_mouse_without():
    words = ["merchant"] * 12
    crowded = labelled(nx.cycle_graph(12), words)
    nx.set_edge_attributes(crowded, "by card", "label")
    nx.set_node_attributes(crowded, {3: "shop 7"}, "name")
    drawn = picture(crowded)
    assert drawn.findall("text") == []
    assert [circle.find("title").text for circle in drawn.findall("circle")][2:4] == ["merchant", "merchant shop 7"]
    assert drawn.find("line").find("title").text == "by card"
    spacious = picture(labelled(nx.path_graph(2), ["merchant"] * 2))
    assert [text.text for text in spacious.findall("text")] == ["merchant"] * 2


def test_nodes_do_not_overlap_where_many_are_drawn():
    drawn = picture(labelled(nx.random_labeled_rooted_tree(40, seed=0))).findall("circle")
    places, radius = numbers(drawn, "cx", "cy"), numbers(drawn, "r").max()
    distances = np.hypot(*(places[:, None] - places).T)[~np.eye(40, dtype=bool)]
    assert 2 * radius < distances.min() or radius == 4


def test_a_legend_is_for_words():
    assert not needs_legend({"C": "#000", "Cl": "#111"})
    assert needs_legend({"C": "#000", "a <shop>": "#111"})


def test_rings_are_not_crossed():
    ring = nx.Graph()
    ring.add_nodes_from([0, 3, 1, 5, 2, 4])
    nx.add_cycle(ring, range(6))
    places = numbers(picture(labelled(ring)).findall("circle"), "cx", "cy")[np.argsort(list(ring))]
    (x, y), (later_x, later_y) = (np.roll(places, -k - 1, 0).T - np.roll(places, -k, 0).T for k in (0, 1))
    turns = x * later_y - y * later_x
    assert (turns > 0).all() or (turns < 0).all()  # a convex hexagon


# Colors of labels


def test_elements_have_the_colors_of_chemists_unless_another_label_is_among_them():
    assert label_colors(["O", "C", "O"]) == {"C": ELEMENT_COLORS["C"], "O": ELEMENT_COLORS["O"]}
    assert label_colors(["O", "C", "author"]) == dict(zip(["C", "O", "author"], PALETTE, strict=False))


def test_labels_have_different_colors_while_there_are_some():
    labels = [f"label {i:02}" for i in range(len(PALETTE) + 2)]
    colors = label_colors(labels[::-1])
    assert [colors[label] for label in labels] == [*PALETTE, *PALETTE[:2]]
    assert label_colors(labels) == colors


# Curves


def line(drawn):
    return np.array([point.split(",") for point in drawn.find("polyline").get("points").split()], dtype=float)


def test_a_curve_begins_at_zero_and_has_a_dot_per_value():
    drawn = ElementTree.fromstring(curve([1.0, 4.0, 2.0]))
    x, y = line(drawn).T
    np.testing.assert_allclose(np.diff(x), np.diff(x)[0], atol=0.1)
    np.testing.assert_allclose((y[0] - y) / (y[0] - y[2]), [0, 0.25, 1, 0.5], atol=1e-3)
    assert np.array_equal(numbers(drawn.findall("circle"), "cx", "cy"), line(drawn))
    assert [text.text for text in drawn.findall("text")] == ["0", "2", "4", "0", "1", "2", "3"]


def test_the_upper_end_of_a_curve_may_be_given():
    drawn = ElementTree.fromstring(curve([0.5], top=1.0, percent=True))
    assert [text.text for text in drawn.findall("text")][:3] == ["0%", "50%", "100%"]
    middle = numbers(drawn.findall("line"), "y1")[1]
    assert line(drawn)[1, 1] == pytest.approx(middle)


def test_a_long_curve_needs_no_dots():
    drawn = ElementTree.fromstring(curve(np.linspace(0, 1, 200).tolist(), dots=False))
    assert drawn.findall("circle") == []
    assert len(line(drawn)) == 201
    assert [text.text for text in drawn.findall("text")][3:] == ["200"]


@pytest.mark.parametrize("values", [[], [0.0, 0.0]])
def test_a_curve_of_nothing_lies_on_the_floor(values):
    points = line(ElementTree.fromstring(curve(values)))
    assert len(points) == len(values) + 1
    assert len(set(points[:, 1])) == 1


def test_edges_of_directed_graphs_have_arrowheads():
    there = nx.DiGraph([(0, 1)])
    nx.set_node_attributes(there, "a", "label")
    back = there.reverse()
    assert draw(there.to_undirected(), COLORS_OF_A).count("<polygon") == 0
    assert draw(there, COLORS_OF_A).count("<polygon") == 1
    assert draw(there, COLORS_OF_A) != draw(back, COLORS_OF_A)


COLORS_OF_A = {"a": "#000"}


def box(svg):
    return [float(number) for number in re.search(r'viewBox="([^"]+)"', svg)[1].split()]


def test_long_names_of_outer_nodes_fit_into_the_picture():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: "offshore company", 1: "C"}, "label")
    svg = draw(graph, label_colors(["offshore company", "C"]))
    left, _, width, _ = box(svg)
    x = float(re.search(r'<text x="([^"]+)"[^>]*>offshore company', svg)[1])
    assert left <= x - 35
    assert x + 35 <= left + width
    nx.set_node_attributes(graph, "C", "label")
    assert box(draw(graph, label_colors("C"))) == [0, 0, 200, 200]


def test_words_that_are_wider_than_their_edge_come_up_under_the_mouse():
    graph = nx.cycle_graph(7)
    nx.set_node_attributes(graph, "C", "label")
    for word, written in (("pays", True), ("transfers by wire and cheque", False)):
        nx.set_edge_attributes(graph, word, "label")
        svg = draw(graph, label_colors("C"))
        assert f"<title>{word}</title>" in svg
        assert (f">{word[:15]}" in svg.replace("<title>" + word, "")) == written


# Several edges between the same nodes, and conditions


def directed(*edges, labels="ab", kind=nx.MultiDiGraph):
    graph = kind()
    graph.add_nodes_from((v, {"label": label}) for v, label in enumerate(labels))
    graph.add_edges_from(edges)
    return graph


def middles(drawn):
    """Where bent edges are between their ends."""
    curves = [[float(x) for x in re.findall(r"-?[\d.]+", path.get("d"))] for path in drawn.findall("path")]
    return np.array([(np.array(c[:2]) + 2 * np.array(c[2:4]) + np.array(c[4:])) / 4 for c in curves])


@pytest.mark.parametrize(
    ("graph", "count"),
    [
        (directed((0, 1, {}), (1, 0, {}), kind=nx.DiGraph), 2),
        (directed((0, 1, {"label": "x"}), (0, 1, {"label": "y"}), (1, 0, {"label": "x"})), 3),
        (directed((0, 1, {"label": "x"}), (0, 1, {"label": "y"}), kind=nx.MultiGraph), 2),
    ],
)
def test_edges_between_the_same_nodes_run_beside_each_other(graph, count):
    drawn = picture(graph)
    curves, lines = middles(drawn), numbers(drawn.findall("line"), "x1", "y1", "x2", "y2")
    straight = lines.reshape(-1, 2, 2).mean(1)
    places = np.concatenate([curves, straight])
    assert len(places) == count
    apart = np.hypot(*(places[:, None] - places).T)[~np.eye(count, dtype=bool)]
    assert apart.min() > 15
    assert len(drawn.findall("polygon")) == (count if graph.is_directed() else 0)


def test_edges_of_different_nodes_are_straight():
    drawn = picture(directed((0, 1, {}), (1, 2, {}), (2, 0, {}), labels="abc"))
    assert drawn.findall("path") == []
    assert len(drawn.findall("line")) == 3


def boxes(drawn):
    """About what texts cover: left, top, right, bottom."""
    covered = []
    for text in drawn.findall("text"):
        x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
        y += {".35em": 0.0, "1em": 0.65}[text.get("dy")] * size
        half = 0.25 * size * len(text.text)
        covered.append((x - half, y - size / 2, x + half, y + size / 2))
    return np.array(covered)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("form", [nx.path_graph, nx.cycle_graph, nx.complete_graph])
def test_conditions_stand_where_nothing_else_does(form, size):
    graph = nx.DiGraph(form(size).edges) if size > 2 else nx.DiGraph([(0, 1)])
    nx.set_node_attributes(graph, "account", "label")
    nx.set_edge_attributes(graph, "wire", "label")
    nx.set_node_attributes(graph, "balance < 0, age >= 18", "conditions")
    nx.set_edge_attributes(graph, "amount >= 10,000", "conditions")
    drawn = picture(graph)
    told = boxes(drawn)
    left, top, width, height = box(ElementTree.tostring(drawn).decode())
    assert (told[:, :2] >= (left - 1, top - 1)).all()
    assert (told[:, 2:] <= (left + width + 1, top + height + 1)).all()
    shared = (told[:, None, :2] < told[:, 2:]).all(2) & (told[:, :2] < told[:, None, 2:]).all(2)
    assert shared.sum() == len(told)  # each with itself
    for x, y in numbers(drawn.findall("circle"), "cx", "cy"):
        assert not ((told[:, :2] < (x, y)) & ((x, y) < told[:, 2:])).all(1).any()
    hints = [circle.find("title").text for circle in drawn.findall("circle")]
    assert hints == ["account balance < 0, age >= 18"] * size
    if size <= 4 and form is nx.cycle_graph:
        assert sum(text.text == "amount >= 10,000" for text in drawn.findall("text")) == graph.number_of_edges()


def test_conditions_cannot_break_out_of_the_picture():
    hostile = "<script>x</script> < 5"
    graph = directed((0, 1, {"conditions": hostile}))
    graph.nodes[0]["conditions"] = hostile
    assert [text.text for text in picture(graph).findall("text")].count(hostile) == 2
    assert "<script" not in draw(graph, label_colors("ab"))


# Shares


def test_shares_are_bars_beside_their_names():
    drawn = ElementTree.fromstring(bars({"<fraud>": 0.5, "usual": 0.25}))
    assert [text.text for text in drawn.findall("text")] == ["<fraud>", "50%", "usual", "25%"]
    whole, half, _, quarter = numbers(drawn.findall("rect"), "width").ravel()
    assert half == pytest.approx(whole / 2, abs=0.1)
    assert quarter == pytest.approx(whole / 4, abs=0.1)


# Histograms


def bars_of(picture, color):
    return [bar for bar in ElementTree.fromstring(picture).findall("rect") if bar.get("fill") == color]


def heights(picture, color):
    return [float(bar.get("height")) for bar in bars_of(picture, color)]


def test_bars_add_up_and_are_red_beyond_the_threshold():
    picture = histogram([0.0, 0.1, 0.2, 5.0], 1.0, bins=10)
    (usual,), (beyond,) = heights(picture, USUAL), heights(picture, BEYOND)
    assert usual == pytest.approx(3 * beyond, abs=0.2)


def test_values_at_the_threshold_are_usual():
    assert len(bars_of(histogram([2.0, 2.0], 2.0), USUAL)) == 1
    assert bars_of(histogram([2.0, 2.0], 2.0), BEYOND) == []


def test_within_one_bar_red_stands_on_gray():
    picture = histogram([0.0, 0.9, 1.1, 2.0], 1.0, bins=1)
    (usual,), (beyond,) = bars_of(picture, USUAL), bars_of(picture, BEYOND)
    assert float(beyond.get("y")) + float(beyond.get("height")) == pytest.approx(float(usual.get("y")))
    assert usual.get("x") == beyond.get("x")


@pytest.mark.parametrize(("threshold", "ends"), [(1.0, ["0", "5"]), (-3.0, ["-3", "5"]), (8.0, ["0", "8"])])
def test_the_axis_reaches_over_all_values_and_the_threshold(threshold, ends):
    texts = [text.text for text in ElementTree.fromstring(histogram([0.0, 0.1, 5.0], threshold, bins=10)).iter("text")]
    assert texts == [f"threshold {threshold:.3g}", texts[1], *ends]
    assert texts[1] == "2"  # graphs in the highest bar


# Graphs to draw


def seen(*edges, kind=nx.MultiDiGraph):
    """A graph as people look at it."""
    graph = kind()
    graph.add_nodes_from([("a", {"label": "shop"}), ("b", {"label": "customer"})])
    graph.add_edges_from((u, v, {} if label is None else {"label": label}) for u, v, label in edges)
    table = GraphTable.of([graph])
    return graphs_to_draw(Reader.fit(table).labelled(table))[0]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["card"], "card"),
        (["cash", "card"], "card, cash"),
        (["cash", "card", "cash"], "card, cash (2)"),
        ([None], None),
        ([None, None], "2 edges"),
    ],
)
def test_several_edges_are_one_with_all_their_labels(labels, words):
    graph = seen(*(("a", "b", label) for label in labels))
    assert list(graph.edges(data="label")) == [("a", "b", words)]
    assert graph.is_directed()
    assert dict(graph.nodes(data="label")) == {"a": "shop", "b": "customer"}
    assert dict(graph.nodes(data="name")) == {"a": "a", "b": "b"}


def test_edges_both_ways_are_undirected_if_they_are_alike():
    assert not seen(("a", "b", "card"), ("a", "b", "cash"), kind=nx.MultiGraph).is_directed()
    assert not seen(("a", "b", "card"), ("b", "a", "card")).is_directed()
    assert seen(("a", "b", "card"), ("b", "a", "card"), ("b", "a", "card")).is_directed()
    assert seen(("a", "b", "card"), ("b", "a", "cash")).is_directed()


def test_edges_met_from_either_end_are_one():
    graph = seen(("a", "b", "card"), ("b", "a", "cash"), kind=nx.MultiGraph)
    assert list(graph.edges(data="label")) == [("a", "b", "card, cash")]
