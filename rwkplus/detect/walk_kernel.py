"""Anomalies as graphs far from all others, by a walk kernel; and what makes a graph new, told by its similarities."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.base import OutlierMixin, clone

from rwkplus.detect.graph_detector import Explanation, GraphDetector, Scored, explanations, graph_digests
from rwkplus.errors import GraphError, ParameterError, RWKPlusWarning
from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel
from rwkplus.kernels.node_colors import node_colors
from rwkplus.saving import array, check_entries
from rwkplus.table import Graphs, GraphTable, Reader
from rwkplus.table.arrays import Codes, Floats, Ints, ReadGraphs, map_blocks
from rwkplus.table.checks import UNIFORM_LABEL, with_equal_nodes
from rwkplus.table.packing import pack_table, unpack_table
from rwkplus.types import KernelName, OutlierMethod, check_choice, check_integer, seed_of

T = TypeVar("T")
BLOCK_NODES = 50_000
"""Nodes of the graphs compared with the references at a time."""

SAME = 1 - 1e-9
"""Similarity of graphs that the kernel cannot tell apart."""

NARROWEST = 1e-3
"""Smallest bandwidth of a density: where most references have a twin, the median distance to the nearest is 0."""


def default_kernel(table: GraphTable) -> RandomWalkKernel:
    """The kernel for labels, or the one for numbers; graphs without edges are compared by their nodes.

    >>> default_kernel(GraphTable.of(["CCO"])).kernel
    'node-centric'
    """
    reader = Reader.fit(table)
    name: KernelName = "node-centric" if reader.discrete and not reader.weighted else "rwk+"
    return RandomWalkKernel(name, steps=3, include_zero_step=True, normalize=True)


def color_counts(ignore: Sequence[str] = ()) -> RandomWalkFeatures:
    """What a forest reads: how many nodes have each walk color, after 0 to 3 steps."""
    return RandomWalkFeatures("node-centric", 3, include_zero_step=True, assignment="dirac", ignore=ignore)


@dataclass(eq=False, repr=False)
class WalkKernelDetector(GraphDetector):
    """Flag graphs that a walk kernel finds unlike the reference graphs.

    The references are all fitted graphs or, in large databases, some drawn at random; a graph is described by its
    similarities to them, so time and memory grow with graphs times references.

    Between graphs of the same score, their mean similarity to all references decides, and for counts of walk colors,
    how rare these are.

    Similarities are cosines: attributes are compared by their directions, not by their size. Where values far out are
    to be found, scale them, or use :class:`rwkplus.detect.SurpriseDetector`.

    Args:
        contamination: Expected share of anomalies among the fitted graphs, above 0 and at most 0.5.
        method: How similarities become a score. ``"nearest"``: distance to the nearest references. ``"density"``: a
            Gaussian kernel density. ``"lof"``, ``"svm"``, ``"forest"``: scikit-learn's local outlier factor,
            one-class support vector machine and isolation forest. A forest cuts one column at a time, and no single
            similarity says much: unless there is a ``kernel`` of yours, it reads counts of walk colors instead.
        kernel: A normalized kernel; by default node-centric walk colors under optimal assignment, 3 steps, for labels,
            and ``"rwk+"`` of 3 steps, single nodes included, for measurements and edge weights.
        n_references: Most references to keep.
        n_neighbors: Neighbors that count for ``"nearest"`` (1 by default) and ``"lof"`` (20).
        ignore: Columns to leave out on purpose, such as ``("edges.label",)``.
        random_state: Seed of the draw of references and of the forest, a ``RandomState``, or None for another draw
            every time.
        n_jobs: Parallel jobs that compare graphs with the references, through joblib.

    Attributes:
        references_: The reference graphs.
        reference_indices_: Which of the fitted graphs they are.
        kernel_: The kernel, fitted to them.
        counts_: The counts of walk colors that a forest reads; None where it reads similarities.
        fitted_scores_: :meth:`score_samples` of the fitted graphs ``(B,)``.
        offset_: Scores below it are anomalies.

    Example:
        >>> from rwkplus.datasets import anomalous_molecules
        >>> graphs, planted = anomalous_molecules(200)
        >>> detector = WalkKernelDetector(method="nearest").fit(graphs[:150])
        >>> detector.predict(graphs[150:]).shape
        (50,)
    """

    contamination: float = 0.05
    method: OutlierMethod = "nearest"
    kernel: RandomWalkKernel | None = None
    _: KW_ONLY
    n_references: int = 2000
    n_neighbors: int | None = None
    ignore: Sequence[str] = ()
    random_state: int | RandomState | None = 0
    n_jobs: int | None = None

    references_: GraphTable = field(init=False)
    reference_indices_: Ints = field(init=False)
    reference_scores_: Floats = field(init=False)
    kernel_: RandomWalkKernel = field(init=False)
    counts_: RandomWalkFeatures | None = field(init=False)
    _score: Callable[[ReadGraphs], Scored] = field(init=False)  # a block of graphs

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that detector or kernel leave out."""
        return (*self.ignore, *getattr(self.kernel, "ignore", ()))

    def similarity(self, X: Graphs) -> Floats:
        """Return the similarity of each graph to each reference, at most 1: ``(B, R)``.

        >>> WalkKernelDetector().fit(["CC", "CO"]).similarity(["CC"]).round(2)
        array([[1.  , 0.12]])
        """
        return self._similarity(self._later(X))

    def _similarity(self, table: GraphTable) -> Floats:
        return np.concatenate(_over_blocks(partial(_similarity, self.kernel_), table, self.kernel_, self.n_jobs))

    def _table(self, X: Graphs) -> GraphTable:
        return super()._table(X).without(self.ignored)

    def _later(self, X: Graphs) -> GraphTable:
        """Later graphs, all nodes alike only where those of the references were."""
        table = super()._later(X)
        return with_equal_nodes(table) if self.label_reader.nodes.names == UNIFORM_LABEL else table

    def _learn(self, table: GraphTable) -> tuple[dict[str, Any], Scored]:
        table = with_equal_nodes(table)
        seed = seed_of(self.random_state)
        chosen = np.sort(np.random.default_rng(seed).permutation(len(table))[: self.n_references])
        learned, own = self._refer_to(table[chosen], seed)
        rest = np.setdiff1d(np.arange(len(table)), chosen)
        parts = _over_blocks(learned["_score"], table[rest], learned["kernel_"], self.n_jobs) if rest.size else []
        order = np.argsort(np.concatenate([chosen, rest]), kind="stable")
        return learned | {"reference_indices_": chosen}, Scored.joined([own, *parts]).take(order)

    def _refer_to(self, references: GraphTable, seed: int) -> tuple[dict[str, Any], Scored]:
        """Attributes that follow from the references, and the references scored, each by the others."""
        if self.method == "lof" and len(references) < 2:
            raise GraphError("the local outlier factor compares graphs with their neighbors: give at least two.")
        kernel = default_kernel(references) if self.kernel is None else clone(self.kernel)
        counted = self.method == "forest" and self.kernel is None and kernel.kernel == "node-centric"
        counts = color_counts().fit(references) if counted else None
        if counts is not None:  # similarities are for explanations and similar graphs
            judge: Novelty = CountForest(seed)
            seen = _seen(references, kernel.fit(references), counts)
        else:
            judge = novelty(self.method, self.n_neighbors, len(references), seed)
            seen = kernel.fit_transform(references)
        judge.fit(seen)
        first, second = judge.own(seen)
        digests = np.concatenate(_over_blocks(_digests_of, references, kernel, self.n_jobs))
        learned = {"references_": references, "kernel_": kernel, "counts_": counts, "reference_scores_": first}
        score = partial(_scored, kernel, counts, judge)
        return learned | {"_score": score, "seed_": seed}, Scored(first, second, digests)

    def _scores(self, table: GraphTable) -> Scored:
        return Scored.joined(_over_blocks(self._score, table, self.kernel_, self.n_jobs))

    @property
    def explains(self) -> bool:
        """Whether graphs have labels, which explanations are made of."""
        return bool(self.label_reader.discrete)

    def _explain(self, table: GraphTable) -> list[Explanation]:
        """A node is as unusual as many steps give it a color that the nearest reference does not have.

        References that are the very same are left out: one of them may be the graph itself.
        """
        if not self.explains:
            raise GraphError("explanations need labels, and these graphs are compared by attributes.")
        similarity = self._similarity(table)
        which, place = np.unique(np.where(similarity < SAME, similarity, -1).argmax(1), return_inverse=True)
        arrays, known = (self.label_reader.read(part) for part in (table, self.references_[which]))
        colors, theirs = (np.stack(list(node_colors(part, self.kernel_.steps))) for part in (arrays, known))
        missing = np.zeros(arrays.num_nodes)
        for i, nearest in enumerate(place.tolist()):
            mine, other = (slice(part.node_ptr[k], part.node_ptr[k + 1]) for part, k in ((arrays, i), (known, nearest)))
            for step in range(len(colors)):
                missing[mine] += ~np.isin(colors[step, mine], theirs[step, other])
        return explanations(table, arrays, missing / len(colors))

    @property
    def _rounding(self) -> float:
        return float(_distance(np.array(SAME))) if self.method == "nearest" else -np.inf

    @property
    def label_reader(self) -> Reader:
        """How the kernel reads graphs."""
        return self.kernel_.reader_

    def _check(self) -> None:
        super()._check()
        check_choice("method", self.method, OutlierMethod)
        check_integer("n_references", self.n_references, 1)
        if self.n_neighbors is not None:
            check_integer("n_neighbors", self.n_neighbors, 1)
        if self.kernel is not None and not (isinstance(self.kernel, RandomWalkKernel) and self.kernel.normalize):
            raise ParameterError(
                f"kernel must be a RandomWalkKernel with normalize=True, or None; got {self.kernel!r}."
            )

    def _model(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        table, arrays = pack_table(self.references_)
        indices = {"reference_indices": self.reference_indices_, "reference_scores": self.reference_scores_}
        return {"references": table}, arrays | indices

    def _restored_model(
        self, learned: dict[str, Any], arrays: dict[str, NDArray[Any]], num_graphs: int
    ) -> dict[str, Any]:
        """Fit the references again, whatever the method learns from them."""
        check_entries(learned, "references")
        indices, scores = array(arrays, "reference_indices", "i", 1), array(arrays, "reference_scores", "f", 1)
        references = unpack_table(learned["references"], arrays)
        if set(arrays) != {*pack_table(references)[1], "reference_indices", "reference_scores"}:
            raise ValueError("it holds other arrays than its references need")
        if (np.diff(indices, prepend=-1) <= 0).any() or indices.max(initial=-1) >= num_graphs:
            raise ValueError("its references are not among its graphs")
        if indices.size != len(references) or indices.size > self.n_references:
            raise ValueError("it has other references than it says")
        model, own = self._refer_to(references, seed_of(self.random_state))
        _check_same_scores(own.first, scores)
        return model | {"reference_indices_": indices}


def _over_blocks(
    function: Callable[[ReadGraphs], T], table: GraphTable, kernel: RandomWalkKernel, n_jobs: int | None
) -> list[T]:
    return list(map_blocks(function, ReadGraphs(table, kernel.reader_), BLOCK_NODES, n_jobs))


def _scored(
    kernel: RandomWalkKernel, counts: RandomWalkFeatures | None, judge: "Novelty", graphs: ReadGraphs
) -> Scored:
    """Score a block of graphs with what workers need, which is nothing of the fitted graphs but the references."""
    seen = _seen(graphs.table, kernel, counts)
    return Scored(judge.scores(seen), judge.second_scores(seen), _digests_of(graphs))


def _seen(table: GraphTable, kernel: RandomWalkKernel, counts: RandomWalkFeatures | None) -> Any:  # noqa: ANN401
    """What novelty is judged by: similarities to the references, or counts of colors and the share of new ones."""
    if counts is None:
        return kernel.transform(table)
    return with_new_share(counts.transform(table), (counts.steps + 1) * np.diff(table.node_ptr))


def _similarity(kernel: RandomWalkKernel, graphs: ReadGraphs) -> Floats:
    return kernel.transform(graphs.table)


def _digests_of(graphs: ReadGraphs) -> Codes:
    return graph_digests(graphs.arrays(labels=graphs.reader.discrete))


def _check_same_scores(now: Floats, then: Floats) -> None:
    """Warn where a model that was fitted anew differs from the one that was saved."""
    if now.shape != then.shape:
        raise ValueError("its scores do not fit its graphs")
    if not np.allclose(now, then, rtol=1e-6, atol=1e-9):
        warnings.warn(
            RWKPlusWarning(
                "the model was refitted and scores its own graphs differently than when it was saved, probably by "
                "another version of scikit-learn.",
                "Fit and save it again for scores that can be compared.",
            ),
            stacklevel=7,
        )


class Novelty(ABC):
    """Learns from the similarities of references ``(R, R)``, between 0 and 1; scores are higher for newer graphs."""

    def fit(self, gram: Floats) -> Self:
        """Learn from the references."""
        return self

    @abstractmethod
    def scores(self, similarity: Floats) -> Floats:
        """Score graphs by their similarities to the references ``(B, R)``."""

    def second_scores(self, similarity: Floats) -> Floats:
        """What decides between graphs of the same score ``(B,)``: how unlike all references they are on average."""
        return np.asarray(1 - similarity.mean(1))

    def own(self, gram: Floats) -> tuple[Floats, Floats]:
        """Both scores of the references ``(R,)``, each without itself where that can be told."""
        size = len(gram)
        if size == 1:
            return np.zeros(1), np.zeros(1)
        others = np.asarray(gram[~np.eye(size, dtype=bool)].reshape(size, size - 1))
        return self.scores(others), self.second_scores(others)


class Nearest(Novelty):
    """Mean distance to the most similar references: small only where something alike is known.

    >>> gram = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> Nearest(1).own(gram)[0].round(3)
    array([1.   , 1.   , 1.414])
    """

    def __init__(self, n_neighbors: int) -> None:
        self.n_neighbors = n_neighbors

    def scores(self, similarity: Floats) -> Floats:
        """Mean distance to the nearest references."""
        count = min(self.n_neighbors, similarity.shape[1])
        nearest = -np.partition(-similarity, count - 1, axis=1)[:, :count]
        return np.asarray(_distance(nearest).mean(1))


class Density(Novelty):
    """Negative logarithm of a Gaussian kernel density, as wide as references are apart.

    >>> gram = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> Density().fit(gram).own(gram)[0].round(3)
    array([0.026, 0.026, 0.307])
    """

    def fit(self, gram: Floats) -> Self:
        """Learn the bandwidth: the median distance of a reference to its nearest."""
        self.bandwidth = max(float(np.median(Nearest(1).own(gram)[0])), NARROWEST)
        return self

    def scores(self, similarity: Floats) -> Floats:
        """Negative log density, up to a constant."""
        from scipy.special import logsumexp

        return -np.asarray(logsumexp((similarity - 1) / self.bandwidth**2, axis=1))


class _Learned(Novelty):
    """One of scikit-learn's detectors, with its default settings, on similarities or distances."""

    def __init__(self, model: OutlierMixin, *, distances: bool = False) -> None:
        self.model = model
        self.distances = distances

    def fit(self, gram: Floats) -> Self:
        """Fit the model."""
        self.model.fit(self._input(gram))
        return self

    def scores(self, similarity: Floats) -> Floats:
        """Negative of the model's scores, which are low for anomalies."""
        return -np.asarray(self.model.score_samples(self._input(similarity)))

    def own(self, gram: Floats) -> tuple[Floats, Floats]:
        """Only the local outlier factor leaves a reference out of its own neighbors."""
        factor = getattr(self.model, "negative_outlier_factor_", None)
        others = Nearest(1).own(gram)[1]
        return self.scores(gram) if factor is None else -np.asarray(factor), others

    def _input(self, similarity: Floats) -> Floats:
        if not self.distances:
            return similarity
        apart = _distance(similarity)
        if len(apart) == apart.shape[1] and np.allclose(np.diagonal(similarity), 1):
            np.fill_diagonal(apart, 0)  # rounding
        return apart


class CountForest(Novelty):
    """An isolation forest on counts, and the share of what is counted that no reference has.

    A forest cuts between values that it has seen, so that it is blind to new columns. What is new sets a graph apart
    at once: its share moves the score from the forest's towards 1, the highest there is.
    """

    def __init__(self, seed: int) -> None:
        from sklearn.ensemble import IsolationForest

        self.forest = IsolationForest(random_state=seed)

    def fit(self, gram: csr_matrix) -> Self:
        """Learn from the counts of the references ``(R, F)``, the last column their shares of new things: none."""
        self.forest.fit(gram[:, :-1])
        self.rarity = 1 / np.maximum(gram[:, :-1].getnnz(axis=0), 1)
        return self

    def scores(self, similarity: csr_matrix) -> Floats:
        """Score graphs by their counts, the last column their shares of new things."""
        known = -np.asarray(self.forest.score_samples(similarity[:, :-1]))
        new = similarity[:, [-1]].toarray().ravel()
        return np.asarray(known + new * (1 - known))

    def second_scores(self, similarity: csr_matrix) -> Floats:
        """How rare the things are that a graph has: each counts as one part of the references that have it."""
        return np.asarray(similarity[:, :-1] @ self.rarity)

    def own(self, gram: csr_matrix) -> tuple[Floats, Floats]:
        """The same."""
        return self.scores(gram), self.second_scores(gram)


def with_new_share(counts: csr_matrix, totals: Sequence[float] | Floats) -> csr_matrix:
    """Append the share of ``totals`` that is not among the known counts.

    >>> from scipy.sparse import csr_matrix
    >>> with_new_share(csr_matrix(np.array([[3.0, 0.0], [1.0, 1.0]])), [4, 2]).toarray()
    array([[3.  , 0.  , 0.25],
           [1.  , 1.  , 0.  ]])
    """
    known = np.asarray(counts.sum(1)).ravel()
    return hstack([counts, csr_matrix(1 - known / np.maximum(totals, 1)).T], format="csr")


def novelty(method: OutlierMethod, n_neighbors: int | None, references: int, seed: int) -> Novelty:
    """Make an unfitted judge of novelty; scikit-learn's detectors are imported only if one is asked for.

    >>> novelty("lof", None, references=10, seed=0).model.n_neighbors
    9
    """
    if method == "nearest":
        return Nearest(n_neighbors or 1)
    if method == "density":
        return Density()
    if method == "svm":
        from sklearn.svm import OneClassSVM

        return _Learned(OneClassSVM(kernel="precomputed"))
    if method == "forest":
        from sklearn.ensemble import IsolationForest

        return _Learned(IsolationForest(random_state=seed))
    from sklearn.neighbors import LocalOutlierFactor

    count = max(1, min(n_neighbors or 20, references - 1))
    return _Learned(LocalOutlierFactor(count, metric="precomputed", novelty=True), distances=True)


def _distance(similarity: Floats) -> Floats:
    """Distance in the space of a normalized kernel."""
    return np.sqrt(np.maximum(2 - 2 * similarity, 0))
