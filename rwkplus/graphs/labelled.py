"""Names for columns that have none, and graphs as people look at them: nodes and edges with labels."""

from collections import Counter, defaultdict

import networkx as nx
from torch import Tensor
from torch_geometric.data import Batch

from rwkplus.errors import GraphError
from rwkplus.graphs.features import is_one_hot
from rwkplus.graphs.schema import Colors, Schema

NAMES_OF = {"x": "node_label_names", "edge_attr": "edge_label_names"}
"""Where the names of the columns of each field stand."""
ONE_COLOR = ("0",)
"""Names of graphs without labels."""


def named(batch: Batch, fitted: Schema | None = None) -> Batch:
    """Name unnamed columns: by their numbers or, where as many were fitted, as those.

    So graphs with and without names can be compared; and where later graphs have no labels although fitted ones had,
    the number of columns differs, which is refused.
    """
    colors = {} if fitted is None else {"x": fitted.nodes, "edge_attr": fitted.edges}
    for field, names in NAMES_OF.items():
        if batch.get(field) is None or batch.get(names) is not None:
            continue
        width, like = batch[field].size(1), colors.get(field)
        if field == "x" and like is not None:
            _check_labelled(batch.x, like)
        if like is None:
            batch[names] = tuple(map(str, range(width)))
        elif like.width == width:
            batch[names] = like.names
    return batch


def _check_labelled(x: Tensor, fitted: Colors) -> None:
    """Refuse nodes that are all alike where the fitted ones had labels."""
    if fitted.names != ONE_COLOR and x.size(1) == 1 and bool((x == 1).all()):
        some = ", ".join((fitted.names or ())[:5])
        raise GraphError(f"graph 0: nodes have no labels, those of the fitted graphs had: {some}.")


def labelled_graphs(batch: Batch) -> list[nx.Graph]:
    """Graphs to look at: node and edge attribute ``label``, or the column of the largest measurement.

    They are directed where an edge has no reverse. Several edges between the same nodes are one, with all their labels.
    """
    nodes = _names(batch, "x")
    edges = _names(batch, "edge_attr") if batch.get("edge_attr") is not None else None
    owner = batch.batch[batch.edge_index[0]].tolist()
    first = batch.ptr.tolist()
    graphs = [nx.DiGraph() for _ in first[1:]]
    for v, (i, label) in enumerate(zip(batch.batch.tolist(), nodes, strict=True)):
        graphs[i].add_node(v - first[i], label=label)
    found: dict[tuple[int, int, int], Counter[str]] = defaultdict(Counter)
    for k, (u, v) in enumerate(batch.edge_index.t().tolist()):
        i = owner[k]
        found[i, u - first[i], v - first[i]]["" if edges is None else edges[k]] += 1
    for (i, u, v), labels in found.items():
        graphs[i].add_edge(u, v, label=_in_words(labels))
    return [graph.to_undirected() if _is_symmetric(graph) else graph for graph in graphs]


def _in_words(labels: Counter[str]) -> str | None:
    """The label of an edge; of several edges all labels with their numbers, as in ``card (2), cash``."""
    if labels.keys() == {""}:
        return None if labels.total() == 1 else f"{labels.total()} edges"
    return ", ".join(label if number == 1 else f"{label} ({number})" for label, number in sorted(labels.items()))


def _is_symmetric(graph: nx.DiGraph) -> bool:
    return all(graph.has_edge(v, u) and graph.edges[v, u] == fields for u, v, fields in graph.edges(data=True))


def _names(batch: Batch, field: str) -> list[str]:
    columns = batch[field].argmax(1).tolist()
    names = batch.get(NAMES_OF[field])
    if names is None or not is_one_hot(batch[field]):
        return [f"x{column}" for column in columns]
    return [names[column] for column in columns]
