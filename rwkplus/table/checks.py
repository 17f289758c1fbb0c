"""Graphs that are described in another way than the fitted ones: read alike where that is safe, refused where not."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError, Remedy, RWKPlusWarning
from rwkplus.table.arrays import Floats
from rwkplus.table.columns import Categories, Numbers, Text
from rwkplus.table.graph_table import GraphTable

if TYPE_CHECKING:
    from rwkplus.table.reader import Side, SideSchema

UNIFORM_LABEL = ("0",)
"""The label of nodes that have none, where all are to be alike."""


class Described(NamedTuple):
    """Columns of a table that describe nodes or edges."""

    labels: dict[str, Categories]
    attributes: dict[str, Numbers]


def read_alike(colors: "SideSchema", found: Described, table: GraphTable) -> Described:
    """Columns of the kinds that were fitted, where a few rows happened to look like another kind; or an error.

    Rows of numbers may be one-hot by accident, labels that are written as numbers may be all there are, and whether
    words are labels or ids shows in many rows only.
    """
    labels, attributes = _as_encoded(colors, found.labels), found.attributes
    for name in colors.labels:
        column = getattr(table, colors.side).get(name)
        if isinstance(column, Text):
            labels[name] = Categories.of(column.texts.tolist())
    for name in [name for name, column in labels.items() if column.one_hot and name not in colors.labels]:
        attributes |= _as_attributes(colors, labels, name)
    for name in colors.labels:
        whole = name in attributes and attributes[name].numbers.dtype.kind == "i" and attributes[name].width == 1
        if whole and not colors.unnamed:
            labels[name] = Categories.of(attributes.pop(name).numbers.ravel().tolist())
    same = labels.keys() == set(colors.labels) or len(labels) == len(colors.labels) == 1
    if not same or attributes.keys() != dict(colors.attributes).keys():
        raise _other_columns(colors, Described(labels, attributes), table)
    return Described(labels, attributes)


def _as_attributes(colors: "SideSchema", labels: dict[str, Categories], name: str) -> dict[str, Numbers]:
    """One-hot rows as numbers, taken from the labels, where fitting saw numbers in a column of their name or names."""
    fitted, names = dict(colors.attributes), labels[name].names
    if name not in fitted and not all(fitted.get(own) == 1 for own in names):
        return {}
    rows = np.equal.outer(labels.pop(name).codes, np.arange(len(names))).astype(np.float64)
    return {name: Numbers(rows)} if name in fitted else {own: Numbers(rows[:, k]) for k, own in enumerate(names)}


def _as_encoded(colors: "SideSchema", labels: dict[str, Categories]) -> dict[str, Categories]:
    """Columns of zeros and ones as the fitted ones were taken: for one-hot rows, or each for labels of its own."""
    for name in [name for name, column in labels.items() if column.unnamed and name not in colors.labels]:
        parts = [f"{name}{k}" for k in range(len(labels[name].names))]
        if set(parts) <= set(colors.labels):
            codes = labels.pop(name).codes
            labels |= {part: Categories.numbered(codes == k, "01") for k, part in enumerate(parts)}
    parts = [f"{name}{k}" for name in colors.labels for k in range(len(colors.names))]
    if colors.unnamed and set(labels) == set(parts):
        ones = np.stack([labels[part].values() == "1" for part in parts], 1)
        digits = all(set(labels[part].names) <= {"0", "1"} for part in parts)
        if digits and (ones.sum(1) == 1).all():
            return {colors.labels[0]: Categories.numbered(ones.argmax(1), colors.names, one_hot=True)}
    return labels


def _other_columns(colors: "SideSchema", found: Described, table: GraphTable) -> GraphError:
    """The error about graphs that are described by other columns than the fitted ones."""
    graph, fitted = table.describe_graph(0), [*colors.labels, *(name for name, _ in colors.attributes)]
    here = [*found.labels, *found.attributes]
    for name in here:
        if name not in fitted:
            more = f" Those had {', '.join(map(repr, fitted))}." if fitted else ""
            return GraphError(
                f"{graph}: the {colors.side} have a column {name!r}, those of the fitted graphs had none "
                f"of that name.{more}",
                Remedy("Read both in the same way, or leave it out: {ignore}.", ignore=(name,)),
            )
    if not here and colors.labels:
        return GraphError(
            f"{graph}: the {colors.side} have no labels, those of the fitted graphs had: "
            f"{', '.join((*colors.names, *sum(colors.vocabularies, ()))[:5])}."
        )
    lacking = [name for name in fitted if name not in here]
    if not lacking:
        name = next(name for name in fitted if (name in found.labels) != (name in colors.labels))
        kinds = ("labels", "other numbers") if name in colors.labels else ("numbers", "labels")
        return GraphError(
            f"{graph}: column {name!r} of the {colors.side} holds {kinds[1]}, that of the fitted graphs "
            f"held {kinds[0]}.",
            "Give both the same.",
        )
    names = f": {', '.join(colors.names[:5])}" if colors.names and lacking[0] in colors.labels else ""
    return GraphError(
        f"{graph}: the {colors.side} have no column {lacking[0]!r}, those of the fitted graphs had one{names}.",
        Remedy("Read both in the same way, or fit with {ignore}.", ignore=(lacking[0],)),
    )


def other_encoding(colors: "SideSchema", label: Categories, table: GraphTable) -> GraphError:
    """The error about one-hot rows of another width."""
    return GraphError(
        f"{table.describe_graph(0)}: the {colors.side} have {len(label.names)} columns of labels, those of the "
        f"fitted graphs had {len(colors.names)}.",
        "Encode both with the same columns, or give labels by name.",
    )


def other_weights(*, fitted: bool) -> GraphError:
    """The error about graphs with weights where the fitted ones have none, or the other way round."""
    return GraphError(
        f"the fitted graphs {'had' if fitted else 'had no'} edge weights, these {'have none' if fitted else 'have'}.",
        "Give weights to both (ones are neutral) or to neither.",
    )


def weights_not_read(table: GraphTable) -> GraphError:
    """The error about weights where only labels are compared."""
    return GraphError(
        f"these graphs have weights (column {table.weight!r} of the edges), which are not read here.",
        Remedy("Leave them out with {ignore}, or give them as an attribute.", ignore=(table.weight,)),
    )


def missing_labels(table: GraphTable, side: "Side", name: str, column: Categories) -> GraphError:
    """The error about a column of labels with gaps."""
    count = int(column.missing.sum())
    return GraphError(
        f"{row_in_words(table, side, column.missing)} has no {name!r}, as {count:,} of {len(column):,} {side}.",
        Remedy("Fill the gaps, or leave the column out: {ignore}.", ignore=(f"{side}.{name}",)),
    )


def attribute_rows(colors: "SideSchema", table: GraphTable, columns: Mapping[str, Numbers]) -> dict[str, Floats]:
    """Rows of all attributes, refused where they are no numbers, or more than the fitted ones."""
    for name, width in colors.attributes:
        if columns[name].width != width:
            raise GraphError(
                f"{table.describe_graph(0)}: {name!r} holds {columns[name].width} numbers, the fitted graphs had "
                f"{width}.",
                "Give both the same columns.",
            )
    return {name: finite_rows(table, colors.side, name, columns[name]) for name, _ in colors.attributes}


def finite_rows(table: GraphTable, side: "Side", name: str, column: Numbers) -> Floats:
    """Numbers as rows, refused where one is none."""
    values = column.matrix()
    wrong = np.asarray(~np.isfinite(values).all(1))
    if wrong.any():
        raise GraphError(
            f"{row_in_words(table, side, wrong)}: {name!r} contains nan, inf or numbers too large, as in "
            f"{int(wrong.sum()):,} of {wrong.size:,} {side}.",
            "Impute or remove such values first.",
        )
    return values


def weights_of(table: GraphTable) -> Floats:
    """Weights of the edges."""
    column = None if table.weight is None else table.edges[table.weight]
    if not isinstance(column, Numbers):
        return np.empty(0)
    return finite_rows(table, "edges", str(table.weight), column)[:, 0]


def unknown_label_error(
    table: GraphTable, side: "Side", label: Categories, unknown: NDArray[np.bool_], where: str = ""
) -> GraphError:
    """The error about a label that fitting did not see."""
    name = label.values()[np.argmax(unknown)]
    return GraphError(
        f"{row_in_words(table, side, unknown)} has the label {name!r}{where}, which no fitted graph had.",
        Remedy("Fit on graphs that have it, or choose {unknown_label}.", unknown_label="ignore"),
    )


def warn_if_none_known(colors: "SideSchema", unknown: NDArray[np.bool_], stacklevel: int = 5) -> None:
    """Warn the caller of the estimator, so many frames above this one, where no label is known."""
    if unknown.size and unknown.all():
        warnings.warn(
            RWKPlusWarning(
                f"no label of the {colors.side} occurs in the fitted graphs: are these graphs of the same kind, with "
                "labels spelled in the same way?"
            ),
            stacklevel=stacklevel,
        )


def row_in_words(table: GraphTable, side: "Side", marked: NDArray[np.bool_]) -> str:
    """The first marked node or edge as the user calls it."""
    row = int(np.argmax(marked))
    graph = int((table.node_graph if side == "nodes" else table.edge_graph)[row])
    ids = table.node_ids(graph)
    if side == "nodes":
        return f"{table.describe_graph(graph)}: node {ids[row - int(table.node_ptr[graph])]!r}"
    return f"{table.describe_graph(graph)}: edge {ids[table.source[row]]!r}-{ids[table.target[row]]!r}"


# Nodes that nothing describes, and files that were changed


def equal_labels(table: GraphTable) -> Categories:
    """The same label for all nodes."""
    return Categories.numbered(np.zeros(table.num_nodes, np.int64), UNIFORM_LABEL)


def with_equal_nodes(table: GraphTable) -> GraphTable:
    """Give all nodes the same label where nothing describes them.

    >>> import networkx as nx
    >>> with_equal_nodes(GraphTable.of([nx.path_graph(2)])).nodes["label"].values().tolist()
    ['0', '0']
    """
    described = any(isinstance(column, Categories | Numbers) for column in table.nodes.values())
    return table if described else table.with_columns(nodes={"label": equal_labels(table)})


def check_schema(colors: "SideSchema") -> None:
    """Raise ``ValueError`` where parts contradict each other, as they may in a file."""
    expected = [width for _, width in colors.attributes] if colors.classes else []
    if colors.structural and colors.classes:
        expected = [colors.classes[0].mean.size]
    fits = len(colors.seen) == len(colors.names) and [part.mean.size for part in colors.classes] == expected
    if colors.structural:
        fits = fits and bool(colors.classes) and not colors.labels
    if colors.unnamed:
        fits = fits and len(colors.labels) == 1 and colors.names == tuple(map(str, range(len(colors.names))))
    if colors.vocabularies:
        fits = fits and len(colors.vocabularies) == len(colors.labels)
        fits = fits and not (colors.names or colors.attributes or colors.classes or colors.unnamed)
    distinct = all(len(set(part)) == len(part) for part in (colors.labels, colors.names, *colors.vocabularies))
    if not fits or not distinct:
        raise ValueError(f"the columns of its {colors.side} do not fit together")
