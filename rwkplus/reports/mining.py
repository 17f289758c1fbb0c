"""One page about mined patterns: each drawn, with its support, how classes differ in it, and where it occurs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from rwkplus.drawing import draw, graphs_to_draw, label_colors
from rwkplus.errors import DataError, MissingExtraError
from rwkplus.files import write_atomic
from rwkplus.mining import Pattern, PatternMiner
from rwkplus.mining.contrast import ClassContrast
from rwkplus.reports.charts import curve
from rwkplus.reports.page import Cell, Figure, Page, Section, Table, how_many_drawn, intervals_of, surroundings
from rwkplus.table import Graphs, GraphTable

EXAMPLES = 12
"""Occurrences of a pattern on a page, in as many graphs as possible."""


def mining_report(miner: PatternMiner, graphs: Graphs, name: str) -> str:
    """Return the page as HTML.

    Args:
        miner: A fitted miner.
        graphs: The graphs it was fitted to, for examples of occurrences.
        name: Name of the database.
    """
    table = GraphTable.of(graphs)
    colors, patterns = label_colors(miner.reader_.labels.nodes.names), miner.patterns_
    found = len(patterns)
    explained = (
        f"they cover {miner.explained_[-1]:.0%} of all edges" if found else "nothing occurs more often than by chance"
    )
    return Page(
        title=f"Patterns of {name}",
        lead=f"{found} pattern{'' if found == 1 else 's'} in {len(table)} graph{'' if len(table) == 1 else 's'}; "
        f"{explained}. Criterion: {miner.criterion}. {what_chance_reaches(miner)}"
        + (" Nodes are labeled by their degree." if miner.reader_.labels.nodes.labels == ("degree",) else ""),
        numbers={"graphs": f"{len(table):,}", "nodes": f"{table.num_nodes:,}", "edges": f"{table.num_edges:,}"}
        | ({"patterns": found, "edges covered": f"{miner.explained_[-1]:.0%}"} if found else {}),
        charts=_curves(miner) if found > 1 or miner.training_.size else (),
        colors=colors,
        intervals=intervals_of(miner.reader_.labels),
        overview=_overview(patterns) if found else None,
        sections=[_section(miner, table, k, colors) for k in range(found)],
    ).html()


def write_mining_report(path: str | Path, miner: PatternMiner, graphs: Graphs, name: str) -> Path:
    """Write the page of :func:`mining_report`, whole or not at all; folders are made."""
    return write_atomic(path, mining_report(miner, graphs, name))


def what_chance_reaches(miner: PatternMiner) -> str:
    """One sentence about the control.

    >>> what_chance_reaches(PatternMiner(n_controls=0))
    'The patterns were not tested for significance.'
    """
    if miner.n_controls == 0:
        return "The patterns were not tested for significance."
    if not miner.control_.size:
        return "The patterns were not tested for significance: there was no time for it."
    if miner.criterion == "contrast":
        return (
            f"With permuted targets, large patterns score up to {miner.threshold_:.0f} nats and small ones less; "
            "patterns below the level for their size were dropped."
        )
    beaten = "the first block" if miner.criterion == "blocks" else "every pattern"
    return f"In randomly rewired graphs, patterns score up to {miner.threshold_:.0f} nats; {beaten} scores higher."


def _curves(miner: PatternMiner) -> list[Figure]:
    """How much more each pattern explains and saves: where the curves flatten, further patterns say little."""
    told = "of information about the target" if miner.criterion == "contrast" else "of description length saved"
    figures = []
    if miner.explained_.size > 1:
        explained = curve(miner.explained_.tolist(), top=1.0, percent=True)
        figures = [
            Figure(explained, "share of edges covered by the first patterns"),
            Figure(curve(miner.saved_.tolist()), f"nats {told} by the first patterns"),
        ]
    if miner.training_.size:
        values = curve(miner.training_.tolist(), top=1.0, percent=True, dots=False)
        figures.append(Figure(values, "gradient descent: share of walk features explained, by epoch"))
    return figures


def _overview(patterns: list[Pattern]) -> Table:
    support = "minimum image" if patterns[0].mni is not None else "graphs"
    heads = ["", "pattern", "nodes", support, "occurrences", "edges covered", "new", "score"]
    telling = [_telling(pattern) for pattern in patterns]
    heads += (
        ["most frequent in" if patterns[0].contrast else "mean target"] if any(cell.text for cell in telling) else []
    )
    rows = [
        [
            Cell(k, k),
            Cell(pattern.short_name, words=True, link=f"#s{k}"),
            Cell(pattern.size, pattern.size),
            _support(pattern),
            Cell(_times(pattern), pattern.num_occurrences or len(pattern.occurrences)),
            Cell(f"{pattern.edge_coverage:.1%}", pattern.edge_coverage),
            Cell(f"{pattern.gain:.1%}", pattern.gain),
            Cell(f"{pattern.score:.0f}", pattern.score),
            *([cell] if len(heads) > 8 else []),
        ]
        for k, (pattern, cell) in enumerate(zip(patterns, telling, strict=True), start=1)
    ]
    return Table(heads, rows)


def _support(pattern: Pattern) -> Cell:
    if pattern.mni is not None:
        return Cell(f"{pattern.mni:,}", pattern.mni)
    share = round(100 * pattern.frequency)
    return Cell(f"{pattern.support} ({pattern.frequency:.0%})", pattern.support, share=share)


def _telling(pattern: Pattern) -> Cell:
    """The class that has a pattern most of all, or the targets of the graphs that have it, unless it may be chance."""
    if pattern.contrast:
        best = max(pattern.contrast, key=lambda part: part.odds_ratio)
        if best.corrected is None or best.corrected <= 0.05:
            return Cell(f"{best.name} (odds ratio {odds(best)})", best.odds_ratio, words=True)
    elif pattern.difference is not None:
        with_pattern, without, _, q = pattern.difference
        if with_pattern is not None and without is not None and (q is None or q <= 0.05):
            return Cell(f"{with_pattern:.3g} with it, {without:.3g} without", with_pattern - without, words=True)
    return Cell("", words=True)


def odds(part: ClassContrast) -> str:
    """An odds ratio in a few digits.

    >>> [odds(ClassContrast("toxic", 1, 2, ratio, 0.01, None)) for ratio in (0.318, 6938.6)]
    ['0.32', '6,939']
    """
    return f"{part.odds_ratio:,.0f}" if part.odds_ratio >= 10 else f"{part.odds_ratio:.2g}"


def _times(pattern: Pattern) -> str:
    return f"{'' if pattern.exhaustive else 'more than '}{pattern.num_occurrences or len(pattern.occurrences):,}"


def _section(miner: PatternMiner, table: GraphTable, k: int, colors: dict[str, str]) -> Section:
    pattern = miner.patterns_[k]
    graph = pattern.drawn()
    return Section(
        f"{k + 1}. {pattern.short_name}",
        Figure(draw(graph, colors, title=pattern.short_name, keys={v: v for v in graph})),
        _facts(pattern),
        [_example(miner, table, pattern, row, colors) for row in _chosen(pattern)],
        table=_classes(pattern),
        code=dict(_elsewhere(pattern)),
    )


def _chosen(pattern: Pattern) -> list[int]:
    """Occurrences to draw: of each graph the first or, where there is but one graph, some from first to last."""
    first = np.unique(pattern.occurrences.graph, return_index=True)[1]
    if first.size > 1:
        return first[:EXAMPLES].tolist()  # type: ignore[no-any-return]
    return np.unique(np.linspace(0, len(pattern.occurrences) - 1, EXAMPLES).astype(int)).tolist()  # type: ignore[no-any-return]


def _example(miner: PatternMiner, table: GraphTable, pattern: Pattern, row: int, colors: dict[str, str]) -> Figure:
    """One graph, or the part around an occurrence, with all occurrences highlighted that it has, or with this one."""
    index, place = int(pattern.occurrences.graph[row]), pattern.occurrences[row].nodes
    graph = graphs_to_draw(miner.reader_.labels.labelled(table[index]))[0]
    if not pattern.labelled:
        nx.set_node_attributes(graph, "", "label")
    close = surroundings(graph, place)
    title = f"graph {table.graph_id(index)}"
    shown = {
        v for k in np.flatnonzero(pattern.occurrences.graph == index).tolist() for v in pattern.occurrences[k].nodes
    }
    picture = draw(
        close,
        colors,
        highlighted=shown if len(close) == len(graph) else set(place),
        title=title,
        keys={v: k for k, v in enumerate(place)},
    )
    caption = title if len(close) == len(graph) else f"{title}: nodes {how_many_drawn(graph, close)}"
    return Figure(picture, caption, [(k, str(v)) for k, v in enumerate(place)])


def _facts(pattern: Pattern) -> dict[str, object]:
    asked = [*pattern.node_conditions, *pattern.edge_conditions]
    return {
        "graphs": f"{pattern.support} of {pattern.num_graphs} ({pattern.frequency:.0%})",
        "occurrences": _times(pattern),
        **({} if pattern.mni is None else {"minimum image": f"{pattern.mni} distinct nodes in the rarest position"}),
        **({"edges": "directed"} if pattern.directed else {}),
        **({"conditions": "; ".join(dict.fromkeys(str(own) for part in asked for own in part))} if any(asked) else {}),
        "edges covered": f"{pattern.edge_coverage:.1%} ({pattern.gain:.1%} new)",
        "nodes covered": f"{pattern.node_coverage:.1%}",
        "score": f"{pattern.score:.0f} nats",
        **({} if pattern.difference is None else _means(pattern.difference)),
    }


def _means(difference: Any) -> dict[str, object]:  # noqa: ANN401
    named = {
        "mean with pattern": difference.with_pattern,
        "mean without": difference.without,
        "q": difference.corrected,
    }
    return {name: f"{value:.3g}" for name, value in named.items() if value is not None}


def _classes(pattern: Pattern) -> Table | None:
    """How many graphs of every class have the pattern."""
    if not pattern.contrast:
        return None
    rows = []
    for part in pattern.contrast:
        share = part.support / max(part.graphs, 1)
        graphs = Cell(f"{part.support} of {part.graphs} ({share:.0%})", share, share=round(100 * share))
        ratio, q = Cell(odds(part), part.odds_ratio), Cell("unknown")
        if part.corrected is not None:
            q = Cell(f"{part.corrected:.2g}", part.corrected)
        rows.append([Cell(part.name, words=True), graphs, ratio, q])
    return Table(["class", "graphs", "odds ratio", "q"], rows)


def _elsewhere(pattern: Pattern) -> Iterator[tuple[str, str]]:
    """The pattern in the languages of other tools, where they can tell it."""
    for name, write in (("SMARTS", pattern.to_smarts), ("Cypher", pattern.to_cypher)):
        try:
            yield name, write()
        except (DataError, MissingExtraError):
            continue
