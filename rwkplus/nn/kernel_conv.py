"""Layers of kernels with hidden graphs: of the neighborhood of every node, and of whole graphs."""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch.nn.parameter import UninitializedParameter, is_lazy

from rwkplus.errors import ParameterError, Remedy, ShapeError
from rwkplus.functional.kernels import Egonets, check_batch, egonet_scores, rwk_minus, rwk_plus, whole_graphs
from rwkplus.nn.egonet_kernel import compiled_egonet_scores
from rwkplus.nn.norms import Placement, StepNorm
from rwkplus.nn.transforms import check_extent, extract_egonets, merge_egonets
from rwkplus.tensors import check_device, check_dtype, is_transformed, needs_grad
from rwkplus.types import NetworkKernel, Walks, check_choice, check_integer

AdjacencyMap = Literal["sigmoid", "relu", "discrete"]
FeatureMap = Literal["raw", "softmax", "sigmoid", "unit"]
StepCombine = Literal["sum", "mean", "last", "concat"]
Aggregation = Literal["sum", "mean"]
Route = Literal["compiled", "torch"]
LAZY = -1
"""A number of features to be read off the first input, as in PyG."""
# Merging costs about as much as a quarter of the egonets.
WORTH_MERGING = 0.75


class HiddenGraphs(nn.Module):
    """A bank of ``num_hidden`` undirected weighted graphs without self-loops.

    Args:
        num_hidden: Number of graphs K.
        hidden_nodes: Nodes M of each.
        num_features: Features D of a node; several widths make several views, each mapped on its own. A single -1 waits
            for :meth:`initialize`.
        adjacency: ``"sigmoid"`` weights in (0, 1), ``"relu"`` as in RWNN, or ``"discrete"`` weights 0 and 1 that learn
            through the sigmoid: an edge is there where its sigmoid is above 1/2, and has the gradient of the sigmoid.
        features: ``"raw"``, ``"softmax"`` (a distribution over colors), ``"sigmoid"`` or ``"unit"`` (of length 1 and
            any sign, as structural colors are); one for all views or one each.
        num_edge_features: Colors C of an edge, raw; 0 for none.
        generator: Source of the initial values, also of those that come late; torch's global one by default.

    Example:
        >>> hidden = HiddenGraphs(num_hidden=8, hidden_nodes=6, num_features=3)
        >>> hidden.adj.shape, hidden.x.shape
        (torch.Size([8, 6, 6]), torch.Size([8, 6, 3]))
    """

    def __init__(
        self,
        num_hidden: int,
        hidden_nodes: int,
        num_features: int | Sequence[int],
        adjacency: AdjacencyMap = "sigmoid",
        features: FeatureMap | Sequence[FeatureMap] = "raw",
        generator: torch.Generator | None = None,
        *,
        num_edge_features: int = 0,
    ) -> None:
        super().__init__()
        widths = tuple(num_features) if isinstance(num_features, Sequence) else (int(num_features),)
        maps: tuple[FeatureMap, ...] = (features,) * len(widths) if isinstance(features, str) else tuple(features)  # type: ignore[assignment]
        _check_bank(num_hidden, hidden_nodes, widths, adjacency, maps)
        self.hidden_nodes = hidden_nodes
        self.widths = widths
        self.adjacency = adjacency
        self.features = maps
        pairs = hidden_nodes * (hidden_nodes - 1) // 2
        self.edge_logits = nn.Parameter(torch.empty(num_hidden, pairs))
        if widths == (LAZY,):
            self.node_logits = _LazyParameters([UninitializedParameter()])
            self._register_load_state_dict_pre_hook(self._initialize_like)  # type: ignore[no-untyped-call]
        else:
            self.node_logits = _LazyParameters(torch.empty(num_hidden, hidden_nodes, width) for width in widths)
        self.edge_colors = (
            nn.Parameter(torch.empty(num_hidden, pairs, num_edge_features)) if num_edge_features else None
        )
        self.reset_parameters(generator)

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw edges from U(-1, 1), then features from U(0, 1), the first view first, then edge colors from U(0, 1)."""
        self.edge_logits.uniform_(-1, 1, generator=generator)
        # Features that are still to come are drawn from it, too; afterwards it would only hinder pickling.
        self._generator = generator if self.widths == (LAZY,) else None
        for logits in self.node_logits:
            if not is_lazy(logits):
                logits.uniform_(0, 1, generator=generator)
        if self.edge_colors is not None:
            self.edge_colors.uniform_(0, 1, generator=generator)

    def initialize(self, num_features: int) -> None:
        """Learn the number of features if it was left open; otherwise do nothing.

        >>> hidden = HiddenGraphs(2, 3, num_features=-1)
        >>> hidden.initialize(5)
        >>> hidden.x.shape
        torch.Size([2, 3, 5])
        """
        if self.widths == (LAZY,):
            self.widths = (num_features,)
            (logits,) = self.node_logits
            logits.materialize((self.num_hidden, self.hidden_nodes, num_features))
            # The layer may have moved since, but its generator cannot.
            place = logits.device if self._generator is None else self._generator.device
            drawn = torch.empty(logits.shape, dtype=logits.dtype, device=place)
            with torch.no_grad():
                logits.copy_(drawn.uniform_(0, 1, generator=self._generator))
            self._generator = None

    def _initialize_like(self, state: dict[str, Tensor], prefix: str, *_: object) -> None:
        """Learn the number of features from saved parameters."""
        saved = state.get(f"{prefix}node_logits.0")
        if saved is not None and not is_lazy(saved):
            self.initialize(saved.size(-1))

    @property
    def num_hidden(self) -> int:
        """Number of graphs."""
        return self.edge_logits.size(0)

    @property
    def upper(self) -> Tensor:
        """Both ends of every pair of nodes, ``(2, M(M-1)/2)``; no buffer, which would be lost on a meta device.

        >>> HiddenGraphs(1, hidden_nodes=3, num_features=1).upper
        tensor([[0, 0, 1],
                [1, 2, 2]])
        """
        return torch.triu_indices(self.hidden_nodes, self.hidden_nodes, 1, device=self.edge_logits.device)

    @property
    def adj(self) -> Tensor:
        """Symmetric adjacencies with an empty diagonal: ``(K, M, M)``.

        >>> adj = HiddenGraphs(1, 3, 2, adjacency="discrete").adj[0]
        >>> bool((adj == adj.T).all()), adj.diagonal().tolist(), set(adj.flatten().tolist()) <= {0.0, 1.0}
        (True, [0.0, 0.0, 0.0], True)
        """
        return self._both_ways(_weights(self.edge_logits, self.adjacency))

    @property
    def edge_attr(self) -> Tensor | None:
        """Colors of the edges, the same in both directions: ``(K, M, M, C)``, or None.

        >>> HiddenGraphs(2, 3, num_features=1, num_edge_features=4).edge_attr.shape
        torch.Size([2, 3, 3, 4])
        """
        return None if self.edge_colors is None else self._both_ways(self.edge_colors)

    def _both_ways(self, values: Tensor) -> Tensor:
        """Write values of pairs of nodes ``(K, M(M-1)/2, ...)`` into symmetric matrices."""
        dense = values.new_zeros(values.size(0), self.hidden_nodes, self.hidden_nodes, *values.shape[2:])
        first, second = self.upper
        dense[:, first, second] = values
        return dense + dense.transpose(1, 2)

    @property
    def views(self) -> list[Tensor]:
        """Node features of every view: ``(K, M, D)`` each.

        >>> [view.shape for view in HiddenGraphs(2, 3, num_features=(4, 1)).views]
        [torch.Size([2, 3, 4]), torch.Size([2, 3, 1])]
        """
        return [_mapped(logits, how) for logits, how in zip(self.node_logits, self.features, strict=True)]

    @property
    def x(self) -> Tensor:
        """Node features, all views side by side: ``(K, M, D)``."""
        return torch.cat(self.views, -1)

    def __repr__(self) -> str:
        sizes, features = f"{self.num_hidden}, {self.hidden_nodes}, {sum(self.widths)}", "+".join(self.features)
        return f"{type(self).__name__}({sizes}, adjacency={self.adjacency!r}, features={features!r})"


class KernelOptions(TypedDict, total=False):
    """What layers of kernels, and networks of them, may be told beyond their sizes."""

    hidden_nodes: int
    """Nodes M of each hidden graph."""

    steps: int
    """Longest walk, counted in edges."""

    kernel: NetworkKernel
    """``"rwk+"`` matches every node of a walk, ``"rwk-"`` only its ends."""

    combine: StepCombine
    """How scores of steps become outputs: ``"sum"``, ``"mean"``, ``"last"`` or ``"concat"``, shortest walks first."""

    include_zero_step: bool
    """Begin with the walks of no edge."""

    walks: Walks
    """``"open"``, or ``"closed"`` for walks that return to their first node, which see cycles."""

    edge_dim: int | None
    """Edge colors, matched at every step with learned ones; None for none."""

    step_norm: Placement | None
    """Where :class:`StepNorm` is placed, ``"propagate"`` or ``"readout"``; None for the kernel itself."""

    adjacency: AdjacencyMap
    """How edge parameters become weights."""

    features: FeatureMap | Sequence[FeatureMap]
    """How feature parameters become features."""

    generator: torch.Generator | None
    """Source of the initial values; torch's global one by default."""

    compiled: bool | None
    """Whether to use the compiled loops; by default wherever they apply."""


class KernelModule(nn.Module):
    """Hidden graphs and a kernel; layers say with which graphs they are compared.

    Args:
        in_channels: Features of a node, or -1 to read them off the first input.
        num_hidden: Number of hidden graphs K.
        options: See :class:`KernelOptions`.
    """

    def __init__(
        self,
        in_channels: int | Sequence[int],
        num_hidden: int,
        *,
        hidden_nodes: int = 6,
        steps: int = 3,
        kernel: NetworkKernel = "rwk+",
        combine: StepCombine = "sum",
        include_zero_step: bool = False,
        walks: Walks = "open",
        edge_dim: int | None = None,
        step_norm: Placement | None = None,
        adjacency: AdjacencyMap = "sigmoid",
        features: FeatureMap | Sequence[FeatureMap] = "raw",
        generator: torch.Generator | None = None,
        compiled: bool | None = None,
    ) -> None:
        super().__init__()
        check_choice("kernel", kernel, NetworkKernel)
        check_choice("combine", combine, StepCombine)
        check_choice("walks", walks, Walks)
        check_integer("steps", steps, 1)
        if edge_dim is not None:
            check_integer("edge_dim", edge_dim, 1)
        if walks == "closed" and step_norm == "propagate":
            raise ParameterError(
                "closed walks cannot be normalized between their steps.",
                Remedy("Use {step_norm}.", step_norm="readout"),
            )
        self.kernel: NetworkKernel = kernel
        self.steps = steps
        self.combine: StepCombine = combine
        self.include_zero_step = include_zero_step
        self.walks: Walks = walks
        self.compiled = compiled
        self.norm = StepNorm(num_hidden, steps, step_norm)
        self.hidden = HiddenGraphs(
            num_hidden, hidden_nodes, in_channels, adjacency, features, generator, num_edge_features=edge_dim or 0
        )

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the hidden graphs anew and forget the statistics of steps."""
        self.hidden.reset_parameters(generator)
        self.norm.reset_parameters()

    @property
    def in_channels(self) -> int:
        """Features of a node; -1 before the first input of a lazy layer.

        >>> KernelConv(-1, 8).in_channels, KernelLayer((3, 2), 8).in_channels
        (-1, 5)
        """
        return sum(self.hidden.widths)

    @property
    def num_outputs(self) -> int:
        """Numbers per graph or node: one per hidden graph, times the steps if these are concatenated.

        >>> KernelLayer(5, 4, steps=3, combine="concat").num_outputs
        12
        """
        per_graph = self.steps + self.include_zero_step if self.combine == "concat" else 1
        return self.hidden.num_hidden * per_graph

    def route(self, edge_weight: Tensor | None = None, edge_attr: Tensor | None = None) -> Route:
        """Which way walks along these edges take: compiled loops, or torch's operations one by one.

        There are loops for open walks, normalized between their steps or not, in float32 and float64 on the CPU; none
        for gradients by edges, and none inside of :mod:`torch.func`.

        >>> KernelConv(5, 8).route(), KernelConv(5, 8, walks="closed").route()
        ('compiled', 'torch')
        """
        own = self.hidden.edge_logits
        on_cpu = own.device.type == "cpu" and own.dtype in (torch.float32, torch.float64)
        wanted = on_cpu if self.compiled is None else self.compiled
        known = self.walks == "open" and self.norm.placement != "readout"
        learned = self._learns_edges(edge_weight, edge_attr)
        return "compiled" if wanted and known and not learned and not is_transformed() else "torch"

    def combined(self, scores: Tensor) -> Tensor:
        """Turn the scores ``(T, B, K)`` of all steps into outputs ``(B, num_outputs)``.

        >>> layer = KernelLayer(1, 2, steps=2, combine="last")
        >>> layer.combined(torch.tensor([[[1.0, 2.0]], [[3.0, 4.0]]]))
        tensor([[3., 4.]])
        """
        if self.combine == "concat":
            return scores.transpose(0, 1).flatten(1)
        if self.combine == "last":
            return scores[-1]
        return scores.sum(0) if self.combine == "sum" else scores.mean(0)

    def scores(self, x: Tensor, egonets: Egonets) -> Tensor:
        """Compare every egonet with every hidden graph, step by step: ``(T, B, K)``."""
        graphs = x, egonets, self.hidden.x, self.hidden.adj
        if self.route(egonets.weight, egonets.attr) == "torch":
            return egonet_scores(*graphs, **(self._options() | self._options_of_torch()))
        normalizes = self.norm.placement == "propagate"
        scores, moments = compiled_egonet_scores(
            *graphs, norm=self.norm.state if normalizes else None, **self._options()
        )
        if normalizes and self.training:
            self.norm.update(slice(None), *moments)
        return scores

    def _options(self) -> dict[str, Any]:
        return {
            "steps": self.steps,
            "match_all": self.kernel == "rwk+",
            "hidden_edge_attr": self.hidden.edge_attr,
            "include_zero_step": self.include_zero_step,
        }

    def _options_of_torch(self) -> dict[str, Any]:
        return {"closed": self.walks == "closed", "normalize": self.norm.normalize, "readout": self.norm.readout}

    def _learns_edges(self, edge_weight: Tensor | None, edge_attr: Tensor | None) -> bool:
        """Whether gradients by edges are wanted; without ``edge_dim``, their colors are not used."""
        return needs_grad(edge_weight, None if self.hidden.edge_colors is None else edge_attr)

    def _expect(self, x: Tensor, **edges: object) -> None:
        """Read open sizes off the node features, or refuse other features than before, and edges elsewhere."""
        check_device("x", x, self.hidden.edge_logits.device, self)
        for field, values in edges.items():
            if values is not None:
                check_device(field, values, x.device, "x")
        if x.dim() != 2:
            raise ShapeError(f"{self} expects node features (N, D), got {tuple(x.shape)}.")
        if not x.is_floating_point():
            raise ShapeError(f"{self} expects floating-point features, got {x.dtype}.", "Call x.float().")
        self.hidden.initialize(x.size(-1))
        if x.size(-1) != self.in_channels:
            raise ShapeError(
                f"{self} expects {self.in_channels} features per node, got {x.size(-1)}.",
                "Were structural colors added to one side only?",
            )
        check_dtype(x, self.hidden.edge_logits.dtype, self)

    def __repr__(self) -> str:
        sizes = f"{self.in_channels}, {self.hidden.num_hidden}, hidden_nodes={self.hidden.hidden_nodes}"
        return f"{type(self).__name__}({sizes}, steps={self.steps}, kernel={self.kernel!r}, route={self.route()!r})"


class KernelConv(KernelModule):
    r"""Kernel convolution: at node v, the kernels of its egonet with the hidden graphs (KerGNN).

    .. math:: h_v = [K(\mathrm{Sub}_G[v], W_1), \ldots, K(\mathrm{Sub}_G[v], W_k)]

    Egonets are found in every call, or once and for all by :class:`rwkplus.nn.EgoNets`::

        data = EgoNets(hops=1, max_nodes=10)(data)
        conv(data.x, egonets_of(data, hops=1, max_nodes=10))

    Args:
        in_channels: Features of a node, or -1 to read them off the first input.
        out_channels: Number of hidden graphs; ``num_outputs`` is the size of the output.
        hops: Radius of the egonets.
        max_nodes: Largest size of an egonet; None for any.
        aggr: ``"sum"`` over the nodes of egonet and hidden graph, the kernel, or its ``"mean"``, which does not grow
            with the egonet.
        options: See :class:`KernelOptions`; steps are summed by default.

    Shapes:
        - node features ``(N, in_channels)``, edges ``(2, E)`` or egonets
        - output ``(N, num_outputs)``

    Example:
        >>> import torch
        >>> x, edge_index = torch.ones(3, 5), torch.tensor([[0, 1], [1, 0]])
        >>> conv = KernelConv(-1, 8, steps=2, max_nodes=10)
        >>> conv(x, edge_index).shape
        torch.Size([3, 8])
        >>> conv
        KernelConv(5, 8, hidden_nodes=6, steps=2, kernel='rwk+', route='compiled', hops=1, max_nodes=10)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hops: int = 1,
        max_nodes: int | None = None,
        aggr: Aggregation = "sum",
        **options: Unpack[KernelOptions],
    ) -> None:
        super().__init__(in_channels, out_channels, **options)
        check_extent(hops, max_nodes)
        check_choice("aggr", aggr, Aggregation)
        self.out_channels = out_channels
        self.hops = hops
        self.max_nodes = max_nodes
        self.aggr = aggr

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | Egonets,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        *,
        merge: bool = False,
    ) -> Tensor:
        """Compare the egonet of every node with every hidden graph.

        Args:
            x: Node features.
            edge_index: Directed edges, or egonets that were found before; these have their weights and colors.
            edge_weight: Weights ``(E,)``.
            edge_attr: Edge colors ``(E, edge_dim)``; ignored without ``edge_dim``.
            merge: Compute egonets that are alike once. Say so only if ``x`` is, or is a function of each row of, what
                :class:`rwkplus.nn.EgoNets` found as ``x``, and no gradient by that is wanted; done where it saves time.
        """
        egonets = edge_index
        if isinstance(egonets, Egonets):
            self._expect(x)
        else:
            self._expect(x, edge_index=edge_index, edge_weight=edge_weight, edge_attr=edge_attr)
            egonets = extract_egonets(egonets, x.size(0), self.hops, self.max_nodes, edge_weight, edge_attr)
        if merge and self._can_merge(x, egonets):
            distinct, which = merge_egonets(egonets)
            if distinct.member.numel() <= WORTH_MERGING * egonets.member.numel():
                return self._outputs(*_compact(x, distinct)).index_select(0, which)
        return self._outputs(x, egonets)

    def _outputs(self, x: Tensor, egonets: Egonets) -> Tensor:
        scores = self.scores(x, egonets)
        if self.aggr == "mean":
            scores = scores / (egonets.size * self.hidden.hidden_nodes).unsqueeze(1)
        return self.combined(scores)

    def _can_merge(self, x: Tensor, egonets: Egonets) -> bool:
        """Whether kinds are known, and statistics of steps, if there are any, can count egonets several times.

        Edges that learn have gradients of their own, whatever their values.
        """
        if egonets.kind is None or x.device.type != "cpu" or torch.compiler.is_compiling():
            return False
        edges = egonets.weight, egonets.attr
        counts = self.norm.placement is None or self.route(*edges) == "compiled"
        return counts and not self._learns_edges(*edges)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, hops={self.hops}, max_nodes={self.max_nodes})"


class KernelLayer(KernelModule):
    r"""Similarity of every graph to every hidden graph, :math:`[K(G, W_1), \ldots, K(G, W_k)]`, step by step.

    Args:
        in_channels: Features of a node, or -1 to read them off the first input. Several widths make several views of a
            node, whose kernels are added up; they share the hidden edges.
        num_hidden: Number of hidden graphs.
        options: See :class:`KernelOptions`; steps are concatenated by default.

    Shapes:
        - node features ``(N, in_channels)``, edges ``(2, E)``, graph of each node ``(N,)``
        - output ``(B, num_outputs)``

    Example:
        >>> import torch
        >>> layer = KernelLayer(-1, 4, steps=2)
        >>> x, edge_index = torch.ones(3, 5), torch.tensor([[0, 1], [1, 0]])
        >>> layer(x, edge_index, batch=torch.tensor([0, 0, 1])).shape
        torch.Size([2, 8])
        >>> layer
        KernelLayer(5, 4, hidden_nodes=6, steps=2, kernel='rwk+', route='compiled')
    """

    def __init__(self, in_channels: int | Sequence[int], num_hidden: int, **options: Unpack[KernelOptions]) -> None:
        options.setdefault("combine", "concat")
        super().__init__(in_channels, num_hidden, **options)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        num_graphs: int | None = None,
    ) -> Tensor:
        """Compare graphs with hidden graphs.

        Args:
            x: Node features of all graphs.
            edge_index: Directed edges; give undirected edges twice.
            batch: Graph of each node; one graph by default.
            edge_weight: Weights ``(E,)``.
            edge_attr: Edge colors ``(E, edge_dim)``, of a single one also ``(E,)``; ignored without ``edge_dim``.
            num_graphs: Number of graphs; read off ``batch`` by default.
        """
        self._expect(x, edge_index=edge_index, batch=batch, edge_weight=edge_weight, edge_attr=edge_attr)
        if batch is None:
            batch, num_graphs = edge_index.new_zeros(x.size(0)), 1
        check_batch(x, batch)
        if edge_attr is not None and edge_attr.dim() == 1:
            edge_attr = edge_attr.unsqueeze(1)
        if len(self.hidden.widths) > 1:
            return self.view_scores(x, edge_index, batch, edge_weight, num_graphs).sum(0)
        if self.route(edge_weight, edge_attr) == "compiled":
            graphs = whole_graphs(edge_index, batch, num_graphs, edge_weight, edge_attr)
            return self.combined(self.scores(x, graphs))
        colors = None if self.hidden.edge_colors is None else edge_attr
        edges = {"edge_weight": edge_weight, "edge_attr": colors, "num_graphs": num_graphs}
        return self._walked(x, self.hidden.x, edge_index, batch, **edges)

    def route(self, edge_weight: Tensor | None = None, edge_attr: Tensor | None = None) -> Route:
        """Which way walks along these edges take; loops over whole graphs do not fit into compiled models."""
        return "torch" if torch.compiler.is_compiling() else super().route(edge_weight, edge_attr)

    def view_scores(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor,
        edge_weight: Tensor | None = None,
        num_graphs: int | None = None,
    ) -> Tensor:
        """Outputs by each view of a node: ``(V, B, num_outputs)``.

        >>> layer = KernelLayer((2, 1), 4, steps=1)
        >>> layer.view_scores(torch.rand(3, 3), torch.tensor([[0], [1]]), torch.zeros(3).long()).shape
        torch.Size([2, 1, 4])
        """
        self._expect(x)
        views = zip(x.split(self.hidden.widths, 1), self.hidden.views, strict=True)
        edges = {"edge_weight": edge_weight, "num_graphs": num_graphs}
        return torch.stack([self._walked(part, hidden_x, edge_index, batch, **edges) for part, hidden_x in views])

    def _walked(
        self, x: Tensor, hidden_x: Tensor, edge_index: Tensor, batch: Tensor, **edges: Tensor | int | None
    ) -> Tensor:
        """Outputs by torch's operations."""
        options = self._options() | self._options_of_torch() | edges
        kernel = rwk_plus if options.pop("match_all") else rwk_minus
        return self.combined(kernel(x, edge_index, batch, hidden_x, self.hidden.adj, **options))


def _compact(x: Tensor, egonets: Egonets) -> tuple[Tensor, Egonets]:
    """Leave out nodes that are in no egonet, if what remains is less."""
    if egonets.member.numel() >= x.size(0):
        return x, egonets
    places = torch.arange(egonets.member.numel(), device=x.device)
    return x.index_select(0, egonets.member), egonets._replace(member=places)


class _LazyParameters(nn.ParameterList):
    """Parameters that can be saved while their sizes are open."""

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, parameter in self.named_parameters():
            # Detaching asks for a size.
            destination[prefix + name] = parameter if keep_vars or is_lazy(parameter) else parameter.detach()


def _weights(logits: Tensor, how: AdjacencyMap) -> Tensor:
    if how == "relu":
        return logits.relu()
    weights = logits.sigmoid()
    if how == "discrete":
        # The value of the first term, the gradient of the second.
        return (weights > 0.5).to(weights.dtype) + (weights - weights.detach())
    return weights


def _mapped(logits: Tensor, how: FeatureMap) -> Tensor:
    if how == "softmax":
        return logits.softmax(-1)
    if how == "unit":
        return normalize(logits, dim=-1)
    return logits.sigmoid() if how == "sigmoid" else logits


def _check_bank(
    num_hidden: int, hidden_nodes: int, widths: tuple[int, ...], adjacency: str, maps: tuple[FeatureMap, ...]
) -> None:
    check_integer("num_hidden", num_hidden, 1)
    check_integer("hidden_nodes", hidden_nodes, 1)
    if not widths or (min(widths) < 1 and widths != (LAZY,)):
        raise ParameterError(f"hidden graphs need at least one feature, got num_features={widths}.")
    check_choice("adjacency", adjacency, AdjacencyMap)
    if len(maps) != len(widths) or not set(maps) <= set(get_args(FeatureMap)):
        raise ParameterError(
            f"features must be one of {', '.join(get_args(FeatureMap))}, or one for each of the {len(widths)} views, "
            f"got {maps}."
        )
