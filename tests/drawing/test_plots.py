"""What stands in the axes; how it looks was looked at."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

from rwkplus.datasets import anomalous_molecules, load_graphs
from rwkplus.detect import SurpriseDetector, WalkKernelDetector
from rwkplus.drawing import ExplanationDisplay, GraphsDisplay, HiddenGraphsDisplay, PatternDisplay, ScoresDisplay
from rwkplus.drawing.palette import PALETTE, label_colors
from rwkplus.errors import ParameterError
from rwkplus.mining import PatternMiner

pytest.importorskip("matplotlib")


@pytest.fixture
def plt():
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield pyplot
    pyplot.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts + [a for a in ax.artists if hasattr(a, "get_text")]]


def labelled(graph, labels):
    nx.set_node_attributes(graph, dict(zip(graph, labels, strict=True)), "label")
    return graph


@pytest.fixture(scope="module")
def miner():
    return PatternMiner(2, criterion="blocks", n_controls=0).fit(load_graphs("functional-groups"))


@pytest.fixture(scope="module")
def molecules():
    return anomalous_molecules(60, random_state=3).graphs


@pytest.fixture(scope="module")
def detector(molecules):
    return SurpriseDetector().fit(molecules)


def test_nodes_have_the_colors_of_their_labels_and_edges_their_lines(plt):
    from matplotlib.colors import to_hex

    display = GraphsDisplay([labelled(nx.path_graph(3), ["C", "O", "unit"])], ["a path"]).plot()
    ax = display.ax_
    filled = [
        to_hex(patch.get_facecolor()) for patch in ax.patches if type(patch).__name__ in ("Circle", "FancyBboxPatch")
    ]
    assert {color for color in filled if color != "#000000"} >= set(label_colors(["C", "O", "unit"]).values())
    assert sum(type(patch).__name__ == "PathPatch" for patch in ax.patches) == 2
    assert ax.get_title() == "a path"
    assert set(texts(ax)) == {"C", "O", "unit"}
    assert display.figure_ is ax.figure


def test_letters_grow_with_the_axes(plt):
    sizes = []
    for inches in (2, 6):
        ax = plt.figure(figsize=(inches, inches)).add_subplot()
        GraphsDisplay([labelled(nx.path_graph(2), "CO")]).plot(ax)
        ax.figure.canvas.draw()
        sizes.append(
            next(a.get_fontsize() for a in ax.get_children() if hasattr(a, "get_text") and a.get_text() == "C")
        )
    assert sizes[1] / sizes[0] == pytest.approx(3, rel=0.15)


def test_text_is_only_text(plt):
    odd = labelled(nx.path_graph(2), ["$x^2$ \x1b[31m", "a\u202eb"])
    display = GraphsDisplay([odd], ["$\\frac{"]).plot()
    display.figure_.canvas.draw()  # mathematics that is broken would raise
    told = " ".join(texts(display.ax_))
    assert "\\x1b[31m" in told
    assert "\\u202e" in told
    assert "\x1b" not in told


@pytest.mark.parametrize(
    "graph",
    [nx.empty_graph(0), nx.empty_graph(1), nx.MultiDiGraph([(0, 1), (0, 1), (1, 0), (1, 1)]), nx.complete_graph(30)],
)
def test_odd_graphs_can_be_drawn(plt, graph):
    GraphsDisplay([graph]).plot().figure_.canvas.draw()


def test_a_miner_shows_its_patterns(plt, miner):
    display = miner.plot()
    assert len(display.axes_) == len(miner.patterns_) == 2
    assert display.axes_[0].get_title().startswith("6-ring C-C=C-C=C-C=(back)\n200 of 200 graphs")
    ax = display.plot_shares()
    (line,) = ax.lines
    np.testing.assert_allclose(line.get_ydata(), [0, *miner.explained_])


def test_given_axes_are_drawn_into(plt, miner):
    _, axes = plt.subplots(1, 3)
    display = miner.plot(axes)
    assert display.axes_ == list(axes[:2])
    with pytest.raises(ParameterError, match="2 graphs to draw and axes for 1"):
        miner.plot(axes[:1])


def test_shares_by_class(plt):
    graphs = load_graphs("functional-groups")
    miner = PatternMiner(1, criterion="blocks", n_controls=0).fit(graphs, graphs.y)
    ax = PatternDisplay.from_estimator(miner).plot_shares()
    assert [bar.get_width() for bar in ax.patches] == [c.support / c.graphs for c in miner.patterns_[0].contrast]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]


def test_scores_and_their_threshold(plt, detector, molecules):
    display = detector.plot(molecules)
    scores = -detector.score_samples(molecules)
    np.testing.assert_array_equal(display.scores, scores)
    heights = np.array([[bar.get_height() for bar in part] for part in display.ax_.containers]).sum(1)
    assert heights.tolist() == [(scores <= display.threshold).sum(), (scores > display.threshold).sum()]
    assert display.ax_.lines[0].get_xdata()[0] == -detector.offset_


def test_scores_are_read_as_detectors_give_them(plt):
    display = ScoresDisplay.from_predictions([-1.0, -2.0, -9.0], -5.0).plot()
    assert (display.scores.tolist(), display.threshold) == ([1.0, 2.0, 9.0], 5.0)
    with pytest.raises(ParameterError, match="no scores"):
        ScoresDisplay([], 1.0)
    ScoresDisplay([1.0, 1.0], 1.0).plot(display.ax_)


def test_unusual_parts_stand_out(plt, detector, molecules):
    display = ExplanationDisplay.from_estimator(detector, molecules[:20], most=3)
    scores = -detector.score_samples(molecules[:20])
    order = np.argsort(-scores, kind="stable")[:3]
    for i, strength, title in zip(order, display.strengths, display.titles, strict=True):
        (why,) = detector.explain(molecules[[i]])
        assert {v for v, how in strength.items() if how == 1.0} == set(why.nodes)
        assert {v for v, how in strength.items() if how > 0} == set(why.part)
        assert title.startswith(f"graph {i}, score {scores[i]:.3g}")
    assert len(detector.plot_explanations(molecules[:20]).axes_) == 12


def test_hidden_graphs_leave_out_what_nobody_would_see(plt):
    hidden = nx.Graph([(0, 1, {"weight": 1.0}), (1, 2, {"weight": 0.01})])
    display = HiddenGraphsDisplay.from_predictions([hidden]).plot()
    assert display.graphs[0].number_of_edges() == 1
    assert hidden.number_of_edges() == 2
    assert display.titles == ["hidden graph 1"]


def test_graphs_that_the_detector_cannot_read_are_refused(molecules):
    with pytest.raises(ValueError, match="label"):
        ExplanationDisplay.from_estimator(WalkKernelDetector().fit(molecules), [nx.path_graph(2)])


def test_nothing_is_imported_before_something_is_plotted():
    code = "import sys, rwkplus.drawing, rwkplus.mining, rwkplus.detect; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_lines_of_the_curve_are_of_the_palette(plt, miner):
    assert PatternDisplay.from_estimator(miner).plot_shares().lines[0].get_color() == PALETTE[0]
