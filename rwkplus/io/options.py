"""What users can say about the way their graphs are read."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Literal

from rwkplus.errors import GraphError, ParameterError
from rwkplus.table import GraphTable, Numbers
from rwkplus.table.graph_table import SIDES
from rwkplus.table.infer import Kind
from rwkplus.types import check_choice, check_ignore

OnError = Literal["raise", "skip"]
TUFeatures = Literal["labels", "attributes", "both"]


@dataclass(frozen=True)
class ReadOptions:
    """Options of :func:`rwkplus.io.read_graphs`; each source takes those that mean something to it."""

    source: str = "source"
    target: str = "target"
    graph: str = "graph"
    node: str = "node"
    smiles: str = "smiles"
    y: str | Sequence[str] = "y"
    labels: Sequence[str] = ()
    attributes: Sequence[str] = ()
    ignore: Sequence[str] = ()
    weight: str | None = None
    directed: bool = False
    multigraph: bool = False
    drop_duplicates: bool = False
    on_error: OnError = "raise"
    atom: Sequence[str] = ("element",)
    bond: Sequence[str] = ("type",)
    node_features: TUFeatures = "labels"
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        check_choice("on_error", self.on_error, OnError)
        check_choice("node_features", self.node_features, TUFeatures)
        check_ignore(self.ignore)
        for name in ("labels", "attributes", "atom", "bond"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Sequence):
                raise ParameterError(f"{name} must be a sequence of names, such as ('type',); got {value!r}.")
        both = set(self.labels) & set(self.attributes)
        if both:
            raise ParameterError(f"{sorted(both)[0]!r} is named in labels and in attributes: choose one.")

    @property
    def targets(self) -> tuple[str, ...]:
        """Columns that are to be learned."""
        return (self.y,) if isinstance(self.y, str) else tuple(self.y)

    def kind(self, name: str, side: str) -> Kind | None:
        """What the user says a column is; ``"edges.type"`` tells two of one name apart."""
        for kind, names in (("label", self.labels), ("attribute", self.attributes)):
            if name in names or f"{side}.{name}" in names:
                return kind  # type: ignore[return-value]
        return None

    def applied(self, table: GraphTable) -> GraphTable:
        """Say which column is the weight and which are targets, where there are such."""
        self._check_named(table)
        if self.weight is not None:
            column = table.edges.get(self.weight)
            if column is None:
                raise GraphError(f"there is no edge column {self.weight!r} to be the weight: weight={self.weight!r}.")
            if not isinstance(column, Numbers) or column.width != 1:
                raise GraphError(f"the weight {self.weight!r} must be one number for every edge.")
        return replace(table, weight=self.weight, targets=tuple(t for t in self.targets if t in table.graphs))

    def _check_named(self, table: GraphTable) -> None:
        """Refuse slips in names of columns; names that are not there are fine, as graphs may differ."""
        known = {n for side in SIDES for name in getattr(table, side) for n in (name, f"{side}.{name}")}
        asked = {"labels": self.labels, "attributes": self.attributes, "y": self.targets}
        for option, names in asked.items():
            for name in set(names) - known:
                for meant in get_close_matches(name, known, 1, 0.7):
                    raise ParameterError(
                        f"{option} names {name!r}, but there is no such column. Did you mean {meant!r}?"
                    )

    def check(self, what: str, takes: Sequence[str]) -> None:
        """Refuse options that would do nothing.

        Args:
            what: What the graphs come from, for the error.
            takes: Options that mean something there.
        """
        for option in fields(self):
            if option.name not in takes and getattr(self, option.name) != option.default:
                raise ParameterError(
                    f"{option.name}={getattr(self, option.name)!r} says nothing about {what}: leave it out."
                )


def options_of(given: dict[str, Any]) -> ReadOptions:
    """Options by name, or an error about one that does not exist."""
    known = {option.name for option in fields(ReadOptions)}
    for name in given:
        if name not in known:
            raise ParameterError(f"there is no option {name!r}; known are {', '.join(sorted(known))}.")
    return ReadOptions(**given)
