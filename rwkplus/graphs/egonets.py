"""The neighborhood of every node: found once, kept in the graphs, batched by PyG."""

from numbers import Integral

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from rwkplus.errors import GraphError, ParameterError
from rwkplus.functional.egonet_kernels import Egonets
from rwkplus.functional.propagate import check_edges
from rwkplus.graphs.edge_hash import edge_hash_of, has_same_edges
from rwkplus.ops.egonet_kinds import egonet_kinds, row_hashes
from rwkplus.ops.egonets import find_egonets

# What Egonets are called in a graph. PyG counts numbers on from graph to graph if a name has "index" in it.
FIELDS = ("ego_index", "ego_size", "ego_link", "ego_link_count", "ego_weight", "ego_attr", "ego_undirected", "ego_kind")


class EgoNets(BaseTransform):
    """Find the subgraph induced by the nodes within ``hops`` of every node, and keep it with the graph.

    Members are in breadth-first order from the center, along edges of either direction, neighbors of one node by
    their numbers; ``max_nodes`` keeps the first of them. Edges, their weights and colors refer to that order, so that
    features and adjacency cannot fall apart. The result depends neither on the order of edges nor on batches, and a
    whole ``Batch`` can be transformed as well as its graphs. Works as ``transform`` and ``pre_transform`` of data sets.

    The fields are named such that PyG batches them: ``ego_index`` numbers nodes and is counted on from graph to graph,
    ``ego_link`` numbers members within their egonet and is not. :func:`egonets_of` reads them.

    Args:
        hops: Largest distance from the center.
        max_nodes: Largest number of members, the center included; None for all.
    """

    def __init__(self, hops: int = 1, max_nodes: int | None = None) -> None:
        check_extent(hops, max_nodes)
        self.hops = hops
        self.max_nodes = max_nodes

    def forward(self, data: Data | Batch) -> Data | Batch:
        """Add the egonets of all nodes to a graph or batch."""
        if data.edge_index is None or data.num_nodes is None:
            raise GraphError("a graph without edge_index or nodes has no egonets: give it x or num_nodes, too.")
        weight, attr = data.get("edge_weight"), data.get("edge_attr")
        egonets = extract_egonets(data.edge_index, data.num_nodes, self.hops, self.max_nodes, weight, attr)
        color = None
        if data.x is not None:
            color = row_hashes(data.x.cpu()).to(data.x.device)
            egonets = egonets._replace(kind=_kinds(color, egonets))
        checked = edge_hash_of(data)
        found = dict(zip(FIELDS, egonets, strict=False)) | {"ego_color": color, "ego_edges": checked}
        for field, value in found.items():
            if value is not None:
                data[field] = value
            elif field in data:  # from an earlier time
                del data[field]
        data.ego_extent = _extent(self.hops, self.max_nodes, data.edge_index.device)
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(hops={self.hops}, max_nodes={self.max_nodes})"


def egonets_of(data: Data | Batch, hops: int, max_nodes: int | None) -> Egonets:
    """Return the egonets that :class:`EgoNets` kept in a graph or batch, or find them now if it did not.

    Kinds of egonets are left out if features have changed since.

    Raises:
        GraphError: The graphs have egonets of another extent, or their edges have changed since.
    """
    if FIELDS[0] not in data:
        weight, attr = data.get("edge_weight"), data.get("edge_attr")
        return extract_egonets(data.edge_index, data.num_nodes, hops, max_nodes, weight, attr)
    egonets = Egonets(*(data.get(field) for field in FIELDS))
    if torch.compiler.is_compiling():  # checks would break the graph
        return egonets
    if bool((data.ego_extent != _extent(hops, max_nodes, data.ego_extent.device)).any()):
        known = data.ego_extent.unique(dim=0).tolist()
        found = " and ".join(f"EgoNets(hops={h}, max_nodes={None if m < 0 else m})" for h, m in known)
        raise GraphError(
            f"the graphs were transformed by {found} but EgoNets(hops={hops}, max_nodes={max_nodes}) is wanted."
        )
    if has_same_edges(data, data.get("ego_edges")) is False:
        raise GraphError(
            "edge_index, edge_weight or edge_attr have changed since egonets were found: apply "
            f"EgoNets(hops={hops}, max_nodes={max_nodes}) again."
        )
    unchanged = (
        data.x is not None and "ego_color" in data and torch.equal(row_hashes(data.x.cpu()), data.ego_color.cpu())
    )
    return egonets if unchanged else egonets._replace(kind=None)


def extract_egonets(
    edge_index: Tensor,
    num_nodes: int,
    hops: int = 1,
    max_nodes: int | None = None,
    edge_weight: Tensor | None = None,
    edge_attr: Tensor | None = None,
) -> Egonets:
    """Find the egonets of all nodes; see :class:`EgoNets` for their order. The search runs on the CPU.

    Args:
        edge_index: Directed edges ``(2, E)``; give undirected edges twice.
        num_nodes: Number of nodes.
        hops: Largest distance from the center.
        max_nodes: Largest number of members; None for all.
        edge_weight: Weights ``(E,)``.
        edge_attr: Colors ``(E, C)`` or ``(E,)``.
    """
    check_extent(hops, max_nodes)
    check_edges(edge_index, edge_weight=edge_weight, edge_attr=edge_attr)
    limit = -1 if max_nodes is None else max_nodes
    found = find_egonets(edge_index.cpu().long(), num_nodes, hops, limit)
    member, size, link, link_count, edge, mirror = (part.to(edge_index.device) for part in found)
    weight, attr = _per_edge(edge_weight, 1), _per_edge(edge_attr, 2)
    undirected = (mirror >= 0).all()
    for value in (weight, attr):
        if value is not None:
            undirected = undirected & (value == value[mirror]).all()
    return Egonets(
        member,
        size,
        link,
        link_count,
        None if weight is None else weight[edge],
        None if attr is None else attr[edge],
        undirected.view(1),
    )


def _kinds(color: Tensor, egonets: Egonets) -> Tensor:
    parts = [part.cpu() for part in (color, *egonets[:6]) if part is not None]
    return egonet_kinds(*parts).to(color.device)


def check_extent(hops: object, max_nodes: object) -> None:
    """Refuse egonets that cannot be."""
    if not isinstance(hops, Integral) or hops < 1:
        raise ParameterError(f"hops must be an integer of at least 1, got {hops!r}.")
    if max_nodes is not None and (not isinstance(max_nodes, Integral) or max_nodes < 1):
        raise ParameterError(
            f"max_nodes must be None or an integer of at least 1, for a node is in its own egonet; got {max_nodes!r}."
        )


def _extent(hops: int, max_nodes: int | None, device: torch.device | str) -> Tensor:
    return torch.tensor([[hops, -1 if max_nodes is None else max_nodes]], device=device)


def _per_edge(values: Tensor | None, dim: int) -> Tensor | None:
    """Weights as a vector and colors as a matrix, whichever way they were written."""
    if values is None or values.dim() == dim:
        return values
    return values.squeeze(1) if dim == 1 else values.unsqueeze(1)
