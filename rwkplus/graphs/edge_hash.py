"""Whether edges have changed since something was computed of them and kept in the graphs."""

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from rwkplus.ops.egonet_kinds import edge_hash


def edge_hash_of(data: Data | Batch, *, bare: bool = False) -> Tensor | None:
    """One number for all edges, which PyG batches to one for each graph; None for unknown.

    Args:
        data: A graph or batch.
        bare: Leave out weights and colors.
    """
    weight, attr = (None if bare else data.get(field) for field in ("edge_weight", "edge_attr"))
    ptr = data.get("ptr")
    rounded = any(value is not None and value.dtype in (torch.half, torch.bfloat16) for value in (weight, attr))
    if rounded or (ptr is None and data.get("batch") is not None):  # where graphs begin is not known
        return None
    if ptr is None:
        ptr = torch.tensor([0, data.num_nodes], device="cpu")
    parts = [None if part is None else part.cpu() for part in (weight, attr)]
    value = edge_hash(data.edge_index.cpu(), ptr.cpu(), *parts)
    return torch.tensor([value], device=data.edge_index.device)


def has_same_edges(data: Data | Batch, known: Tensor | None, *, bare: bool = False) -> bool | None:
    """Whether graphs have the edges of which ``known`` is the hash, one number for each graph; None for unknown."""
    now = None if known is None else edge_hash_of(data, bare=bare)
    return None if known is None or now is None else int(now) == int(known.sum())
