"""What layers of kernels with hidden graphs share: the hidden graphs, the kernel, and how steps are combined."""

from typing import Any, Literal, TypedDict

import torch
from torch import Tensor, nn

from rwkplus.errors import ParameterError, ShapeError
from rwkplus.functional.egonet_kernels import Egonets, compiles, egonet_scores, normalized_egonet_scores
from rwkplus.nn.hidden_graphs import AdjacencyMap, FeatureMap, HiddenGraphs
from rwkplus.nn.step_norm import Placement, StepNorm
from rwkplus.ops.precision import check_place, check_type
from rwkplus.ops.transforms import is_transformed, learns
from rwkplus.types import Walks, check_choice, check_integer

Kernel = Literal["rwk+", "rwk-"]
StepCombine = Literal["sum", "mean", "last", "concat"]


class KernelOptions(TypedDict, total=False):
    """What layers of kernels may be told beyond their sizes."""

    hidden_nodes: int
    """Nodes M of each hidden graph."""

    steps: int
    """Longest walk, counted in edges."""

    kernel: Kernel
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

    features: FeatureMap
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
        in_channels: int,
        num_hidden: int,
        *,
        hidden_nodes: int = 6,
        steps: int = 3,
        kernel: Kernel = "rwk+",
        combine: StepCombine = "sum",
        include_zero_step: bool = False,
        walks: Walks = "open",
        edge_dim: int | None = None,
        step_norm: Placement | None = None,
        adjacency: AdjacencyMap = "sigmoid",
        features: FeatureMap = "raw",
        generator: torch.Generator | None = None,
        compiled: bool | None = None,
    ) -> None:
        super().__init__()
        check_choice("kernel", kernel, Kernel)
        check_choice("combine", combine, StepCombine)
        check_choice("walks", walks, Walks)
        check_integer("steps", steps, 1)
        if edge_dim is not None:
            check_integer("edge_dim", edge_dim, 1)
        if walks == "closed" and step_norm == "propagate":
            raise ParameterError("closed walks cannot be normalized between their steps: use step_norm='readout'.")
        self.kernel = kernel
        self.steps = steps
        self.combine = combine
        self.include_zero_step = include_zero_step
        self.walks = walks
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
        """Features of a node; -1 before the first input of a lazy layer."""
        return self.hidden.widths[0]

    @property
    def num_outputs(self) -> int:
        """Numbers per graph or node: one per hidden graph, times the steps if these are concatenated."""
        per_graph = self.steps + self.include_zero_step if self.combine == "concat" else 1
        return self.hidden.num_hidden * per_graph

    def combined(self, scores: Tensor) -> Tensor:
        """Turn the scores ``(T, B, K)`` of all steps into outputs ``(B, num_outputs)``."""
        if self.combine == "concat":
            return scores.transpose(0, 1).flatten(1)
        if self.combine == "last":
            return scores[-1]
        return scores.sum(0) if self.combine == "sum" else scores.mean(0)

    def scores(self, x: Tensor, egonets: Egonets) -> Tensor:
        """Compare every egonet with every hidden graph, step by step: ``(T, B, K)``."""
        hidden = self.hidden
        x_hidden, adj = hidden.x, hidden.adj
        options: dict[str, Any] = {
            "match_all": self.kernel == "rwk+",
            "hidden_edge_attr": hidden.edge_attr,
            "include_zero_step": self.include_zero_step,
        }
        loops = self.uses_loops(egonets.weight, egonets.attr)
        if self.norm.placement == "propagate" and loops:
            scores, moments = normalized_egonet_scores(x, egonets, x_hidden, adj, self.norm.state, **options)
            if self.training:
                self.norm.update(slice(None), *moments)
            return scores
        return egonet_scores(
            x,
            egonets,
            x_hidden,
            adj,
            steps=self.steps,
            closed=self.walks == "closed",
            normalize=self.norm.normalize,
            readout=self.norm.readout,
            compiled=loops if self.walks == "open" and self.norm.placement is None else None,
            **options,
        )

    def uses_loops(self, edge_weight: Tensor | None, edge_attr: Tensor | None) -> bool:
        """Whether open walks along these edges run through compiled loops."""
        loops = compiles(self.hidden.edge_logits) if self.compiled is None else self.compiled
        return loops and not self.learns_edges(edge_weight, edge_attr) and not is_transformed()

    def learns_edges(self, edge_weight: Tensor | None, edge_attr: Tensor | None) -> bool:
        """Whether gradients by edges are wanted; without ``edge_dim``, their colors are not used."""
        return learns(edge_weight, None if self.hidden.edge_colors is None else edge_attr)

    def expect(self, x: Tensor, **edges: object) -> None:
        """Read open sizes off the node features, or refuse other features than before, and edges elsewhere."""
        check_place("x", x, self.hidden.edge_logits.device, self)
        for field, values in edges.items():
            if values is not None:
                check_place(field, values, x.device, "x")
        if x.dim() != 2:
            raise ShapeError(f"{self} expects node features (N, D), got {tuple(x.shape)}.")
        if not x.is_floating_point():
            raise ShapeError(f"{self} expects floating-point features, got {x.dtype}: call x.float().")
        self.hidden.initialize(x.size(-1))
        if x.size(-1) != self.in_channels:
            raise ShapeError(f"{self} expects {self.in_channels} features per node, got {x.size(-1)}.")
        check_type(x, self.hidden.edge_logits.dtype, self)

    def __repr__(self) -> str:
        sizes = f"{self.in_channels}, {self.hidden.num_hidden}, hidden_nodes={self.hidden.hidden_nodes}"
        return f"{type(self).__name__}({sizes}, steps={self.steps}, kernel={self.kernel!r})"
