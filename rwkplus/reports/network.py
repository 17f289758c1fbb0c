"""One page about a trained kernel network: its hidden graphs and where they fired."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from rwkplus.drawing import draw, label_colors
from rwkplus.files import write_whole
from rwkplus.graphs.convert import graph_list
from rwkplus.reports.page import Figure, Page, Section, surroundings
from rwkplus.table import Graphs
from rwkplus.tasks.explain import Explanation, explain
from rwkplus.tasks.trained import TrainedModel

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
    lead = (
        f"{len(found.hidden)} hidden graphs of the first layer. A hidden node shows the label it responds to most, an "
        "edge is as strong as its weight. Beside are the graphs with the best matching nodes: the stronger a node, the "
        "better its neighborhood matches."
    )
    sections = [_section(k, found, pictures, predicted, colors) for k in range(len(found.hidden))]
    return Page(f"What the network looks at in {name}", lead, colors=named, sections=sections).html()


def write_network_report(path: str | Path, trained: TrainedModel, graphs: Graphs, name: str) -> Path:
    """Write the page of :func:`network_report`, whole or not at all."""
    return write_whole(path, network_report(trained, graphs, name))


def _section(
    k: int, found: Explanation, graphs: Sequence[nx.Graph], predicted: NDArray[Any], colors: dict[str, str]
) -> Section:
    figures = [
        Figure(_drawn(graphs[i], found.strength(i, k), colors), f"{graphs[i].name}, predicted {_shown(predicted[i])}")
        for i in found.strongest(k, EXAMPLES)
    ]
    return Section(f"Hidden graph {k + 1}", draw(found.hidden[k], colors, title=f"hidden graph {k + 1}"), {}, figures)


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
