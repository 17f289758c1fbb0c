"""Anomalies as graphs far from all others, by a walk kernel."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import networkx as nx
import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rwkplus.detect.graph_detector import Explanation, GraphDetector, Scored, explanations, graph_digests
from rwkplus.detect.novelty import CountForest, Method, Novelty, distance, novelty, with_new_share
from rwkplus.errors import GraphError, ParameterError, RWKPlusWarning
from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel
from rwkplus.kernels.node_colors import node_colors
from rwkplus.saving import array, check_entries
from rwkplus.table import Graphs, GraphTable, Reader
from rwkplus.table.arrays import Codes, Floats, Ints, ReadGraphs, map_blocks
from rwkplus.table.packing import pack_table, unpack_table
from rwkplus.table.reader import ALIKE, check_nodes, with_equal_nodes
from rwkplus.types import KernelName, check_choice, check_ignore, is_positive_integer, seed_of

T = TypeVar("T")
BLOCK_NODES = 50_000
"""Nodes of the graphs compared with the references at a time."""

SAME = 1 - 1e-9
"""Similarity of graphs that the kernel cannot tell apart."""


def default_kernel(table: GraphTable) -> RandomWalkKernel:
    """The kernel for labels, or the one for numbers; graphs without edges are compared by their nodes.

    >>> from rwkplus.table import GraphTable
    >>> default_kernel(GraphTable.of(["CC"])).kernel
    'node-centric'
    """
    reader = Reader.fit(table)
    name: KernelName = "node-centric" if reader.discrete and not reader.weighted else "rwk+"
    return RandomWalkKernel(name, steps=3, include_zero_step=True, normalize=True)


def color_counts(ignore: Sequence[str] = ()) -> RandomWalkFeatures:
    """What a forest reads: how many nodes have each walk color, after 0 to 3 steps.

    >>> color_counts().fit_transform(["CC", "CO"]).shape
    (2, 11)
    """
    return RandomWalkFeatures("node-centric", 3, include_zero_step=True, assignment="dirac", ignore=ignore)


def most_similar(
    graphs: Graphs, others: Graphs, count: int, ignore: Sequence[str] = ()
) -> list[list[tuple[int, float]]]:
    """For each graph, the numbers of the ``count`` most similar among others, and their similarities.

    >>> [(i, round(value, 2)) for i, value in most_similar(["CCO"], ["CC", "OCC", "CCCO"], 2)[0]]
    [(1, 1.0), (2, 0.51)]
    """
    table, other = (with_equal_nodes(GraphTable.of(part).without(ignore)) for part in (graphs, others))
    if Reader.fit(other).discrete:
        similarity = default_kernel(table).fit(table).transform(other).T
    else:  # the graphs may be few, with attributes that happen to look like labels
        similarity = default_kernel(other).fit(other).transform(table)
    best = np.argsort(-similarity, axis=1, kind="stable")[:, :count]
    return [[(int(i), float(values[i])) for i in row] for values, row in zip(similarity, best, strict=True)]


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

    references_: GraphTable
    reference_indices_: Ints
    reference_scores_: Floats
    kernel_: RandomWalkKernel
    counts_: RandomWalkFeatures | None
    _judge: "_Judge"

    def __init__(
        self,
        contamination: float = 0.05,
        method: Method = "nearest",
        kernel: RandomWalkKernel | None = None,
        *,
        n_references: int = 2000,
        n_neighbors: int | None = None,
        ignore: Sequence[str] = (),
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.contamination = contamination
        self.method = method
        self.kernel = kernel
        self.n_references = n_references
        self.n_neighbors = n_neighbors
        self.ignore = ignore
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that detector or kernel leave out.

        >>> WalkKernelDetector(ignore=("edges.label",)).ignored
        ('edges.label',)
        """
        return (*self.ignore, *getattr(self.kernel, "ignore", ()))

    def similarity(self, X: Graphs) -> Floats:
        """Return the similarity of each graph to each reference, at most 1: ``(B, R)``.

        >>> WalkKernelDetector().fit(["CC", "CO"]).similarity(["CC"]).round(2)
        array([[1.  , 0.12]])
        """
        check_is_fitted(self)
        return self._similarity(self._own(GraphTable.of(X, ignore=self.ignored)))

    def _similarity(self, table: GraphTable) -> Floats:
        return np.concatenate(list(self._judge.over_blocks(self._judge.similarity_of, table)))

    def _learn(self, table: GraphTable) -> tuple[dict[str, Any], Scored]:
        self._check()
        check_nodes(table)
        table = with_equal_nodes(table.without(self.ignored))
        seed = seed_of(self.random_state)
        chosen = np.sort(np.random.default_rng(seed).permutation(len(table))[: self.n_references])
        learned, own = self._refer_to(table[chosen], seed)
        rest = np.setdiff1d(np.arange(len(table)), chosen)
        parts = [own, learned["_judge"].scores(table[rest])] if rest.size else [own]
        order = np.argsort(np.concatenate([chosen, rest]), kind="stable")
        return learned | {"reference_indices_": chosen}, Scored.joined(parts).take(order)

    def _refer_to(self, references: GraphTable, seed: int) -> tuple[dict[str, Any], Scored]:
        """Attributes that follow from the references, and the references scored, each by the others."""
        if self.method == "lof" and len(references) < 2:
            raise GraphError("the local outlier factor compares graphs with their neighbors: it needs at least two.")
        kernel = default_kernel(references) if self.kernel is None else clone(self.kernel)
        counted = self.method == "forest" and self.kernel is None and kernel.kernel == "node-centric"
        if counted:  # similarities are for explanations and similar graphs
            judge = _Judge(kernel.fit(references), color_counts().fit(references), CountForest(seed), self.n_jobs)
            seen = judge.seen(references)
        else:
            judged_by = novelty(self.method, self.n_neighbors, len(references), seed)
            seen = kernel.fit_transform(references)
            judge = _Judge(kernel, None, judged_by, self.n_jobs)
        judge.novelty.fit(seen)
        first, second = judge.novelty.own_scores(seen), judge.novelty.own_second_scores(seen)
        learned = {"references_": references, "kernel_": kernel, "counts_": judge.counts, "reference_scores_": first}
        digests = np.concatenate(list(judge.over_blocks(_digests_of, references)))
        return learned | {"_judge": judge, "seed_": seed}, Scored(first, second, digests)

    def _scores(self, table: GraphTable) -> Scored:
        return self._judge.scores(self._own(table))

    def _own(self, table: GraphTable) -> GraphTable:
        """Later graphs, all nodes alike only where those of the references were."""
        check_nodes(table)
        table = table.without(self.ignored)
        return with_equal_nodes(table) if self.kernel_.reader_.nodes.names == ALIKE else table

    @property
    def explains(self) -> bool:
        """Whether graphs have labels, which explanations are made of."""
        return bool(self.kernel_.reader_.discrete)

    def _explain(self, table: GraphTable) -> list[Explanation]:
        """A node is as unusual as many steps give it a color that the nearest reference does not have.

        References that are the very same are left out: one of them may be the graph itself.
        """
        if not self.explains:
            raise GraphError("explanations need labels, and these graphs are compared by attributes.")
        own = self._own(table)
        similarity = self._similarity(own)
        which, place = np.unique(np.where(similarity < SAME, similarity, -1).argmax(1), return_inverse=True)
        arrays, known = (self.kernel_.reader_.read(part) for part in (own, self.references_[which]))
        colors, theirs = (np.stack(list(node_colors(part, self.kernel_.steps))) for part in (arrays, known))
        missing = np.zeros(arrays.num_nodes)
        for i, nearest in enumerate(place.tolist()):
            mine, other = (slice(part.node_ptr[k], part.node_ptr[k + 1]) for part, k in ((arrays, i), (known, nearest)))
            for step in range(len(colors)):
                missing[mine] += ~np.isin(colors[step, mine], theirs[step, other])
        return explanations(own, arrays, missing / len(colors))

    @property
    def _rounding(self) -> float:
        return float(distance(np.array(SAME))) if self.method == "nearest" else -np.inf

    def _seen_by(self) -> Reader:
        return self.kernel_.reader_

    def labelled(self, X: Graphs) -> list[nx.Graph]:
        """Return graphs with the labels that the detector sees, for pictures; with empty ones where there are none."""
        check_is_fitted(self)
        return super().labelled(self._own(GraphTable.of(X, ignore=self.ignored)))

    def _check(self) -> None:
        check_choice("method", self.method, Method)
        check_ignore(self.ignore)
        for name in ("n_references", "n_neighbors"):
            value = getattr(self, name)
            if not (is_positive_integer(value) or (value is None and name == "n_neighbors")):
                raise ParameterError(f"{name} must be an integer of at least 1, got {value!r}.")
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
        self._check()
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


@dataclass(frozen=True)
class _Judge:
    """What scores graphs: it holds all that workers need, and nothing of the fitted graphs but the references."""

    kernel: RandomWalkKernel
    counts: RandomWalkFeatures | None
    novelty: Novelty
    n_jobs: int | None

    def scores(self, table: GraphTable) -> Scored:
        """Score graphs, block by block."""
        return Scored.joined(list(self.over_blocks(self.scores_of, table)))

    def over_blocks(self, function: Callable[[ReadGraphs], T], table: GraphTable) -> Iterator[T]:
        """Results for blocks of graphs, in order."""
        return map_blocks(function, ReadGraphs(table, self.kernel.reader_), BLOCK_NODES, self.n_jobs)

    def scores_of(self, graphs: ReadGraphs) -> Scored:
        seen = self.seen(graphs.table)
        return Scored(self.novelty.scores(seen), self.novelty.second_scores(seen), _digests_of(graphs))

    def similarity_of(self, graphs: ReadGraphs) -> Floats:
        return self.kernel.transform(graphs.table)

    def seen(self, table: GraphTable) -> Any:  # noqa: ANN401
        """What novelty is judged by: similarities to the references, or counts of colors and the share of new ones."""
        if self.counts is None:
            return self.kernel.transform(table)
        levels = self.counts.steps + 1
        return with_new_share(self.counts.transform(table), levels * np.diff(table.node_ptr))


def _digests_of(graphs: ReadGraphs) -> Codes:
    return graph_digests(graphs.arrays(labels=graphs.reader.discrete))


def _check_same_scores(now: Floats, then: Floats) -> None:
    """Warn where a model that was fitted anew differs from the one that was saved."""
    if now.shape != then.shape:
        raise ValueError("its scores do not fit its graphs")
    if not np.allclose(now, then, rtol=1e-6, atol=1e-9):
        warnings.warn(
            RWKPlusWarning(
                "the model was fitted anew and scores its own graphs differently than when it was saved, probably by "
                "another version of scikit-learn.",
                "Fit and save it again for scores that can be compared.",
            ),
            stacklevel=7,
        )
