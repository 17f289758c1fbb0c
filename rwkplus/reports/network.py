"""One page about a trained kernel network: its hidden graphs, and the nodes that match them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray

from rwkplus.drawing import draw, label_colors
from rwkplus.files import write_atomic
from rwkplus.reports.page import Cell, Figure, Page, Section, Table, surroundings
from rwkplus.table import Graphs, GraphTable
from rwkplus.training.dataset import as_table
from rwkplus.training.estimators import NetworkEstimator, TrainedNetwork
from rwkplus.training.matches import HiddenGraphMatches, column_names, match_hidden_graphs

EXAMPLES, NAMED = 8, 3
"""Graphs beside a hidden graph, and nodes of each that are named, the best first."""


def network_report(model: NetworkEstimator | TrainedNetwork, X: Graphs, name: str) -> str:
    """Return the page as HTML.

    Args:
        model: A trained network with a :class:`rwkplus.nn.KernelConv`, such as KerGNN, or the estimator that has it.
        X: Graphs to show its reaction to.
        name: Name of the database.
    """
    trained = model.trained_ if isinstance(model, NetworkEstimator) else model
    table = as_table(X, trained.inputs.ignore)
    found, predicted = match_hidden_graphs(trained, table), trained.predict(table)
    named, pictures = column_names(trained.inputs.reader.nodes), _pictures(trained, table)
    colors = label_colors({*named, *(label for picture in pictures for _, label in picture.nodes(data="label"))})
    lead = (
        f"{len(found.hidden)} hidden graphs of the first layer. Each node shows the label that it responds to most, "
        "and thicker edges have larger weights. Next to each hidden graph are the graphs with the best matching nodes: "
        "the stronger the color of a node, the better its neighborhood matches."
    )
    hidden = range(len(found.hidden))
    return Page(
        f"Hidden graphs learned from {name}",
        lead,
        numbers={"hidden graphs": len(hidden), "graphs": f"{len(table):,}"},
        colors={label: colors[label] for label in sorted(named)},
        overview=Table(["", "hidden graph", "nodes", "labels"], [_row(k, found.hidden[k]) for k in hidden]),
        sections=[_section(k, found, pictures, predicted, colors) for k in hidden],
    ).html()


def write_network_report(path: str | Path, model: NetworkEstimator | TrainedNetwork, X: Graphs, name: str) -> Path:
    """Write the page of :func:`network_report`, whole or not at all."""
    return write_atomic(path, network_report(model, X, name))


def _row(k: int, hidden: nx.Graph) -> list[Cell]:
    labels = Counter(label for _, label in hidden.nodes(data="label"))
    told = ", ".join(label if count == 1 else f"{label} ({count})" for label, count in labels.most_common())
    link = Cell(f"Hidden graph {k + 1}", words=True, link=f"#s{k + 1}")
    return [Cell(k + 1, k + 1), link, Cell(len(hidden), len(hidden)), Cell(told, words=True)]


def _section(
    k: int, found: HiddenGraphMatches, graphs: Sequence[nx.Graph], predicted: NDArray[Any], colors: dict[str, str]
) -> Section:
    figures = [
        _drawn(graphs[i], found.strength(i, k), colors, f"{graphs[i].name}, predicted {_shown(predicted[i])}")
        for i in found.strongest(k, EXAMPLES)
    ]
    hidden = found.hidden[k]
    weights = [weight for _, _, weight in hidden.edges(data="weight", default=1.0)]
    facts = {"nodes": len(hidden), "edges": f"{sum(weight >= 0.5 for weight in weights)} of weight 0.5 or more"}
    picture = Figure(draw(hidden, colors, title=f"hidden graph {k + 1}"))
    return Section(f"Hidden graph {k + 1}", picture, facts, figures, slides="matching graph")


def _drawn(graph: nx.Graph, strength: dict[int, float], colors: dict[str, str], caption: str) -> Figure:
    """A graph or, of a large one, what lies around its best matching node, and names of the best nodes."""
    best = sorted(strength, key=lambda v: -strength[v])[:NAMED]
    keys = {v: k for k, v in enumerate(best)}
    picture = draw(surroundings(graph, best[:1]), colors, strength=strength, title=graph.name, keys=keys)
    chips = [(k, f"{graph.nodes[v]['label']} {v}: {strength[v]:.2f}") for v, k in keys.items()]
    return Figure(picture, caption, chips)


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)


def _pictures(trained: TrainedNetwork, table: GraphTable) -> list[nx.Graph]:
    """The graphs with their names and the labels that the network reads."""
    names = [*column_names(trained.inputs.reader.nodes), "unknown"]
    pictures = []
    for i, read in enumerate(trained.inputs.read(table).graphs()):
        graph = nx.Graph(name=f"graph {table.graph_id(i)}")
        strongest = torch.where(read.x.any(1), read.x.argmax(1), -1).tolist()
        graph.add_nodes_from((v, {"label": names[k]}) for v, k in enumerate(strongest))
        graph.add_edges_from(read.edge_index.t().tolist())
        pictures.append(graph)
    return pictures
