"""Walk kernels of all egonets on the CPU, perhaps with StepNorm between lines 4 and 5, as one torch operator.

The slow twin is :func:`rwkplus.functional.egonet_scores`. The operator has first derivatives only, written by hand, and
none with respect to edges.

Normalization joins all egonets between steps, so they take their steps together. Walks of all egonets do not fit into
caches, so each pass over them does all it can with a part before it turns to the next: normalizes what the last step
reached, matches it, and takes the next step from there. Only what is reached is kept; normalizing it once more costs
less than memory.

Small batches take less time than torch needs to find its way to an operator of ours, so that only compiled models call
the operator; everyone else, a function.
"""

# ruff: noqa: ANN401 -- torch's contexts have no type of their own

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch import distributed as dist

from rwkplus.errors import ParameterError
from rwkplus.functional.kernels import Egonets, check_egonets, color_similarity, finite_scores
from rwkplus.nn import egonet_loops as loops
from rwkplus.nn.egonet_loops import Bank, Moments, Plan
from rwkplus.tensors import in_full_precision, needs_grad

Floats = NDArray[np.floating[Any]]
# Slots of a part of a plan. Fewer multiply the calls of loops, more leave the caches.
PART = 8192
# Hidden nodes in one block-diagonal matrix. Fewer make its products inefficient, more multiply too many zeros.
WIDTH = 48


class StepNormState(NamedTuple):
    """What StepNorm knows of each step and hidden graph, and how it is to be used."""

    weight: Float[Tensor, "T K"]
    bias: Float[Tensor, "T K"]
    mean: Float[Tensor, "T K"]
    """Used outside of training, and so is the variance."""

    var: Float[Tensor, "T K"]
    training: bool
    """Take mean and variance of the walks at hand."""

    sync: bool
    """Take them over all processes."""

    eps: float
    """Added to variances."""

    @classmethod
    def none(cls, steps: int, like: Tensor) -> "StepNormState":
        """No normalization: there is no column."""
        none = like.new_empty(steps, 0)
        return cls(none, none, none, none, training=False, sync=False, eps=0.0)


class _How(NamedTuple):
    """Numbers that the operators take as one list."""

    match_all: float
    training: float
    sync: float
    eps: float


def compiled_egonet_scores(
    x: Float[Tensor, "N D"],
    egonets: Egonets,
    hidden_x: Float[Tensor, "K M _D"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    steps: int,
    norm: StepNormState | None = None,
    match_all: bool = True,
    hidden_edge_attr: Float[Tensor, "K M M C"] | None = None,
    include_zero_step: bool = False,
) -> tuple[Float[Tensor, "T B K"], Float[Tensor, "3 t k"]]:
    """:func:`rwkplus.functional.egonet_scores` by compiled loops, for open walks in float32 or float64 on the CPU.

    There are no gradients by edges. ``norm`` is StepNorm between lines 4 and 5, which counts egonets by their
    ``multiplicity``.

    Returns:
        Scores, and the mean, variance and number of the walks that were normalized in each step, for training.
    """
    check_egonets(x, egonets, hidden_x, hidden_adj, hidden_edge_attr, steps)
    if needs_grad(egonets.weight, None if hidden_edge_attr is None else egonets.attr):
        raise ParameterError(
            "compiled loops have no gradients of edges.", "Call rwkplus.functional.egonet_scores, which has them."
        )
    y0 = color_similarity(x, hidden_x).to(hidden_adj.dtype)  # another type under autocast
    hidden = hidden_adj.unsqueeze(-1) if hidden_edge_attr is None else hidden_adj.unsqueeze(-1) * hidden_edge_attr
    value = y0.new_empty(egonets.link.size(0), 0) if egonets.weight is None else egonets.weight.view(-1, 1)
    if hidden_edge_attr is not None and egonets.attr is not None:
        value = egonets.attr if egonets.weight is None else egonets.attr * value
    count = torch.ones_like(egonets.size) if egonets.multiplicity is None else egonets.multiplicity
    norm = StepNormState.none(steps, y0) if norm is None else norm
    how = [float(part) for part in _How(match_all, *norm[4:])]
    fixed = [*egonets[:4], value.to(y0.dtype), count, *norm[2:4]]
    call: Any = egonet_walks if torch.compiler.is_compiling() else _Eager.apply
    scores, moments, _ = call(y0, hidden, *norm[:2], fixed, how)
    if include_zero_step:
        squares = (y0 * y0).sum(-1).index_select(0, egonets.member)
        zero = torch.zeros_like(scores[:1]).index_add(1, egonets.owner, squares.unsqueeze(0))
        scores = torch.cat([zero, scores])
    return finite_scores(scores), moments


@in_full_precision
def _score(
    y0: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor, fixed: Sequence[Tensor], how: Sequence[float]
) -> tuple[Tensor, Tensor, Tensor]:
    """Scores and moments, and what is kept for the backward pass.

    Args:
        y0: Similarity of nodes to hidden nodes ``(N, K, M)``.
        hidden: Adjacencies of the hidden graphs for each of C edge colors ``(K, M, M, C)``.
        weight: Of StepNorm ``(T, K)``, or ``(T, 0)`` for none.
        bias: The same.
        fixed: What has no gradient: members, sizes, links and their numbers, values of links, count of each egonet;
            mean and variance that are used outside of training.
        how: See :class:`_How`.
    """
    *places, value, count, _, _ = fixed
    options, normalized = _How(*how), weight.size(1) > 0
    weights, biases, *known = _arrays(*(part.double() for part in (weight, bias, *fixed[-2:])))
    moments = np.stack([*known, np.zeros_like(weights)])
    kept = _room_for(len(weights), places[0].numel(), y0)
    walks = [y0.new_empty(len(weights), count.numel(), width) for width in _widths(y0)]
    groups = _groups_of(_banks_of(y0, hidden), _plan_of(places, value, count, y0), kept, walks, normalized)
    rows = int((count * places[1]).sum())
    for step, (center, spread, values) in enumerate(moments.swapaxes(0, 1)):
        found = [group.take_step(step, bool(options.match_all), bool(options.training)) for group in groups]
        if options.training:
            joined = zip(*((part.mean, part.square) for part in found), strict=True)
            means, squares = (_of_hidden_nodes(part, y0) for part in joined)
            center[:], spread[:], values[:] = _moments_of_step(means, squares, rows, bool(options.sync))
        if normalized:
            _set_lines(groups, step, weights[step] / np.sqrt(spread + options.eps), center, biases[step], y0)
    for group in groups:
        group.match_last()
    return _sums_over_nodes(walks, y0.size(2)), torch.from_numpy(moments).to(y0.dtype), kept


@in_full_precision
def _score_backward(
    grad: Tensor,
    y0: Tensor,
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor,
    fixed: Sequence[Tensor],
    kept: Tensor,
    how: Sequence[float],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of ``y0``, ``hidden``, weight and bias; ``fixed`` ends with the mean and variance that were used."""
    *places, value, count, _, _ = fixed
    options, normalized = _How(*how), weight.size(1) > 0
    weights, biases, means, variances = _arrays(*(part.double() for part in (weight, bias, *fixed[-2:])))
    plan, number = _plan_of(places, value, count, y0), int((count * places[1]).sum()) * y0.size(2)
    banks = _banks_of(y0, hidden)
    groups = _groups_of(banks, plan, kept, _sums_over_nodes_backward(grad, y0.size(2)), normalized)
    inverses = 1 / np.sqrt(variances + options.eps)
    slopes = weights * inverses
    if normalized:
        for step in range(len(weights)):
            _set_lines(groups, step, slopes[step], means[step], biases[step], y0)
    columns = _by_node(means if normalized else np.zeros((len(weights), y0.size(1))), y0)
    back = [_GroupBackward(group, part, bool(options.match_all)) for group, part in zip(groups, columns, strict=True)]
    sums = [group.match_last() for group in back]
    grad_weight, grad_bias = np.empty_like(weights), np.empty_like(weights)
    lines = np.stack([np.ones(y0.size(1)), *np.zeros((2, y0.size(1)))])  # without normalization
    for step in reversed(range(len(weights))):
        if normalized:
            total, product = (_of_hidden_nodes(part, y0).sum(1) for part in zip(*sums, strict=True))
            grad_weight[step], grad_bias[step] = product * inverses[step], total
            lines = _gradient_lines(total, product, slopes[step], inverses[step], means[step], number, options)
        sums = [group.take_step(step, part) for group, part in zip(back, _by_node(lines, y0), strict=True)]
    grad_norm = [torch.from_numpy(part).to(weight.dtype) for part in (grad_weight, grad_bias)]
    return *_banks_backward(y0, hidden, banks, [group.grads for group in back]), grad_norm[0], grad_norm[1]


egonet_walks = torch.library.custom_op("rwkplus::egonet_walks", _score, mutates_args=(), device_types="cpu")
egonet_walks_backward = torch.library.custom_op(
    "rwkplus::egonet_walks_backward", _score_backward, mutates_args=(), device_types="cpu"
)


@egonet_walks.register_fake
def _(y0: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor, fixed: Sequence[Tensor], *_: object) -> Any:
    steps, num_hidden = weight.size(0), y0.size(1)
    kept = y0.new_empty(steps * fixed[0].numel() * num_hidden * y0.size(2))
    return y0.new_empty(steps, fixed[1].numel(), num_hidden), y0.new_empty(3, *weight.shape), kept


@egonet_walks_backward.register_fake
def _(grad: Tensor, *inputs: Any) -> Any:
    return tuple(part.new_empty(part.shape) for part in inputs[:4])


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *learned, fixed, ctx.how = inputs
    _, moments, kept = output
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(moments, kept)
    used = moments[:2] if _How(*ctx.how).training else fixed[-2:]
    ctx.save_for_backward(*learned, kept, *fixed[:-2], *used)


def _differentiate(ctx: Any, grad: Tensor | None, *_: None, backward: Any = egonet_walks_backward) -> tuple[Any, ...]:
    *learned, kept = ctx.saved_tensors[:5]
    fixed = list(ctx.saved_tensors[5:])
    grads = (None,) * 4 if grad is None else backward(grad, *learned, fixed, kept, ctx.how)
    return *grads, [None] * len(fixed), None


egonet_walks.register_autograd(_differentiate, setup_context=_keep)


class _Eager(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, Tensor, Tensor]:
        outputs = _score(*inputs)
        _keep(ctx, inputs, outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> tuple[Any, ...]:
        # The operator knows that it has no derivative.
        backward = egonet_walks_backward if torch.is_grad_enabled() else _score_backward
        *grads, _, _ = _differentiate(ctx, grad, backward=backward)
        return *grads, None, None


def _set_lines(groups: Sequence["_Group"], step: int, scale: Floats, mean: Floats, bias: Floats, y0: Tensor) -> None:
    for group, line in zip(groups, _by_node(np.stack([scale, bias - mean * scale]), y0), strict=True):
        group.lines[step] = line


def _moments_of_step(means: Floats, squares: Floats, rows: int, sync: bool) -> tuple[Floats, Floats, int]:
    """Join means and sums of squared deviations of hidden nodes ``(K, M)``, over so many rows each, by hidden graph.

    Returns mean, variance and number of values.
    """
    number = rows * means.shape[1]
    center, values = _average(rows * means.sum(1), number, sync)
    spread, _ = _average((squares + rows * (means - center[:, None]) ** 2).sum(1), number, sync)
    return center, spread, values


def _gradient_lines(
    total: Floats, product: Floats, slope: Floats, inverse: Floats, mean: Floats, number: int, how: _How
) -> Floats:
    """Lines ``(3, K)`` that turn gradients before the sigmoid into those of what was reached.

    That is ``lines[0] * gradient + count * (lines[1] * reached + lines[2])``; the last two are how each of the
    ``number`` values acts through mean and variance, and nothing where these are not taken of the rows at hand.
    ``total`` sums the gradients, ``product`` their products with the deviations from the mean.
    """
    lines = np.stack([slope, np.zeros_like(total), np.zeros_like(total)])
    if how.training:
        (total, product), _ = _average(np.stack([total, product]), number, bool(how.sync))
        lines[1] = -slope * inverse**2 * product
        lines[2] = -slope * total - lines[1] * mean
    return lines


def _average(total: Floats, count: int, sync: bool) -> tuple[Floats, int]:
    """Divide sums by a count, both taken over all processes if wanted."""
    if sync:
        both = torch.from_numpy(np.append(total.ravel(), count))
        dist.all_reduce(both)
        total, count = both[:-1].numpy().reshape(total.shape), int(both[-1])
    return total / max(count, 1), count


class _Part(NamedTuple):
    """Some blocks of a plan, as a plan of their own."""

    plan: Plan
    slots: slice
    egonets: slice


class _Group:
    """A group of hidden graphs and the walks of all egonets with it.

    Args:
        bank: The hidden graphs.
        parts: The egonets.
        reached: Where walkers get in each step ``(T, R, W)``.
        walks: For each step, sums over the members of each egonet ``(T, B, W)``, or the gradients of these.
        normalized: Whether what is reached is normalized before it is matched.
    """

    def __init__(self, bank: Bank, parts: Sequence[_Part], reached: Floats, walks: Floats, normalized: bool) -> None:
        self.bank, self.parts, self.reached, self.walks, self.normalized = bank, parts, reached, walks, normalized
        steps, _, width = reached.shape
        self.lines = np.empty((steps, 2, width), reached.dtype)  # slope and shift, set when moments are known
        rows = max((part.plan.node.size for part in parts), default=0) if normalized else 0
        self._room = np.empty((rows, width), reached.dtype)

    def take_step(self, step: int, match_all: bool, measure: bool) -> Moments:
        """Match what the step before has reached, if any, and go on; return the moments, if wanted."""
        width = self.reached.shape[2]
        moments = Moments(np.zeros(1), np.zeros(width), np.zeros(width))
        for part in self.parts:
            reached = self.reached[step, part.slots]
            normal = self._match(step - 1, part) if step > 0 else reached  # not read in the first step
            loops.take_step(part.plan, self.bank, step == 0, match_all, measure, normal, reached, moments)
        return moments

    def match_last(self) -> None:
        """Match what the last step has reached."""
        for part in self.parts:
            self._match(len(self.reached) - 1, part)

    def _match(self, step: int, part: _Part) -> Floats:
        normal = self.normal(step, part)
        loops.match(part.plan, self.bank, normal, self.walks[step, part.egonets])
        return normal

    def normal(self, step: int, part: _Part) -> Floats:
        """What a step has reached, perhaps on a line and through the sigmoid; there until the next call."""
        reached: Floats = self.reached[step, part.slots]
        if not self.normalized:
            return reached
        rows: Floats = self._room[: part.plan.node.size]
        loops.scale_and_shift(reached, *self.lines[step], rows)
        torch.from_numpy(rows).sigmoid_()
        return rows


class _GroupBackward:
    """Gradients of a group with its lines and the gradients of its walks, step by step; ``means (T, W)``."""

    def __init__(self, group: _Group, means: Floats, match_all: bool) -> None:
        self.group, self.means, self.match_all = group, means, match_all
        self.grads = Bank(*(np.zeros(part.shape, part.dtype) for part in group.bank))
        self._walkers = np.zeros_like(group.reached[0])
        self._gate = np.array([not group.normalized, group.normalized], self._walkers.dtype)

    def match_last(self) -> Floats:
        """Begin with the last step; sums as in :func:`rwkplus.nn.egonet_loops.match_backward` ``(2, W)``."""
        sums, step = np.zeros((2, self.means.shape[1])), len(self.means) - 1
        for part in self.group.parts:
            self._match(step, part, self.group.normal(step, part), sums)
        return sums

    def take_step(self, step: int, lines: Floats) -> Floats:
        """Go back one step, and through the matching before it; the same sums for that one."""
        group, sums = self.group, np.zeros((2, self.means.shape[1]))
        for part in group.parts:
            normal = group.normal(step - 1, part) if step > 0 else group.reached[0, part.slots]  # not read
            rows = group.reached[step, part.slots], normal, self._walkers[part.slots]
            loops.take_step_backward(part.plan, group.bank, step == 0, self.match_all, lines, *rows, self.grads)
            if step > 0:
                self._match(step - 1, part, normal, sums)
        return sums

    def _match(self, step: int, part: _Part, normal: Floats, sums: Floats) -> None:
        group, mean = self.group, self.means[step]
        rows = group.reached[step, part.slots], normal, group.walks[step, part.egonets], self._walkers[part.slots]
        loops.match_backward(part.plan, group.bank, self.match_all, self._gate, mean, *rows, self.grads, sums)


def _groups_of(
    banks: Sequence[Bank], plan: Plan, kept: Tensor, walks: Sequence[Tensor], normalized: bool
) -> list[_Group]:
    """Cut what is kept of all groups, see :func:`_room_for`."""
    parts, slots, steps = _parts_of(plan), plan.node.size, walks[0].size(0)
    reached = kept.split([walk.size(2) * steps * slots for walk in walks])
    return [
        _Group(bank, parts, own.view(steps, slots, walk.size(2)).numpy(), walk.numpy(), normalized)
        for bank, own, walk in zip(banks, reached, walks, strict=True)
    ]


def _room_for(steps: int, slots: int, y0: Tensor) -> Tensor:
    """Memory for all that is reached, by numpy: it asks for large pages, and the first touch of small ones is slow."""
    return torch.from_numpy(np.empty(steps * slots * y0.size(1) * y0.size(2), _float_type(y0)))


def _plan_of(places: Sequence[Tensor], value: Tensor, count: Tensor, y0: Tensor) -> Plan:
    """Prepare egonets for the loops; without a column of values, all are 1."""
    if value.size(1) == 0:
        value = y0.new_ones(value.size(0), 1)
    plan: Plan = loops.plan_egonets(y0.size(0), *_arrays(*places, value.to(y0.dtype), count.to(y0.dtype)))
    return plan


def _parts_of(plan: Plan) -> list[_Part]:
    """Cut a plan so that the walks of a part stay in the caches."""
    if plan.node.size <= PART:
        return [_Part(plan, slice(None), slice(None))]
    first = plan.slot[plan.block]
    bounds = [*np.unique(first[:-1] // PART, return_index=True)[1].tolist(), len(first) - 1]
    return [_part(plan, begin, end) for begin, end in pairwise(bounds)]


def _part(plan: Plan, begin: int, end: int) -> _Part:
    blocks = plan.block[begin : end + 1]
    egonets, bounds = slice(blocks[0], blocks[-1]), slice(blocks[0], blocks[-1] + 1)
    slots, links = (slice(first[blocks[0]], first[blocks[-1]]) for first in (plan.slot, plan.link))
    own = plan._replace(
        node=plan.node[slots],
        slot=plan.slot[bounds] - slots.start,
        link=plan.link[bounds] - links.start,
        block=blocks - egonets.start,
        source=plan.source[links],
        target=plan.target[links],
        target_node=plan.target_node[links],
        value=plan.value[links],
        count=plan.count[egonets],
    )
    return _Part(own, slots, egonets)


def _banks_of(y0: Tensor, hidden: Tensor) -> list[Bank]:
    """Cut the hidden graphs into groups."""
    size = _group_size(y0.size(2))
    return [
        loops.hidden_bank(*_arrays(colors.flatten(1), part))
        for colors, part in zip(y0.split(size, 1), hidden.split(size), strict=True)
    ]


def _widths(y0: Tensor) -> list[int]:
    """Hidden nodes in each group."""
    return [part.size(1) * y0.size(2) for part in y0.split(_group_size(y0.size(2)), 1)]


def _banks_backward(y0: Tensor, hidden: Tensor, banks: Sequence[Bank], grads: Sequence[Bank]) -> tuple[Tensor, Tensor]:
    """Turn the gradients of the groups into those of ``y0`` and ``hidden``."""
    grad_hidden = hidden.new_empty(hidden.shape)
    for bank, over, part in zip(banks, grads, grad_hidden.split(_group_size(y0.size(2))), strict=True):
        loops.hidden_bank_backward(bank, over, part.numpy())
    return torch.cat([torch.from_numpy(over.colors).unflatten(1, (-1, y0.size(2))) for over in grads], 1), grad_hidden


def _sums_over_nodes(walks: Sequence[Tensor], hidden_nodes: int) -> Tensor:
    """Add up the columns ``(T, B, W)`` of each hidden graph and join the groups: ``(T, B, K)``."""
    return torch.cat([part @ _graph_of_node(part.size(2), hidden_nodes, part.dtype) for part in walks], 2)


def _sums_over_nodes_backward(grad: Tensor, hidden_nodes: int) -> list[Tensor]:
    """Repeat the columns ``(T, B, K)`` for each node of a hidden graph, group by group."""
    parts = grad.split(_group_size(hidden_nodes), 2)
    return [part @ _graph_of_node(part.size(2) * hidden_nodes, hidden_nodes, part.dtype).t() for part in parts]


@lru_cache(maxsize=64)
def _graph_of_node(width: int, hidden_nodes: int, dtype: torch.dtype) -> Tensor:
    """Which hidden node is of which hidden graph, ``(W, L)``: products with it are the fastest short sums."""
    return torch.eye(width // hidden_nodes, dtype=dtype, device="cpu").repeat_interleave(hidden_nodes, 0)


def _by_node(values: Floats, y0: Tensor) -> list[Floats]:
    """Repeat one value per hidden graph ``(..., K)`` for each of its nodes, group by group."""
    repeated = np.repeat(values, y0.size(2), -1).astype(_float_type(y0))
    return [np.ascontiguousarray(part) for part in np.split(repeated, np.cumsum(_widths(y0))[:-1], -1)]


def _of_hidden_nodes(columns: Sequence[Floats], y0: Tensor) -> Floats:
    """One number per hidden node, of all groups: ``(K, M)``."""
    return np.concatenate(columns).reshape(y0.shape[1:])


def _arrays(*tensors: Tensor) -> tuple[Any, ...]:
    """Tensors as arrays that share their memory where it is contiguous."""
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)


def _float_type(y0: Tensor) -> type[np.floating[Any]]:
    return np.float32 if y0.dtype == torch.float32 else np.float64


def _group_size(hidden_nodes: int) -> int:
    """Number of hidden graphs of that size in one block-diagonal matrix."""
    return max(1, WIDTH // hidden_nodes)
