"""How a miner reads graphs: labels are labels, and single numbers are cut into intervals that patterns may ask for."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from rwkplus.errors import GraphError, Remedy, RWKPlusWarning
from rwkplus.loops.embeddings import NONE, Floats, Ints
from rwkplus.mining.pattern_parts import Condition, Occurrences
from rwkplus.mining.patterns import Pattern
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import Found, Shape
from rwkplus.table import GraphTable, Reader
from rwkplus.table.arrays import merge_directions
from rwkplus.table.columns import Numbers
from rwkplus.table.reader import SIDES, Side, directed_edges
from rwkplus.types import check_ignore

MARKS = 60
"""Conditions that nodes, or edges, can have all together: bits of a whole number."""
MOST_CUTS = 6
MOST_GAPS = 3
WIDE = 0.05
"""Share of the range that a gap between values has at least to be a place to cut."""
FEWEST_BEYOND, SHARE_BEYOND = 5, 0.003
"""Rows beyond a gap that are more than outliers."""
QUANTILES = (0.5, 0.9, 0.1, 0.97, 0.75, 0.25)
"""Where to cut a column whose values tell no better places, the most useful first."""
ALIKE = 0.02
"""Share of rows between two cuts that are as good as one."""


@dataclass(frozen=True)
class Cuts:
    """Where the numbers of a column are cut: a condition asks for those at or above a cut, or below it.

    >>> Cuts("amount", (50.0, 200.0)).marks(np.array([10.0, 60.0, np.nan])).tolist()
    [10, 9, 0]
    """

    column: str
    at: tuple[float, ...]

    def marks(self, values: Floats) -> Ints:
        """Conditions that each number meets: a bit for being at or above each cut, and one for being below it.

        >>> Cuts("age", (18.0,)).marks(np.array([17.0, 18.0]))
        array([2, 1])
        """
        marks = np.zeros(values.size, np.int64)
        for k, cut in enumerate(self.at):
            marks |= (values >= cut).astype(np.int64) << (2 * k)
            marks |= (values < cut).astype(np.int64) << (2 * k + 1)
        return marks

    def condition(self, need: int) -> Condition | None:
        """The marks that are needed, in words; None where there are none.

        >>> print(Cuts("amount", (50.0, 200.0)).condition(0b1001))
        amount 50 to 200
        """
        low = [cut for k, cut in enumerate(self.at) if need >> (2 * k) & 1]
        high = [cut for k, cut in enumerate(self.at) if need >> (2 * k + 1) & 1]
        return Condition(self.column, max(low, default=None), min(high, default=None)) if low or high else None

    def need(self, condition: Condition) -> int:
        """Marks of a condition.

        >>> Cuts("amount", (50.0, 200.0)).need(Condition("amount", 50.0, 200.0))
        9
        """
        need = 0 if condition.low is None else 1 << 2 * self.at.index(condition.low)
        return need if condition.high is None else need | 1 << 2 * self.at.index(condition.high) + 1


@dataclass(frozen=True)
class PatternReader:
    """Reads graphs in the way of those that were mined, and names what was found in them.

    >>> from rwkplus.datasets import payment_cases
    >>> reader = PatternReader.fit(payment_cases(20), (), n_classes=8, structural=False, seed=0)
    >>> reader.directed, [cuts.column for cuts in reader.edges]
    (True, ['amount'])
    """

    labels: Reader
    directed: bool
    nodes: tuple[Cuts, ...] = ()
    edges: tuple[Cuts, ...] = ()

    @classmethod
    def fit(
        cls,
        table: GraphTable,
        ignore: Sequence[str],
        *,
        n_classes: int,
        structural: bool,
        seed: int,
    ) -> "PatternReader":
        """Note labels and directions, and cut columns of single numbers.

        Columns of several numbers a row become labels: ``n_classes`` classes of similar rows.
        """
        check_ignore(ignore, table.names_to_ignore())
        table = table.without(ignore)
        numbers = {
            side: [
                n
                for n, c in getattr(table, side).items()
                if isinstance(c, Numbers) and c.width == 1 and n != table.weight
            ]
            for side in SIDES
        }
        cut: dict[Side, tuple[Cuts, ...]] = {side: _cuts(table, side, numbers[side]) for side in SIDES}
        left_out = [f"{side}.{name}" for side in SIDES for name in numbers[side]]
        reader = Reader.fit_labels(table, left_out, n_classes=n_classes, structural=structural, seed=seed)
        reader = replace(reader, ignore=(*ignore, *left_out))
        return cls(reader, merge_directions(table).directed, **cut)

    def read(self, table: GraphTable) -> MiningDatabase:
        """Graphs as they are searched."""
        if table.directed and not self.directed:
            table = merge_directions(table)
        if table.directed != self.directed and table.num_edges:
            raise GraphError(
                f"these graphs are {'directed' if table.directed else 'undirected'}, the mined ones were not.",
                Remedy("Read both in the same way: {directed}.", directed=self.directed),
            )
        _, rows, _, _ = directed_edges(table)
        edge_marks = _marks(self.edges, table, "edges")
        return MiningDatabase.of(
            self.labels.read(table),
            directed=self.directed,
            marks=_marks(self.nodes, table, "nodes"),
            edge_marks=edge_marks[rows] if edge_marks.size else NONE,
        )

    def pattern(
        self,
        shape: Shape,
        database: MiningDatabase,
        found: Found,
        table: GraphTable,
        **judged: Any,  # noqa: ANN401
    ) -> Pattern:
        """Name the labels of a shape and look up its occurrences in their graphs.

        Args:
            shape: The pattern, by the numbers of its labels.
            database: The graphs, as they were searched.
            found: Where the shape occurs in them.
            table: The same graphs with the user's ids.
            judged: The criterion, score, coverage and gain of the pattern.
        """
        labels, directed = self.labels, shape.directed
        edges = [(j, i, edge ^ 1) if edge & directed else (i, j, edge) for i, j, edge in shape.edges]
        first_node = np.searchsorted(database.rows.graph, np.arange(database.num_graphs))
        graph = database.rows.graph[found.rows[:, 0]]
        local = found.rows - first_node[graph][:, None]
        names, ids = table.graphs.get("name"), table.nodes.get("id")
        return Pattern(
            labels=tuple(labels.nodes.names[label] for label in shape.labels),
            edges=tuple(
                (i, j, labels.edges.names[edge // (1 + directed)] if labels.edges.exists else None)
                for i, j, edge in edges
            ),
            directed=directed,
            node_conditions=self._conditions("nodes", shape.needs),
            edge_conditions=self._conditions("edges", shape.edge_needs),
            support=np.unique(graph).size,
            num_graphs=database.num_graphs,
            occurrences=Occurrences(
                graph,
                local,
                None if names is None else names.values()[graph],
                None if ids is None else ids.values()[table.node_ptr[graph][:, None] + local],
            ),
            node_coverage=np.unique(found.rows).size / database.rows.label.size,
            exhaustive=found.exhaustive,
            labelled=labels.nodes.exists,
            **judged,
        )

    def _conditions(self, side: Side, needs: Sequence[int]) -> tuple[tuple[Condition, ...], ...]:
        return tuple(self.conditions(side, need) for need in needs) if any(needs) else ()

    def shape(self, pattern: Pattern) -> Shape:
        """A pattern by the numbers of its labels and conditions; raises ``ValueError`` where one is unknown."""
        nodes, edges, directed = self.labels.nodes.names, self.labels.edges.names, pattern.directed
        numbered = [(i, j, (0 if e is None else edges.index(e)) * (1 + directed)) for i, j, e in pattern.edges]
        return Shape(
            tuple(nodes.index(label) for label in pattern.labels),
            tuple((i, j, edge) if i < j else (j, i, edge ^ directed) for i, j, edge in numbered),
            directed,
            tuple(self.need("nodes", part) for part in pattern.node_conditions),
            tuple(self.need("edges", part) for part in pattern.edge_conditions),
        )

    def conditions(self, side: Side, need: int) -> tuple[Condition, ...]:
        """What the marks that a pattern needs say in words.

        >>> from rwkplus.datasets import payment_cases
        >>> reader = PatternReader.fit(payment_cases(20), (), n_classes=8, structural=False, seed=0)
        >>> [str(condition) for condition in reader.conditions("edges", 0b1)]
        ['amount >= 27']
        """
        found = []
        for cuts in getattr(self, side):
            found.append(cuts.condition(need))
            need >>= 2 * len(cuts.at)
        return tuple(condition for condition in found if condition is not None)

    def need(self, side: Side, conditions: Sequence[Condition]) -> int:
        """Marks that conditions ask for; raises ``ValueError`` for what was never cut.

        >>> from rwkplus.datasets import payment_cases
        >>> reader = PatternReader.fit(payment_cases(20), (), n_classes=8, structural=False, seed=0)
        >>> reader.need("edges", reader.conditions("edges", 0b1001))
        9
        """
        need, shift = 0, 0
        left = list(conditions)
        for cuts in getattr(self, side):
            for condition in [part for part in left if part.attribute == cuts.column]:
                need |= cuts.need(condition) << shift
                left.remove(condition)
            shift += 2 * len(cuts.at)
        if left:
            raise ValueError(f"the {side} have no attribute {left[0].attribute!r}")
        return need

    def to_dict(self) -> dict[str, Any]:
        """JSON values that :meth:`from_dict` reads."""
        cuts: dict[str, Any] = {s: [[part.column, list(part.at)] for part in getattr(self, s)] for s in SIDES}
        return {"labels": self.labels.to_dict(), "directed": self.directed, **cuts}

    @classmethod
    def from_dict(cls, values: Any) -> "PatternReader":  # noqa: ANN401
        """Read what :meth:`to_dict` returned; anything else raises ``ValueError``, ``KeyError`` or ``TypeError``."""
        form = msgspec.convert(values, _Form)
        cut = {side: tuple(Cuts(name, tuple(at)) for name, at in getattr(form, side)) for side in SIDES}
        for parts in cut.values():
            sizes = [len(part.at) for part in parts]
            ascending = all((np.diff(part.at) > 0).all() and np.isfinite(part.at).all() for part in parts)
            if not ascending or 2 * sum(sizes) > MARKS or len({part.column for part in parts}) != len(parts):
                raise ValueError("its attributes are not cut at ascending numbers")
        return cls(Reader.from_dict(form.labels), form.directed, **cut)


class _Form(msgspec.Struct, forbid_unknown_fields=True):
    labels: dict[str, Any]
    directed: bool
    nodes: list[tuple[str, list[float]]]
    edges: list[tuple[str, list[float]]]


def _marks(cuts: Sequence[Cuts], table: GraphTable, side: Side) -> Ints:
    """Marks of all nodes or edges of a table; none where nothing is cut."""
    marks, shift = np.zeros(table.num_nodes if side == "nodes" else table.num_edges, np.int64), 0
    for part in cuts:
        column = getattr(table, side).get(part.column)
        if marks.size and not (isinstance(column, Numbers) and column.width == 1):
            raise GraphError(
                f"the {side} have no column of numbers {part.column!r}, those of the mined graphs had one.",
                Remedy("Read both in the same way, or fit with {ignore}.", ignore=(f"{side}.{part.column}",)),
            )
        if marks.size:
            marks |= part.marks(column.numbers.ravel().astype(np.float64)) << shift  # type: ignore[union-attr]
        shift += 2 * len(part.at)
    return marks if shift else NONE


def _cuts(table: GraphTable, side: Side, names: Sequence[str]) -> tuple[Cuts, ...]:
    if 2 * len(names) > MARKS:
        raise GraphError(
            f"the {side} have {len(names)} columns of numbers, but patterns can use at most {MARKS // 2}.",
            Remedy(
                "Leave out the others with {ignore}, or combine them into one column of several numbers.", ignore=...
            ),
        )
    most = min(MOST_CUTS, MARKS // 2 // max(len(names), 1))
    found = []
    for name in names:
        values = getattr(table, side)[name].numbers.ravel().astype(np.float64)
        values = values[np.isfinite(values)]
        at = cut_points(values, most)
        if at:
            found.append(Cuts(name, at))
        else:
            lacks = "only one value" if values.size else "no values"
            warnings.warn(
                RWKPlusWarning(f"column {name!r} of the {side} has {lacks}, so patterns do not use it."), stacklevel=5
            )
    return tuple(found)


def cut_points(values: Floats, most: int) -> tuple[float, ...]:
    """Choose at most ``most`` numbers to cut finite values at: in wide gaps, and at quantiles.

    Classes have no say, lest permuted ones, which tell what chance achieves, had to be cut for anew.

    >>> rng = np.random.default_rng(0)
    >>> amounts = np.concatenate([rng.uniform(10, 1_000, 950), rng.uniform(10_000, 12_000, 50)])
    >>> 10_000.0 in cut_points(amounts, 4)
    True
    >>> cut_points(np.array([0.0, 1.0, 1.0, 2.0]), 4)
    (1.0, 2.0)
    """
    order = np.sort(values)
    steps = np.flatnonzero(order[1:] > order[:-1]) + 1  # a cut before the value with this number parts the values
    if not steps.size:
        return ()
    if steps.size <= most:
        chosen = steps.tolist()
    else:
        wanted = _by_gaps(order) + [_roomy(order, int(q * order.size)) for q in QUANTILES]
        chosen = []
        for rank in wanted:
            near = int(steps[np.argmin(np.abs(steps - rank))])
            if len(chosen) < most and all(abs(near - other) > ALIKE * order.size for other in chosen):
                chosen.append(near)
    return tuple(dict.fromkeys(_short_between(order[k - 1], order[k]) for k in sorted(chosen)))


def _roomy(order: Floats, rank: int) -> int:
    """The rank nearby where values are farthest apart, so that a short number fits between."""
    reach = max(int(ALIKE / 2 * order.size), 1)
    low = max(rank - reach, 1)
    return low + int(np.argmax(np.diff(order[low - 1 : rank + reach])))


def _by_gaps(order: Floats) -> list[int]:
    """Ranks at which values fall apart: the widest gaps, if they are wide and no mere outliers lie beyond.

    A few stray values do not fill a gap; it is then cut where it is emptiest.
    """
    amounts = order[0] > 0 and order[-1] > 20 * np.median(order)  # orders of magnitude count
    scale = np.log(order) if amounts else order
    least = max(FEWEST_BEYOND, round(SHARE_BEYOND * order.size))
    wide = WIDE * (scale[-least] - scale[least - 1])
    found: list[int] = []
    for stray in (0, least - 1):
        inner = (scale[1 + stray :] - scale[: -1 - stray])[least - 1 : order.size - least - stray]
        for k in np.argsort(-inner)[: MOST_GAPS * (1 + stray)]:
            first = least + int(k)
            emptiest = first + int(np.argmax(np.diff(scale[first - 1 : first + stray + 1])))
            if inner[k] > wide * (1 + (stray > 0)) and all(abs(emptiest - other) > least for other in found):
                found.append(emptiest)
    return found[:MOST_GAPS]


def _short_between(low: float, high: float) -> float:
    """The number with fewest digits that is larger than the first number and at most the second.

    >>> _short_between(998.3, 10_012.7), _short_between(0.1234, 0.1239)
    (10000.0, 0.1239)
    """
    for digits in range(17):
        step = 10.0 ** (np.floor(np.log10(max(abs(low), abs(high)))) - digits)
        short = float(f"{np.floor(high / step) * step:.15g}")
        if low < short <= high:
            return short
    return float(high)
