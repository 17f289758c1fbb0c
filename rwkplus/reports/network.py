"""One page about a trained kernel network: its hidden graphs and where they fired."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from rwkplus.graphs.convert import graph_list
from rwkplus.reports.page import page, write_page
from rwkplus.reports.surroundings import surroundings
from rwkplus.table import Graphs
from rwkplus.tasks.explain import Explanation, explain
from rwkplus.tasks.trained import TrainedModel
from rwkplus.viz import draw, label_colors, legend

EXAMPLES = 3


def network_report(trained: TrainedModel, graphs: Graphs, name: str) -> str:
    """Return the page as HTML.

    Args:
        trained: A network with a :class:`rwkplus.nn.KernelConv`, such as KerGNN.
        graphs: Graphs to show its reaction to.
        name: Name of the database.
    """
    items = graph_list(graphs, trained.inputs.ignore)
    found, predicted = explain(trained, items), trained.predict(items)
    nodes = trained.inputs.schema.nodes
    named = label_colors(nodes.names or tuple(map(str, range(nodes.width))))
    colors = named | label_colors([f"x{k}" for k in range(nodes.width)])
    pictures = [_picture_of(trained, items, i) for i in range(len(items))]
    sections = [_section(k, found, pictures, predicted, colors) for k in range(len(found.hidden))]
    lead = (
        f"{len(found.hidden)} hidden graphs of the first layer. A hidden node shows the label it responds to most, an "
        "edge is as strong as its weight. Beside are the graphs with the best matching nodes: the stronger a node, the "
        "better its neighborhood matches."
    )
    body = f'<p class="lead">{escape(lead)}</p>{legend(named)}' + "".join(sections)
    return page(f"What the network looks at in {name}", body)


def write_network_report(path: str | Path, trained: TrainedModel, graphs: Graphs, name: str) -> Path:
    """Write the page of :func:`network_report`, whole or not at all."""
    return write_page(path, network_report(trained, graphs, name))


def _section(
    k: int, found: Explanation, graphs: Sequence[nx.Graph], predicted: NDArray[Any], colors: dict[str, str]
) -> str:
    figures = "".join(
        f"<figure>{_drawn(graphs[i], found.strength(i, k), colors)}"
        f"<figcaption>{escape(graphs[i].name)}, predicted {escape(_shown(predicted[i]))}</figcaption></figure>"
        for i in found.strongest(k, EXAMPLES)
    )
    hidden = draw(found.hidden[k], colors, title=f"hidden graph {k + 1}")
    return f'<section>{hidden}<div><h2>Hidden graph {k + 1}</h2><div class="examples">{figures}</div></div></section>'


def _drawn(graph: nx.Graph, strength: dict[int, float], colors: dict[str, str]) -> str:
    """A graph or, of a large one, what lies around its best matching node."""
    best = sorted(strength, key=lambda v: -strength[v])[:1]
    return draw(surroundings(graph, best), colors, strength=strength, title=graph.name)


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)


def _picture_of(trained: TrainedModel, graphs: Sequence[Data], i: int) -> nx.Graph:
    """A graph with its name and the labels that the network reads."""
    read = trained.inputs.read([graphs[i]], "ignore")[0]
    nodes = trained.inputs.schema.nodes
    graph = nx.Graph(name=f"graph {graphs[i].get('name', i)}")
    name = nodes.name if nodes.discrete else "x{}".format
    graph.add_nodes_from((v, {"label": name(int(row.argmax()))}) for v, row in enumerate(read.x))
    graph.add_edges_from(read.edge_index.t().tolist())
    return graph
