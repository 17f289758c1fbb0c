"""Egonets of 64 molecules beside a loop over networkx."""

import networkx as nx
import torch
from torch_geometric.data import Batch

from benchmarks.kernel_conv import GRAPHS, MAX_NODES
from benchmarks.measure import cpu_seconds, record
from rwkplus.datasets import load_graphs
from rwkplus.nn import EgoNets, extract_egonets


def by_networkx(graphs):
    """Members in breadth-first order and their adjacency, for every node."""
    found = []
    for graph in graphs:
        whole = nx.Graph()
        whole.add_nodes_from(range(graph.num_nodes))
        whole.add_edges_from(graph.edge_index.t().tolist())
        for v in whole:
            order = [v, *(u for _, u in nx.bfs_edges(whole, v, depth_limit=1, sort_neighbors=sorted))][:MAX_NODES]
            found.append((order, nx.to_numpy_array(whole.subgraph(order), nodelist=order)))
    return found


def main():
    """Compare members and edges, then time."""
    torch.set_num_threads(1)
    graphs = load_graphs("NCI1").to_pyg()
    chosen = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0))[:GRAPHS]
    graphs = [graphs[i] for i in chosen]
    batch = Batch.from_data_list(graphs)
    transform = EgoNets(1, MAX_NODES)
    peer, found = cpu_seconds(lambda: by_networkx(graphs), repeats=3)
    egonets = extract_egonets(batch.edge_index, batch.num_nodes, 1, MAX_NODES)
    first = batch.ptr[batch.batch]
    members = (egonets.member - first[egonets.member]).split(egonets.size.tolist())
    assert [part.tolist() for part in members] == [order for order, _ in found]
    assert egonets.link_count.tolist() == [int(adj.sum()) for _, adj in found]
    ways = {
        "networkx": peer,
        "rwkplus, graph by graph": cpu_seconds(lambda: [transform(graph) for graph in graphs], repeats=20)[0],
        "rwkplus, as a batch": cpu_seconds(lambda: transform(batch), repeats=20)[0],
    }
    record(
        "egonets",
        "Egonets of 64 molecules of NCI1",
        f"Members in breadth-first order and the edges between them, for {batch.num_nodes:,} nodes, one hop, at most "
        f"{MAX_NODES} members. networkx: `bfs_edges`, `subgraph` and `to_numpy_array` in a loop. CPU time.",
        [
            {"egonets": name, "milliseconds": 1e3 * seconds, "times faster": peer / seconds}
            for name, seconds in ways.items()
        ],
    )


if __name__ == "__main__":
    main()
