"""Anomalies as graphs far from all others, by a walk kernel."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, cast

import networkx as nx
import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rwkplus.detect.base import GraphDetector
from rwkplus.detect.explanation import Explanation, explanations
from rwkplus.detect.novelty import CountForest, Method, Novelty, distance, novelty, with_new_share
from rwkplus.errors import GraphError, ParameterError, RWKPlusWarning
from rwkplus.files import from_json
from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel
from rwkplus.kernels.node_colors import node_colors
from rwkplus.table import Graphs, GraphTable, Reader
from rwkplus.table.arrays import Floats, ReadGraphs, map_blocks
from rwkplus.table.packing import pack_table, unpack_table
from rwkplus.table.reader import ALIKE, check_nodes, with_equal_nodes
from rwkplus.types import KernelName, check_choice, check_ignore, is_positive_integer, seed_of

BLOCK_NODES = 50_000
"""Nodes of the graphs compared with the references at a time."""

SAME = 1 - 1e-9
"""Similarity of graphs that the kernel cannot tell apart."""


def default_kernel(table: GraphTable) -> RandomWalkKernel:
    """The kernel for labels, or the one for numbers; graphs without edges are compared by their nodes."""
    reader = Reader.fit(table)
    name: KernelName = "node-centric" if reader.discrete and not reader.weighted else "rwk+"
    return RandomWalkKernel(name, steps=3, include_zero_step=True, normalize=True)


def color_counts(ignore: Sequence[str] = ()) -> RandomWalkFeatures:
    """What a forest reads: how many nodes have each walk color, after 0 to 3 steps."""
    return RandomWalkFeatures("node-centric", 3, include_zero_step=True, assignment="dirac", ignore=ignore)


def most_similar(
    graphs: Graphs, others: Graphs, count: int, ignore: Sequence[str] = ()
) -> list[list[tuple[int, float]]]:
    """For each graph, the numbers of the ``count`` most similar among others, and their similarities."""
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

    Similarities are cosines: measurements are compared by their directions, not by their size. Where values far out
    are to be found, scale them, or use :class:`rwkplus.detect.SurpriseDetector`.

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
        random_state: Seed of the draw of references and of the forest, scikit-learn's ``RandomState``, or None for a
            seed of chance.

        n_jobs: Parallel jobs that compare graphs with the references, through joblib.

    Attributes:
        references_: The reference graphs.
        reference_indices_: Which of the fitted graphs they are.
        kernel_: The kernel, fitted to them.
        counts_: The counts of walk colors that a forest reads; None where it reads similarities.

    Example:
        >>> from rwkplus.datasets import anomalous_molecules
        >>> graphs, planted = anomalous_molecules(200)
        >>> detector = WalkKernelDetector(method="nearest").fit(graphs[:150])
        >>> detector.predict(graphs[150:]).shape
        (50,)
    """

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
        """Columns that detector or kernel leave out."""
        return (*self.ignore, *getattr(self.kernel, "ignore", ()))

    def similarity(self, graphs: Graphs) -> Floats:
        """Return the similarity of each graph to each reference, at most 1: ``(B, R)``."""
        check_is_fitted(self)
        return self._similarity(self._own(GraphTable.of(graphs, ignore=self.ignored)))

    def _similarity(self, table: GraphTable) -> Floats:
        return self._over_blocks(self._similarity_of, table)

    def _over_blocks(self, function: Callable[[ReadGraphs], Floats], table: GraphTable) -> Floats:
        graphs = ReadGraphs(table, self.kernel_.reader_)
        return np.concatenate(list(map_blocks(function, graphs, BLOCK_NODES, self.n_jobs)))

    def _similarity_of(self, graphs: ReadGraphs) -> Floats:
        return self.kernel_.transform(graphs.table)

    def _scores_of(self, graphs: ReadGraphs) -> Floats:
        return self.novelty_.scores(self._seen(graphs.table))

    def _learn(self, table: GraphTable) -> Floats:
        self._check()
        check_nodes(table)
        table = with_equal_nodes(table.without(self.ignored))
        self.seed_ = seed_of(self.random_state)
        random = np.random.default_rng(self.seed_)
        self.reference_indices_ = np.sort(random.permutation(len(table))[: self.n_references])
        self._refer_to(table[self.reference_indices_])
        scores = np.empty(len(table))
        rest = np.setdiff1d(np.arange(len(table)), self.reference_indices_)
        scores[self.reference_indices_] = self.reference_scores_
        if rest.size:
            scores[rest] = self._scores(table[rest])
        return scores

    def _refer_to(self, references: GraphTable) -> None:
        if self.method == "lof" and len(references) < 2:
            raise GraphError("method='lof' compares graphs with their neighbors and needs at least two of them.")
        self.references_ = references
        self.kernel_ = self._new_kernel()
        counted = self.method == "forest" and self.kernel is None and self.kernel_.kernel == "node-centric"
        self.counts_ = color_counts().fit(references) if counted else None
        if counted:
            self.kernel_.fit(references)  # for similar graphs and explanations
            self.novelty_: Novelty = CountForest(self.seed_)
            seen = self._seen(references)
        else:
            self.novelty_ = novelty(self.method, self.n_neighbors, len(references), self.seed_)
            seen = self.kernel_.fit_transform(references)
        self.reference_scores_ = self.novelty_.fit(seen).own_scores(seen)

    def _seen(self, table: GraphTable) -> Any:  # noqa: ANN401
        """What novelty is judged by: similarities to the references, or counts of colors and the share of new ones."""
        if self.counts_ is None:
            return self.kernel_.transform(table)
        levels = self.counts_.steps + 1
        return with_new_share(self.counts_.transform(table), levels * np.diff(table.node_ptr))

    def _new_kernel(self) -> RandomWalkKernel:
        if self.kernel is not None:
            return cast(RandomWalkKernel, clone(self.kernel))
        return default_kernel(self.references_)

    def _scores(self, table: GraphTable) -> Floats:
        return self._over_blocks(self._scores_of, self._own(table))

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

    def labelled(self, graphs: Graphs) -> list[nx.Graph]:
        """Return graphs with the labels that the detector sees, for pictures; with empty ones where there are none."""
        check_is_fitted(self)
        return super().labelled(self._own(GraphTable.of(graphs, ignore=self.ignored)))

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

    def _packed(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = pack_table(self.references_)
        header["kernel"] = None if self.kernel is None else self.kernel.get_params()
        indices = {"reference_indices": self.reference_indices_, "reference_scores": self.reference_scores_}
        return header, arrays | indices

    def _unpack(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.kernel = None if header["kernel"] is None else RandomWalkKernel(**from_json(header["kernel"]))
        self._check()
        self.seed_ = seed_of(self.random_state)
        self.reference_indices_ = arrays["reference_indices"]
        self._refer_to(unpack_table(header, arrays))
        _check_same_scores(self.reference_scores_, arrays["reference_scores"])


def _check_same_scores(now: Floats, then: Floats) -> None:
    """Warn where a model that was fitted anew differs from the one that was saved."""
    if now.shape != then.shape:
        raise ValueError("its scores do not fit its graphs")
    if not np.allclose(now, then, rtol=1e-6, atol=1e-9):
        warnings.warn(
            "the model was fitted anew and scores its own graphs differently than when it was saved, probably by "
            "another version of scikit-learn. Fit and save it again for scores that can be compared.",
            RWKPlusWarning,
            stacklevel=5,
        )
