"""The learnable graphs of a kernel convolution network."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch.nn.parameter import UninitializedParameter, is_lazy

from rwkplus.errors import ParameterError
from rwkplus.types import check_choice, check_integer

AdjacencyMap = Literal["sigmoid", "relu", "discrete"]
FeatureMap = Literal["raw", "softmax", "sigmoid", "unit"]
LAZY = -1
"""A number of features to be read off the first input, as in PyG."""


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
        _check(num_hidden, hidden_nodes, widths, adjacency, maps)
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
        """Both ends of every pair of nodes, ``(2, M(M-1)/2)``; no buffer, which would be lost on a meta device."""
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
        """Colors of the edges, the same in both directions: ``(K, M, M, C)``, or None."""
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


def _check(
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
