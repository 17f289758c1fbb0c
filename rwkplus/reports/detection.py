"""One page about anomalies: every flagged graph with its unusual part, and the most similar usual graphs beside."""

from collections.abc import Mapping, Sequence, Sized
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from rwkplus.detect import Explanation, GraphDetector, Judgments
from rwkplus.detect.walk_kernel import default_kernel
from rwkplus.drawing import draw, label_colors
from rwkplus.files import write_atomic
from rwkplus.reports.charts import histogram
from rwkplus.reports.page import Cell, Figure, Page, Section, Table, how_many_drawn, intervals_of, surroundings
from rwkplus.table import Graphs, GraphTable, Reader
from rwkplus.table.checks import with_equal_nodes
from rwkplus.table.columns import pointers

SHOWN = 24
"""Flagged graphs on a page, the most anomalous first."""
NEAREST = 3
EMPTY = GraphTable(pointers([]), pointers([]), np.zeros(0, np.int32), np.zeros(0, np.int32))
WHOLE = "Graphs without labels are scored as a whole, without a reason"
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
    table = GraphTable.of(graphs).with_names()  # of those that are compared with, the numbers would be others
    judged = detector.judge(table) if judged is None else judged
    scores, flagged = -judged.scores, flagged_graphs(judged)
    compared = table[~judged.flagged] if usual is None else _table(usual)
    shown = flagged[:SHOWN]
    reasons: Sequence[Explanation | None] = [None] * len(shown)
    if detector.explains and shown:
        reasons = detector.explain(table[shown]) if why is None else [why[i] for i in shown]
    drawn = detector.labelled(table[shown]) if shown else []
    nearest = _nearest(detector, table[shown], compared) if shown else []
    beside = [graph for row in nearest for graph, _ in row]
    seen = {str(label) for graph in [*drawn, *beside] for _, label in graph.nodes(data="label")}
    every = label_colors(seen | {*detector.label_reader.nodes.names})  # the same as on other pages of the database
    colors = {label: color for label, color in every.items() if label in seen}
    sections = []
    for k, i in enumerate(shown):
        facts: dict[str, object] = {"score": f"{scores[i]:.3g}, rank {k + 1}"}
        if known is not None:
            facts["truth"] = known.get(i, "not planted: a false positive")
        sections.append(_section(f"Graph {table.graph_id(i)}", drawn[k], reasons[k], nearest[k], colors, facts))
    counts = {"graphs": f"{len(table):,}", "flagged": len(flagged), "threshold": f"{0.0 - detector.offset_:.3g}"}
    return Page(
        title=f"Outliers in {name}",
        lead=_lead(detector, judged, len(flagged), bool(len(compared))),
        numbers=counts,
        charts=[Figure(histogram(scores, -detector.offset_), "scores of all graphs")],
        colors=colors,
        intervals=intervals_of(detector.label_reader) if shown else (),
        overview=_overview(sections, scores[shown].tolist()) if shown else None,
        sections=sections,
    ).html()


def write_detection_report(
    path: str | Path,
    detector: GraphDetector,
    graphs: Graphs,
    name: str,
    *more: Any,  # noqa: ANN401
    **options: Any,  # noqa: ANN401
) -> Path:
    """Write the page of :func:`detection_report`, which tells all arguments, whole or not at all."""
    return write_atomic(path, detection_report(detector, graphs, name, *more, **options))


def _lead(detector: GraphDetector, judged: Judgments, count: int, beside: bool) -> str:
    if count == 0:
        more = why_none(detector, judged)
    else:
        more = f"The {SHOWN} with the highest scores are shown. " if count > SHOWN else ""
        more += "Unusual nodes are highlighted" if detector.explains else WHOLE
        more += ". The most similar usual graphs are shown next to them." if beside else "."
    return (
        f"{type(detector).__name__} flags {count} of {judged.scores.size} graphs: those with "
        f"{detector.which_are_flagged(judged)}. {more}"
    )


def _table(usual: Graphs) -> GraphTable:
    """Graphs to compare with, of which there may be none."""
    return GraphTable.of(usual) if not isinstance(usual, Sized) or len(usual) else EMPTY


def flagged_graphs(judged: Judgments) -> list[int]:
    """Numbers of the anomalies, the most anomalous first.

    >>> flagged_graphs(Judgments(np.array([-1.0, -2.0, -3.0]), np.array([False, True, True])))
    [2, 1]
    """
    order = np.argsort(judged.scores, kind="stable")
    flagged: list[int] = order[judged.flagged[order]].tolist()
    return flagged


def unusual_nodes(graph: nx.Graph, why: Explanation) -> str:
    """Labels and names of the most unusual nodes of a graph to draw.

    >>> from rwkplus.detect import SurpriseDetector
    >>> detector = SurpriseDetector().fit(["CCC"] * 9)
    >>> unusual_nodes(detector.labelled(["CCO"])[0], detector.explain(["CCO"])[0])
    'O 2'
    """
    scores = why.scores
    ordered = sorted(why.nodes, key=lambda v: -scores[v])
    named = [f"{graph.nodes[v]['label']} {graph.nodes[v]['name']}".strip() for v in ordered[:NAMED]]
    return ", ".join(named) + (" ..." if len(ordered) > NAMED else "")


def why_none(detector: GraphDetector, judged: Judgments) -> str:
    """Why nothing is flagged; of fitted graphs, more may share the highest score than were expected to be anomalies."""
    scores = 0.0 - judged.scores  # never -0
    highest = scores.max()
    count = int((scores == highest).sum())
    share = count / scores.size
    if count == 1 or share <= detector.contamination or not np.array_equal(judged.scores, detector.fitted_scores_):
        return f"The highest score is {highest:.3g}."
    remedy = (
        "if these are outliers, raise the contamination (the expected share) above that."
        if share < 0.5
        else "no graph stands out."
    )
    return f"The highest score, {highest:.3g}, is shared by {count} graphs, {round(100 * share, 1):g}% of all: {remedy}"


def _overview(sections: Sequence[Section], scores: Sequence[float]) -> Table:
    more = [name for name in ("nodes", "unusual", "truth") if name in sections[0].facts]
    rows = [
        [Cell(k, k), Cell(section.title, words=True, link=f"#s{k}"), Cell(f"{score:.3g}", score)]
        + [Cell(section.facts[name], words=name != "nodes") for name in more]
        for k, (section, score) in enumerate(zip(sections, scores, strict=True), start=1)
    ]
    return Table(["", "graph", "score", *more], rows)


def _section(
    title: str,
    graph: nx.Graph,
    why: Explanation | None,
    nearest: Sequence[tuple[nx.Graph, str]],
    colors: Mapping[str, str],
    facts: dict[str, object],
) -> Section:
    """One flagged graph with what is unusual about it, if the detector can tell, and what it is compared with."""
    scores = {} if why is None else why.scores
    close = surroundings(graph, () if why is None else sorted(why.part, key=lambda v: -scores[v]))
    facts["nodes"] = how_many_drawn(graph, close)
    chips, keys = [], {}
    if why is not None:
        facts["unusual"] = unusual_nodes(graph, why) or "no single node"
        ordered = [v for v in sorted(why.nodes, key=lambda v: -scores[v]) if v in close][:NAMED]
        keys = {v: k for k, v in enumerate(ordered)}
        chips = [(k, f"{graph.nodes[v]['label']} {graph.nodes[v]['name']}: {scores[v]:.3g}") for v, k in keys.items()]
    strength = None if why is None else dict.fromkeys(close, 0.0) | why.strength
    figures = [Figure(draw(surroundings(other), colors, title="a usual graph"), caption) for other, caption in nearest]
    main = Figure(draw(close, colors, strength=strength, title=title, keys=keys), chips=chips)
    return Section(title, main, facts, figures, slides="usual graph")


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
