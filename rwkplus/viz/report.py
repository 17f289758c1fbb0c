"""One self-contained page about mined patterns: good on a phone, in print and without a network."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import networkx as nx
from torch_geometric.data import Data

from rwkplus.mining import Pattern, PatternMiner
from rwkplus.viz.svg import curve, draw, label_colors

EXAMPLES = 3

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1d2327; background: #fff; }
body { max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin: .5rem 0; }
h2 { font-size: 1.15rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
p.lead { color: #4a555c; margin-top: 0; }
section { border-top: 1px solid #d8dde0; padding: 1rem 0; break-inside: avoid; }
section { display: grid; grid-template-columns: minmax(9rem, 13rem) 1fr; gap: 1rem; }
section > svg { width: 100%; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; margin: .25rem 0; }
dt { color: #4a555c; }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.examples { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: .5rem; }
figure { margin: 0; }
figcaption { font-size: .8rem; color: #4a555c; text-align: center; }
.curve { max-width: 26rem; }
@media (max-width: 34rem) {
  section { grid-template-columns: 1fr; }
  section > svg { max-width: 14rem; margin: auto; }
}
"""


def mining_report(miner: PatternMiner, graphs: Sequence[Data], name: str) -> str:
    """Return the page as HTML.

    Args:
        miner: A fitted miner.
        graphs: The graphs it was fitted to, for examples of occurrences.
        name: Name of the database.
    """
    labels = miner.schema_.nodes.names or tuple(map(str, range(miner.schema_.nodes.width)))
    colors = label_colors(labels)
    sections = [_section(k, pattern, miner, graphs, colors) for k, pattern in enumerate(miner.patterns_, start=1)]
    found = len(miner.patterns_)
    explained = f"{miner.explained_[-1]:.0%} of all edges lie in an occurrence" if found else "nothing beats chance"
    return "".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Patterns of {escape(name)}</title><style>{STYLE}</style></head><body>",
            f"<h1>Patterns of {escape(name)}</h1>",
            f'<p class="lead">{found} pattern{"" if found == 1 else "s"} in {len(graphs)} graphs; {explained}. '
            f"Criterion: {miner.criterion}. Rewiring the graphs at random reaches a score of "
            f"{miner.threshold_:.0f} nats; patterns had to beat that.</p>",
            f'<div class="curve">{curve(miner.explained_.tolist())}<figcaption>share of edges explained by the first '
            "patterns</figcaption></div>"
            if found
            else "",
            *sections,
            "</body></html>",
        ]
    )


def write_report(miner: PatternMiner, graphs: Sequence[Data], name: str, path: str | Path) -> Path:
    """Write the page, whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(path.name + ".new")
    scratch.write_text(mining_report(miner, graphs, name), encoding="utf-8")
    scratch.replace(path)
    return path


def _section(k: int, pattern: Pattern, miner: PatternMiner, graphs: Sequence[Data], colors: dict[str, str]) -> str:
    facts = {
        "graphs": f"{pattern.support} of {pattern.num_graphs} ({pattern.frequency:.0%})",
        "occurrences": f"{len(pattern.occurrences)}",
        "edges covered": f"{pattern.edge_coverage:.1%}; {pattern.gain:.1%} not covered before",
        "nodes covered": f"{pattern.node_coverage:.1%}",
        "score": f"{pattern.score:.0f} nats",
    }
    rows = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in facts.items())
    pictures = "".join(_example(pattern, graph, graphs[graph], miner, colors) for graph in pattern.graphs[:EXAMPLES])
    title = escape(pattern.short_name)
    return (
        f"<section>{draw(pattern.to_networkx(), colors, title=pattern.short_name)}<div><h2>{k}. {title}</h2>"
        f'<dl>{rows}</dl><div class="examples">{pictures}</div></div></section>'
    )


def _example(pattern: Pattern, index: int, data: Data, miner: PatternMiner, colors: dict[str, str]) -> str:
    inside = {v for occurrence in pattern.occurrences if occurrence.graph == index for v in occurrence.nodes}
    picture = draw(_named(data, miner), colors, highlighted=inside, title=f"graph {index}")
    return f"<figure>{picture}<figcaption>graph {index}</figcaption></figure>"


def _named(data: Data, miner: PatternMiner) -> nx.Graph:
    """A PyG graph with the names of its labels."""
    nodes, edges = miner.schema_.nodes, miner.schema_.edges
    graph = nx.Graph()
    graph.add_nodes_from((v, {"label": nodes.name(int(row.argmax()))}) for v, row in enumerate(data.x))
    for k, (u, v) in enumerate(data.edge_index.t().tolist()):
        graph.add_edge(u, v, label=None if edges is None else edges.name(int(data.edge_attr[k].argmax())))
    return graph
