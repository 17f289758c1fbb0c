"""Graphs in GraKeL's form."""

from grakel import Graph

from rwkplus.graphs.features import label_numbers


def grakel_graphs(graphs):
    """The same nodes, edges and node labels."""
    return [
        Graph(
            {tuple(edge) for edge in graph.edge_index.t().tolist()},
            node_labels=dict(enumerate(label_numbers(graph.x).tolist())),
            graph_format="dictionary",
        )
        for graph in graphs
    ]
