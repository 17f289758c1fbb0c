"""Names for small labelled graphs that are no molecules."""

import networkx as nx


def describe(graph: nx.Graph) -> str:
    """Say in a few words what a connected graph with attribute ``label`` looks like.

    Example:
        >>> graph = nx.cycle_graph(3)
        >>> nx.set_node_attributes(graph, {0: "red", 1: "red", 2: "blue"}, "label")
        >>> describe(graph)
        'triangle blue-red-red'
    """
    size, edges = len(graph), graph.number_of_edges()
    degrees = sorted(degree for _, degree in graph.degree)
    if edges == size - 1 and degrees[-1] <= 2:
        return f"path {_along(graph, [v for v, degree in graph.degree if degree <= 1])}"
    if edges == size and degrees[0] == degrees[-1] == 2:
        return f"{'triangle' if size == 3 else f'{size}-ring'} {_along(graph, list(graph))}"
    if edges == size * (size - 1) // 2:
        return f"{size}-clique {_listed(graph, graph)}"
    if edges == size - 1 and degrees[-1] == size - 1:
        center = max(graph, key=graph.degree)
        return f"star {graph.nodes[center]['label']}({_listed(graph, graph.neighbors(center))})"
    kind = "tree" if edges == size - 1 else f"graph with {edges} edges"
    return f"{kind} of {_listed(graph, graph)}"


def _along(graph: nx.Graph, starts: list[int]) -> str:
    """Labels in the order of a path or cycle: the first in the alphabet of all ways to read it."""
    ways = []
    for start in starts:
        for second in list(graph.neighbors(start)) or [start]:
            order = [start] if second == start else [start, second]
            while len(order) < len(graph):
                order.append(next(v for v in graph.neighbors(order[-1]) if v != order[-2]))
            ways.append([str(graph.nodes[v]["label"]) for v in order])
    return "-".join(min(ways))


def _listed(graph: nx.Graph, nodes: object) -> str:
    labels = sorted(str(graph.nodes[v]["label"]) for v in nodes)  # type: ignore[attr-defined]
    counted = [(label, labels.count(label)) for label in dict.fromkeys(labels)]
    return ", ".join(label if times == 1 else f"{times} x {label}" for label, times in counted)
