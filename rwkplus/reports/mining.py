"""One page about mined patterns: each drawn, with its support and examples of its occurrences."""

from pathlib import Path

import numpy as np

from rwkplus.drawing import bars, curve, draw, graphs_to_draw, label_colors
from rwkplus.files import write_whole
from rwkplus.mining import Pattern, PatternMiner
from rwkplus.mining.contrast import ClassContrast
from rwkplus.reports.page import Figure, Page, Section, how_many_drawn, intervals_of, surroundings
from rwkplus.table import Graphs, GraphTable

EXAMPLES = 3


def mining_report(miner: PatternMiner, graphs: Graphs, name: str) -> str:
    """Return the page as HTML.

    Args:
        miner: A fitted miner.
        graphs: The graphs it was fitted to, for examples of occurrences.
        name: Name of the database.
    """
    table = GraphTable.of(graphs)
    colors = label_colors(miner.reader_.labels.nodes.names)
    found = len(miner.patterns_)
    explained = f"{miner.explained_[-1]:.0%} of all edges lie in an occurrence" if found else "nothing beats chance"
    return Page(
        title=f"Patterns of {name}",
        lead=f"{found} pattern{'' if found == 1 else 's'} in {len(table)} graphs; {explained}. "
        f"Criterion: {miner.criterion}. {what_chance_reaches(miner)}",
        charts=_curves(miner) if found else (),
        colors=colors,
        intervals=intervals_of(miner.reader_.labels),
        sections=[
            Section(
                f"{k}. {pattern.short_name}",
                draw(pattern.to_networkx(), colors, title=pattern.short_name),
                _facts(pattern),
                [*_shares(pattern), *(_example(miner, table, pattern, i, colors) for i in pattern.graphs[:EXAMPLES])],
            )
            for k, pattern in enumerate(miner.patterns_, start=1)
        ],
    ).html()


def write_mining_report(path: str | Path, miner: PatternMiner, graphs: Graphs, name: str) -> Path:
    """Write the page of :func:`mining_report`, whole or not at all; folders are made."""
    return write_whole(path, mining_report(miner, graphs, name))


def what_chance_reaches(miner: PatternMiner) -> str:
    """One sentence about the control."""
    if miner.n_controls == 0:
        return "There was no control against chance."
    if miner.criterion == "contrast":
        return (
            f"Permuting y reaches a score of {miner.threshold_:.0f} nats with large patterns and less with small ones; "
            "patterns had to beat what it reaches at their size."
        )
    beaten = "the first block had" if miner.criterion == "blocks" else "patterns had"
    return f"Rewiring the graphs at random reaches a score of {miner.threshold_:.0f} nats; {beaten} to beat that."


def _curves(miner: PatternMiner) -> list[Figure]:
    """How much more each pattern explains and saves: where the curves flatten, further patterns say little."""
    explained = curve(miner.explained_.tolist(), top=1.0, percent=True)
    told = "told of y" if miner.criterion == "contrast" else "of description length saved"
    figures = [
        Figure(explained, "share of edges explained by the first patterns"),
        Figure(curve(miner.saved_.tolist()), f"nats {told} by the first patterns"),
    ]
    if miner.training_.size:
        values = curve(miner.training_.tolist(), top=1.0, percent=True, dots=False)
        figures.append(Figure(values, "gradient candidates: share of walk features explained, by epoch"))
    return figures


def _example(miner: PatternMiner, table: GraphTable, pattern: Pattern, index: int, colors: dict[str, str]) -> Figure:
    """One graph, or the part around an occurrence; all occurrences of the pattern in it highlighted."""
    graph = graphs_to_draw(miner.reader_.labels.labelled(table[index]))[0]
    places = [pattern.occurrences[k].nodes for k in np.flatnonzero(pattern.occurrences.graph == index).tolist()]
    close = surroundings(graph, places[0])
    title = f"graph {table.graph_id(index)}"
    picture = draw(close, colors, highlighted={v for nodes in places for v in nodes}, title=title)
    return Figure(picture, title if len(close) == len(graph) else f"{title}: nodes {how_many_drawn(graph, close)}")


def _shares(pattern: Pattern) -> list[Figure]:
    """How many graphs of every class have the pattern."""
    if not pattern.contrast:
        return []
    shares = {part.name: part.support / part.graphs for part in pattern.contrast}
    return [Figure(bars(shares), "graphs that have it, by class")]


def _facts(pattern: Pattern) -> dict[str, str]:
    more = "" if pattern.exhaustive else "more than "
    return {
        "graphs": f"{pattern.support} of {pattern.num_graphs} ({pattern.frequency:.0%})",
        "occurrences": f"{more}{pattern.num_occurrences or len(pattern.occurrences)}",
        **({} if pattern.mni is None else {"minimum image": f"{pattern.mni} nodes in its rarest place"}),
        "edges covered": f"{pattern.edge_coverage:.1%}; {pattern.gain:.1%} not covered before",
        "nodes covered": f"{pattern.node_coverage:.1%}",
        "score": f"{pattern.score:.0f} nats",
        **{f"class {contrast.name}": _in_class(contrast) for contrast in pattern.contrast},
    }


def _in_class(contrast: ClassContrast) -> str:
    return (
        f"{contrast.support} of {contrast.graphs} ({contrast.support / contrast.graphs:.0%}), "
        f"odds ratio {contrast.odds_ratio:.2f}, q = {contrast.corrected:.2g}"
    )
