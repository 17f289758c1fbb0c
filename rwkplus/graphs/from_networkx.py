"""networkx graphs to PyG ``Data`` with a shared vocabulary; every attribute is used or refused by name."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import networkx as nx
import torch
from torch import Tensor
from torch_geometric.data import Data

from rwkplus.errors import GraphError
from rwkplus.graphs.graph_names import set_names, set_node_names
from rwkplus.graphs.vocabulary import Vocabulary
from rwkplus.types import check_ignore


def from_networkx(
    graphs: Sequence[nx.Graph],
    *,
    node_label: str = "label",
    node_attr: str = "x",
    edge_label: str = "label",
    edge_attr: str = "attr",
    edge_weight: str = "weight",
    ignore: Sequence[str] = (),
) -> list[Data]:
    """Convert networkx graphs to PyG ``Data``; undirected edges appear in both directions.

    Nodes are numbered in their order. What graphs and nodes are called is kept in ``name`` and ``node_names``.

    Args:
        graphs: Graphs, directed or not. Parallel edges of multigraphs each carry walks.
        node_label: Node attribute with a discrete label of any hashable kind.
        node_attr: Node attribute with a number or a sequence of numbers.
        edge_label: Edge attribute with a discrete label.
        edge_attr: Edge attribute with a number or a sequence of numbers.
        edge_weight: Edge attribute with the weight.
        ignore: Attributes to leave out on purpose.

    Example:
        >>> water = nx.Graph([(0, 1), (0, 2)])
        >>> nx.set_node_attributes(water, {0: "O", 1: "H", 2: "H"}, "label")
        >>> from_networkx([water])[0].node_label_names
        ('H', 'O')
    """
    check_ignore(ignore)  # before anything is read
    for i, graph in enumerate(graphs):
        if not isinstance(graph, nx.Graph):
            raise GraphError(f"graph {i} is a {type(graph).__name__}: expected networkx graphs, all of one kind.")
    nodes = [list(graph.nodes(data=True)) for graph in graphs]
    index = [{v: k for k, v in enumerate(graph)} for graph in graphs]
    edges = [_directed_edges(graph, index[i]) for i, graph in enumerate(graphs)]
    node_fields = [[(repr(v), fields) for v, fields in part] for part in nodes]
    edge_fields = [[(f"{u!r}-{v!r}", fields) for u, v, fields in part] for part in edges]
    check_ignore(ignore, {name for part in (*node_fields, *edge_fields) for _, fields in part for name in fields})
    _refuse_unknown("node", node_fields, {node_label, node_attr, *ignore})
    _refuse_unknown("edge", edge_fields, {edge_label, edge_attr, edge_weight, *ignore})

    columns = Columns(ignore)
    x = columns.colors("node", node_fields, node_label, node_attr)
    colors = columns.colors("edge", edge_fields, edge_label, edge_attr)
    weights = columns.numbers("edge", edge_fields, edge_weight)
    result = []
    for i, (node_part, edge_part) in enumerate(zip(nodes, edges, strict=True)):
        ends = [(index[i][u], index[i][v]) for u, v, _ in edge_part]
        data = Data(edge_index=torch.tensor(ends, dtype=torch.long).view(-1, 2).t().contiguous())
        data.num_nodes = len(node_part)
        if x is not None:
            data.x = x[i]
        if colors is not None:
            data.edge_attr = colors[i]
        if weights is not None:
            data.edge_weight = weights[i].squeeze(1)
        for field, names in columns.names.items():
            data[f"{field}_label_names"] = names
        result.append(data)
    _keep_names(result, graphs)
    return result


def _keep_names(result: list[Data], graphs: Sequence[nx.Graph]) -> None:
    set_names(result, [graph.graph.get("name") for graph in graphs])
    if any(list(graph) != list(range(len(graph))) for graph in graphs):
        set_node_names(result, graphs)


def _directed_edges(graph: nx.Graph, index: dict[Any, int]) -> list[tuple[Any, Any, dict[str, Any]]]:
    edges = list(graph.edges(data=True))
    if graph.is_directed():
        return edges
    return edges + [(v, u, fields) for u, v, fields in edges if index[u] != index[v]]


Fields = list[list[tuple[str, dict[str, Any]]]]  # per graph, per node or edge: its name and attributes


def _refuse_unknown(kind: str, fields: Fields, known: set[str]) -> None:
    for i, part in enumerate(fields):
        for owner, attributes in part:
            for name in attributes:
                if name not in known:
                    raise GraphError(
                        f"graph {i}: {kind} {owner} has the attribute {name!r}, which would be lost. Call it 'label' "
                        f"or {'x' if kind == 'node' else 'attr'!r}, name it as {kind}_label= or {kind}_attr= in "
                        f"rwkplus.graphs.from_networkx, or leave it out: ignore=({name!r},)."
                    )


class Columns:
    """Turns attributes of nodes or edges into tensors and remembers the label vocabularies."""

    def __init__(self, ignore: Sequence[str]) -> None:
        self.ignore = ignore
        self.names: dict[str, tuple[str, ...]] = {}

    def colors(self, kind: str, fields: Fields, label: str, attr: str) -> list[Tensor] | None:
        """One-hot labels, continuous attributes, or both side by side."""
        attributes = self.numbers(kind, fields, attr)
        labels = self._values(kind, fields, label)
        if labels is None:
            return attributes
        vocabulary = Vocabulary.of(chain.from_iterable(labels))
        one_hot = [vocabulary.one_hot(part) for part in labels]
        if attributes is None:
            self.names[kind] = vocabulary.names
            return one_hot
        return [torch.cat(pair, 1) for pair in zip(one_hot, attributes, strict=True)]

    def numbers(self, kind: str, fields: Fields, attr: str) -> list[Tensor] | None:
        """Rows of numbers, or None where nobody has the attribute."""
        values = self._values(kind, fields, attr)
        if values is None:
            return None
        width = len(_row(next(chain.from_iterable(values))) or [0])
        return [self._matrix(i, kind, attr, part, width) for i, part in enumerate(values)]

    def _matrix(self, i: int, kind: str, attr: str, values: list[Any], width: int) -> Tensor:
        rows = [_row(value) for value in values]
        for row, value in zip(rows, values, strict=True):
            if row is None or len(row) != width:
                raise GraphError(
                    f"graph {i}: {kind} attribute {attr!r} must be {width} number(s) everywhere, got {value!r}."
                )
        return torch.tensor(rows, dtype=torch.get_default_dtype()).view(-1, width)

    def _values(self, kind: str, fields: Fields, name: str) -> list[list[Any]] | None:
        if name in self.ignore or not any(name in a for part in fields for _, a in part):
            return None
        for i, part in enumerate(fields):
            for owner, attributes in part:
                if attributes.get(name) is None:
                    raise GraphError(
                        f"graph {i}: {kind} {owner} has no {name!r} although others have. "
                        f"Give it to every {kind}, or leave it out: ignore=({name!r},)."
                    )
        return [[attributes[name] for _, attributes in part] for part in fields]


def _row(value: Any) -> list[float] | None:  # noqa: ANN401
    """Return a number or a sequence of numbers as a list, anything else as None."""
    convert: Callable[[Iterable[Any]], list[float]] = lambda values: [float(v) for v in values]  # noqa: E731
    try:
        if isinstance(value, str | bytes):
            return None
        return convert(value) if isinstance(value, Iterable) else convert([value])
    except Exception:  # whatever a stranger's __float__ or __iter__ raises
        return None
