"""Small random graphs for Hypothesis, and their way into tensors, banks and dense matrices.

Graphs are networkx graphs as the oracles read them: discrete ``color`` on nodes and edges, or real-valued
``x`` on nodes and ``attr`` on edges, and ``weight``. All numbers are multiples of 1/4, so that sums of
products are exact in float64 and counts can be compared exactly.
"""

import networkx as nx
import numpy as np
import torch
from hypothesis import strategies as st
from torch_geometric.data import Data

from rwkplus.table import GraphTable, Reader

COLORS = 3
EDGE_COLORS = 2
FEATURES = 2

weights = st.sampled_from([-1.0, 0.5, 1.0, 2.0])
numbers = st.integers(-6, 6).map(lambda i: i / 4)
vectors = st.tuples(*[numbers] * FEATURES)


@st.composite
def colored_graphs(
    draw,
    *,
    min_nodes=2,
    max_nodes=5,
    directed=None,
    edge_colors=False,
    edge_weights=False,
    blank=False,
    colors=COLORS,
):
    """Graphs with discrete colors; ``blank`` lets nodes and edges have none (a zero row, matching nothing)."""
    graph = _structure(draw, min_nodes, max_nodes, directed)
    graph.graph.update(edge_colors=edge_colors, edge_weights=edge_weights, real=False)
    # Low colors are frequent, so that walks match often, and not always.
    node_colors = st.sampled_from([*range(-1 if blank else 0, colors), 0, 0, 1 % colors])
    for v in graph:
        graph.nodes[v]["color"] = draw(node_colors)
    for edge in graph.edges:
        if edge_colors:
            graph.edges[edge]["color"] = draw(st.integers(-1 if blank else 0, EDGE_COLORS - 1))
        if edge_weights:
            graph.edges[edge]["weight"] = draw(weights)
    return graph


@st.composite
def real_graphs(draw, *, min_nodes=2, max_nodes=5, directed=None, edge_colors=False, edge_weights=False):
    """Graphs with real-valued node features and, if wanted, edge attributes."""
    graph = _structure(draw, min_nodes, max_nodes, directed)
    graph.graph.update(edge_colors=edge_colors, edge_weights=edge_weights, real=True)
    for v in graph:
        graph.nodes[v]["x"] = draw(vectors)
    for edge in graph.edges:
        if edge_colors:
            graph.edges[edge]["attr"] = draw(vectors)
        if edge_weights:
            graph.edges[edge]["weight"] = draw(weights)
    return graph


def _structure(draw, min_nodes, max_nodes, directed):
    directed = draw(st.booleans()) if directed is None else directed
    n = draw(st.sampled_from(range(min_nodes, max_nodes + 1)))
    pairs = [(u, v) for u in range(n) for v in range(n) if directed or u <= v]  # self-loops included
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(n))
    kept = draw(st.lists(st.sampled_from([True, False, True]), min_size=len(pairs), max_size=len(pairs)))
    graph.add_edges_from(pair for pair, keep in zip(pairs, kept, strict=True) if keep)
    return graph


def random_graphs(num_graphs=12, *, seed=0, max_nodes=9, real=False, **fields):
    """Return a fixed database for tests where the graphs themselves are not the point."""
    rng = np.random.default_rng(seed)
    graphs = []
    for i in range(num_graphs):
        graph = nx.gnp_random_graph(int(rng.integers(3, max_nodes + 1)), 0.4, seed=seed * 1000 + i)
        graph.graph.update({"edge_colors": False, "edge_weights": False, "real": real} | fields)
        for v in graph:
            graph.nodes[v]["color"] = int(rng.integers(COLORS))
            graph.nodes[v]["x"] = tuple(rng.integers(-6, 7, FEATURES) / 4)
        for edge in graph.edges:
            if fields.get("edge_colors"):
                graph.edges[edge]["color"] = int(rng.integers(EDGE_COLORS))
                graph.edges[edge]["attr"] = tuple(rng.integers(-6, 7, FEATURES) / 4)
            if fields.get("edge_weights"):
                graph.edges[edge]["weight"] = float(rng.choice([0.5, 1.0, 2.0]))
        graphs.append(graph)
    return graphs


def node_rows(graph):
    if graph.graph["real"]:
        return np.array([graph.nodes[v]["x"] for v in graph], dtype=float).reshape(-1, FEATURES)
    return one_hot([graph.nodes[v]["color"] for v in graph], COLORS)


def edge_row(graph, edge):
    if graph.graph["real"]:
        return np.array(graph.edges[edge]["attr"], dtype=float)
    return one_hot([graph.edges[edge]["color"]], EDGE_COLORS)[0]


def one_hot(colors, width):
    rows = np.zeros((len(colors), width))
    for row, color in zip(rows, colors, strict=True):
        if color >= 0:
            row[color] = 1.0
    return rows


def directed_edges(graph):
    return [(u, v) for u in graph for v in graph[u]]


def as_data(graph):
    """Return PyG data in float64 with one width of colors for all graphs, whatever colors they have."""
    place = {v: i for i, v in enumerate(graph)}
    edges = directed_edges(graph)
    index = torch.tensor([(place[u], place[v]) for u, v in edges], dtype=torch.long).view(-1, 2).t().contiguous()
    data = Data(x=torch.from_numpy(node_rows(graph)), edge_index=index)
    if graph.graph["edge_colors"]:
        width = FEATURES if graph.graph["real"] else EDGE_COLORS
        rows = np.array([edge_row(graph, edge) for edge in edges], dtype=float).reshape(-1, width)
        data.edge_attr = torch.from_numpy(rows)
    if graph.graph["edge_weights"]:
        data.edge_weight = torch.tensor([graph.edges[e]["weight"] for e in edges], dtype=torch.float64)
    return data


def data_list(graphs):
    return [as_data(graph) for graph in graphs]


def pyg_graphs(graphs, **options):
    """Graphs of any form as those of PyG."""
    return GraphTable.of(graphs, **options).to_pyg()


def arrays_of(graphs, *, labels=True):
    """Graphs as the loops read them."""
    table = GraphTable.of(graphs)
    return Reader.fit(table).read(table, labels=labels)


def batched(graphs):
    """Return the arguments of the functional kernels that describe the input graphs."""
    parts = data_list(graphs)
    sizes = [part.x.size(0) for part in parts]
    offsets = np.concatenate([[0], np.cumsum(sizes)])[:-1].tolist()
    arguments = {
        "x": torch.cat([part.x for part in parts]),
        "edge_index": torch.cat([p.edge_index + o for p, o in zip(parts, offsets, strict=True)], 1),
        "batch": torch.repeat_interleave(torch.arange(len(parts)), torch.tensor(sizes)),
    }
    for field in ("edge_attr", "edge_weight"):
        if parts[0].get(field) is not None:
            arguments[field] = torch.cat([part[field] for part in parts])
    return arguments


def bank(graphs, size=None):
    """Return the arguments that describe the hidden graphs: dense, padded with zeros to ``size`` nodes."""
    size = max([len(graph) for graph in graphs] + [size or 0])
    dense_parts = [dense(graph) for graph in graphs]

    def padded(part, axes):
        return np.pad(part, [(0, size - part.shape[0])] * axes + [(0, 0)] * (part.ndim - axes))

    arguments = {
        "hidden_x": torch.from_numpy(np.stack([padded(x, 1) for x, _, _ in dense_parts])),
        "hidden_adj": torch.from_numpy(np.stack([padded(adj, 2) for _, adj, _ in dense_parts])),
    }
    if graphs[0].graph["edge_colors"]:
        colors = np.stack([padded(color, 2) for _, _, color in dense_parts])
        arguments["hidden_edge_attr"] = torch.from_numpy(colors)
    return arguments


def dense(graph):
    """Return node features ``(n, D)``, weighted adjacency ``(n, n)`` and edge colors ``(n, n, C)``, or None."""
    place = {v: i for i, v in enumerate(graph)}
    n = len(place)
    adj = np.zeros((n, n))
    colors = np.zeros((n, n, FEATURES if graph.graph["real"] else EDGE_COLORS))
    for u, v in directed_edges(graph):
        adj[place[u], place[v]] = graph.edges[u, v].get("weight", 1.0)
        if graph.graph["edge_colors"]:
            colors[place[u], place[v]] = edge_row(graph, (u, v))
    return node_rows(graph), adj, colors if graph.graph["edge_colors"] else None


def scores(kernel, graphs, hidden, steps, **options):
    """Scores ``(T, B, K)`` of a functional kernel."""
    return kernel(**batched(graphs), **bank(hidden), steps=steps, num_graphs=len(graphs), **options)
