"""What fitted graphs looked like, so that later graphs are read the same way or refused."""

import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError, Remedy, RWKPlusWarning
from rwkplus.table.arrays import Floats, GraphArrays, Ints
from rwkplus.table.columns import Categories, Column, Numbers, Text, join, label_codes
from rwkplus.table.graph_table import GraphTable
from rwkplus.table.intervals import AttributeClasses, structural_rows
from rwkplus.types import UnknownLabel, check_ignore

Side = Literal["nodes", "edges"]
UNIFORM_LABEL = ("0",)
"""The label of nodes that have none, where all are to be alike."""
ID_COLUMNS = ("id", "name")
SIDES: tuple[Side, Side] = ("nodes", "edges")
NUMBERED_BELOW = 65_536
"""Labels that are whole numbers below this keep their numbers where they are read column by column."""


class SideSchema(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What describes nodes or edges: labels, attributes, both or neither.

    Example:
        >>> Reader.fit(GraphTable.of(["CCO"])).nodes.labels
        ('label',)
    """

    labels: tuple[str, ...]  # label columns, which together make one label
    names: tuple[str, ...]  # of that label
    seen: tuple[Literal[0, 1], ...]  # which of the names a fitted graph had
    unnamed: bool  # whether the names are but numbers of one-hot columns
    attributes: tuple[tuple[str, Annotated[int, msgspec.Meta(ge=1, lt=2**31)]], ...]  # attribute columns, their widths
    classes: tuple[AttributeClasses, ...]  # how attributes become labels, where they do
    structural: bool  # whether labels tell the place of a node in its graph instead
    texts: tuple[str, ...]  # columns of ids, which describe nothing
    vocabularies: tuple[tuple[str, ...], ...]  # labels of each column, where they are read column by column
    side: Side = "nodes"

    @property
    def exists(self) -> bool:
        """Whether anything describes them."""
        return bool(self.labels or self.attributes or self.structural)

    @property
    def discrete(self) -> bool:
        """Whether all there is are labels."""
        return not self.attributes or bool(self.classes) or self.structural

    @property
    def categories(self) -> list[int]:
        """Numbers that each column of labels needs room for, where they are read column by column.

        >>> Reader.fit(GraphTable.of(["CCO", "CN"]), by_column=("nodes",)).nodes.categories
        [3]
        """
        return [1 + max(_label_numbers(names), default=0) for names in self.vocabularies]

    @property
    def width(self) -> int:
        """Number of features: one for every label, and the attributes; at least one for nodes.

        Where labels are read column by column, there is one feature for every column.

        >>> Reader.fit(GraphTable.of(["CCO", "CN"])).nodes.width
        3
        """
        if self.vocabularies:
            return len(self.vocabularies)
        if self.discrete:
            return max(len(self.names), 1)
        return len(self.names) + sum(width for _, width in self.attributes)

    def _with_label(self, label: Categories, **changes: Any) -> "SideSchema":  # noqa: ANN401
        seen = np.zeros(len(label.names) + 1, np.int8)
        seen[label.codes] = 1
        return msgspec.structs.replace(self, names=label.names, seen=tuple(seen[:-1].tolist()), **changes)

    def _check(self) -> None:
        """Raise ``ValueError`` where parts contradict each other, as they may in a file."""
        expected = [width for _, width in self.attributes] if self.classes else []
        if self.structural and self.classes:
            expected = [self.classes[0].mean.size]
        fits = len(self.seen) == len(self.names) and [part.mean.size for part in self.classes] == expected
        if self.structural:
            fits = fits and bool(self.classes) and not self.labels
        if self.unnamed:
            fits = fits and len(self.labels) == 1 and self.names == tuple(map(str, range(len(self.names))))
        if self.vocabularies:
            fits = fits and len(self.vocabularies) == len(self.labels)
            fits = fits and not (self.names or self.attributes or self.classes or self.unnamed)
        distinct = all(len(set(part)) == len(part) for part in (self.labels, self.names, *self.vocabularies))
        if not fits or not distinct:
            raise ValueError(f"the columns of its {self.side} do not fit together")


class _Described(NamedTuple):
    """Nodes or edges of some graphs, as a reader sees them."""

    labels: list[tuple[str, Categories]]
    attributes: Floats | None  # (N, D)

    @property
    def label(self) -> Categories | None:
        """One label made of all columns of labels."""
        return join(self.labels) if self.labels else None


class _Form(msgspec.Struct, forbid_unknown_fields=True):
    """A reader in a file."""

    nodes: SideSchema
    edges: SideSchema
    weighted: bool
    ignore: tuple[str, ...]


@dataclass(frozen=True)
class Reader:
    """Reads graphs in the way of those that it was fitted to: the same columns, the same numbers for labels.

    Example:
        >>> reader = Reader.fit(GraphTable.of(["CCO", "CN"]))
        >>> reader.nodes.names
        ('C', 'N', 'O')
        >>> reader.read(GraphTable.of(["OCC"])).label
        array([2, 0, 0])
    """

    nodes: SideSchema
    edges: SideSchema
    weighted: bool
    ignore: tuple[str, ...]

    @classmethod
    def fit(cls, table: GraphTable, ignore: Sequence[str] = (), *, by_column: Collection[Side] = ()) -> "Reader":
        """Note which columns there are, which labels, and what is left out on purpose.

        Args:
            table: The graphs.
            ignore: Columns to leave out.
            by_column: Sides whose columns of labels have a vocabulary each, as tables of embeddings want them, instead
                of making one label together.

        Example:
            >>> table = GraphTable.of(["CCO", "C[NH3+]"], atom=("element", "charge"))
            >>> reader = Reader.fit(table, by_column=("nodes",))
            >>> reader.nodes.vocabularies
            (('C', 'N', 'O'), ('0', '1'))
            >>> reader.read(table, labels=False).x[-1]
            array([1., 1.])
        """
        check_ignore(ignore, table.names_to_ignore())
        table = table.without(ignore)
        nodes, edges = (_colors(table, side, by_column=side in by_column) for side in SIDES)
        return cls(nodes, edges, table.weight is not None, tuple(ignore))

    @classmethod
    def fit_labels(
        cls, table: GraphTable, ignore: Sequence[str], *, n_classes: int, structural: bool = False, seed: int = 0
    ) -> "Reader":
        """Like :meth:`fit`, for those who compare labels only: attributes are cut into classes.

        Nodes without labels are all alike, or have their place in the graph as label (``structural``).

        Example:
            >>> import networkx as nx
            >>> path = nx.path_graph(4)
            >>> nx.set_node_attributes(path, {0: 1.0, 1: 1.0, 2: 9.0, 3: 9.0}, "mass")
            >>> Reader.fit_labels(GraphTable.of([path]), (), n_classes=2).nodes.names
            ('mass < 5', 'mass >= 5')
        """
        plain = cls.fit(table, ignore)
        if plain.weighted:
            raise GraphError(
                f"these graphs have weights (column {table.weight!r} of the edges), which are not read here.",
                Remedy("Leave them out, {ignore}, or give them as an attribute.", ignore=(table.weight,)),
            )
        check_nodes(table)
        table = table.without(ignore)
        edges = _with_classes(plain.edges, table, n_classes, "e", seed)
        if structural:
            places = _places(table)
            classes = AttributeClasses.learn("place", places, n_classes, "s", seed)
            other = {"labels": (), "unnamed": False, "attributes": (), "texts": ()}
            nodes = plain.nodes._with_label(classes.read(places), **other, classes=(classes,), structural=True)
        else:
            nodes = _with_classes(plain.nodes, table, n_classes, "c", seed)
        if not nodes.exists:
            nodes = msgspec.structs.replace(nodes, names=UNIFORM_LABEL, seen=(1,))
        return replace(plain, nodes=nodes, edges=edges)

    @property
    def discrete(self) -> bool:
        """Whether nodes and edges carry labels rather than attributes."""
        return self.nodes.discrete and self.edges.discrete

    @property
    def attributes(self) -> list[str]:
        """Columns of numbers that describe nodes or edges.

        >>> Reader.fit(GraphTable.of(["CCO"])).attributes
        []
        """
        return [name for colors in (self.nodes, self.edges) for name, _ in colors.attributes]

    def read(self, table: GraphTable, unknown_label: UnknownLabel = "new", *, labels: bool = True) -> GraphArrays:
        """Read graphs into arrays.

        Labels that fitting did not see are kept as labels of their own (``"new"``: they match nothing that was fitted,
        but each other), blanked (``"ignore"``: no walk passes) or refused (``"error"``).

        Args:
            table: The graphs.
            unknown_label: What to do with labels that fitting did not see.
            labels: Whether to give numbers of labels; otherwise features: one-hot rows for labels or, where these are
                read column by column, the number of each, -1 for one that fitting did not see.

        Example:
            >>> reader = Reader.fit(GraphTable.of(["CCO"]))
            >>> reader.read(GraphTable.of(["CN"]), "ignore").label
            array([ 0, -1])
            >>> reader.read(GraphTable.of(["CO"]), labels=False).x
            array([[1., 0.],
                   [0., 1.]])
        """
        table = self._own(table)
        nodes, edges = _described(self.nodes, table), _described(self.edges, table)
        node_part = _part(self.nodes, nodes, table, unknown_label, labels=labels)
        edge_part = _part(self.edges, edges, table, unknown_label, labels=labels)
        edge_ptr, rows, source, target = directed_edges(table)
        return GraphArrays(
            node_ptr=table.node_ptr.copy(),
            edge_ptr=edge_ptr,
            source=source,
            target=target,
            weight=_weights(table)[rows] if self.weighted else None,
            x=node_part.features,
            label=node_part.label,
            edge_attr=edge_part.features[rows] if self.edges.exists and not labels else None,
            edge_label=edge_part.label[rows] if self.edges.exists and labels else None,
            num_labels=node_part.width,
            num_edge_labels=edge_part.width,
            label_code=label_codes(node_part.width, node_part.new),
            edge_label_code=label_codes(edge_part.width, edge_part.new),
        )

    def warn_of_unknown(self, table: GraphTable) -> None:
        """Warn where no label was fitted: nothing matches, however alike graphs are."""
        table = self._own(table)
        for colors in (self.nodes, self.edges):
            label = _described(colors, table).label
            if colors.discrete and colors.exists and label is not None:
                _aligned(colors, label, table, "ignore", stacklevel=6)

    def labelled(self, table: GraphTable) -> GraphTable:
        """The graphs with one column ``label``, as the reader sees it, on nodes and, where they have any, on edges.

        >>> table = GraphTable.of(["C[NH3+]"], atom=("element", "charge"))
        >>> Reader.fit(table).labelled(table).nodes["label"].names
        ('C, charge 0', 'N, charge 1')
        """
        table = self._own(table)
        columns: dict[Side, dict[str, Column]] = {"nodes": {}, "edges": {}}
        for colors in (self.nodes, self.edges):
            described = _described(colors, table)
            label = described.label
            if label is not None:
                columns[colors.side]["label"] = label
            elif colors.names == UNIFORM_LABEL and colors.side == "nodes":
                columns["nodes"]["label"] = _all_alike(table)
            elif described.attributes is not None:
                names = [f"x{k}" for k in range(described.attributes.shape[1])]
                columns[colors.side]["label"] = Categories.numbered(described.attributes.argmax(1), names)
        kept = {name: table.nodes[name] for name in ID_COLUMNS if name in table.nodes}
        return replace(table, nodes={**kept, **columns["nodes"]}, edges=columns["edges"], weight=None)

    def _own(self, table: GraphTable) -> GraphTable:
        """The table without what is left out; refused where only one of it and the fitted one has weights."""
        table = table.without(self.ignore)
        if (table.weight is not None) != self.weighted and (table.num_edges or table.weight is not None):
            raise GraphError(
                f"the fitted graphs {'had' if self.weighted else 'had no'} edge weights, these "
                f"{'have none' if self.weighted else 'have'}.",
                "Give weights to both (ones are neutral) or to neither.",
            )
        return table

    def to_dict(self) -> dict[str, Any]:
        """JSON values that :meth:`from_dict` reads.

        >>> reader = Reader.fit(GraphTable.of(["CCO"]))
        >>> Reader.from_dict(reader.to_dict()) == reader
        True
        """
        form = _Form(self.nodes, self.edges, self.weighted, self.ignore)
        values: dict[str, Any] = json.loads(json.dumps(msgspec.to_builtins(form, enc_hook=np.ndarray.tolist)))
        for side in SIDES:
            del values[side]["side"]
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Reader":
        """Read what :meth:`to_dict` returned; anything else raises ``ValueError``, ``KeyError`` or ``TypeError``."""
        try:
            form = msgspec.convert(values, _Form, dec_hook=lambda _, given: np.array(given, dtype=np.float64))
        except (msgspec.ValidationError, OverflowError) as error:
            raise ValueError(f"it does not say how its graphs are read: {error}") from error
        reader = cls(form.nodes, msgspec.structs.replace(form.edges, side="edges"), form.weighted, form.ignore)
        for colors in (reader.nodes, reader.edges):
            colors._check()
        return reader


# Fitting


class _Found(NamedTuple):
    """Columns of a table that describe nodes or edges."""

    labels: dict[str, Categories]
    attributes: dict[str, Numbers]


def _split(table: GraphTable, side: Side, left_out: Collection[str] = ()) -> _Found:
    weight = table.weight if side == "edges" else None
    columns = {name: c for name, c in getattr(table, side).items() if name != weight and name not in left_out}
    labels = {name: column for name, column in columns.items() if isinstance(column, Categories)}
    return _Found(labels, {name: column for name, column in columns.items() if isinstance(column, Numbers)})


def _colors(table: GraphTable, side: Side, *, by_column: bool) -> SideSchema:
    found = _split(table, side)
    attributes = tuple((name, column.width) for name, column in found.attributes.items())
    texts = tuple(name for name, column in getattr(table, side).items() if isinstance(column, Text))
    colors = SideSchema(tuple(found.labels), (), (), False, attributes, (), False, texts, (), side)
    if not found.labels:
        return colors
    columns = [(name, _labels(table, side, name, column)) for name, column in found.labels.items()]
    if by_column and not attributes:
        vocabularies = tuple(_used(table, side, name, column) for name, column in columns)
        return msgspec.structs.replace(colors, vocabularies=vocabularies)
    label = join(columns)
    unnamed = label.unnamed and "label" not in found.labels  # a column of that name has names, be they numbers
    return colors._with_label(label, unnamed=unnamed)


def _used(table: GraphTable, side: Side, name: str, column: Categories) -> tuple[str, ...]:
    """Labels of a column that are in use, refused where one is a negative number, which often marks a missing one."""
    names = tuple(column.names[k] for k in np.flatnonzero(np.bincount(column.codes[column.codes >= 0])))
    negative = next((own for own in names if own.startswith("-") and own[1:].isdecimal()), None)
    if negative is not None:
        where = _place(table, side, column.codes == column.names.index(negative))
        raise GraphError(f"{where} has the label {negative} in {name!r}, but numbers of labels count from 0.")
    return names


def _with_classes(colors: SideSchema, table: GraphTable, n_classes: int, prefix: str, seed: int) -> SideSchema:
    """Cut attributes into classes; those of single numbers are fewer where there are several columns."""
    if not colors.attributes:
        return colors
    found = _split(table, colors.side)
    each = max(2, round(n_classes ** (1 / len(colors.attributes)))) if n_classes > 1 else 1
    rows = _numbers(colors, table, found.attributes)
    classes = tuple(AttributeClasses.learn(name, own, each, prefix, seed) for name, own in rows.items())
    cut = [(own.column, own.read(rows[own.column])) for own in classes]
    return colors._with_label(join([*found.labels.items(), *cut]), classes=classes, unnamed=False)


# Columns of later graphs


def _described(colors: SideSchema, table: GraphTable) -> _Described:
    if colors.structural:
        return _Described([("place", colors.classes[0].read(_places(table)))], None)
    if not (table.num_nodes if colors.side == "nodes" else table.num_edges):
        return _nothing(colors)
    found = _alike(colors, table)
    _check_columns(colors, found, table)
    rows = _numbers(colors, table, found.attributes)
    own = found.labels if set(found.labels) != set(colors.labels) else colors.labels  # alone, it may be called else
    pairs = zip(colors.labels, own, strict=True)
    labels = [(name, _labels(table, colors.side, here, found.labels[here])) for name, here in pairs]
    if colors.classes:
        return _Described(labels + [(c.column, c.read(rows[c.column])) for c in colors.classes], None)
    return _Described(labels, np.concatenate(list(rows.values()), 1) if rows else None)


def _nothing(colors: SideSchema) -> _Described:
    """No nodes or edges, which cannot show what they would carry."""
    width = sum(width for _, width in colors.attributes)
    attributes = None if colors.discrete else np.empty((0, width))
    if colors.vocabularies:
        return _Described([(name, Categories.of(())) for name in colors.labels], attributes)
    label = Categories.numbered(np.empty(0, np.int64), colors.names, one_hot=colors.unnamed)
    return _Described([("label", label)] if colors.names else [], attributes)


def _alike(colors: SideSchema, table: GraphTable) -> _Found:
    """Columns of the kinds that were fitted, where a few rows happened to look like another kind.

    Rows of numbers may be one-hot by accident, labels that are written as numbers may be all there are, and whether
    words are labels or ids shows in many rows only.
    """
    found = _split(table, colors.side, colors.texts)
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
    return _Found(labels, attributes)


def _as_attributes(colors: SideSchema, labels: dict[str, Categories], name: str) -> dict[str, Numbers]:
    """One-hot rows as numbers, taken from the labels, where fitting saw numbers in a column of their name or names."""
    fitted, names = dict(colors.attributes), labels[name].names
    if name not in fitted and not all(fitted.get(own) == 1 for own in names):
        return {}
    rows = _one_hot(labels.pop(name).codes, len(names))
    return {name: Numbers(rows)} if name in fitted else {own: Numbers(rows[:, k]) for k, own in enumerate(names)}


def _as_encoded(colors: SideSchema, labels: dict[str, Categories]) -> dict[str, Categories]:
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


def _check_columns(colors: SideSchema, found: _Found, table: GraphTable) -> None:
    """Refuse graphs that are described by other columns than the fitted ones."""
    same_labels = set(found.labels) == set(colors.labels) or len(found.labels) == len(colors.labels) == 1
    if same_labels and set(found.attributes) == {name for name, _ in colors.attributes}:
        return
    graph, fitted = table.describe_graph(0), [*colors.labels, *(name for name, _ in colors.attributes)]
    here = [*found.labels, *found.attributes]
    for name in here:
        if name not in fitted:
            more = f" Those had {', '.join(map(repr, fitted))}." if fitted else ""
            raise GraphError(
                f"{graph}: the {colors.side} have a column {name!r}, those of the fitted graphs had none "
                f"of that name.{more}",
                Remedy("Treat both the same, or leave it out: {ignore}.", ignore=(name,)),
            )
    if not here and colors.labels:
        raise GraphError(
            f"{graph}: the {colors.side} have no labels, those of the fitted graphs had: "
            f"{', '.join((*colors.names, *sum(colors.vocabularies, ()))[:5])}."
        )
    lacking = [name for name in fitted if name not in here]
    if not lacking:
        name = next(name for name in fitted if (name in found.labels) != (name in colors.labels))
        kinds = ("labels", "other numbers") if name in colors.labels else ("numbers", "labels")
        raise GraphError(
            f"{graph}: column {name!r} of the {colors.side} holds {kinds[1]}, that of the fitted graphs "
            f"held {kinds[0]}.",
            "Give both the same.",
        )
    names = f": {', '.join(colors.names[:5])}" if colors.names and lacking[0] in colors.labels else ""
    raise GraphError(
        f"{graph}: the {colors.side} have no column {lacking[0]!r}, those of the fitted graphs had one{names}.",
        Remedy("Treat both the same, or fit with {ignore}.", ignore=(lacking[0],)),
    )


def _labels(table: GraphTable, side: Side, name: str, column: Categories) -> Categories:
    """Labels, refused where they are missing; rows of zeros are not missing but match nothing."""
    if not column.one_hot and column.missing.any():
        count = int(column.missing.sum())
        raise GraphError(
            f"{_place(table, side, column.missing)} has no {name!r}, as {count:,} of {len(column):,} {side}.",
            Remedy("Fill the gaps, or leave the column out: {ignore}.", ignore=(f"{side}.{name}",)),
        )
    return column


def _numbers(colors: SideSchema, table: GraphTable, columns: Mapping[str, Numbers]) -> dict[str, Floats]:
    """Rows of all attributes, refused where they are no numbers, or more than the fitted ones."""
    for name, width in colors.attributes:
        if columns[name].width != width:
            raise GraphError(
                f"{table.describe_graph(0)}: {name!r} holds {columns[name].width} numbers, the fitted graphs had "
                f"{width}.",
                "Give both the same columns.",
            )
    return {name: _finite(table, colors.side, name, columns[name]) for name, _ in colors.attributes}


def _finite(table: GraphTable, side: Side, name: str, column: Numbers) -> Floats:
    values = column.matrix()
    wrong = np.asarray(~np.isfinite(values).all(1))
    if wrong.any():
        raise GraphError(
            f"{_place(table, side, wrong)}: {name!r} contains nan, inf or numbers too large, as in "
            f"{int(wrong.sum()):,} of {wrong.size:,} {side}.",
            "Impute or remove such values first.",
        )
    return values


def _weights(table: GraphTable) -> Floats:
    column = None if table.weight is None else table.edges[table.weight]
    return _finite(table, "edges", str(table.weight), column)[:, 0] if isinstance(column, Numbers) else np.empty(0)


def _place(table: GraphTable, side: Side, marked: NDArray[np.bool_]) -> str:
    """The first marked node or edge as the user calls it."""
    row = int(np.argmax(marked))
    graph = int((table.node_graph if side == "nodes" else table.edge_graph)[row])
    ids = table.node_ids(graph)
    if side == "nodes":
        return f"{table.describe_graph(graph)}: node {ids[row - int(table.node_ptr[graph])]!r}"
    return f"{table.describe_graph(graph)}: edge {ids[table.source[row]]!r}-{ids[table.target[row]]!r}"


# Labels by their numbers


class _Part(NamedTuple):
    """Labels or features of nodes or edges, by the numbers that fitting gave them."""

    label: Ints  # (N,)
    features: Floats  # (N, D)
    width: int
    new: tuple[str, ...]  # names behind the fitted ones


def _part(
    colors: SideSchema, described: _Described, table: GraphTable, unknown_label: UnknownLabel, *, labels: bool
) -> _Part:
    size = table.num_nodes if colors.side == "nodes" else table.num_edges
    new: tuple[str, ...] = ()
    if colors.vocabularies:
        numbers = _by_column(colors, described.labels, table, unknown_label)
        return _Part(np.empty(0, np.int64), numbers, colors.width, new)
    whole = described.label
    if whole is None:
        label, width = np.zeros(size, np.int64), 1
    else:
        label, new = _aligned(colors, whole, table, unknown_label)
        width = len(colors.names) + len(new)
    if labels:
        return _Part(label, np.empty((size, 0)), max(width, 1), new)
    features = _one_hot(label, width)
    if described.attributes is not None:
        old = 0 if whole is None else len(colors.names)  # new labels stand behind the attributes, which keep places
        features = np.concatenate([features[:, :old], described.attributes, features[:, old : old + len(new)]], 1)
    return _Part(np.empty(0, np.int64), features, width, new)


def _aligned(
    colors: SideSchema, label: Categories, table: GraphTable, unknown_label: UnknownLabel, stacklevel: int = 5
) -> tuple[Ints, tuple[str, ...]]:
    """Numbers of labels as fitted, and the names that are new."""
    new: tuple[str, ...] = ()
    if colors.unnamed or (label.unnamed and not set(label.names) & set(colors.names)):  # compared by where they stand
        if len(label.names) != len(colors.names):
            raise GraphError(
                f"{table.describe_graph(0)}: the {colors.side} have {len(label.names)} columns of labels, those of the "
                f"fitted graphs had {len(colors.names)}.",
                "Encode both with the same columns, or give labels by name.",
            )
        place = np.arange(len(label.names))
    else:
        number = {name: i for i, name in enumerate(colors.names)}
        new = tuple(name for name in label.names if name not in number)
        place = np.array([number.setdefault(name, len(number)) for name in label.names], dtype=np.int64)
    codes = np.append(place, -1)[label.codes]
    if unknown_label != "new":
        unknown = ~np.array([*colors.seen, *[False] * len(new), True], bool)[codes]
        if unknown.any():
            if unknown_label == "error":
                raise _unknown_label(table, colors.side, label, unknown)
            _warn_of_unknown(colors, unknown, stacklevel)
            codes = np.where(unknown, -1, codes)
    return codes, new


def _by_column(
    colors: SideSchema, labels: Sequence[tuple[str, Categories]], table: GraphTable, unknown_label: UnknownLabel
) -> Floats:
    """Number of the label in every column ``(N, C)``, -1 where fitting did not see it."""
    numbers = np.empty((len(labels[0][1]), len(labels)))
    for k, ((name, label), names) in enumerate(zip(labels, colors.vocabularies, strict=True)):
        number = dict(zip(names, _label_numbers(names), strict=True))
        place = np.array([*(number.get(own, -1) for own in label.names), -1])
        numbers[:, k] = place[label.codes]
        unknown = (numbers[:, k] < 0) & ~label.missing
        if unknown_label == "error" and unknown.any():
            raise _unknown_label(table, colors.side, label, unknown, f" in {name!r}")
    _warn_of_unknown(colors, np.asarray((numbers < 0).all(1)))
    return numbers


def _label_numbers(names: tuple[str, ...]) -> Sequence[int]:
    """Numbers of a column's labels: small whole numbers stand for themselves, all others are counted."""
    if all(name.isdecimal() and name.isascii() and len(name) < 6 and str(int(name)) == name for name in names):
        numbers = [int(name) for name in names]
        if max(numbers, default=0) < NUMBERED_BELOW:
            return numbers
    return range(len(names))


def _unknown_label(
    table: GraphTable, side: Side, label: Categories, unknown: NDArray[np.bool_], where: str = ""
) -> GraphError:
    name = label.values()[np.argmax(unknown)]
    return GraphError(
        f"{_place(table, side, unknown)} has the label {name!r}{where}, which no fitted graph had.",
        Remedy("Fit on graphs that have it, or choose {unknown_label}.", unknown_label="ignore"),
    )


def _warn_of_unknown(colors: SideSchema, unknown: NDArray[np.bool_], stacklevel: int = 5) -> None:
    """Warn the caller of the estimator, so many frames above this one, where no label is known."""
    if unknown.size and unknown.all():
        warnings.warn(
            RWKPlusWarning(
                f"no label of the {colors.side} was there when the estimator was fitted: are these graphs of the same "
                "kind, and their labels spelled the same way?"
            ),
            stacklevel=stacklevel,
        )


def _one_hot(label: Ints, width: int) -> Floats:
    rows = np.zeros((label.size, width))
    known = np.flatnonzero(label >= 0)
    rows[known, label[known]] = 1.0
    return rows


# Edges, places and nodes that nothing describes


def directed_edges(table: GraphTable) -> tuple[Ints, Ints, Ints, Ints]:
    """Every edge in the directions that walks can take.

    Returns:
        Where the edges of each graph begin ``(B + 1,)``; and for every direction the row of the edge in the table, its
        first and its second node, counted over all graphs ``(E',)``. A loop has one direction.

    Example:
        >>> edge_ptr, rows, source, target = directed_edges(GraphTable.of(["CCO", "CN"]))
        >>> source.tolist(), target.tolist()
        ([0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3])
    """
    first = np.repeat(table.node_ptr[:-1], np.diff(table.edge_ptr))
    source, target = first + table.source, first + table.target
    if table.directed:
        return table.edge_ptr.copy(), np.arange(source.size), source, target
    loop = source == target
    both = np.stack([np.ones_like(loop), ~loop], 1).ravel()
    rows = np.repeat(np.arange(source.size), 2)[both]
    ends = np.stack([source, target], 1).ravel()[both], np.stack([target, source], 1).ravel()[both]
    before = np.concatenate([[0], np.cumsum(2 - loop)])
    return before[table.edge_ptr], rows, *ends


def _places(table: GraphTable) -> Floats:
    _, _, source, target = directed_edges(table)
    return structural_rows(table.node_ptr, source, target)


def _all_alike(table: GraphTable) -> Categories:
    return Categories.numbered(np.zeros(table.num_nodes, np.int64), UNIFORM_LABEL)


def with_equal_nodes(table: GraphTable) -> GraphTable:
    """Give all nodes the same label where nothing describes them.

    >>> import networkx as nx
    >>> with_equal_nodes(GraphTable.of([nx.path_graph(2)])).nodes["label"].values().tolist()
    ['0', '0']
    """
    described = any(isinstance(column, Categories | Numbers) for column in table.nodes.values())
    return table if described else table.with_columns(nodes={"label": _all_alike(table)})


def check_nodes(table: GraphTable) -> None:
    """Refuse graphs without nodes.

    >>> check_nodes(GraphTable.of(["CCO"]))
    """
    empty = np.diff(table.node_ptr) == 0
    if empty.any():
        i = int(np.argmax(empty))
        raise GraphError(f"{table.describe_graph(i)} has no nodes: there is nothing to learn from it or to judge.")
