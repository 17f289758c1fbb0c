"""Hidden graphs that explain a database's walk features, found by gradient, all restarts in one tensor.

Relax (softmax colors, sigmoid edges), anneal, decode by the objective, refine. Selection is by the objective alone.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rwkplus.descriptive.views import Paint, WalkDatabase, paint
from rwkplus.errors import ParameterError
from rwkplus.functional.objectives import RIDGE, explained_fraction
from rwkplus.io.pyg import as_batch
from rwkplus.table import Graphs
from rwkplus.types import Callback, Progress, check_integer, seed_of

LEARNING_RATE = 0.1
COLDEST = 0.3
"""The temperature of softmax and sigmoid falls from 1 to this."""

THRESHOLDS = (0.5, 0.3, 0.7, 0.15, 0.85)
"""Edge weights above one of these become edges: the one that explains most, earlier ones first."""

BLOCK = 500_000
"""Numbers to hold at a time in training: what fits a cache is fastest."""

CHANGES = 1_000_000
"""The same when single changes are scored."""

GAIN = 1e-9
"""Smaller gains are rounding errors of float64."""

EXPLAINED = 1 / (1 + RIDGE) - 1e-8
"""The largest value of the objective: where it is reached nothing is left to find."""

CLOSED = (3,)
MAX_WALKS = 12


@dataclass(frozen=True)
class ExplainedPatterns:
    """What every restart found: ``R`` restarts of ``k`` patterns of ``M`` nodes."""

    adjacency: NDArray[np.int64]  #: (R, k, M, M), zeros and ones
    colors: NDArray[np.int64]  #: (R, k, M): numbers of colors
    names: tuple[str, ...]  #: label of each color
    explained: NDArray[np.float64]  #: (R,): share of the walk features that a restart's patterns explain
    relaxed: NDArray[np.float64]  #: (R,): the same of the relaxed hidden graphs, before decoding
    decoded: NDArray[np.float64]  #: (R,): after decoding, before refinement
    edge_weights: NDArray[np.float64]  #: (R, k, M, M): edges of the relaxed hidden graphs
    color_weights: NDArray[np.float64]  #: (R, k, M, C): and their colors, as distributions
    history: NDArray[np.float64]  #: (epochs,): share that the best restart explains, by epoch
    alone: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    """``(R, k)``: share that each pattern explains by itself."""

    @property
    def best(self) -> int:
        """The restart that explains most; the earliest of equals."""
        return int(np.argmax(self.explained > self.explained.max() - 1e-9))

    def labels(self, restart: int) -> list[list[str]]:
        """Labels of the nodes of each pattern."""
        return [[self.names[color] for color in pattern] for pattern in self.colors[restart]]

    def to_networkx(self, restart: int | None = None) -> list[nx.Graph]:
        """Patterns of a restart, by default the best, with node attribute ``label``.

        >>> triangle = nx.cycle_graph(3)
        >>> nx.set_node_attributes(triangle, dict(enumerate("abc")), "label")
        >>> found = explained_patterns([triangle] * 6, 1, 3, n_restarts=2, epochs=20, kicks=2)
        >>> sorted(found.to_networkx()[0].edges)
        [(0, 1), (0, 2), (1, 2)]
        """
        restart = self.best if restart is None else restart
        graphs = []
        for adj, labels in zip(self.adjacency[restart], self.labels(restart), strict=True):
            graph = nx.Graph()
            graph.add_nodes_from((v, {"label": label}) for v, label in enumerate(labels))
            graph.add_edges_from(np.argwhere(np.triu(adj)).tolist())
            graphs.append(graph)
        return graphs


def explained_patterns(
    X: Graphs,
    n_patterns: int,
    pattern_size: int,
    *,
    n_restarts: int = 50,
    first_restart: int = 0,
    steps: int = 3,
    closed: bool | Sequence[int] = True,
    epochs: int = 150,
    kicks: int = 12,
    random_state: int | np.random.RandomState | None = 0,
    view: Paint = "labels",
    ignore: Sequence[str] = (),
    callback: Callback | None = None,
) -> ExplainedPatterns:
    """Learn small graphs whose walk features span as much as possible of those of a database.

    Args:
        X: Whatever :func:`rwkplus.io.pyg.as_batch` reads: undirected graphs with node labels.
        n_patterns: Patterns per restart.
        pattern_size: Nodes of a pattern; some may stay without edges.
        n_restarts: How many initializations to run side by side. What a restart finds depends on its number and
            ``random_state``, not on its company.
        first_restart: Number of the first one.
        steps: Longest open walk, counted in edges.
        closed: Lengths of the closed walks to add, which see cycles that open walks cannot; True means 3.
        epochs: Steps of Adam.
        kicks: Random restarts of single hidden graphs during refinement; 0 for plain local search.
        random_state: Seed, scikit-learn's ``RandomState``, or None to draw one.
        view: Colors of the nodes: labels, or what tells apart nodes that no walk can; see
            :func:`rwkplus.descriptive.views.paint`.
        ignore: Fields of the graphs to leave out on purpose, such as ``("edge_attr",)``.
        callback: Called after every tenth epoch (phase ``"epochs"``) and every kick (``"kicks"``) with the share that
            the best restart explains.

    Example:
        >>> triangle = nx.cycle_graph(3)
        >>> nx.set_node_attributes(triangle, dict(enumerate("abc")), "label")
        >>> found = explained_patterns([triangle] * 6, 1, 3, n_restarts=4, epochs=60, kicks=4)
        >>> [sorted(labels) for labels in found.labels(found.best)]
        [['a', 'b', 'c']]
    """
    for name, value, least in (
        ("n_patterns", n_patterns, 1),
        ("pattern_size", pattern_size, 2),
        ("n_restarts", n_restarts, 1),
        ("first_restart", first_restart, 0),
        ("epochs", epochs, 0),
        ("kicks", kicks, 0),
    ):
        check_integer(name, value, least)
    lengths = _closed_lengths(steps, closed)
    seed = seed_of(random_state)
    painted = paint(as_batch(X, ignore=ignore), view, random_state=seed)
    generators = [np.random.default_rng((seed, first_restart + number)) for number in range(n_restarts)]
    database = WalkDatabase.of(painted, steps, lengths)
    return _mined(database, painted.names, generators, n_patterns, pattern_size, epochs, kicks, callback)


def _closed_lengths(steps: int, closed: bool | Sequence[int]) -> tuple[int, ...]:
    """The lengths of closed walks that are meant; refuses walks that cannot be."""
    check_integer("steps", steps, 1)
    if not isinstance(closed, bool | Collection):
        raise ParameterError(f"closed must be True, False or lengths such as (3, 4), got {closed!r}.")
    lengths = (CLOSED if closed else ()) if isinstance(closed, bool) else tuple(closed)
    if any(not 2 <= length <= MAX_WALKS for length in lengths) or steps > MAX_WALKS:
        raise ParameterError(
            f"walks may have up to {MAX_WALKS} edges, closed ones at least 2; got steps={steps}, closed={lengths}."
        )
    return lengths


def _mined(
    database: WalkDatabase,
    names: tuple[str, ...],
    generators: list[np.random.Generator],
    n_patterns: int,
    pattern_size: int,
    epochs: int,
    kicks: int,
    callback: Callback | None,
) -> ExplainedPatterns:
    """Train, decode and refine one restart per generator."""
    n_restarts, num_colors = len(generators), len(database.colors)
    edge_logits, color_logits = _initial_logits(generators, n_patterns, pattern_size, num_colors)
    history = _train(database.to(torch.float32), edge_logits, color_logits, epochs, callback)
    banks, decoded = _decode(database, edge_logits, color_logits)
    plan = _Kicks.draw(generators, kicks, n_patterns, pattern_size, num_colors)
    banks, explained = _refine(database, banks, plan, callback)
    each = _DiscreteBanks(banks.edges.flatten(0, 1).unsqueeze(1), banks.colors.flatten(0, 1).unsqueeze(1))
    return ExplainedPatterns(
        adjacency(banks.edges.long(), pattern_size).numpy(),
        banks.colors.numpy(),
        names,
        explained.numpy(),
        history[-1] if epochs else np.zeros(n_restarts),
        decoded.numpy(),
        adjacency(torch.sigmoid(edge_logits / COLDEST).double(), pattern_size).numpy(),
        torch.softmax(color_logits / COLDEST, -1).double().numpy(),
        history.max(1, initial=0.0),
        database.objective(*each.dense(database)).view(n_restarts, n_patterns).numpy(),
    )


def _initial_logits(
    generators: list[np.random.Generator], n_patterns: int, size: int, num_colors: int
) -> tuple[Tensor, Tensor]:
    """Logits of edges ``(R, k, pairs)`` from U(-1, 1), of colors ``(R, k, M, C)`` from U(0, 1), as in the paper."""
    pairs = size * (size - 1) // 2
    edges = np.stack([rng.uniform(-1, 1, (n_patterns, pairs)) for rng in generators])
    colors = np.stack([rng.uniform(0, 1, (n_patterns, size, num_colors)) for rng in generators])
    return torch.from_numpy(edges).float(), torch.from_numpy(colors).float()


def _train(
    database: WalkDatabase,
    edge_logits: Tensor,
    color_logits: Tensor,
    epochs: int,
    callback: Callback | None = None,
) -> NDArray[np.float64]:
    """Raise the explained fraction of all restarts by Adam, cooling down; changes the logits.

    Returns:
        The explained fraction of every restart after each epoch: ``(epochs, R)``.
    """
    size = color_logits.size(2)
    edge_logits.requires_grad_()
    color_logits.requires_grad_()
    optimizer = torch.optim.Adam([edge_logits, color_logits], lr=LEARNING_RATE)
    score = torch.zeros(edge_logits.size(0))
    history = np.zeros((epochs, len(score)))
    block = max(1, BLOCK // (database.cost * color_logits.size(1) * size))
    for epoch in range(epochs):
        temperature = COLDEST ** (epoch / max(epochs - 1, 1))
        optimizer.zero_grad()
        for part in torch.arange(len(score)).split(block):
            rows = slice(int(part[0]), int(part[-1]) + 1)
            hidden_x = torch.softmax(color_logits[rows] / temperature, -1) @ database.colors
            hidden_adj = adjacency(torch.sigmoid(edge_logits[rows] / temperature), size)
            explained = database.objective(hidden_x, hidden_adj)
            (-explained.sum()).backward()
            score[rows] = explained.detach()
        optimizer.step()
        history[epoch] = score.numpy()
        if callback is not None and (epoch + 1) % 10 == 0:
            callback(Progress("epochs", epoch + 1, epochs, {"explained": float(score.max())}))
    edge_logits.requires_grad_(False)
    color_logits.requires_grad_(False)
    return history


def _decode(database: WalkDatabase, edge_logits: Tensor, color_logits: Tensor) -> tuple["_DiscreteBanks", Tensor]:
    """Take each node's likeliest color and, of several thresholds for edges, the one that explains most."""
    colors = color_logits.argmax(-1)
    banks = _DiscreteBanks(torch.sigmoid(edge_logits) > THRESHOLDS[0], colors)
    best = database.objective(*banks.dense(database))
    for threshold in THRESHOLDS[1:]:
        others = _DiscreteBanks(torch.sigmoid(edge_logits) > threshold, colors)
        score = database.objective(*others.dense(database))
        better = (score > best + 1e-9).nonzero().squeeze(1)
        banks, best = banks.changed(better, others[better]), torch.maximum(score, best)
    return banks, best


@dataclass(frozen=True)
class _DiscreteBanks:
    """``R`` banks of ``k`` hidden graphs with edges that are there or not and one color per node."""

    edges: Tensor  # (R, k, M(M-1)/2), bool: upper triangle, row by row
    colors: Tensor  # (R, k, M): numbers of colors

    def __getitem__(self, rows: Tensor) -> "_DiscreteBanks":
        return _DiscreteBanks(self.edges[rows], self.colors[rows])

    def dense(self, database: WalkDatabase) -> tuple[Tensor, Tensor]:
        """Features ``(..., M, D)`` and adjacencies ``(..., M, M)``."""
        x = database.colors[self.colors]
        return x, adjacency(self.edges.to(x.dtype), self.colors.size(-1))

    def changed(self, rows: Tensor, banks: "_DiscreteBanks") -> "_DiscreteBanks":
        """Return a copy with some rows replaced."""
        edges, colors = self.edges.clone(), self.colors.clone()
        edges[rows], colors[rows] = banks.edges, banks.colors
        return _DiscreteBanks(edges, colors)


@dataclass(frozen=True)
class _Kicks:
    """What each restart tries after it has come to a standstill, drawn beforehand: ``(kicks, R, ...)``."""

    chosen: Tensor  # (kicks, R): the hidden graph that is kicked
    fresh: Tensor  # (kicks, R), bool: replace it, or change a few edges and colors
    edges: Tensor  # (kicks, R, M(M-1)/2), bool
    colors: Tensor  # (kicks, R, M)
    flipped: Tensor  # (kicks, R, M(M-1)/2), bool
    repainted: Tensor  # (kicks, R, M), bool

    @classmethod
    def draw(
        cls, generators: list[np.random.Generator], kicks: int, n_patterns: int, size: int, num_colors: int
    ) -> "_Kicks":
        """Draw the kicks of each restart from its own generator: half are fresh graphs, half change three things."""
        pairs, share = size * (size - 1) // 2, 3 / max(size * (size - 1) / 2 + size, 3)
        parts = [
            (
                rng.integers(n_patterns, size=kicks),
                rng.random(kicks) < 0.5,
                rng.random((kicks, pairs)) < 0.5,
                rng.integers(num_colors, size=(kicks, size)),
                rng.random((kicks, pairs)) < share,
                rng.random((kicks, size)) < share,
            )
            for rng in generators
        ]
        return cls(*(torch.from_numpy(np.stack(part, 1)) for part in zip(*parts, strict=True)))

    def apply(self, i: int, banks: _DiscreteBanks, rows: Tensor) -> _DiscreteBanks:
        """Kick the banks of the restarts ``rows`` for the ``i``-th time."""
        at = torch.arange(rows.numel()), self.chosen[i, rows]
        fresh = self.fresh[i, rows].unsqueeze(1)
        edges, colors = banks.edges.clone(), banks.colors.clone()
        edges[at] = torch.where(fresh, self.edges[i, rows], edges[at] ^ self.flipped[i, rows])
        colors[at] = torch.where(fresh | self.repainted[i, rows], self.colors[i, rows], colors[at])
        return _DiscreteBanks(edges, colors)


def adjacency(edges: Tensor, size: int) -> Tensor:
    """Symmetric adjacencies ``(..., M, M)`` from weights of the upper triangle.

    >>> adjacency(torch.tensor([1, 0, 1]), 3)  # a path, from its upper triangle
    tensor([[0, 1, 0],
            [1, 0, 1],
            [0, 1, 0]])
    """
    upper = torch.triu_indices(size, size, offset=1)
    adj = edges.new_zeros(*edges.shape[:-1], size, size)
    adj[..., upper[0], upper[1]] = edges
    return adj + adj.mT


def _refine(
    database: WalkDatabase, banks: _DiscreteBanks, kicks: _Kicks, callback: Callback | None = None
) -> tuple[_DiscreteBanks, Tensor]:
    """Improve every bank by single changes, then by kicks that are kept only where they help.

    A bank that explains everything is not kicked. ``callback`` is called after the first ascent and after every kick
    (phase ``"kicks"``).

    Returns:
        The refined banks and their explained fractions ``(R,)``, never below those of ``banks``.
    """
    total = kicks.chosen.size(0)

    def tell(done: int) -> None:
        if callback is not None:
            callback(Progress("kicks", done, total, {"explained": float(score.max())}))

    best, score = _climb(database, banks, database.objective(*banks.dense(database)))
    tell(0)
    for i in range(total):
        rows = (score < EXPLAINED).nonzero().squeeze(1)
        if not rows.numel():
            break
        kicked = kicks.apply(i, best[rows], rows)
        kicked, reached = _climb(database, kicked, database.objective(*kicked.dense(database)))
        better = reached > score[rows] + GAIN
        best = best.changed(rows[better], kicked[better])
        score = score.index_put((rows[better],), reached[better])
        tell(i + 1)
    return best, score


def _climb(database: WalkDatabase, banks: _DiscreteBanks, score: Tensor) -> tuple[_DiscreteBanks, Tensor]:
    """Take the best single change of every bank until none helps."""
    rows = torch.arange(score.numel())
    size, num_colors = banks.colors.size(-1), len(database.colors)
    changes = banks.colors.size(1) * (banks.edges.size(-1) + size * (num_colors - 1))
    block = max(1, CHANGES // max(changes * (database.cost * size + size**4), 1))
    while rows.numel():
        moved = []
        for part in rows.split(block):
            candidates, owner = _single_changes(banks[part], num_colors)
            reached, chosen = _changed_objective(database, banks[part], candidates, owner).max(1)
            better = reached > score[part] + GAIN
            at, chosen, part = better.nonzero().squeeze(1), chosen[better], part[better]
            edges, colors = banks.edges.clone(), banks.colors.clone()
            edges[part, owner[chosen]] = candidates.edges[at, chosen]
            colors[part, owner[chosen]] = candidates.colors[at, chosen]
            banks, score = _DiscreteBanks(edges, colors), score.index_put((part,), reached[better])
            moved.append(part)
        rows = torch.cat(moved)
    return banks, score


def _single_changes(banks: _DiscreteBanks, num_colors: int) -> tuple[_DiscreteBanks, Tensor]:
    """All hidden graphs one edge or color away, ``(R, n, ...)``, and the place in the bank each is for: ``(n,)``."""
    restarts, k, pairs = banks.edges.shape
    size = banks.colors.size(-1)
    count = pairs + size * (num_colors - 1)
    edges = banks.edges.unsqueeze(2).repeat(1, 1, count, 1)
    colors = banks.colors.unsqueeze(2).repeat(1, 1, count, 1)
    pair = torch.arange(pairs)
    edges[:, :, pair, pair] = ~edges[:, :, pair, pair]
    recolored = torch.arange(count - pairs)
    node, shift = recolored // max(num_colors - 1, 1), recolored % max(num_colors - 1, 1) + 1
    at = (slice(None), slice(None), pairs + recolored, node)
    colors[at] = (colors[at] + shift) % num_colors
    owner = torch.arange(k).repeat_interleave(count)
    return _DiscreteBanks(edges.view(restarts, k * count, pairs), colors.view(restarts, k * count, size)), owner


def _changed_objective(
    database: WalkDatabase, banks: _DiscreteBanks, candidates: _DiscreteBanks, owner: Tensor
) -> Tensor:
    """Objective of every bank when each candidate, alone, takes the place ``owner`` in it: ``(R, n)``."""
    restarts, n = candidates.edges.shape[:2]
    x, adj = banks.dense(database)
    new_x, new_adj = candidates.dense(database)
    old = zip(
        database.loadings(x.flatten(0, 1), adj.flatten(0, 1)),
        database.gram(x.unsqueeze(2), adj.unsqueeze(2), x.unsqueeze(1), adj.unsqueeze(1)),
        strict=True,
    )
    new = zip(
        database.loadings(new_x.flatten(0, 1), new_adj.flatten(0, 1)),
        database.gram(new_x.unsqueeze(2), new_adj.unsqueeze(2), x.unsqueeze(1), adj.unsqueeze(1)),
        database.gram(new_x, new_adj, new_x, new_adj),
        strict=True,
    )
    i, fractions = torch.arange(n), []
    for (loading, gram), (new_loading, crossed, norm) in zip(old, new, strict=True):
        k_gw = loading.view(-1, restarts, 1, x.size(1)).permute(1, 2, 0, 3).repeat(1, n, 1, 1)
        k_gw[:, i, :, owner] = new_loading.view(-1, restarts, n).permute(2, 1, 0)
        k_ww = gram.unsqueeze(1).repeat(1, n, 1, 1)
        k_ww[:, i, owner, :] = crossed
        k_ww[:, i, :, owner] = crossed.transpose(0, 1)
        k_ww[:, i, owner, owner] = norm
        fractions.append(explained_fraction(k_gw, k_ww))
    return torch.stack(fractions).mean(0)
