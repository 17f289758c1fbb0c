"""Two small graphs of PyG."""

import torch
from torch_geometric.data import Data

EDGES = ((0, 1), (1, 0), (1, 2), (2, 1))


def path(**fields):
    """A path of three nodes with labels 0, 1, 0 in two columns."""
    graph = Data(x=torch.tensor([[1.0, 0], [0, 1], [1, 0]]), edge_index=torch.tensor(EDGES).t())
    for field, value in fields.items():
        graph[field] = value
    return graph


def edge(**fields):
    graph = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    for field, value in fields.items():
        graph[field] = value
    return graph
