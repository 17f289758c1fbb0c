"""What fitted graphs looked like, so that later graphs are read the same way or refused."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np

from rwkplus.errors import GraphError
from rwkplus.table import checks
from rwkplus.table.arrays import Floats, GraphArrays, Ints, check_nodes
from rwkplus.table.columns import Categories, Column, Numbers, Text, join, label_codes
from rwkplus.table.graph_table import GraphTable
from rwkplus.table.intervals import AttributeClasses, structural_rows
from rwkplus.types import UnknownLabel, check_ignore

Side = Literal["nodes", "edges"]
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
        """Number of features: one for every label, or every column of them, and the attributes; at least one for nodes.

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


class _Rows(NamedTuple):
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
            raise checks.weights_not_read(table)
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
            nodes = msgspec.structs.replace(nodes, names=checks.UNIFORM_LABEL, seen=(1,))
        return replace(plain, nodes=nodes, edges=edges)

    @property
    def discrete(self) -> bool:
        """Whether nodes and edges carry labels rather than attributes."""
        return self.nodes.discrete and self.edges.discrete

    @property
    def attributes(self) -> list[str]:
        """Columns of numbers that describe nodes or edges."""
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
            weight=checks.weights_of(table)[rows] if self.weighted else None,
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
            if (label := described.label) is not None:
                columns[colors.side]["label"] = label
            elif colors.names == checks.UNIFORM_LABEL and colors.side == "nodes":
                columns["nodes"]["label"] = checks.equal_labels(table)
            elif described.attributes is not None:
                names = [f"x{k}" for k in range(described.attributes.shape[1])]
                columns[colors.side]["label"] = Categories.numbered(described.attributes.argmax(1), names)
        kept = {name: table.nodes[name] for name in ID_COLUMNS if name in table.nodes}
        return replace(table, nodes={**kept, **columns["nodes"]}, edges=columns["edges"], weight=None)

    def _own(self, table: GraphTable) -> GraphTable:
        """The table without what is left out; refused where only one of it and the fitted one has weights."""
        table = table.without(self.ignore)
        if (table.weight is not None) != self.weighted and (table.num_edges or table.weight is not None):
            raise checks.other_weights(fitted=self.weighted)
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
            checks.check_schema(colors)
        return reader


# Fitting


def _split(table: GraphTable, side: Side, left_out: Collection[str] = ()) -> checks.Described:
    weight = table.weight if side == "edges" else None
    columns = {name: c for name, c in getattr(table, side).items() if name != weight and name not in left_out}
    labels = {name: column for name, column in columns.items() if isinstance(column, Categories)}
    return checks.Described(labels, {name: column for name, column in columns.items() if isinstance(column, Numbers)})


def _colors(table: GraphTable, side: Side, *, by_column: bool) -> SideSchema:
    found = _split(table, side)
    attributes = tuple((name, column.width) for name, column in found.attributes.items())
    texts = tuple(name for name, column in getattr(table, side).items() if isinstance(column, Text))
    colors = SideSchema(tuple(found.labels), (), (), False, attributes, (), False, texts, (), side)
    if not found.labels:
        return colors
    _check_complete(table, side, found.labels)
    if by_column and not attributes:
        vocabularies = tuple(_used(table, side, name, column) for name, column in found.labels.items())
        return msgspec.structs.replace(colors, vocabularies=vocabularies)
    label = join(list(found.labels.items()))
    unnamed = label.unnamed and "label" not in found.labels  # a column of that name has names, be they numbers
    return colors._with_label(label, unnamed=unnamed)


def _used(table: GraphTable, side: Side, name: str, column: Categories) -> tuple[str, ...]:
    """Labels of a column that are in use, refused where one is a negative number, which often marks a missing one."""
    names = tuple(column.names[k] for k in np.flatnonzero(np.bincount(column.codes[column.codes >= 0])))
    negative = next((own for own in names if own.startswith("-") and own[1:].isdecimal()), None)
    if negative is not None:
        where = checks.row_in_words(table, side, column.codes == column.names.index(negative))
        raise GraphError(f"{where} has the label {negative} in {name!r}, but numbers of labels count from 0.")
    return names


def _with_classes(colors: SideSchema, table: GraphTable, n_classes: int, prefix: str, seed: int) -> SideSchema:
    """Cut attributes into classes; those of single numbers are fewer where there are several columns."""
    if not colors.attributes:
        return colors
    found = _split(table, colors.side)
    each = max(2, round(n_classes ** (1 / len(colors.attributes)))) if n_classes > 1 else 1
    rows = checks.attribute_rows(colors, table, found.attributes)
    classes = tuple(AttributeClasses.learn(name, own, each, prefix, seed) for name, own in rows.items())
    cut = [(own.column, own.read(rows[own.column])) for own in classes]
    return colors._with_label(join([*found.labels.items(), *cut]), classes=classes, unnamed=False)


# Columns of later graphs


def _described(colors: SideSchema, table: GraphTable) -> _Rows:
    if colors.structural:
        return _Rows([("place", colors.classes[0].read(_places(table)))], None)
    if not (table.num_nodes if colors.side == "nodes" else table.num_edges):
        return _nothing(colors)
    found = _split(table, colors.side, colors.texts)
    if found.labels.keys() != set(colors.labels) or found.attributes.keys() != dict(colors.attributes).keys():
        found = checks.read_alike(colors, found, table)
    rows = checks.attribute_rows(colors, table, found.attributes) if colors.attributes else {}
    _check_complete(table, colors.side, found.labels)
    own = found.labels if found.labels.keys() != set(colors.labels) else colors.labels  # alone, it may be called else
    labels = [(name, found.labels[here]) for name, here in zip(colors.labels, own, strict=True)]
    if colors.classes:
        return _Rows(labels + [(c.column, c.read(rows[c.column])) for c in colors.classes], None)
    return _Rows(labels, np.concatenate(list(rows.values()), 1) if rows else None)


def _nothing(colors: SideSchema) -> _Rows:
    """No nodes or edges, which cannot show what they would carry."""
    width = sum(width for _, width in colors.attributes)
    attributes = None if colors.discrete else np.empty((0, width))
    if colors.vocabularies:
        return _Rows([(name, Categories.of(())) for name in colors.labels], attributes)
    label = Categories.numbered(np.empty(0, np.int64), colors.names, one_hot=colors.unnamed)
    return _Rows([("label", label)] if colors.names else [], attributes)


def _check_complete(table: GraphTable, side: Side, columns: Mapping[str, Categories]) -> None:
    """Refuse labels that are missing; rows of zeros are not missing but match nothing."""
    for name, column in columns.items():
        if not column.one_hot and column.missing.any():
            raise checks.missing_labels(table, side, name, column)


# Labels by their numbers


class _Part(NamedTuple):
    """Labels or features of nodes or edges, by the numbers that fitting gave them."""

    label: Ints  # (N,)
    features: Floats  # (N, D)
    width: int
    new: tuple[str, ...]  # names behind the fitted ones


def _part(
    colors: SideSchema, described: _Rows, table: GraphTable, unknown_label: UnknownLabel, *, labels: bool
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
            raise checks.other_encoding(colors, label, table)
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
                raise checks.unknown_label_error(table, colors.side, label, unknown)
            checks.warn_if_none_known(colors, unknown, stacklevel)
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
            raise checks.unknown_label_error(table, colors.side, label, unknown, f" in {name!r}")
    checks.warn_if_none_known(colors, np.asarray((numbers < 0).all(1)))
    return numbers


def _label_numbers(names: tuple[str, ...]) -> Sequence[int]:
    """Numbers of a column's labels: small whole numbers stand for themselves, all others are counted."""
    if all(name.isdecimal() and name.isascii() and len(name) < 6 and str(int(name)) == name for name in names):
        numbers = [int(name) for name in names]
        if max(numbers, default=0) < NUMBERED_BELOW:
            return numbers
    return range(len(names))


def _one_hot(label: Ints, width: int) -> Floats:
    rows = np.zeros((label.size, width))
    known = np.flatnonzero(label >= 0)
    rows[known, label[known]] = 1.0
    return rows


# Edges and places


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
