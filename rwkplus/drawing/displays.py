"""What estimators found, as plots: display objects in the manner of scikit-learn, for given axes or new ones.

Nothing here imports matplotlib until something is plotted (extra: ``plot``).
"""

from collections.abc import Sequence
from typing import Any, Self

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from rwkplus.drawing.palette import label_colors
from rwkplus.errors import ParameterError
from rwkplus.types import check_integer

SHOWN = 12
"""Graphs of a panel, unless the user wants more."""


class GraphsDisplay:
    """Several graphs beside one another, each label in one color.

    Args:
        graphs: Graphs of networkx whose nodes carry ``label``.
        titles: Of each graph.
        strengths: How much each node of each graph stands out, between 0 and 1.

    Attributes:
        axes_: Axes of each graph, once plotted.
        ax_: The first of them.
        figure_: Their figure.

    Example:
        >>> ring = nx.cycle_graph(4)
        >>> nx.set_node_attributes(ring, {0: "N", 1: "C", 2: "C", 3: "C"}, "label")
        >>> display = GraphsDisplay([ring], ["a ring"])
        >>> len(display.graphs)
        1
    """

    def __init__(
        self,
        graphs: Sequence[nx.Graph],
        titles: Sequence[str] = (),
        strengths: Sequence[dict[Any, float] | None] = (),
    ) -> None:
        self.graphs = list(graphs)
        self.titles = list(titles) or [""] * len(self.graphs)
        self.strengths = list(strengths) or [None] * len(self.graphs)

    def plot(self, axes: Any = None, *, columns: int = 4) -> Self:  # noqa: ANN401
        """Draw every graph.

        Args:
            axes: Axes for each graph, in an array or a list, or a single one; by default those of a new figure.
            columns: Graphs beside one another in a new figure.
        """
        from rwkplus.drawing.plots import new_axes, plot_graph

        check_integer("columns", columns, 1)
        own = new_axes(len(self.graphs), columns) if axes is None else list(np.ravel(np.asarray(axes, dtype=object)))
        if len(own) < len(self.graphs) or not own:
            raise ParameterError(f"there are {len(self.graphs)} graphs to draw and axes for {len(own)} of them.")
        colors = label_colors(str(label or "") for graph in self.graphs for _, label in graph.nodes(data="label"))
        for graph, title, strength, ax in zip(self.graphs, self.titles, self.strengths, own, strict=False):
            plot_graph(graph, colors, ax, strength=strength, title=title)
        self.axes_, self.ax_, self.figure_ = own[: len(self.graphs)], own[0], own[0].figure
        return self


class PatternDisplay(GraphsDisplay):
    r"""The patterns that a miner found, beside one another.

    Args:
        patterns: Patterns, such as ``patterns_`` of a miner.
        explained: Share of all edges that the first 1, 2, ... of them cover.

    Example:
        >>> from rwkplus.datasets import load_graphs
        >>> from rwkplus.mining import PatternMiner
        >>> miner = PatternMiner(1, criterion="blocks", n_controls=0).fit(load_graphs("functional-groups"))
        >>> PatternDisplay.from_estimator(miner).titles
        ['6-ring C-C=C-C=C-C=(back)\n200 of 200 graphs']
    """

    def __init__(self, patterns: Sequence[Any], explained: ArrayLike = ()) -> None:
        self.patterns = list(patterns)
        self.explained = np.asarray(explained, dtype=float)
        super().__init__([p.drawn() for p in self.patterns], [_caption(p) for p in self.patterns])

    @classmethod
    def from_estimator(cls, miner: Any, *, most: int = SHOWN) -> Self:  # noqa: ANN401
        """Of a fitted miner; of more than ``most`` patterns the first."""
        check_integer("most", most, 1)
        if not miner.patterns_:
            raise ParameterError("the miner found no patterns, so there is nothing to draw.")
        return cls(miner.patterns_[:most], miner.explained_)

    def plot_shares(self, ax: Any = None) -> Any:  # noqa: ANN401
        """Draw what the patterns tell: the share of edges they explain or, by class, of graphs that have them.

        Args:
            ax: Axes to draw into; by default those of a new figure.

        Returns:
            The axes.
        """
        from rwkplus.drawing.plots import plot_bars, plot_shares

        if any(pattern.contrast for pattern in self.patterns):
            shares = {
                f"{k}. {pattern.short_name}": {c.name: c.support / max(c.graphs, 1) for c in pattern.contrast}
                for k, pattern in enumerate(self.patterns, start=1)
            }
            return plot_bars(shares, ax, "share of the graphs of a class that have it")
        return plot_shares(self.explained.tolist(), ax, "edges explained by the first patterns")


def _caption(pattern: Any) -> str:  # noqa: ANN401
    support = f"minimum image {pattern.mni:,}" if pattern.mni is not None else ""
    return f"{pattern.short_name}\n{support or f'{pattern.support:,} of {pattern.num_graphs:,} graphs'}"


class ScoresDisplay:
    """How anomalous graphs are: a histogram of scores, and the threshold from which on a graph is flagged.

    Args:
        scores: A number for every graph; the higher, the more anomalous.
        threshold: Graphs above it are flagged.

    Attributes:
        ax_: The axes, once plotted.
        figure_: Their figure.
    """

    def __init__(self, scores: ArrayLike, threshold: float) -> None:
        self.scores = np.asarray(scores, dtype=float).ravel()
        self.threshold = float(threshold)
        if not self.scores.size:
            raise ParameterError("there are no scores to draw: give those of at least one graph.")

    @classmethod
    def from_predictions(cls, scores: ArrayLike, threshold: float) -> Self:
        """Of scores as detectors return them: the *lower*, the more anomalous, with ``offset_`` as threshold.

        >>> ScoresDisplay.from_predictions([-3.0, -0.5], -1.0).threshold
        1.0
        """
        return cls(0.0 - np.asarray(scores, dtype=float), 0.0 - threshold)

    @classmethod
    def from_estimator(cls, detector: Any, X: Any) -> Self:  # noqa: ANN401
        """Of a fitted detector and graphs."""
        return cls.from_predictions(detector.score_samples(X), detector.offset_)

    def plot(self, ax: Any = None, *, bins: int = 40) -> Self:  # noqa: ANN401
        """Draw the histogram; the numbers of graphs on a scale in which single ones can be seen."""
        from rwkplus.drawing.plots import plot_scores

        check_integer("bins", bins, 1)
        self.ax_ = plot_scores(self.scores, self.threshold, ax, bins)
        self.figure_ = self.ax_.figure
        return self


class ExplanationDisplay(GraphsDisplay):
    """Graphs with what a detector finds unusual in them: these nodes in full, their neighbors half, the rest faint.

    Example:
        >>> from rwkplus.detect import SurpriseDetector
        >>> detector = SurpriseDetector().fit(["CCCC", "CCC", "CCCCC"] * 9)
        >>> display = ExplanationDisplay.from_estimator(detector, ["CCOC"])
        >>> display.strengths[0][2]
        1.0
    """

    @classmethod
    def from_estimator(cls, detector: Any, X: Any, *, most: int = SHOWN) -> Self:  # noqa: ANN401
        """Of a fitted detector and graphs: the most anomalous ``most`` of them, the first first."""
        from rwkplus.table import GraphTable

        check_integer("most", most, 1)
        table = GraphTable.of(X)
        scores = 0.0 - detector.score_samples(table)
        chosen = np.argsort(-scores, kind="stable")[:most]
        graphs = detector.labelled(table[chosen])
        strengths = [
            {v: why.strength.get(v, 0.0) for v in graph}
            for graph, why in zip(graphs, detector.explain(table[chosen]), strict=True)
        ]
        table = table.with_names()
        titles = [f"graph {table.graph_id(int(i))}, score {scores[i]:.3g}" for i in chosen]
        return cls(graphs, titles, strengths)


class HiddenGraphsDisplay(GraphsDisplay):
    """Hidden graphs of a trained network: nodes with the label they respond to most, edges as strong as learned.

    Example:
        >>> import networkx as nx
        >>> hidden = nx.Graph([(0, 1, {"weight": 0.9}), (1, 2, {"weight": 0.01})])
        >>> HiddenGraphsDisplay.from_predictions([hidden]).graphs[0].number_of_edges()  # without what nobody sees
        1
    """

    @classmethod
    def from_predictions(cls, hidden: Sequence[nx.Graph]) -> Self:
        """Of hidden graphs, such as those of :class:`rwkplus.training.HiddenGraphMatches`."""
        return cls([_without_weak(graph) for graph in hidden], [f"hidden graph {k + 1}" for k in range(len(hidden))])


def _without_weak(graph: nx.Graph) -> nx.Graph:
    """The graph without edges that would not be seen."""
    strong = graph.copy()
    weights = graph.edges(data="weight")
    strong.remove_edges_from([(u, v) for u, v, weight in weights if weight is not None and weight < 0.05])
    return strong
