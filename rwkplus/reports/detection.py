"""One page about anomalies: every flagged graph with its unusual part, and the most similar usual graphs beside."""

from collections.abc import Mapping, Sequence, Sized
from pathlib import Path

import networkx as nx
import numpy as np

from rwkplus.detect import Explanation, GraphDetector, Judgments
from rwkplus.detect.walk_kernel import default_kernel
from rwkplus.drawing import draw, histogram, label_colors
from rwkplus.files import write_whole
from rwkplus.reports.page import Figure, Page, Section, how_many_drawn, intervals_of, surroundings
from rwkplus.table import Graphs, GraphTable, Reader
from rwkplus.table.graph_table import pointers
from rwkplus.table.reader import with_equal_nodes

SHOWN = 12
"""Flagged graphs on a page, the most anomalous first."""
NEAREST = 3
EMPTY = GraphTable(pointers([]), pointers([]), np.zeros(0, np.int32), np.zeros(0, np.int32))
WHOLE = "Graphs without labels are judged as a whole"
NAMED = 8
"""Unusual nodes that are named, the most unusual first."""


def detection_report(
    detector: GraphDetector,
    graphs: Graphs,
    name: str,
    judged: Judgments | None = None,
    usual: Graphs | None = None,
    known: Mapping[int, str] | None = None,
    why: Mapping[int, Explanation] | None = None,
) -> str:
    """Return the page as HTML.

    Args:
        detector: A fitted detector.
        graphs: The graphs that were judged.
        name: Name of the database.
        judged: What :meth:`GraphDetector.judge` said of them, if it was asked before. The page shows its scores with
            the opposite sign: higher is more anomalous.
        usual: Graphs to show for comparison; those of ``graphs`` that are not flagged by default.
        known: What is known to be wrong with some graphs, by their number, to be printed beside.
        why: What :meth:`GraphDetector.explain` said of the flagged graphs, by their number, if it was asked before.
    """
    table = GraphTable.of(graphs)
    table = table.with_names()  # of those that are compared with, the numbers would be others
    judged = detector.judge(table) if judged is None else judged
    scores = -judged.scores
    compared = table[~judged.flagged] if usual is None else _table(usual)
    flagged = flagged_graphs(judged)
    shown = flagged[:SHOWN]
    more = f" The {len(shown)} with the highest scores are shown." if len(shown) < len(flagged) else ""
    beside = "; the small pictures are the most similar usual graphs" if len(compared) else ""
    drawing = "Unusual nodes are drawn in full, their neighbors weaker, the rest faint" if detector.explains else WHOLE
    pictures = f"{drawing}{beside}."
    lead = (
        f"{type(detector).__name__} flags {len(flagged)} of {len(table)} graphs, by scores above "
        f"{-detector.offset_:.3g}.{more} {pictures if flagged else why_none(detector, judged)}"
    )
    reasons = _reasons(detector, table, shown, why)
    drawn = _Pictures(detector, table[shown], reasons, compared) if shown else None
    return Page(
        title=f"Anomalies in {name}",
        lead=lead,
        charts=[Figure(histogram(scores, -detector.offset_), "scores of all graphs")],
        colors={} if drawn is None else drawn.colors,
        intervals=intervals_of(detector.label_reader) if shown else (),
        sections=[
            drawn.section(
                k, f"Graph {table.graph_id(i)}", {"score": f"{scores[i]:.3g}, rank {k + 1}", **_known(known, i)}
            )
            for k, i in enumerate(shown)
            if drawn is not None
        ],
    ).html()


def write_detection_report(
    path: str | Path,
    detector: GraphDetector,
    graphs: Graphs,
    name: str,
    judged: Judgments | None = None,
    usual: Graphs | None = None,
    known: Mapping[int, str] | None = None,
    why: Mapping[int, Explanation] | None = None,
) -> Path:
    """Write the page of :func:`detection_report`, whole or not at all."""
    return write_whole(path, detection_report(detector, graphs, name, judged, usual, known, why))


def _table(usual: Graphs) -> GraphTable:
    """Graphs to compare with, of which there may be none."""
    return GraphTable.of(usual) if not isinstance(usual, Sized) or len(usual) else EMPTY


def flagged_graphs(judged: Judgments) -> list[int]:
    """Numbers of the anomalies, the most anomalous first."""
    order = np.argsort(judged.scores, kind="stable")
    flagged: list[int] = order[judged.flagged[order]].tolist()
    return flagged


def _reasons(
    detector: GraphDetector, table: GraphTable, shown: Sequence[int], why: Mapping[int, Explanation] | None
) -> Sequence[Explanation | None]:
    """What is unusual about the graphs shown; None from a detector that cannot tell."""
    if not detector.explains:
        return [None] * len(shown)
    return detector.explain(table[list(shown)]) if why is None else [why[i] for i in shown]


def unusual_nodes(graph: nx.Graph, why: Explanation) -> str:
    """Labels and names of the most unusual nodes of a graph to draw."""
    scores = why.scores
    ordered = sorted(why.nodes, key=lambda v: -scores[v])
    named = [f"{graph.nodes[v]['label']} {graph.nodes[v]['name']}".strip() for v in ordered[:NAMED]]
    return ", ".join(named) + (" ..." if len(ordered) > NAMED else "")


def why_none(detector: GraphDetector, judged: Judgments) -> str:
    """Why nothing is flagged; of fitted graphs, more may share the highest score than were expected to be anomalies."""
    scores = -judged.scores
    highest = scores.max()
    count = int((scores == highest).sum())
    share = count / scores.size
    if count == 1 or share <= detector.contamination or not np.array_equal(judged.scores, detector.fitted_scores_):
        return f"The highest score is {highest:.3g}."
    remedy = (
        "if those are anomalies, raise the contamination, which is the expected share, above that."
        if share < 0.5
        else "none stands out."
    )
    return f"The highest score, {highest:.3g}, is shared by {count} graphs, {round(100 * share, 1):g}% of all: {remedy}"


class _Pictures:
    """Flagged graphs with what is unusual about them and what they are compared with."""

    def __init__(
        self,
        detector: GraphDetector,
        flagged: GraphTable,
        reasons: Sequence[Explanation | None],
        usual: GraphTable,
    ) -> None:
        self.graphs = detector.labelled(flagged)
        self.reasons = reasons
        self.nearest = _nearest(detector, flagged, usual)
        labels = {str(label) for graph in self._all() for _, label in graph.nodes(data="label")}
        self.colors = label_colors(labels)

    def section(self, k: int, title: str, facts: Mapping[str, str]) -> Section:
        """One flagged graph."""
        graph, why = self.graphs[k], self.reasons[k]
        scores = {} if why is None else why.scores
        close = surroundings(graph, () if why is None else sorted(why.part, key=lambda v: -scores[v]))
        facts = {**facts, "nodes": how_many_drawn(graph, close)}
        if why is not None:
            facts["unusual"] = unusual_nodes(graph, why) or "no single node"
        strength = None if why is None else dict.fromkeys(close, 0.0) | why.strength
        figures = [
            Figure(draw(surroundings(other), self.colors, title="a usual graph"), caption)
            for other, caption in self.nearest[k]
        ]
        return Section(title, draw(close, self.colors, strength=strength, title=title), facts, figures)

    def _all(self) -> list[nx.Graph]:
        return [*self.graphs, *(graph for row in self.nearest for graph, _ in row)]


def _nearest(detector: GraphDetector, flagged: GraphTable, usual: GraphTable) -> list[list[tuple[nx.Graph, str]]]:
    """The most similar usual graphs, with their names and similarities."""
    if not len(usual):
        return [[] for _ in flagged]
    rows = []
    for found in most_similar(flagged, usual, NEAREST, detector.ignored):
        drawn = detector.labelled(usual[[i for i, _ in found]])
        captions = [f"graph {usual.graph_id(i)}, similarity {value:.2f}" for i, value in found]
        rows.append(list(zip(drawn, captions, strict=True)))
    return rows


def most_similar(
    graphs: Graphs, others: Graphs, count: int, ignore: Sequence[str] = ()
) -> list[list[tuple[int, float]]]:
    """For each graph, the numbers of the ``count`` most similar among others, and their similarities.

    >>> [(i, round(value, 2)) for i, value in most_similar(["CCO"], ["CC", "OCC", "CCCO"], 2)[0]]
    [(1, 1.0), (2, 0.51)]
    """
    table, other = (with_equal_nodes(GraphTable.of(part).without(ignore)) for part in (graphs, others))
    if Reader.fit(other).discrete:
        similarity = default_kernel(table).fit(table).transform(other).T
    else:  # the graphs may be few, with attributes that happen to look like labels
        similarity = default_kernel(other).fit(other).transform(table)
    best = np.argsort(-similarity, axis=1, kind="stable")[:, :count]
    return [[(int(i), float(values[i])) for i in row] for values, row in zip(similarity, best, strict=True)]


def _known(known: Mapping[int, str] | None, i: int) -> dict[str, str]:
    return {} if known is None else {"truth": known.get(i, "nothing planted: a false alarm")}
