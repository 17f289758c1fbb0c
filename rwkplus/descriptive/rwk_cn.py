"""RWK+CN and RWNN trained without labels: the paper's pattern miner, all restarts in one tensor."""

from collections.abc import Callable, Sequence
from typing import Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rwkplus.descriptive.objective import Average, DiversityLoss, Loss, Objective
from rwkplus.descriptive.views import View, ViewedGraphs
from rwkplus.io.pyg import as_batch
from rwkplus.models.kcn import KCN
from rwkplus.nn.hidden_graphs import AdjacencyMap, FeatureMap, HiddenGraphs
from rwkplus.table import Graphs
from rwkplus.types import check_choice, check_integer, seed_of

Precision = Literal["float32", "float64"]
CHOICES = {"loss": Loss, "diversity_loss": DiversityLoss, "average": Average, "dtype": Precision}
OnStep = Callable[[int, NDArray[np.float64]], None]
"""Called with the epoch, counted from 1, and the loss of every restart."""


class DescriptiveKCN(BaseEstimator):
    """Learn the small graphs that describe a database, by gradient, as the paper does (its section 4).

    Every restart is a set of ``n_patterns`` hidden graphs drawn from its own seed; all are trained together as one
    bank and do not see each other. The best restart is the one of lowest loss: no ground truth is ever looked at.

    Args:
        n_patterns: Hidden graphs k.
        pattern_size: Nodes M of each.
        kernel: ``"rwk+"`` (RWK+CN) or ``"rwk-"`` (RWNN).
        steps: Longest walk, counted in edges.
        combine: ``"last"`` or ``"sum"`` over all lengths.
        include_zero_step: Whether a sum begins with the walks of no edge.
        views: Node colors that the hidden graphs match at once: ``"labels"``, ``"identity"``, ``"gat"``, ``"gin"``,
            ``"random-walk"``.
        features: How hidden features are kept in range; one for all views or one each.
        adjacency: How hidden edges are kept in range.
        whiten: Whether structural colors are whitened.
        structural_dim: Number of structural colors.
        loss: ``"log"`` or ``"raw"`` similarity.
        average: Logarithm of the ``"database"`` mean or of each ``"graph"``.
        diversity: Weight of Eq. 11.
        diversity_loss: Whether Eq. 11 is added as it stands, ``"raw"``, its logarithm, ``"log"``, or with kernels
            normalized, ``"cosine"``.
        sparsity: Weight of the L1 norm of edges.
        feature_sparsity: Weight of the L1 norm of features.
        epochs: Full-batch steps of gradient descent.
        lr: Learning rate.
        momentum: Momentum.
        n_restarts: Independent initializations R.
        first_restart: Number of the first one, to add restarts to earlier ones.
        random_state: Seed, scikit-learn's ``RandomState``, or None for a seed of chance; with a seed, restart r starts
            the same whatever ``n_restarts`` is.
        dtype: ``"float32"`` or ``"float64"``.
        ignore: Fields of the graphs to leave out on purpose.

    Attributes:
        weights_: Edge weights of all restarts ``(R, k, M, M)``.
        colors_: Features of the first view ``(R, k, M, D)``.
        losses_: Final loss of each restart ``(R,)``.
        history_: Loss before each epoch and at the end ``(epochs + 1, R)``.
        best_: Restart of lowest loss.
        label_names_: Names of the columns of ``colors_``.
    """

    def __init__(
        self,
        n_patterns: int = 2,
        pattern_size: int = 3,
        *,
        kernel: Literal["rwk+", "rwk-"] = "rwk+",
        steps: int = 3,
        combine: Literal["sum", "last"] = "last",
        include_zero_step: bool = False,
        views: Sequence[View] = ("labels",),
        features: FeatureMap | Sequence[FeatureMap] = "softmax",
        adjacency: AdjacencyMap = "sigmoid",
        whiten: bool = False,
        structural_dim: int = 16,
        loss: Loss = "log",
        average: Average = "graph",
        diversity: float = 0.0,
        diversity_loss: DiversityLoss = "raw",
        sparsity: float = 0.1,
        feature_sparsity: float = 0.0,
        epochs: int = 200,
        lr: float = 0.01,
        momentum: float = 0.9,
        n_restarts: int = 50,
        first_restart: int = 0,
        random_state: int | np.random.RandomState | None = 0,
        dtype: Precision = "float32",
        ignore: Sequence[str] = (),
    ) -> None:
        self.n_patterns = n_patterns
        self.pattern_size = pattern_size
        self.kernel = kernel
        self.steps = steps
        self.combine = combine
        self.include_zero_step = include_zero_step
        self.views = views
        self.features = features
        self.adjacency = adjacency
        self.whiten = whiten
        self.structural_dim = structural_dim
        self.loss = loss
        self.average = average
        self.diversity = diversity
        self.diversity_loss = diversity_loss
        self.sparsity = sparsity
        self.feature_sparsity = feature_sparsity
        self.epochs = epochs
        self.lr = lr
        self.momentum = momentum
        self.n_restarts = n_restarts
        self.first_restart = first_restart
        self.random_state = random_state
        self.dtype = dtype
        self.ignore = ignore

    def fit(self, graphs: Graphs, y: object = None, *, on_step: OnStep | None = None) -> Self:
        """Train all restarts on ``graphs``; ``on_step(epoch, losses)`` is told of every epoch."""
        self._check()
        batch = as_batch(graphs, ignore=self.ignore)
        self.seed_ = seed = seed_of(self.random_state)
        seen = self._seen(batch, seed).merged()
        model = self._model(seen.widths, seed)
        names = ("loss", "average", "diversity", "diversity_loss", "sparsity", "feature_sparsity")
        objective = Objective(**{name: getattr(self, name) for name in names})
        history = train(model, seen, objective, self.n_restarts, self.epochs, self.lr, self.momentum, on_step)
        shape = (self.n_restarts, self.n_patterns)
        with torch.no_grad():
            self.weights_ = model.hidden.adj.unflatten(0, shape).numpy()
            self.colors_ = model.hidden.views[0].unflatten(0, shape).numpy()
        self.model_ = model
        self.history_ = history
        self.losses_ = history[-1]
        self.best_ = int(np.nanargmin(self.losses_))
        width = self.colors_.shape[-1]
        given = batch.get("node_label_names") if self.views[0] == "labels" else None
        self.label_names_ = tuple(map(str, range(width))) if given is None else tuple(given)
        self.n_features_in_ = batch.x.size(1)
        return self

    def labels(self, restart: int | None = None) -> list[list[str]]:
        """Strongest color of every node of every hidden graph of a restart, the best one by default."""
        check_is_fitted(self, "colors_")
        colors = self.colors_[self.best_ if restart is None else restart]
        return [[self.label_names_[c] for c in graph] for graph in colors.argmax(-1).tolist()]

    def initial_graphs(self, widths: Sequence[int]) -> HiddenGraphs:
        """Hidden graphs of all restarts before training, for views of ``widths`` features: ``(R k, M, ...)``."""
        return self._model(tuple(widths), seed_of(self.random_state)).hidden

    def _model(self, widths: tuple[int, ...], seed: int) -> KCN:
        model = KCN(
            self.n_restarts * self.n_patterns,
            self.pattern_size,
            widths,
            kernel=self.kernel,
            steps=self.steps,
            combine=self.combine,
            include_zero_step=self.include_zero_step,
            adjacency=self.adjacency,
            features=self.features,
            generator=torch.Generator(),  # drawn anew below
        ).to(getattr(torch, self.dtype))
        draw_restarts(model.hidden, self.n_restarts, seed, self.first_restart)
        return model

    def _seen(self, batch: object, seed: int) -> ViewedGraphs:
        generator = torch.Generator().manual_seed(seed)
        return ViewedGraphs.of(
            batch,
            self.views,
            generator=generator,
            dim=self.structural_dim,
            whiten=self.whiten,
            dtype=getattr(torch, self.dtype),
        )

    def _check(self) -> None:
        for name in ("n_patterns", "pattern_size", "steps", "n_restarts", "structural_dim"):
            check_integer(name, getattr(self, name), 1)
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)


@torch.no_grad()
def draw_restarts(hidden: HiddenGraphs, restarts: int, seed: int, first: int = 0) -> None:
    """Give restarts ``first``, ``first + 1``, ... the initial values of their own seeds, alone or among others."""
    size = hidden.num_hidden // restarts
    for r in range(restarts):
        state = int(np.random.SeedSequence((seed, first + r)).generate_state(1)[0])
        generator = torch.Generator().manual_seed(state)
        one = HiddenGraphs(size, hidden.hidden_nodes, hidden.widths, generator=generator)
        rows = slice(r * size, (r + 1) * size)
        for mine, drawn in zip(hidden.parameters(), one.parameters(), strict=True):
            mine[rows] = drawn.to(mine.dtype)


def train(
    model: KCN,
    graphs: ViewedGraphs,
    objective: Objective,
    restarts: int,
    epochs: int,
    lr: float,
    momentum: float,
    on_step: OnStep | None = None,
) -> NDArray[np.float64]:
    """Full-batch SGD on all restarts at once; returns every restart's loss before each epoch and at the end.

    The gradient is that of the sum over restarts, which share no parameter: each moves as it would alone.
    """
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    history = []
    for epoch in range(1, epochs + 1):
        losses = objective(model, graphs, restarts)
        optimizer.zero_grad()
        losses.sum().backward()
        optimizer.step()
        history.append(losses.detach().double().numpy())
        if on_step is not None:
            on_step(epoch, history[-1])
    with torch.no_grad():
        history.append(objective(model, graphs, restarts).double().numpy())
    return np.stack(history)
