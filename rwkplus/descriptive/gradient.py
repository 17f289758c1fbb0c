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

from rwkplus.descriptive.refine import DiscreteBanks, Kicks, adjacency, refine
from rwkplus.descriptive.views import Paint, paint
from rwkplus.descriptive.walk_database import WalkDatabase
from rwkplus.errors import ParameterError
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
    edge_logits, color_logits = initial_logits(generators, n_patterns, pattern_size, num_colors)
    history = _train(database.to(torch.float32), edge_logits, color_logits, epochs, callback)
    banks, decoded = _decode(database, edge_logits, color_logits)
    plan = Kicks.draw(generators, kicks, n_patterns, pattern_size, num_colors)
    banks, explained = refine(database, banks, plan, callback)
    each = DiscreteBanks(banks.edges.flatten(0, 1).unsqueeze(1), banks.colors.flatten(0, 1).unsqueeze(1))
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


def initial_logits(
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


def _decode(database: WalkDatabase, edge_logits: Tensor, color_logits: Tensor) -> tuple[DiscreteBanks, Tensor]:
    """Take each node's likeliest color and, of several thresholds for edges, the one that explains most."""
    colors = color_logits.argmax(-1)
    banks = DiscreteBanks(torch.sigmoid(edge_logits) > THRESHOLDS[0], colors)
    best = database.objective(*banks.dense(database))
    for threshold in THRESHOLDS[1:]:
        others = DiscreteBanks(torch.sigmoid(edge_logits) > threshold, colors)
        score = database.objective(*others.dense(database))
        better = (score > best + 1e-9).nonzero().squeeze(1)
        banks, best = banks.changed(better, others[better]), torch.maximum(score, best)
    return banks, best


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
