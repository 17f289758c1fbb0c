"""One self-contained page about mined patterns: good on a phone, in print and without a network."""

from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from rwkplus.mining import Pattern, PatternMiner
from rwkplus.mining.contrast import ClassContrast
from rwkplus.reports.color_classes import color_class_legend
from rwkplus.reports.page import page, write_page
from rwkplus.reports.surroundings import how_many_drawn, surroundings
from rwkplus.table import Graphs, GraphTable
from rwkplus.viz import curve, draw, label_colors, legend
from rwkplus.viz.graphs import graphs_to_draw

EXAMPLES = 3


def mining_report(miner: PatternMiner, graphs: Graphs, name: str) -> str:
    """Return the page as HTML.

    Args:
        miner: A fitted miner.
        graphs: The graphs it was fitted to, for examples of occurrences.
        name: Name of the database.
    """
    table = GraphTable.of(graphs)
    colors = label_colors(miner.reader_.nodes.names)
    sections = [
        _section(f"{k}. {pattern.short_name}", pattern, _Examples(miner, table, colors))
        for k, pattern in enumerate(miner.patterns_, start=1)
    ]
    found = len(miner.patterns_)
    explained = f"{miner.explained_[-1]:.0%} of all edges lie in an occurrence" if found else "nothing beats chance"
    body = "".join(
        [
            f'<p class="lead">{found} pattern{"" if found == 1 else "s"} in {len(table)} graphs; {explained}. '
            f"Criterion: {miner.criterion}. {what_chance_reaches(miner)}</p>",
            _curves(miner) if found else "",
            color_class_legend(miner.reader_),
            legend(colors),
            *sections,
        ]
    )
    return page(f"Patterns of {name}", body)


def what_chance_reaches(miner: PatternMiner) -> str:
    """One sentence about the control."""
    if miner.n_controls == 0:
        return "There was no control against chance."
    beaten = "the first block had" if miner.criterion == "blocks" else "patterns had"
    return f"Rewiring the graphs at random reaches a score of {miner.threshold_:.0f} nats; {beaten} to beat that."


def _curves(miner: PatternMiner) -> str:
    """How much more each pattern explains and saves: where the curves flatten, further patterns say little."""
    pictures = [
        (curve(miner.explained_.tolist(), top=1.0, percent=True), "share of edges explained by the first patterns"),
        (curve(miner.saved_.tolist()), "nats of description length saved by the first patterns"),
    ]
    if miner.training_.size:
        values = curve(miner.training_.tolist(), top=1.0, percent=True, dots=False)
        pictures.append((values, "gradient candidates: share of walk features explained, by epoch"))
    figures = "".join(f"<figure>{picture}<figcaption>{text}</figcaption></figure>" for picture, text in pictures)
    return f'<div class="curves">{figures}</div>'


def write_mining_report(path: str | Path, miner: PatternMiner, graphs: Graphs, name: str) -> Path:
    """Write the page of :func:`mining_report`, whole or not at all."""
    return write_page(path, mining_report(miner, graphs, name))


@dataclass(frozen=True)
class _Examples:
    """Pictures of occurrences in the database."""

    miner: PatternMiner
    table: GraphTable
    colors: dict[str, str]

    def draw(self, pattern: Pattern, index: int) -> str:
        """One graph, or the part around an occurrence; all occurrences of a pattern in it highlighted."""
        graph = graphs_to_draw(self.miner.reader_.labelled(self.table[index]))[0]
        places = [pattern.occurrences[k].nodes for k in np.flatnonzero(pattern.occurrences.graph == index).tolist()]
        close = surroundings(graph, places[0])
        title = f"graph {self.table.graph_id(index)}"
        picture = draw(close, self.colors, highlighted={v for nodes in places for v in nodes}, title=title)
        caption = title if len(close) == len(graph) else f"{title}: nodes {how_many_drawn(graph, close)}"
        return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


def _section(title: str, pattern: Pattern, examples: _Examples) -> str:
    more = "" if pattern.exhaustive else "more than "
    facts = {
        "graphs": f"{pattern.support} of {pattern.num_graphs} ({pattern.frequency:.0%})",
        "occurrences": f"{more}{len(pattern.occurrences)}",
        "edges covered": f"{pattern.edge_coverage:.1%}; {pattern.gain:.1%} not covered before",
        "nodes covered": f"{pattern.node_coverage:.1%}",
        "score": f"{pattern.score:.0f} nats",
        **{f"class {contrast.name}": _in_class(contrast) for contrast in pattern.contrast},
    }
    rows = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in facts.items())
    picture = draw(pattern.to_networkx(), examples.colors, title=pattern.short_name)
    pictures = "".join(examples.draw(pattern, graph) for graph in pattern.graphs[:EXAMPLES])
    return (
        f"<section>{picture}<div><h2>{escape(title)}</h2>"
        f'<dl>{rows}</dl><div class="examples">{pictures}</div></div></section>'
    )


def _in_class(contrast: ClassContrast) -> str:
    return (
        f"{contrast.support} of {contrast.graphs} ({contrast.support / contrast.graphs:.0%}), "
        f"odds ratio {contrast.odds_ratio:.2f}, p = {contrast.corrected:.2g}"
    )
