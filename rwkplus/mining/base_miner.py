"""What miners share: everything that comes out of one once it has patterns."""

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from rwkplus.drawing import PatternDisplay
from rwkplus.drawing.displays import SHOWN
from rwkplus.errors import DataError, GraphError, MissingExtraError, RWKPlusWarning
from rwkplus.kernels import RandomWalkKernel
from rwkplus.mining.patterns import Pattern
from rwkplus.mining.reading import PatternReader
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import Shape, explained, find_occurrences
from rwkplus.mining.search.whole_graph import count_whole
from rwkplus.saving import Savable, array
from rwkplus.table import Graphs, GraphTable
from rwkplus.table.columns import counted
from rwkplus.types import Callback, check_choice, check_ignore

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

MinerOutput = Literal["similarity", "count", "presence"]
SHARES = ("node_coverage", "edge_coverage")
SOMETIMES = ("smarts", "mni", "num_occurrences")
COLUMNS = ("smarts", "nodes", "edges", "support", "frequency", "score", "gain", *SHARES, *SOMETIMES[1:])
OCCURRENCE_COLUMNS = ("graph", "pattern", "occurrence", "position", "label", "node")
Features: TypeAlias = NDArray[Any] | csr_matrix


class Miner(Savable, TransformerMixin, BaseEstimator):
    """What miners share: once ``patterns_`` are there, features of graphs, tables, and a file.

    A subclass finds patterns in ``fit(X, y=None, *, callback=None)`` and assigns what it learned at its end.

    Attributes:
        patterns_: The patterns.
        explained_: Share of all edges that the first 1, 2, ... patterns cover.
        reader_: How graphs are read: labels, directions, and where attributes are cut.
    """

    patterns_: list[Pattern]
    explained_: NDArray[np.float64]
    reader_: PatternReader
    seed_: int
    output: MinerOutput = "similarity"
    ignore: Sequence[str]
    n_jobs: int | None
    stored_arrays: ClassVar[dict[str, int]] = {"explained_": 1}
    """Fitted arrays, and their numbers of dimensions."""

    def fit(self, X: Graphs, y: Sequence[object] | None = None, *, callback: Callback | None = None) -> Self:
        """Mine ``X``."""
        raise NotImplementedError

    def fit_transform(self, X: Graphs, y: Sequence[object] | None = None, **fit_params: Any) -> Features:  # noqa: ANN401
        """Mine, and return the features of the same graphs, which are read only once."""
        table = self._table(X)
        return self.fit(table, y, **fit_params).transform(table)

    def transform(self, X: Graphs) -> Features:
        """Return a feature of every graph for every pattern, ``(B, k)``, as the parameter ``output`` asks.

        ``"similarity"`` is the cosine of the walks of graph and pattern, between 0 and 1. ``"count"`` is the number of
        occurrences, as :attr:`rwkplus.mining.Pattern.occurrences` lists them, and ``"presence"`` is 1 where there is
        one: sparse matrices of whole numbers, or dense ones where ``set_output`` asks for frames.

        >>> from rwkplus.mining import PatternMiner
        >>> miner = PatternMiner(1, criterion="blocks", n_controls=0).fit(["C1CO1"] * 6)
        >>> miner.transform(["C1CO1"]).round(3)
        array([[1.]])
        """
        check_choice("output", self.output, MinerOutput)
        if self.output == "similarity":
            self._check_patterns()
            kernel = RandomWalkKernel("rwk+", steps=3, normalize=True, ignore=("conditions",))
            kernel.fit([pattern.to_networkx() for pattern in self.patterns_])
            similarity: Features = kernel.transform(self.reader_.labels.labelled(self._table(X)))
            return similarity
        counts = self._counts(X)
        if self.output == "presence":
            counts.data[:] = 1
        return counts if _get_output_config("transform", self)["dense"] == "default" else counts.toarray()

    def _counts(self, X: Graphs) -> csr_matrix:
        """Occurrences of every pattern in every graph; graphs without any take no room."""
        database, shapes = self._searched(X)
        counts, partly = [], []
        for pattern, shape in zip(self.patterns_, shapes, strict=True):
            found = find_occurrences(database, shape, self.n_jobs)
            owner = database.rows.graph[found.rows[:, 0]]
            counts.append(np.bincount(owner, minlength=database.num_graphs))
            partly += [] if found.exhaustive else [pattern.short_name]
        if partly and self.output == "count":
            warnings.warn(
                RWKPlusWarning(
                    f"some graphs have more occurrences of {' and '.join(partly)} than are counted.",
                    "Ask for output='presence', which is exact.",
                ),
                stacklevel=4,
            )
        return csc_matrix(np.stack(counts, axis=1)).tocsr()

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the columns of :meth:`transform`: those of the patterns, with numbers behind equal ones.

        >>> from rwkplus.mining import PatternMiner
        >>> miner = PatternMiner(1, criterion="blocks", n_controls=0).fit(["C1CO1"] * 6)
        >>> miner.get_feature_names_out()
        array(['C1CO1'], dtype=object)
        """
        self._check_patterns()
        return np.array(_distinct([pattern.short_name for pattern in self.patterns_]), dtype=object)

    def to_frame(self) -> "pd.DataFrame":
        """Return the patterns as a table of pandas, one a row.

        SMARTS is told where patterns are parts of molecules, ``mni`` and ``num_occurrences`` where one graph was mined,
        and support, share, odds ratio and corrected p-value of every class where there were classes.

        >>> from rwkplus.mining import PatternMiner
        >>> miner = PatternMiner(1, criterion="blocks", n_controls=0).fit(["C1CO1"] * 6)
        >>> miner.to_frame()[["name", "nodes", "edges", "support", "frequency"]]
            name  nodes  edges  support  frequency
        0  C1CO1      3      3        6        1.0
        """
        check_is_fitted(self, "explained_")
        names = _distinct([pattern.short_name for pattern in self.patterns_])
        rows = [{"name": name} | _row(pattern) for name, pattern in zip(names, self.patterns_, strict=True)]
        frame = _pandas().DataFrame(rows, columns=None if rows else ["name", *COLUMNS])
        return frame.drop(columns=[name for name in SOMETIMES if frame[name].isna().all()])

    def occurrences_frame(self) -> "pd.DataFrame":
        """Return where the patterns occur as a table of pandas, one row for every node of every occurrence.

        Patterns have different numbers of nodes, and people look for nodes, whatever their place in a pattern: so all
        ids stand in one column. ``pattern`` is the row of :meth:`to_frame`, ``occurrence`` the place in the pattern's
        ``occurrences``, and ``position`` that of the node in the pattern; graphs and nodes have the ids of the user.

        >>> import networkx as nx
        >>> from rwkplus.mining import PatternMiner
        >>> triangle = nx.cycle_graph(["ann", "bob", "eve"])
        >>> nx.set_node_attributes(triangle, dict(zip(triangle, "abc")), "label")
        >>> miner = PatternMiner(1, criterion="blocks", n_controls=0).fit([triangle] * 6)
        >>> miner.occurrences_frame().head(3)
           graph  pattern  occurrence  position label node
        0      0        0           0         0     a  ann
        1      0        0           0         1     b  bob
        2      0        0           0         2     c  eve
        """
        check_is_fitted(self, "explained_")
        pd = _pandas()
        parts = [_places(pd, k, pattern) for k, pattern in enumerate(self.patterns_)]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=OCCURRENCE_COLUMNS)

    def participation(self, X: Graphs) -> csc_matrix:
        """Return which nodes of ``X`` take part in which patterns: a sparse matrix of truth values ``(N, k)``.

        Rows are the nodes in the order of ``GraphTable.of(X)``, columns the patterns.

        >>> from rwkplus.mining import PatternMiner
        >>> miner = PatternMiner(1, criterion="blocks", n_controls=0).fit(["C1CO1"] * 6)
        >>> miner.participation(["CC1CO1"]).toarray().ravel()
        array([False,  True,  True,  True])
        """
        database, shapes = self._searched(X)
        return csc_matrix(np.stack([count_whole(database, shape).nodes for shape in shapes], axis=1))

    def score(self, X: Graphs, y: object = None) -> float:
        """Return the share of the edges of ``X`` that lie in an occurrence of a pattern, between 0 and 1.

        On graphs that were not mined, this tells how well the patterns describe what they have not seen.

        >>> from rwkplus.mining import PatternMiner
        >>> miner = PatternMiner(1, criterion="blocks", n_controls=0).fit(["C1CO1"] * 6)
        >>> miner.score(["CC1CO1"])
        0.75
        """
        database, shapes = self._searched(X)
        if database.num_graphs == 1:
            marked = np.any([count_whole(database, shape).covered for shape in shapes], axis=0)
        else:
            marked = explained(database, shapes, self.n_jobs)
        return float(marked.mean()) if marked.size else 0.0

    def _learned(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        learned = {"reader": self.reader_.to_dict(), "patterns": [pattern.to_dict() for pattern in self.patterns_]}
        return learned, {name: getattr(self, name) for name in self.stored_arrays}

    def _restore(self, learned: dict[str, Any], arrays: dict[str, Any]) -> None:
        if set(learned) != {"reader", "patterns"} or set(arrays) != set(self.stored_arrays):
            raise ValueError("it holds other things than a miner learns")
        check_ignore(self.ignore)
        self.reader_ = PatternReader.from_dict(learned["reader"])
        self.patterns_ = [Pattern.from_dict(values) for values in learned["patterns"]]
        for pattern in self.patterns_:
            if pattern.directed != self.reader_.directed:
                raise ValueError("some patterns are directed and the graphs were not, or the other way round")
            self.reader_.shape(pattern)  # raises where a label or a cut is unknown
        for name, dimensions in self.stored_arrays.items():
            setattr(self, name, array(arrays, name, "f", dimensions))
        if self.explained_.size != len(self.patterns_):
            raise ValueError("it explains edges by other patterns than it holds")

    def plot(self, axes: Any = None) -> PatternDisplay:  # noqa: ANN401
        """Draw the patterns beside one another (extra: ``plot``).

        Args:
            axes: Axes for each pattern; by default those of a new figure.

        Returns:
            The display, with ``figure_`` and ``axes_``; its ``plot_shares`` draws what the patterns explain.
        """
        check_is_fitted(self, "explained_")
        return PatternDisplay.from_estimator(self).plot(axes)

    def _html_repr(self) -> str:
        """For notebooks: scikit-learn's diagram with the parameters and, once there are any, patterns as pictures."""
        diagram: str = estimator_html_repr(self)
        patterns = getattr(self, "patterns_", None)
        if patterns is None:
            return diagram
        found = f"<p>{counted(len(patterns), 'pattern')}"
        if patterns:
            found += f" explaining {self.explained_[-1]:.0%} of the edges"
        pictures = "".join(pattern._repr_html_() for pattern in patterns[:SHOWN])
        more = f"<p>and {len(patterns) - SHOWN} more</p>" if len(patterns) > SHOWN else ""
        return f'{diagram}{found}</p><div style="display:flex;flex-wrap:wrap">{pictures}</div>{more}'

    def _table(self, X: Graphs) -> GraphTable:
        check_ignore(self.ignore)
        return GraphTable.of(X, ignore=tuple(self.ignore))

    def _searched(self, X: Graphs) -> tuple[MiningDatabase, list[Shape]]:
        """Graphs and patterns as they are searched."""
        self._check_patterns()
        return self.reader_.read(self._table(X)), [self.reader_.shape(pattern) for pattern in self.patterns_]

    def _check_patterns(self) -> None:
        check_is_fitted(self, "explained_")
        if not self.patterns_:
            raise GraphError("no patterns were found, so there is nothing to compare with.")


def _row(pattern: Pattern) -> dict[str, Any]:
    try:
        smarts = pattern.to_smarts()
    except (DataError, MissingExtraError):
        smarts = None
    known = {"smarts": smarts, "nodes": pattern.size, "edges": len(pattern.edges)}
    row = {name: known[name] if name in known else getattr(pattern, name) for name in COLUMNS}
    if pattern.difference is not None:
        mean, without, _, q = pattern.difference
        row |= {"mean_with": mean, "mean_without": without, "q": q}
    for part in pattern.contrast:
        row |= {f"support_{part.name}": part.support, f"share_{part.name}": part.support / part.graphs}
        row |= {f"odds_ratio_{part.name}": part.odds_ratio, f"q_{part.name}": part.corrected}
    return row


def _places(pd: Any, k: int, pattern: Pattern) -> "pd.DataFrame":  # noqa: ANN401
    places, size = pattern.occurrences, pattern.size
    ids = places.nodes if places.node_ids is None else places.node_ids
    columns = (
        np.repeat(places.graph if places.graph_names is None else places.graph_names, size),
        k,
        np.repeat(np.arange(len(places)), size),
        np.tile(np.arange(size), len(places)),
        np.tile(np.array(pattern.labels, dtype=object), len(places)),
        ids.ravel(),
    )
    return pd.DataFrame(dict(zip(OCCURRENCE_COLUMNS, columns, strict=True)))


def _pandas() -> Any:  # noqa: ANN401
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("tables need pandas.", "Install it: pip install pandas.") from error
    return pd


def _distinct(names: Sequence[str]) -> list[str]:
    """Names with numbers behind those that were there before.

    >>> _distinct(["CO", "CC", "CO"])
    ['CO', 'CC', 'CO (2)']
    """
    seen: Counter[str] = Counter()
    taken = set(names)
    distinct = []
    for name in names:
        seen[name] += 1
        own = name if seen[name] == 1 else f"{name} ({seen[name]})"
        while seen[name] > 1 and own in taken:
            seen[name] += 1
            own = f"{name} ({seen[name]})"
        taken.add(own)
        distinct.append(own)
    return distinct
