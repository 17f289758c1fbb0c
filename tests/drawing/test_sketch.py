import re
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest

from rwkplus.drawing import draw, graphs_to_draw, label_colors, needs_legend
from rwkplus.drawing.layout import distance_to_edges
from rwkplus.drawing.palette import ELEMENTS, contrast
from rwkplus.drawing.sketch import BASELINE, FULL, LETTER, LONGEST, SMALLEST, WORDS, WORDY
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


def nodes(drawn):
    """Nodes by what the mouse tells of them: the shape with its look, and the texts in it, from top to bottom."""
    texts = [(text, group) for group in drawn.findall("g[@pointer-events]/g") for text in group]
    found = []
    for group in drawn.findall("g[@class='n']"):
        for shape in group:
            shape.attrib |= group.attrib
            inside = [text for text, look in texts if holds(shape, text, float(look.get("font-size")))]
            found.append((shape.find("title").text, shape, [text.text for text in inside]))
    assert sum(len(lines) for _, _, lines in found) == len(texts)
    return found


def holds(shape, text, size):
    """Whether a text is in the middle of a shape, or above or below it in a frame."""
    ((x, baseline),) = numbers([text], "x", "y")
    y = baseline - BASELINE * size
    if shape.tag == "circle":
        return np.allclose(numbers([shape], "cx", "cy"), (x, y), atol=0.11)
    ((left, top, width, height),) = numbers([shape], "x", "y", "width", "height")
    return np.isclose(left + width / 2, x, atol=0.11) and top + 3 < y < top + height - 3


def circles(drawn):
    return [shape for _, shape, _ in nodes(drawn) if shape.tag == "circle"]


def words(drawn):
    """Texts beside edges."""
    return [text for group in drawn if group.get("paint-order") for text in group.findall("text")]


def ways(drawn):
    """Ends of straight edges and bonds ``(k, 4)``, and numbers of bent ones ``(k, 6)``."""
    paths = [path.get("d") for group in drawn if group.get("fill") == "none" for path in group.iter("path")]
    parts = [[float(x) for x in re.findall(r"-?[\d.]+", part)] for path in paths for part in re.findall("M[^M]*", path)]
    return (np.array([part for part in parts if len(part) == count]).reshape(-1, count) for count in (4, 6))


def box(drawn):
    return [float(number) for number in drawn.get("viewBox").split()]


def bond(label):
    graph = labelled(nx.path_graph(2), ["Q", "Q"])  # no element, lest RDKit draws it
    graph.edges[0, 1].update({} if label is None else {"label": label})
    return picture(graph)


# Nodes


def test_every_node_is_a_circle_with_its_label_in_its_color():
    drawn = picture(labelled(nx.path_graph(4), ["C", "N", "C", "Cl"]))
    assert [lines for _, _, lines in nodes(drawn)] == [["C"], ["C"], ["N"], ["Cl"]]
    assert [shape.get("fill") for shape in circles(drawn)] == [ELEMENTS[label] for label in ("C", "C", "N", "Cl")]


def test_nodes_and_edges_that_look_alike_share_their_look():
    drawn = draw(labelled(nx.path_graph(20), "AB" * 10), label_colors("AB"))
    assert drawn.count(label_colors("AB")["A"]) == 2  # fill and stroke
    assert drawn.count("font-size") <= 2
    assert drawn.count("<path") == 1
    assert len(drawn) < 20 * 140  # 500 graphs of 42 nodes and as many edges are 3 MB


def test_long_names_stand_in_frames_that_hold_them():
    drawn = picture(labelled(nx.path_graph(2), ["Cl", "offshore company"]))
    (_, round_node, _), (_, frame, lines) = nodes(drawn)
    assert (round_node.tag, frame.tag, lines) == ("circle", "rect", ["offshore company"])
    assert float(frame.get("width")) >= LETTER * len(lines[0])
    left, top, width, height = box(drawn)
    ((x, y, wide, high),) = numbers([frame], "x", "y", "width", "height")
    assert left <= x
    assert x + wide <= left + width
    assert top <= y
    assert y + high <= top + height


def test_no_node_at_all_is_an_empty_picture():
    assert nodes(picture(nx.empty_graph(0), title="nothing")) == []


def test_the_same_graph_has_the_same_picture():
    assert len({draw(labelled(nx.cycle_graph(7)), {"C": "#000000"}) for _ in range(3)}) == 1


@pytest.mark.parametrize("seed", range(3))
def test_round_nodes_do_not_overlap_where_many_are_drawn(seed):
    drawn = picture(labelled(nx.random_labeled_rooted_tree(40, seed=seed)))
    places, radius = numbers(circles(drawn), "cx", "cy"), numbers(circles(drawn), "r").max()
    distances = np.hypot(*(places[:, None] - places).T)[~np.eye(40, dtype=bool)]
    assert 2 * radius < distances.min() or radius == SMALLEST


def test_pages_link_nodes_by_keys():
    drawn = draw(labelled(nx.path_graph(2)), label_colors("C"), keys={1: '"<3'})
    assert re.findall('data-k="([^"]*)"', drawn) == ["&quot;&lt;3"]


# Edges


@pytest.mark.parametrize(("label", "lines"), [(None, 1), ("-", 1), (":", 1), ("=", 2), ("#", 3)])
def test_bonds_have_as_many_lines_as_their_order(label, lines):
    drawn = bond(label)
    ends, _ = ways(drawn)
    assert len(ends) == lines
    assert len(np.unique(ends, axis=0)) == lines  # side by side, not on top of each other
    between = numbers(circles(drawn), "cx", "cy").mean(0)
    np.testing.assert_allclose(ends.reshape(lines, 2, 2).mean((0, 1)), between, atol=0.6)  # on either side alike
    assert words(drawn) == []


def test_only_aromatic_bonds_are_dashed():
    assert {label: "dasharray" in ElementTree.tostring(bond(label)).decode() for label in "-=#:"} == {
        "-": False, "=": False, "#": False, ":": True,
    }  # fmt: skip


def test_other_edge_labels_are_written_beside_the_edge():
    drawn = bond("cites")
    assert [text.text for text in words(drawn)] == ["cites"]
    straight, _ = ways(drawn)
    assert abs(float(words(drawn)[0].get("y")) - straight[0, 1]) > 5


def test_edges_of_directed_graphs_have_arrowheads_at_their_end():
    there = labelled(nx.DiGraph([(0, 1)]), "ab")
    assert len(picture(there.to_undirected()).findall(".//polygon")) == 0
    for graph in (there, there.reverse()):
        drawn = picture(graph)
        (head,) = drawn.findall(".//polygon")
        tip = float(head.get("points").split()[0])
        places = {title: float(shape.get("cx")) for title, shape, _ in nodes(drawn)}
        ((start, end),) = [(graph.nodes[u]["label"], graph.nodes[v]["label"]) for u, v in graph.edges]
        assert abs(tip - places[end]) < abs(tip - places[start])


def test_edges_run_around_nodes_of_others():
    graph = labelled(nx.path_graph(3))
    graph.add_edge(0, 2)
    for extra in (3, 4):  # a wheel with a straight line through its hub
        graph.add_edge(1, extra)
    drawn = picture(labelled(nx.compose(graph, nx.star_graph([1, 0, 2, 3, 4]))))
    straight, bent = ways(drawn)
    places, radius = numbers(circles(drawn), "cx", "cy"), numbers(circles(drawn), "r")[0, 0]
    assert len(straight) + len(bent) == 5
    ends = np.concatenate([straight.reshape(-1, 2), places])
    edges = np.arange(2 * len(straight)).reshape(-1, 2)
    far = distance_to_edges(ends, edges)[2 * len(straight) :]
    assert ((far > radius - 1) | (far < 1e9)).all()
    assert (np.sort(far, axis=0)[2:] > radius).all()  # but for its own two, whose rims it touches


def directed(*edges, labels="ab", kind=nx.MultiDiGraph):
    graph = kind()
    graph.add_nodes_from((v, {"label": label}) for v, label in enumerate(labels))
    graph.add_edges_from(edges)
    return graph


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
    straight, bent = ways(drawn)
    places = [*straight.reshape(-1, 2, 2).mean(1), *((bent[:, :2] + 2 * bent[:, 2:4] + bent[:, 4:]) / 4)]
    assert len(places) == count
    apart = np.hypot(*(np.array(places)[:, None] - places).T)[~np.eye(count, dtype=bool)]
    assert apart.min() > 12
    assert len(drawn.findall(".//polygon")) == (count if graph.is_directed() else 0)


def test_an_edge_from_a_node_to_itself_is_a_loop():
    drawn = picture(directed((0, 0, {"label": "again"}), (0, 1, {}), kind=nx.DiGraph))
    (loop,) = [group for group in drawn.iter("g") if "c" in getattr(group.find("path"), "attrib", {}).get("d", "")]
    assert loop.find("title").text == "again"


def test_loops_lie_within_the_picture():
    graph = nx.path_graph(3)
    graph.add_edges_from([(v, v) for v in graph])
    drawn = draw(graph, {})
    _, top, _, _ = map(float, re.search(r'viewBox="([^"]+)"', drawn)[1].split())
    starts = [float(y) for y in re.findall(r"M\S+ (\S+)c-16 -24", drawn)]
    assert len(starts) == 3
    assert top <= min(starts) - 0.75 * 24  # where a curve with both handles at a height of 24 turns


# What stands out


def opacities(drawn):
    return [float(shape.get("fill-opacity", 1)) for _, shape, _ in nodes(drawn)]


def test_nodes_that_are_not_highlighted_are_hollow_and_their_edges_faint():
    graph = labelled(nx.path_graph(3))
    assert opacities(picture(graph, highlighted={0, 1})) == [1, 1, 0.08]
    assert re.findall(
        'opacity="([^"]*)"><path|<g opacity="([^"]*)"', draw(graph, label_colors("C"), highlighted={0, 1})
    )
    assert opacities(picture(graph)) == [1, 1, 1]


def test_nodes_are_as_strong_as_their_number_between_0_and_1():
    drawn = picture(labelled(nx.path_graph(6)), strength={0: -1.0, 1: 0.0, 2: 0.5, 3: FULL, 4: 1.0, 5: 7.0})
    low, same, middle, *full = opacities(drawn)
    assert low == same < middle < 1
    assert full == [1, 1, 1]


def test_labels_can_be_read_on_full_and_hollow_nodes():
    drawn = picture(labelled(nx.path_graph(2), ["S", "S"]), highlighted=[0])
    full, hollow = (group.get("fill") for group in drawn.findall("g[@pointer-events]/g"))
    assert contrast(ELEMENTS["S"], full.replace("#000", "#000000").replace("#fff", "#ffffff")[:7]) > 4.5
    assert hollow == "currentColor"


def test_edges_are_as_strong_and_wide_as_their_weight():
    graph = labelled(nx.Graph([(0, 1, {"weight": 0.125}), (1, 2, {"weight": 0.75})]))
    edges = [group for group in picture(graph).iter("g") if group.get("opacity")]
    assert numbers(edges, "opacity", "stroke-width").tolist() == [[0.125, 1.5], [0.75, 4.0]]
    assert [edge.find("title").text for edge in edges] == ["weight 0.12", "weight 0.75"]


# Words


def test_text_from_outside_cannot_break_out_of_the_picture():
    hostile = """<b a="1" b='2'>&amp;</b>"""
    graph = labelled(nx.path_graph(2), [hostile, "x"])
    graph.edges[0, 1].update(label=hostile, conditions="<script>x</script> < 5")
    graph.nodes[0]["conditions"] = "<i>"
    drawn = picture(graph, title=hostile)
    text = draw(graph, label_colors([hostile, "x"]), title=hostile)
    assert not re.search("<(b|i|script)[ >]", text)
    assert drawn.get("aria-label") == hostile
    cut = hostile[: LONGEST - 1] + "…"
    assert nodes(drawn)[0][2] == [cut, "<i>"]
    assert [text.text for text in words(drawn)] == [cut, "<script>x</script> < 5"]


def test_text_that_would_turn_or_hide_other_text_is_spelled_out():
    graph = labelled(nx.path_graph(2), ["\u202etxt.exe", "\x1b[2J"])
    text = draw(graph, label_colors(["\u202etxt.exe", "\x1b[2J"]), title="\u2066")
    assert not re.search("[\u202e\u2066\x1b]", text)
    assert "\\u202etxt.exe" in text
    assert "\\x1b[2J" in text


def test_in_large_graphs_the_mouse_brings_words_up():
    crowded = labelled(nx.cycle_graph(WORDY + 1), ["merchant"] * (WORDY + 1))
    nx.set_edge_attributes(crowded, "by card", "label")
    nx.set_node_attributes(crowded, {3: "shop 7"}, "name")
    drawn = picture(crowded)
    assert drawn.findall(".//text") == []
    assert [title for title, _, _ in nodes(drawn)][2:4] == ["merchant", "merchant shop 7"]
    assert drawn.find("g/g/title").text == "by card"
    some = picture(crowded, highlighted={2, 3})
    assert [lines for _, _, lines in nodes(some)] == [[]] * (WORDY - 1) + [["merchant"], ["merchant"]]
    assert [text.text for text in words(some)] == ["by card"]


def boxes(drawn):
    """What texts beside edges cover: left, top, right, bottom."""
    covered = []
    for text in words(drawn):
        (x, y), half = (float(text.get(name)) for name in ("x", "y")), LETTER * len(text.text) / 2
        y -= BASELINE * WORDS
        covered.append((x - half, y - 6, x + half, y + 6))
    return np.array(covered).reshape(-1, 4)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("form", [nx.path_graph, nx.cycle_graph, nx.complete_graph])
def test_words_stand_where_nothing_else_does(form, size):
    graph = nx.DiGraph(form(size).edges) if size > 2 else nx.DiGraph([(0, 1)])
    nx.set_node_attributes(graph, "account", "label")
    nx.set_edge_attributes(graph, "wire", "label")
    nx.set_node_attributes(graph, "balance < 0, age >= 18", "conditions")
    nx.set_edge_attributes(graph, "amount >= 10,000", "conditions")
    drawn = picture(graph)
    told = boxes(drawn)
    left, top, width, height = box(drawn)
    assert (told[:, :2] >= (left - 1, top - 1)).all()
    assert (told[:, 2:] <= (left + width + 1, top + height + 1)).all()
    shared = (told[:, None, :2] < told[:, 2:] - 0.2).all(2) & (told[:, :2] < told[:, None, 2:] - 0.2).all(2)
    assert shared.sum() == len(told)  # each with itself
    for x, y, wide, high in numbers([shape for _, shape, _ in nodes(drawn)], "x", "y", "width", "height"):
        assert not ((told[:, :2] < (x + wide, y + high)) & ((x, y) < told[:, 2:])).all(1).any()
    assert [title for title, _, _ in nodes(drawn)] == ["account balance < 0, age >= 18"] * size
    assert nodes(drawn)[0][2] == ["account", "balance < 0", "age >= 18"]
    if size <= 5 and form is not nx.complete_graph:
        assert sum(text.text == "amount >= 10,000" for text in words(drawn)) == graph.number_of_edges()


def test_a_legend_is_for_words():
    assert not needs_legend({"C": "#000", "Cl": "#111"})
    assert needs_legend({"C": "#000", "a <shop>": "#111"})


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
