"""Pictures of large graphs: the nodes around the part to look at."""

from collections.abc import Iterable
from itertools import islice

import networkx as nx

LARGEST_DRAWING = 60
"""Nodes; of a larger graph, the surroundings of a part are drawn."""


def surroundings(graph: nx.Graph, part: Iterable[int] = ()) -> nx.Graph:
    """The whole graph or, of a large one, the nodes around the part, whose first nodes matter most."""
    if len(graph) <= LARGEST_DRAWING:
        return graph
    kept = list(islice(part, LARGEST_DRAWING)) or [next(iter(graph))]
    reached = set(kept)
    for v in kept:  # grows while it is walked through: breadth first
        for u in nx.all_neighbors(graph, v):
            if u not in reached and len(kept) < LARGEST_DRAWING:
                reached.add(u)
                kept.append(u)
    return graph.subgraph(kept)


def how_many_drawn(graph: nx.Graph, drawn: nx.Graph) -> str:
    """Number of nodes, and how many of them are to be seen."""
    return str(len(graph)) if len(graph) == len(drawn) else f"{len(graph)}, {len(drawn)} of them drawn"
