"""Graphs as JSON, one per line: networkx's node-link form.

``{"id": "g7", "nodes": [{"id": 0, "label": "C"}, {"id": 1, "label": "O"}], "edges": [{"source": 0, "target": 1}]}``

Nodes may carry ``label`` or numbers ``x``, edges ``label``, ``attr`` or ``weight``; ``"links"`` is read as ``"edges"``,
and ``"directed": true`` is heeded. Labels are compared as they are written: 1 and "1" are the same. Further fields
beside ``nodes`` and ``edges`` belong to the user.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
from torch_geometric.data import Data

from rwkplus.errors import DataError, GraphError
from rwkplus.graphs.features import is_one_hot, label_numbers
from rwkplus.graphs.from_networkx import from_networkx
from rwkplus.graphs.graph_names import set_names, set_node_names
from rwkplus.graphs.targets import set_targets
from rwkplus.types import check_ignore

KINDS = {
    (False, False): nx.Graph,
    (True, False): nx.DiGraph,
    (False, True): nx.MultiGraph,
    (True, True): nx.MultiDiGraph,
}


NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?")
"""What may be a number in its usual spelling."""


class JsonGraph(NamedTuple):
    """A graph and what its owner calls it."""

    name: object
    graph: nx.Graph


def parse_graph(line: str | bytes) -> JsonGraph:
    """Read one line, or raise an error that tells what is wrong with it."""
    try:
        record = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise GraphError(f"not JSON: {error}.") from error
    if not isinstance(record, dict):
        raise GraphError(f"expected an object with 'nodes' and 'edges', got {_short(record)}.")
    _check_text(line, record)
    field = "links" if "links" in record and "edges" not in record else "edges"
    nodes, edges = _objects(record, "nodes"), _objects(record, field)
    known = _identified(nodes)
    for k, edge in enumerate(edges):
        for end in ("source", "target"):
            if not _is_node(edge.get(end), known):
                raise GraphError(f"{field}[{k}]: {end} is {_short(edge.get(end))}, which is the id of no node.")
    graph = KINDS[_flag(record, "directed"), _flag(record, "multigraph")]()
    graph.add_nodes_from((node.pop("id"), node) for node in nodes)
    for k, edge in enumerate(edges):
        u, v = edge.pop("source"), edge.pop("target")
        _without_key(edge, graph)
        if not graph.is_multigraph() and graph.has_edge(u, v) and graph.edges[u, v] != edge:
            raise GraphError(
                f"{field}[{k}]: there was an edge from {u!r} to {v!r} with other fields; parallel edges need "
                '"multigraph": true.'
            )
        graph.add_edges_from([(u, v, edge)])  # fields may be called like arguments of add_edge
    return JsonGraph(_name(record), graph)


def _check_text(line: str | bytes, record: object) -> None:
    """Refuse halves of characters, which JSON can spell and no file can hold."""
    marks: tuple[Any, ...] = ("\\u",) if isinstance(line, str) else (b"\\u", b"\xed")
    if not any(mark in line for mark in marks):  # mostly there is nothing to look for
        return
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise GraphError(f"a text holds half of a character ({half} alone), as when one is cut in two.") from error


def _name(record: Mapping[str, Any]) -> object:
    """The graph's own name, which goes back into JSON."""
    name = record.get("id")
    _check_writable(name, "id")
    return name


def _check_writable(name: object, what: str) -> None:
    """Refuse numbers such as 1e999, which can be read but not be written again."""
    try:
        json.dumps(name, allow_nan=False)
    except ValueError as error:
        raise GraphError(f"{what} is larger than any number that JSON can hold: make it a string.") from error


def read_json_lines(path: str | Path, *, ignore: Sequence[str] = ()) -> list[Data]:
    """Read a file of graphs; a field ``y``, a number or the name of a class, is the target.

    Args:
        path: The file.
        ignore: Fields of nodes and edges to leave out on purpose.
    """
    check_ignore(ignore)
    graphs, names, targets = [], [], []
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    name, graph = _parsed(line, number, path)
                    graphs.append(graph)
                    names.append(name)
                    targets.append((number, json.loads(line).get("y")))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from error
    if not graphs:
        raise DataError(f"{path} holds no graphs: expected one JSON object per line.")
    data = from_networkx(graphs, ignore=ignore)
    set_names(data, names)
    set_node_names(data, graphs)
    if any(y is not None for _, y in targets):
        set_targets(data, _one_kind(targets, path))
    return data


def graph_to_json(graph: Data, name: object = None) -> str:
    """Write a graph as one line of JSON: labels where their columns have names, all other colors as numbers.

    Args:
        graph: The graph.
        name: What it is called; its own ``name`` by default.
    """
    nodes = [{"id": v, **fields} for v, fields in enumerate(_fields(graph, "x", "node_label_names", "x"))]
    name = graph.get("name") if name is None else name
    record: dict[str, Any] = {} if name is None else {"id": name}
    record |= _target(graph) | _edges(graph) | {"nodes": nodes}
    try:
        return json.dumps(record, allow_nan=False)
    except ValueError as error:
        raise GraphError("x, edge_attr, edge_weight or y hold nan or inf, which JSON cannot: replace them.") from error


def _target(graph: Data) -> dict[str, Any]:
    y = graph.get("y")
    if y is None or isinstance(y, str):
        return {} if y is None else {"y": y}
    if y.numel() != 1:
        raise GraphError(f"y holds {y.numel()} numbers, of which a file takes one per graph: set graph.y to that.")
    return {"y": y.item()}


def _edges(graph: Data) -> dict[str, Any]:
    """Edges with their fields; each once where all have a reverse of the same fields."""
    fields = list(_fields(graph, "edge_attr", "edge_label_names", "attr"))
    if graph.get("edge_weight") is not None:
        fields = [f | {"weight": w} for f, w in zip(fields, graph.edge_weight.flatten().tolist(), strict=True)]
    ends = graph.edge_index.t().tolist()
    edges = [{"source": u, "target": v, **f} for (u, v), f in zip(ends, fields, strict=True)]
    forth = Counter((u, v, str(f)) for (u, v), f in zip(ends, fields, strict=True))
    directed = any(forth[v, u, f] != count for (u, v, f), count in forth.items())
    if not directed:
        edges = [edge for edge in edges if edge["source"] <= edge["target"]]
    parallel = len(set(map(tuple, ends))) < len(ends)
    return {"directed": directed, "multigraph": parallel, "edges": edges}


def _fields(graph: Data, field: str, names: str, attribute: str) -> Iterable[dict[str, Any]]:
    values = graph.get(field)
    if values is None:
        return ({} for _ in range(graph.num_nodes or 0 if field == "x" else graph.num_edges))
    named = graph.get(names)
    if named is not None and bool(values.any(-1).all()) and is_one_hot(values):
        return ({"label": named[n]} for n in label_numbers(values).tolist())
    return ({attribute: row} for row in values.tolist())


def _parsed(line: bytes, number: int, path: str | Path) -> JsonGraph:
    try:
        return parse_graph(line)
    except GraphError as error:
        raise DataError(f"{path}, line {number}: {error}") from error


def _objects(record: Mapping[str, Any], field: str) -> list[dict[str, Any]]:
    values = record.get(field)
    if not isinstance(values, list):
        raise GraphError(f"{field!r} must be a list of objects, got {_short(values)}.")
    for k, value in enumerate(values):
        if not isinstance(value, dict):
            raise GraphError(f"{field}[{k}] must be an object, got {_short(value)}.")
        if "label" in value:
            value["label"] = _plain(value["label"])
    return values


def _plain(label: Any) -> Any:  # noqa: ANN401 -- what JSON can spell
    """Make one label of 1, 1.0 and "1": what a label means must not depend on how other lines write theirs."""
    if isinstance(label, bool):
        return str(label)
    if isinstance(label, float) and label.is_integer():
        return int(label)
    if isinstance(label, str) and NUMBER.fullmatch(label):
        number = json.loads(label)
        return _plain(number) if str(number) == label else label
    return label


def _identified(nodes: list[dict[str, Any]]) -> set[object]:
    seen: set[object] = set()
    for k, node in enumerate(nodes):
        name = node.get("id")
        if not isinstance(name, int | float | str) or name in seen:
            raise GraphError(f"nodes[{k}]: every node needs an 'id' of its own, a number or a string.")
        if isinstance(name, float):
            _check_writable(name, f"nodes[{k}]: id")
        seen.add(name)
    if not seen:
        raise GraphError("'nodes' is empty: a graph has at least one node.")
    return seen


def _without_key(edge: dict[str, Any], graph: nx.Graph) -> None:
    if graph.is_multigraph():
        edge.pop("key", None)  # networkx's number of a parallel edge


def _flag(record: Mapping[str, Any], field: str) -> bool:
    value = record.get(field, False)
    if not isinstance(value, bool):
        raise GraphError(f"{field!r} must be true or false, got {_short(value)}.")
    return value


def _one_kind(targets: Sequence[tuple[int, Any]], path: str | Path) -> list[Any]:
    """Targets of all graphs: names, whole numbers, or numbers."""
    for number, y in targets:
        if not isinstance(y, str | int | float) or isinstance(y, bool):
            raise DataError(f"{path}, line {number}: y must be a number or a name in every graph, got {_short(y)}.")
    values = [y for _, y in targets]
    kind = next((kind for kind in (str, float) if any(isinstance(y, kind) for y in values)), int)
    return [kind(y) for y in values]


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _is_node(name: object, nodes: set[object]) -> bool:
    return isinstance(name, int | float | str) and name in nodes


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
