"""Figures of the paper's mining tasks: the testbeds, the hidden graphs that were learned, and their distances."""

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from experiments import testbeds
from experiments.mining_claims import standard_error
from experiments.mining_rows import TASKS, WITH, WITHOUT
from experiments.pages import drawing, svg
from experiments.records import RESULTS, exists, read_result
from rwkplus.datasets.generators import triangle_chains

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = {
    "task-2-1": ("RWK+CN, 6 steps", "RWNN, 6 steps"),
    "task-2-2": ("RWK+CN, identity", "RWK+CN, SC", "RWNN, none"),
}
"""Rows whose hidden graph of lowest loss is drawn beside the true graph."""

SMALL = 6
"""Nodes of a graph that is drawn on a circle."""

FAINT = 0.05
"""Weights below it are not drawn."""


def databases_figure(folder: Path = RESULTS) -> str | None:
    """A graph of each database of Task 1, and what should be found in it."""
    if not (exists("mining_tasks/task-1-1", folder) or exists("mining_tasks/task-1-2", folder)):
        return None
    p1, p2 = testbeds.chain_patterns()
    graphs = {
        "bipartite": testbeds.bipartite_graphs(1)[0],
        "butterfly": testbeds.butterfly(),
        "star": testbeds.three_star(),
        "chain": triangle_chains(1)[0],
        "P1": p1,
        "P2": p2,
    }
    with drawing(3, rows=2) as (figure, panels):
        for axes, (name, graph) in zip(panels, graphs.items(), strict=True):
            _draw(axes, graph, nx.to_numpy_array(graph, weight=None), _labels(graph))
            axes.set_title(name)
        return svg(figure)


def learned_figure(task: str, folder: Path = RESULTS) -> str | None:
    """Per testbed, the true graph and the hidden graphs of lowest loss, nodes in the places that cost least."""
    if not exists(f"mining_tasks/{task}", folder):
        return None
    rows = read_result(f"mining_tasks/{task}", folder)["values"]["rows"]
    beds = {bed.name: bed.targets["target"][0] for bed in TASKS[task]()}
    beds = {name: target for name, target in beds.items() if any(row["testbed"] == name for row in rows)}
    names = SHOWN[task]
    width = 1 + len(names)
    with drawing(width, rows=len(beds)) as (figure, panels):
        for i, (bed, target) in enumerate(beds.items()):
            first, *others = panels[i * width : (i + 1) * width]
            _draw(first, target, nx.to_numpy_array(target, weight=None), _labels(target))
            first.set_title(f"{bed}: true graph")
            for axes, name in zip(others, names, strict=True):
                _draw_row(axes, target, next(row for row in rows if (row["testbed"], row["row"]) == (bed, name)))
        return svg(figure)


def distances_figure(folder: Path = RESULTS) -> str | None:
    """Distance of learned graphs to the true one against walk length, in the paper and here."""
    if not exists("mining_tasks/task-2-1", folder):
        return None
    rows = [row for row in read_result("mining_tasks/task-2-1", folder)["values"]["rows"] if not row["tried"]]
    beds = list(dict.fromkeys(row["testbed"] for row in rows))
    with drawing(len(beds)) as (figure, panels):
        for axes, bed in zip(panels, beds, strict=True):
            _plot_distances(axes, [row for row in rows if row["testbed"] == bed])
            axes.set(title=bed, xlabel="steps")
        panels[0].set_ylabel("edit distance with labels")
        return svg(figure, panels[0])


def _plot_distances(axes: "Axes", rows: list[dict[str, Any]]) -> None:
    lengths = sorted({row["settings"]["steps"] for row in rows})
    for i, method in enumerate(("RWNN", "RWK+CN")):
        mine = [row for row in rows if row["row"].startswith(f"{method},")]
        paper = [row["paper"][WITH][0] for row in mine]
        axes.plot(lengths, paper, "--", marker="o", markerfacecolor="white", color=f"C{i}", label=f"{method}, paper")
        values = [row["faithful"][WITH] for row in mine]
        errors = [standard_error(value) for value in values]
        axes.errorbar(lengths, [np.mean(value) for value in values], errors, marker="o", color=f"C{i}", label=method)
    line = [np.mean([row["untrained"][WITH] for row in rows if row["settings"]["steps"] == t]) for t in lengths]
    axes.plot(lengths, line, ":", marker="o", color="C2", label="untrained")
    axes.set_xticks(lengths)


def _labels(graph: nx.Graph) -> list[str]:
    return [label for _, label in graph.nodes(data="label")]


def _draw_row(axes: "Axes", target: nx.Graph, row: dict[str, Any]) -> None:
    labeled = WITH in row["faithful"]
    labels = row["drawn"]["labels"] if labeled else _labels(target)
    _draw(axes, target, np.array(row["drawn"]["weights"]), labels)
    best = int(np.nanargmin(row["losses"]))
    measure = WITH if labeled else WITHOUT
    axes.set_title(f"{row['row']}\n{measure} {row['faithful'][measure][best]:.2f}")


def _places(graph: nx.Graph) -> Any:  # noqa: ANN401
    """Where to draw each node: small regular graphs on a circle, sides of complete bipartite ones face to face."""
    place = nx.kamada_kawai_layout(graph)
    if len(graph) <= SMALL and nx.is_regular(graph):
        place = nx.circular_layout(_cycle(graph))
    elif nx.is_bipartite(graph):
        left, right = nx.bipartite.sets(graph)
        if min(len(left), len(right)) > 1 and graph.number_of_edges() == len(left) * len(right):
            place = nx.bipartite_layout(graph, left)
    return np.array([place[v] for v in graph]).round(4)  # processors differ in the last bits


def _cycle(graph: nx.Graph) -> list[int]:
    """The nodes along a Hamiltonian cycle, where there is one, so that no edge passes a third node."""
    first, *others = graph
    orders = ([first, *order] for order in permutations(others))
    return next((order for order in orders if all(map(graph.has_edge, order, [*order[1:], first]))), list(graph))


def _draw(axes: "Axes", graph: nx.Graph, weights: Any, labels: Sequence[str]) -> None:  # noqa: ANN401
    """Nodes in the places of ``graph``, in the colors of ``labels``; edges as wide and dark as they are heavy."""
    place = _places(graph)
    for u, v in np.argwhere(np.triu(weights) > FAINT):
        axes.plot(
            *place[[u, v]].T, color="#333333", linewidth=2.5 * weights[u, v], alpha=float(weights[u, v]), zorder=1
        )
    axes.scatter(place[:, 0], place[:, 1], s=140, c=[PAINT[label] for label in labels], edgecolors="white", zorder=2)
    axes.set_axis_off()
    axes.margins(0.2)
    axes.set_aspect("equal")


PAINT = {"red": "#d1495b", "blue": "#2e6f9e", "purple": "#8d5fa8", "green": "#3d9a5b"}
