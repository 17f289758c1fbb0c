"""RWK+CN and RWNN trained without labels: the paper's pattern miner, all restarts in one tensor."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch_geometric.data import Batch

from rwkplus.descriptive.views import CountedWalks, View, ViewedGraphs, as_counts
from rwkplus.functional.objectives import diversity_penalty, feature_penalty, sparsity_penalty
from rwkplus.io.pyg import as_batch
from rwkplus.nn.kernel_conv import AdjacencyMap, FeatureMap, HiddenGraphs, KernelLayer
from rwkplus.table import Graphs
from rwkplus.types import Callback, Progress, check_choice, check_integer, seed_of

Loss = Literal["log", "asinh", "raw"]
DiversityLoss = Literal["raw", "log", "cosine"]
Average = Literal["database", "graph"]
Precision = Literal["float32", "float64"]
Seen = ViewedGraphs | CountedWalks
CHOICES = {"loss": Loss, "diversity_loss": DiversityLoss, "average": Average, "dtype": Precision}


@dataclass(frozen=True)
class Objective:
    """What is minimized. Every choice that the paper leaves open is a field.

    ``"raw"`` is the paper's plain sum (its Eq. 3), where the largest similarity rules. With the logarithm, views and
    hidden graphs of very different scale weigh alike. ``"asinh"`` is the same for large kernels, log(2K), and leads out
    of the negative ones that signed colors begin with, where a logarithm has no slope.
    """

    loss: Loss = "log"
    average: Average = "graph"
    """Average similarities over the database and then take the logarithm, or the logarithms of every graph."""

    diversity: float = 0.0
    """Weight of the mean kernel between the hidden graphs of one restart (Eq. 11)."""

    diversity_loss: DiversityLoss = "raw"
    """Whether that mean is added, its logarithm, or the mean of cosines."""

    sparsity: float = 0.1
    """Weight of the L1 norm of the edges."""

    feature_sparsity: float = 0.0
    """Weight of the L1 norm of the features."""

    def __call__(self, model: KernelLayer, graphs: Seen, restarts: int) -> Tensor:
        """Loss of every restart, ``(R,)``: hidden graphs are the restarts' sets one after the other."""
        loss = -self.similarity(model, graphs)
        hidden = model.hidden
        adj = hidden.adj
        if self.sparsity:
            loss = loss + self.sparsity * sparsity_penalty(adj)
        if self.feature_sparsity:
            loss = loss + self.feature_sparsity * sum(feature_penalty(x) for x in hidden.views)
        total = loss.view(restarts, -1).sum(1)
        if self.diversity:
            total = total + self.diversity * self._overlap(model, adj, restarts)
        return total

    def similarity(self, model: KernelLayer, graphs: Seen) -> Tensor:
        """Similarity of each hidden graph to the database: ``(K,)``."""
        return similarity(graphs.scores(model), graphs.count, self.loss, self.average)

    def _overlap(self, model: KernelLayer, adj: Tensor, restarts: int) -> Tensor:
        overlap = adj.new_zeros(restarts)
        for x in model.hidden.views:
            mean = diversity_penalty(
                x.unflatten(0, (restarts, -1)),
                adj.unflatten(0, (restarts, -1)),
                steps=model.steps,
                last_only=model.combine == "last",
                match_all=model.kernel == "rwk+",
                normalize=self.diversity_loss == "cosine",
            )
            overlap = overlap + (_log(mean) if self.diversity_loss == "log" else mean)
        return overlap


def similarity(scores: Tensor, count: Tensor, loss: Loss, average: Average) -> Tensor:
    """Similarity of each hidden graph to a database, added over views: ``(V, B, K)`` to ``(K,)``.

    ``count (B,)`` is how often each graph occurs.

    >>> scores = torch.tensor([[[2.0], [4.0]]])  # one view, two graphs, one hidden graph
    >>> similarity(scores, torch.ones(2), "raw", "graph")
    tensor([3.])
    """
    share = count / count.sum()
    scale: dict[Loss, Callable[[Tensor], Tensor]] = {"raw": torch.positive, "log": _log, "asinh": torch.asinh}
    scaled = scale[loss]
    if average == "graph":
        return torch.einsum("b,vbk->k", share, scaled(scores))
    return scaled(torch.einsum("b,vbk->vk", share, scores)).sum(0)


def _log(kernel: Tensor) -> Tensor:
    # A hidden graph without edges has kernel 0: the floor keeps its logarithm finite.
    return kernel.clamp_min(torch.finfo(kernel.dtype).tiny).log()


@dataclass(eq=False, repr=False)
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
        loss: Similarity ``"raw"``, its logarithm, ``"log"``, or ``"asinh"``, the same where colors have signs.
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
        random_state: Seed, scikit-learn's ``RandomState``, or None to draw one; with a seed, restart r starts
            the same whatever ``n_restarts`` is.
        dtype: ``"float32"`` or ``"float64"``.
        ignore: Fields of the graphs to leave out on purpose.

    Attributes:
        weights_: Edge weights of all restarts ``(R, k, M, M)``.
        colors_: Features of the first view ``(R, k, M, D)``.
        similarity_: Final similarity of each hidden graph to the database ``(R, k)``.
        losses_: Final loss of each restart ``(R,)``.
        history_: Loss before each epoch and at the end ``(epochs + 1, R)``.
        best_: Restart of lowest loss.
        label_names_: Names of the columns of ``colors_``.

    >>> from torch_geometric.data import Data
    >>> edge = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> network = DescriptiveKCN(1, 2, n_restarts=3, epochs=5).fit([edge])
    >>> network.weights_.shape, network.losses_.shape
    ((3, 1, 2, 2), (3,))
    """

    n_patterns: int = 2
    pattern_size: int = 3
    _: KW_ONLY
    kernel: Literal["rwk+", "rwk-"] = "rwk+"
    steps: int = 3
    combine: Literal["sum", "last"] = "last"
    include_zero_step: bool = False
    views: Sequence[View] = ("labels",)
    features: FeatureMap | Sequence[FeatureMap] = "softmax"
    adjacency: AdjacencyMap = "sigmoid"
    whiten: bool = False
    structural_dim: int = 16
    loss: Loss = "log"
    average: Average = "graph"
    diversity: float = 0.0
    diversity_loss: DiversityLoss = "raw"
    sparsity: float = 0.1
    feature_sparsity: float = 0.0
    epochs: int = 200
    lr: float = 0.01
    momentum: float = 0.9
    n_restarts: int = 50
    first_restart: int = 0
    random_state: int | np.random.RandomState | None = 0
    dtype: Precision = "float32"
    ignore: Sequence[str] = ()

    def fit(self, X: Graphs, y: object = None, *, callback: Callback | None = None) -> Self:
        """Train all restarts on ``X``; ``callback`` is called after every epoch with the lowest loss before it."""
        self._check()
        batch = as_batch(X, ignore=self.ignore)
        seed = seed_of(self.random_state)
        widths, seen = self._see(batch, seed)
        model = self._model(widths, seed)
        names = ("loss", "average", "diversity", "diversity_loss", "sparsity", "feature_sparsity")
        objective = Objective(**{name: getattr(self, name) for name in names})
        history = self._train(model, seen, objective, callback)
        shape = (self.n_restarts, self.n_patterns)
        with torch.no_grad():
            self.weights_ = model.hidden.adj.unflatten(0, shape).numpy()
            self.colors_ = model.hidden.views[0].unflatten(0, shape).numpy()
            self.similarity_ = objective.similarity(model, seen).unflatten(0, shape).numpy()
        self.seed_ = seed
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

    def _see(self, batch: Batch, seed: int) -> tuple[tuple[int, ...], Seen]:
        """Widths of the views, and the graphs in the shorter of two forms that give the same scores."""
        dtype, generator = getattr(torch, self.dtype), torch.Generator().manual_seed(seed)
        colors = {"dim": self.structural_dim, "whiten": self.whiten, "dtype": dtype}
        viewed = ViewedGraphs.of(batch, self.views, generator=generator, **colors).merged()
        if as_counts(batch, self.views):
            counted = CountedWalks.of(batch, self.steps, match_all=self.kernel == "rwk+", dtype=dtype)
            if counted.size < viewed.x.size(0):
                return viewed.widths, counted
        return viewed.widths, viewed

    def _model(self, widths: tuple[int, ...], seed: int) -> KernelLayer:
        model = KernelLayer(
            widths,
            self.n_restarts * self.n_patterns,
            hidden_nodes=self.pattern_size,
            kernel=self.kernel,
            steps=self.steps,
            combine=self.combine,
            include_zero_step=self.include_zero_step,
            adjacency=self.adjacency,
            features=self.features,
            generator=torch.Generator(),  # drawn anew below
        ).to(getattr(torch, self.dtype))
        _draw_restarts(model.hidden, self.n_restarts, seed, self.first_restart)
        return model

    def _train(
        self, model: KernelLayer, graphs: Seen, objective: Objective, callback: Callback | None
    ) -> NDArray[np.float64]:
        """Full-batch SGD on all restarts at once; returns every restart's loss before each epoch and at the end.

        The gradient is that of the sum over restarts, which share no parameter: each moves as it would alone.
        """
        optimizer = torch.optim.SGD(model.parameters(), lr=self.lr, momentum=self.momentum)
        history = []
        for epoch in range(1, self.epochs + 1):
            losses = objective(model, graphs, self.n_restarts)
            optimizer.zero_grad()
            losses.sum().backward()
            optimizer.step()
            history.append(losses.detach().double().numpy())
            if callback is not None:
                callback(Progress("epochs", epoch, self.epochs, {"loss": float(history[-1].min())}))
        with torch.no_grad():
            history.append(objective(model, graphs, self.n_restarts).double().numpy())
        return np.stack(history)

    def _check(self) -> None:
        for name in ("n_patterns", "pattern_size", "steps", "n_restarts", "structural_dim"):
            check_integer(name, getattr(self, name), 1)
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)


@torch.no_grad()
def _draw_restarts(hidden: HiddenGraphs, restarts: int, seed: int, first: int = 0) -> None:
    """Give restarts ``first``, ``first + 1``, ... the initial values of their own seeds, alone or among others."""
    size = hidden.num_hidden // restarts
    for r in range(restarts):
        state = int(np.random.SeedSequence((seed, first + r)).generate_state(1)[0])
        generator = torch.Generator().manual_seed(state)
        one = HiddenGraphs(size, hidden.hidden_nodes, hidden.widths, generator=generator)
        rows = slice(r * size, (r + 1) * size)
        for mine, drawn in zip(hidden.parameters(), one.parameters(), strict=True):
            mine[rows] = drawn.to(mine.dtype)
