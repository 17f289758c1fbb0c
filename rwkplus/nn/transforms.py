"""What is read off graphs once, kept in them and batched by PyG: egonets, and how likely walks return."""

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from rwkplus.errors import GraphError, ParameterError
from rwkplus.functional.colors import return_probabilities
from rwkplus.functional.kernels import Egonets
from rwkplus.nn.egonet_loops import hash_edges, hash_rows, kinds_of, number_kinds, search_egonets
from rwkplus.tensors import check_edge_index
from rwkplus.types import check_integer

# What Egonets are called in a graph. PyG counts numbers on from graph to graph if a name has "index" in it.
FIELDS = ("ego_index", "ego_size", "ego_link", "ego_link_count", "ego_weight", "ego_attr", "ego_kind")
PER_EDGE = ("edge_weight", "edge_attr")


class EgoNets(BaseTransform):
    """Find the subgraph induced by the nodes within ``hops`` of every node, and keep it with the graph.

    Members are in breadth-first order from the center, along edges of either direction, neighbors of one node by
    their numbers; ``max_nodes`` keeps the first of them. Edges, their weights and colors refer to that order, so that
    features and adjacency cannot fall apart. The result depends neither on the order of edges nor on batches, and a
    whole ``Batch`` can be transformed as well as its graphs. Works as ``transform`` and ``pre_transform`` of data sets;
    many small graphs take half the time in :meth:`batched`, and a ``Batch`` of them less than a tenth, because most of
    the rest is spent on making ``Data``.

    The fields are named such that PyG batches them: ``ego_index`` numbers nodes and is counted on from graph to graph,
    ``ego_link`` numbers members within their egonet and is not. :func:`egonets_of` reads them.

    Args:
        hops: Largest distance from the center.
        max_nodes: Largest number of members, the center included; None for all.

    Example:
        >>> path = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> EgoNets(hops=1)(path).ego_size
        tensor([2, 3, 2])
    """

    def __init__(self, hops: int = 1, max_nodes: int | None = None) -> None:
        check_extent(hops, max_nodes)
        self.hops = hops
        self.max_nodes = max_nodes

    def forward(self, data: Data | Batch) -> Data | Batch:
        """Add the egonets of all nodes to a graph or batch."""
        _check_graph(data)
        given = data.edge_index, data.num_nodes, data.x, data.get("edge_weight"), data.get("edge_attr")
        egonets, color = self._found(*given)
        return self._keep(
            data, egonets, color, _edge_hash_of(data), _extent(self.hops, self.max_nodes, data.edge_index.device)
        )

    def batched(self, graphs: Sequence[Data]) -> list[Data]:
        """Transform many graphs at once: shallow copies of them, as one call for each would give.

        >>> path = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> [graph.ego_size.tolist() for graph in EgoNets().batched([path, path])]
        [[2, 3, 2], [2, 3, 2]]
        """
        for data in graphs:
            _check_graph(data)
        if len(graphs) < 2 or not _are_alike(graphs):
            return [self(data) for data in graphs]
        nodes = torch.tensor([data.num_nodes for data in graphs])
        first = nodes.cumsum(0) - nodes
        edge_index = torch.cat([data.edge_index for data in graphs], 1).long()
        graph = torch.arange(len(graphs)).repeat_interleave(torch.tensor([data.num_edges for data in graphs]))
        wrong = ((edge_index < 0) | (edge_index >= nodes[graph])).any(0).nonzero()
        if wrong.numel():
            data = graphs[int(graph[wrong[0]])]
            check_edge_index(data.edge_index, data.num_nodes)
        edge_index += first[graph]
        x, weight, attr = (
            None if graphs[0].get(field) is None else torch.cat([data[field] for data in graphs])
            for field in ("x", *PER_EDGE)
        )
        egonets, color = self._found(edge_index, int(nodes.sum()), x, weight, attr)
        bounds = torch.cat([first, nodes.sum().view(1)])
        hashes = None if _is_rounded(weight, attr) else edge_hashes(edge_index, bounds, weight, attr)
        colors = [None] * len(graphs) if color is None else color.split(nodes.tolist())
        known = [None] * len(graphs) if hashes is None else hashes.split(1)
        parts, extent = (
            zip(graphs, _cut(egonets, nodes), colors, known, strict=True),
            _extent(self.hops, self.max_nodes, "cpu"),
        )
        return [self._keep(copy(data), own, color, edges, extent) for data, own, color, edges in parts]

    def _found(
        self, edge_index: Tensor, num_nodes: int, x: Tensor | None, weight: Tensor | None, attr: Tensor | None
    ) -> tuple[Egonets, Tensor | None]:
        egonets = extract_egonets(edge_index, num_nodes, self.hops, self.max_nodes, weight, attr)
        color = None
        if x is not None:
            color = row_hashes(x.cpu()).to(x.device)
            egonets = egonets._replace(kind=egonet_kinds(color, egonets))
        return egonets, color

    def _keep(self, data: Data, egonets: Egonets, color: Tensor | None, edges: Tensor | None, extent: Tensor) -> Data:
        found = dict(zip(FIELDS, egonets, strict=False))
        found |= {"ego_color": color, "ego_edges": edges, "ego_extent": extent}
        for field, value in found.items():
            if value is not None:
                data[field] = value
            elif field in data:  # from an earlier time
                del data[field]
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(hops={self.hops}, max_nodes={self.max_nodes})"


class ClosedWalks(BaseTransform):
    """Add to every node the chance that a walk of 1, 2, ... ``steps`` edges from there ends there: ``closed_walks``.

    At each step a walk takes one of the edges that lead on, parallel ones included, each as likely as the others,
    whatever their weights. A whole ``Batch`` can be transformed as well as its graphs. ``closed_walk_edges`` tells
    :meth:`of` whether edges have changed since.

    Args:
        steps: Longest walk, counted in edges.

    Example:
        >>> triangle = Data(edge_index=torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]), num_nodes=3)
        >>> ClosedWalks(3)(triangle).closed_walks[0]
        tensor([0.0000, 0.5000, 0.2500])
    """

    def __init__(self, steps: int) -> None:
        check_integer("steps", steps, 1)
        self.steps = steps

    def forward(self, data: Data | Batch) -> Data | Batch:
        """Add the chances to a graph or batch."""
        graph = data.get("batch")
        if graph is None:
            graph = data.edge_index.new_zeros(data.num_nodes)
        data.closed_walks = return_probabilities(data.edge_index, graph, self.steps)
        data.closed_walk_edges = _edge_hash_of(data, bare=True)
        return data

    def of(self, data: Data | Batch) -> Tensor:
        """The chances ``(N, steps)``: those that were added before, or computed now if edges or ``steps`` differ.

        >>> edge = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
        >>> ClosedWalks(2).of(edge)
        tensor([[0., 1.],
                [0., 1.]])
        """
        known = data if self._is_known(data) else self(data)
        chances: Tensor = known.closed_walks
        return chances

    def _is_known(self, data: Data | Batch) -> bool:
        chances, edges = data.get("closed_walks"), data.get("closed_walk_edges")
        if chances is None or edges is None or chances.size(1) != self.steps:
            return False
        if torch.compiler.is_compiling():  # a look at the edges would break the graph
            return True
        return bool(_has_same_edges(data, edges, bare=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(steps={self.steps})"


def egonets_of(data: Data | Batch, hops: int, max_nodes: int | None) -> Egonets:
    """Return the egonets that :class:`EgoNets` kept in a graph or batch, or find them now if it did not.

    Kinds of egonets are left out if features have changed since.

    Raises:
        GraphError: The graphs have egonets of another extent, or their edges have changed since.

    >>> path = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> egonets_of(EgoNets(hops=1)(path), hops=1, max_nodes=None).size
    tensor([2, 3, 2])
    """
    if FIELDS[0] not in data:
        weight, attr = data.get("edge_weight"), data.get("edge_attr")
        return extract_egonets(data.edge_index, data.num_nodes, hops, max_nodes, weight, attr)
    egonets = Egonets(*(data.get(field) for field in FIELDS))
    if torch.compiler.is_compiling():  # checks would break the graph
        return egonets
    wanted = f"EgoNets(hops={hops}, max_nodes={max_nodes})"
    if bool((data.ego_extent != _extent(hops, max_nodes, data.ego_extent.device)).any()):
        known = data.ego_extent.unique(dim=0).tolist()
        found = " and ".join(f"EgoNets(hops={h}, max_nodes={None if m < 0 else m})" for h, m in known)
        raise GraphError(f"the graphs were transformed by {found} but {wanted} is wanted.")
    if _has_same_edges(data, data.get("ego_edges")) is False:
        raise GraphError(
            "edge_index, edge_weight or edge_attr have changed since egonets were found.", f"Apply {wanted} again."
        )
    unchanged = (
        data.x is not None and "ego_color" in data and torch.equal(row_hashes(data.x.cpu()), data.ego_color.cpu())
    )
    return egonets if unchanged else egonets._replace(kind=None)


def _edge_hash_of(data: Data | Batch, *, bare: bool = False) -> Tensor | None:
    """One number for all edges, or bare ones without weights and colors, which PyG batches; None for unknown."""
    weight, attr = (None if bare else data.get(field) for field in PER_EDGE)
    ptr = data.get("ptr")
    if _is_rounded(weight, attr) or (ptr is None and data.get("batch") is not None):  # where graphs begin is not known
        return None
    if ptr is None:
        ptr = torch.tensor([0, data.num_nodes], device="cpu")
    parts = [None if part is None else part.cpu() for part in (weight, attr)]
    value = edge_hashes(data.edge_index.cpu(), ptr.cpu(), *parts).sum().view(1)
    return value.to(data.edge_index.device)


def _has_same_edges(data: Data | Batch, known: Tensor | None, *, bare: bool = False) -> bool | None:
    """Whether graphs have the edges of which ``known`` is the hash, one number for each graph; None for unknown."""
    now = None if known is None else _edge_hash_of(data, bare=bare)
    return None if known is None or now is None else int(now) == int(known.sum())


def _check_graph(data: Data) -> None:
    if data.edge_index is None or data.num_nodes is None:
        raise GraphError("a graph without edge_index or nodes has no egonets.", "Give it x or num_nodes, too.")


def _are_alike(graphs: Sequence[Data]) -> bool:
    """Whether their tensors can be joined, on the CPU, and each graph is a single one with edges of its own."""

    def form(data: Data) -> object:
        x, weight, attr = (data.get(field) for field in ("x", *PER_EDGE))
        check_edge_index(data.edge_index, edge_weight=weight, edge_attr=attr)
        if data.get("batch") is not None or (x is not None and len(x) != data.num_nodes):
            return None
        values = [value for value in (data.edge_index, x, weight, attr) if value is not None]
        on_cpu = all(value.device.type == "cpu" for value in values)
        kinds = [value is not None and (value.dtype, value.shape[1:]) for value in (x, weight, attr)]
        return kinds if on_cpu else None

    first = form(graphs[0])
    return first is not None and all(form(data) == first for data in graphs)


def _cut(egonets: Egonets, nodes: Tensor) -> Iterator[Egonets]:
    """Cut the egonets of all graphs into those of each, given the numbers of their nodes."""
    of_nodes, members, links = (
        torch.cat([part.new_zeros(1), part.cumsum(0)]) for part in (nodes, egonets.size, egonets.link_count)
    )
    bounds = [[slice(*ends) for ends in pairwise(part[of_nodes].tolist())] for part in (members, links)]
    own = [slice(*ends) for ends in pairwise(of_nodes.tolist())]
    for node, member, link in zip(own, *bounds, strict=True):
        places = zip(egonets[:7], (member, node, link, node, link, link, node), strict=True)
        parts = Egonets._make([*(None if part is None else part[place] for part, place in places), None])
        yield parts._replace(member=parts.member - node.start)


def _extent(hops: int, max_nodes: int | None, device: torch.device | str) -> Tensor:
    return torch.tensor([[hops, -1 if max_nodes is None else max_nodes]], device=device)


def _is_rounded(*values: Tensor | None) -> bool:
    return any(value is not None and value.dtype in (torch.half, torch.bfloat16) for value in values)


def extract_egonets(
    edge_index: Tensor,
    num_nodes: int,
    hops: int = 1,
    max_nodes: int | None = None,
    edge_weight: Tensor | None = None,
    edge_attr: Tensor | None = None,
) -> Egonets:
    """Find the egonets of all nodes; see :class:`EgoNets` for their order and extent. The search runs on the CPU.

    Edges are directed ``(2, E)``, undirected ones given twice; weights are ``(E,)``, colors ``(E, C)`` or ``(E,)``.

    >>> extract_egonets(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3, max_nodes=2).size
    tensor([2, 2, 2])
    """
    check_extent(hops, max_nodes)
    check_edge_index(edge_index, edge_weight=edge_weight, edge_attr=edge_attr)
    limit = -1 if max_nodes is None else max_nodes
    found = find_egonets(edge_index.cpu().long(), num_nodes, hops, limit)
    *places, edge = (part.to(edge_index.device) for part in found)
    weight, attr = _per_edge(edge_weight, 1), _per_edge(edge_attr, 2)
    return Egonets(*places, *(None if part is None else part[edge] for part in (weight, attr)))


def merge_egonets(egonets: Egonets) -> tuple[Egonets, Tensor]:
    """Keep one of all egonets that are alike, which gives exactly the same scores in less time.

    Only for features that are equal wherever those that ``kind`` was read off are equal: these features themselves, or
    a function of each row. Not inside :func:`torch.compile`, because sizes depend on the data.

    Returns:
        The distinct egonets, and which of them each one is: ``scores[:, which]``.

    Example:
        >>> egonets = extract_egonets(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> distinct, which = merge_egonets(egonets._replace(kind=torch.tensor([7, 9, 7])))
        >>> distinct.size, which
        (tensor([2, 3]), tensor([0, 1, 0]))
    """
    if egonets.kind is None:
        raise ParameterError("egonets without kinds cannot be merged.", "EgoNets finds kinds in graphs with x.")
    which, first = number_kinds(egonets.kind.numpy())
    kept = np.zeros(which.size, np.bool_)
    kept[first] = True
    members, links = (np.repeat(kept, part.numpy()) for part in (egonets.size, egonets.link_count))
    places = zip(egonets[:4], (members, kept, links, kept), strict=True)
    member, size, link, link_count = (torch.from_numpy(part.numpy()[place]) for part, place in places)
    weight, attr = (None if part is None else part[torch.from_numpy(links)] for part in egonets[4:6])
    multiplicity = torch.from_numpy(np.bincount(which))
    distinct = Egonets(member, size, link, link_count, weight, attr, multiplicity=multiplicity)
    return distinct, torch.from_numpy(which)


def check_extent(hops: object, max_nodes: object) -> None:
    """Refuse egonets that cannot be; a node is in its own."""
    check_integer("hops", hops, 1)
    if max_nodes is not None:
        check_integer("max_nodes", max_nodes, 1)


def _per_edge(values: Tensor | None, dim: int) -> Tensor | None:
    """Weights as a vector and colors as a matrix, whichever way they were written."""
    if values is None or values.dim() == dim:
        return values
    return values.squeeze(1) if dim == 1 else values.unsqueeze(1)


@torch.library.custom_op("rwkplus::find_egonets", mutates_args=(), device_types="cpu")
def find_egonets(
    edge_index: Tensor, num_nodes: int, hops: int, max_nodes: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Find the subgraph induced by the nodes within ``hops`` of every node.

    Nodes are visited breadth first along edges of either direction, the neighbors of a node in the order of their
    numbers, and the first ``max_nodes`` are kept, all if negative: neither the order of edges nor other graphs of a
    batch matter.

    Returns:
        ``index (R,)``, the members of all egonets, each center first; ``size (N,)``, how many each egonet has;
        ``link (F, 2)``, the edges between members, as positions within their egonet; ``link_count (N,)``, how many
        each egonet has; ``edge (F,)``, which edge each link is.
    """
    check_edge_index(edge_index, num_nodes)  # compiled loops do not look where they read
    found = search_egonets(edge_index.contiguous().numpy(), num_nodes, hops, max_nodes)
    return tuple(torch.from_numpy(array) for array in found)  # type: ignore[return-value]


@find_egonets.register_fake
def _(edge_index: Tensor, num_nodes: int, hops: int, max_nodes: int) -> tuple[Tensor, ...]:
    context = torch.library.get_ctx()
    members, links = context.new_dynamic_size(), context.new_dynamic_size()
    shapes = ((members,), (num_nodes,), (links, 2), (num_nodes,), (links,))
    return tuple(edge_index.new_empty(shape) for shape in shapes)


def row_hashes(x: Tensor) -> Tensor:
    """Hash the features ``(N, D)`` of every node into 64 bits, the same on every machine: ``(N,)``.

    >>> hashes = row_hashes(torch.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    >>> (hashes == hashes[0]).tolist()
    [True, False, True]
    """
    return torch.from_numpy(hash_rows(_bits(x)).view(np.int64))


def edge_hashes(edge_index: Tensor, ptr: Tensor, weight: Tensor | None, attr: Tensor | None) -> Tensor:
    """Hash the edges of each graph into a number ``(B,)``, whatever order they are in.

    ``ptr (B + 1,)`` is the first node of each graph, and the number of nodes. Weights and colors are read in single
    precision, so that a change of type does not count.
    """
    given = [value for value in (weight, attr) if value is not None]
    kind = np.uint64((weight is not None) + 2 * (attr is not None))
    if any(value.size(0) != edge_index.size(1) for value in given):  # some were changed, the others not
        given, kind = [], np.uint64(4)
    columns = [value.detach().float().unsqueeze(1).flatten(1) for value in given]
    bits = torch.cat([edge_index.new_empty(edge_index.size(1), 0, dtype=torch.float32), *columns], 1)
    hashes = hash_edges(edge_index.numpy(), ptr.numpy(), bits.numpy().view(np.uint32), kind)
    return torch.from_numpy(hashes.view(np.int64))


def egonet_kinds(color: Tensor, egonets: Egonets) -> Tensor:
    """Number the kinds of egonets: equal numbers for equal features and edges in the order of members ``(B,)``.

    The numbers are hashes of 64 bits; different kinds share one with a chance of :math:`10^{-19}` per pair. ``color``
    is what :func:`row_hashes` made of the features of nodes.
    """
    member, size, link, link_count, *values = (part.cpu() for part in egonets[:6] if part is not None)
    bits = np.concatenate([np.empty((link.size(0), 0), np.uint64), *(_bits(value) for value in values)], 1)
    places = [part.contiguous().numpy() for part in (member, size, link, link_count)]
    kinds = kinds_of(color.cpu().numpy().view(np.uint64), *places, bits)  # type: ignore[call-arg]
    return torch.from_numpy(kinds.view(np.int64)).to(color.device)


def _bits(values: Tensor) -> NDArray[np.uint64]:
    """Rows of numbers as rows of whole numbers, for hashing."""
    values = values.unsqueeze(1) if values.dim() == 1 else values.flatten(1)
    return np.ascontiguousarray(values.detach().double().numpy()).view(np.uint64)
