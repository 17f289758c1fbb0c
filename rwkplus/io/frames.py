"""Data frames of pandas, Polars and PyArrow, both ways; none of them is imported unless it is in use."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError, MissingExtraError
from rwkplus.io.assembly import ACCEPTED, assemble
from rwkplus.io.rows import Cells, Factorized, RowErrors, RowLocator, Side, has_molecules, resolve_names
from rwkplus.io.sources import ReadOptions
from rwkplus.table import Categories, Column, GraphTable, Numbers, Text
from rwkplus.table.columns import is_missing, refuse_date
from rwkplus.types import check_choice

LIBRARIES = ("pandas", "polars", "pyarrow")
KEYS: dict[Side, tuple[str, ...]] = {
    "graphs": ("graph",),
    "nodes": ("graph", "node"),
    "edges": ("graph", "source", "target"),
}
DATES = (nw.Date, nw.Datetime, nw.Duration, nw.Time)


class Frames(NamedTuple):
    """A table of graphs as three data frames, which refer to one another by ``graph`` and ``node``."""

    graphs: Any
    nodes: Any
    edges: Any


def from_frames(
    edges: Any,  # noqa: ANN401
    nodes: Any = None,  # noqa: ANN401
    graphs: Any = None,  # noqa: ANN401
    options: ReadOptions = ReadOptions(),
) -> GraphTable:
    """Read graphs from data frames, or say which rows are wrong.

    Columns are used by their types: words, categories and truth values are labels, numbers are attributes.

    Edges have columns ``source``, ``target`` and, if there are several graphs, ``graph``; nodes have ``node`` and
    ``graph``, and are needed for what describes them and where some have no edges; graphs have ``graph`` and the target
    ``y``.

    Example:
        >>> import pandas as pd
        >>> payments = pd.DataFrame({"from": ["ann", "bob"], "to": ["bob", "eve"], "how": ["card", "cash"]})
        >>> from_frames(payments, options=ReadOptions(source="from", target="to"))
        GraphTable: 1 undirected graph, 3 nodes, 2 edges
          nodes  id: ids
          edges  how: 2 labels (card, cash)
    """
    options.check("data frames of edges", ACCEPTED)
    if edges is None:
        raise GraphError("a data frame of edges is needed; it may be without rows if there are nodes.")
    given: dict[Side, Any] = {"edges": edges, "nodes": nodes, "graphs": graphs}
    frames = {side: _frame(own, f"{side}=") for side, own in given.items() if own is not None}
    if not len(frames["edges"]) and nodes is None:
        raise GraphError("the data frame of edges has no rows.", "Give at least one edge, or a data frame of nodes.")
    options = resolve_names(options, {side: frame.columns for side, frame in frames.items()})
    columns = {side: _columns(frame, side, options) for side, frame in frames.items()}
    errors = RowErrors({side: _places(side, given[side]) for side in frames}, options.on_error)
    return assemble(columns, options, errors)


def from_frame(data: Any, options: ReadOptions = ReadOptions()) -> GraphTable:  # noqa: ANN401
    """Read one data frame, of edges or with a column of molecules, or a series of molecules.

    Example:
        >>> import pandas as pd
        >>> ring = pd.DataFrame({"source": [0, 1, 2], "target": [1, 2, 0]})
        >>> from_frame(ring)
        GraphTable: 1 undirected graph, 3 nodes, 3 edges
    """
    if nw.dependencies.is_into_series(data):
        from rwkplus.io.smiles import from_molecules

        return from_molecules(nw.from_native(data, series_only=True).to_list(), options)
    frame = _frame(data, "the data frame")
    if not has_molecules(frame.columns, options):
        return from_frames(data, options=options)
    from rwkplus.io.smiles import from_table

    options = resolve_names(options, {"graphs": frame.columns})
    errors = RowErrors({"graphs": _places("the data frame", data)}, options.on_error)
    return from_table(_columns(frame, "graphs", options), options, errors)


def to_frames(table: GraphTable, library: str = "pandas") -> Frames:
    """Make data frames of a table; :meth:`rwkplus.GraphTable.of` reads them again.

    Labels are categories, a missing cell is none. Graphs and nodes are called by their names and ids where these tell
    them apart, else by their numbers.

    Example:
        >>> import networkx as nx
        >>> table = GraphTable.of([nx.path_graph(3)])
        >>> to_frames(table).edges
           graph  source  target
        0      0       0       1
        1      0       1       2
    """
    check_choice("library", library, LIBRARIES)
    try:
        import_module(library)
    except ImportError as error:
        raise MissingExtraError(f"data frames of {library} need it to be installed: pip install {library}.") from error
    make = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow}[library]
    return Frames(*(make(columns) for columns in rows_of(table)))


def rows_of(table: GraphTable) -> Frames:
    """The columns of three tables that refer to one another by ``graph``, ``node``, ``source`` and ``target``.

    >>> list(rows_of(GraphTable.of(["CO"])).edges)
    ['graph', 'source', 'target', 'label']
    """
    graphs, nodes = dict(table.graphs), dict(table.nodes)
    graph, node = _graph_keys(graphs, table), _node_keys(nodes, table)
    first = table.node_ptr[:-1][table.edge_graph]
    ends = {"source": node.take(first + table.source), "target": node.take(first + table.target)}
    return Frames(
        {"graph": graph, **_free(graphs, "graphs")},
        {"graph": graph.take(table.node_graph), "node": node, **_free(nodes, "nodes")},
        {"graph": graph.take(table.edge_graph), **ends, **_free(table.edges, "edges")},
    )


# Reading


def _frame(data: Any, called: str) -> "nw.DataFrame[Any]":  # noqa: ANN401
    try:
        frame: nw.DataFrame[Any] = nw.from_native(data, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise GraphError(f"{called} has several columns of the same name.", "Rename or drop some.") from error
    except TypeError as error:
        lazy = hasattr(data, "collect")
        remedy = "Call its collect() first." if lazy else "Give a data frame of pandas, Polars or PyArrow."
        raise GraphError(f"{called} is a {type(data).__name__}.", remedy) from error
    for name in frame.columns:
        if not isinstance(name, str):
            raise GraphError(f"{called} has a column called {name!r}, which is not text. Rename it.")
    return frame


def _places(called: str, data: Any) -> RowLocator:  # noqa: ANN401
    """Rows by their labels in pandas, else by their numbers."""
    index = data.index if nw.dependencies.is_pandas_dataframe(data) else None
    return RowLocator(called, "row", lambda row: (row, f"row {row if index is None else index[row]}"))


def _columns(frame: "nw.DataFrame[Any]", side: Side, options: ReadOptions) -> dict[str, Cells]:
    return {name: _cells(name, frame[name], side) for name in frame.columns if not options.ignores(name, side)}


def _cells(name: str, series: "nw.Series[Any]", side: Side) -> Cells:
    """A column by its type."""
    kind = series.dtype
    if kind.is_integer() or kind.is_float():
        return _numbers(series)
    if kind == nw.Decimal:
        return _numbers(series.cast(nw.Float64))
    if kind in (nw.Categorical, nw.Enum):
        return Factorized.of(series.to_list()).labels(name, side)
    if any(kind == date for date in DATES):
        if side != "graphs":
            raise refuse_date(name, side)
        return Text.of(None if is_missing(value) else str(value) for value in series.to_list())
    values = series.to_list()
    if kind in (nw.String, nw.Boolean) or all(isinstance(value, str) or is_missing(value) for value in values):
        return Factorized.of(values)
    return values


def _numbers(series: "nw.Series[Any]") -> Numbers:
    """Numbers of 64 bits; nan where one is missing."""
    whole = series.dtype.is_integer() and not series.is_null().any()
    values = series.to_numpy()
    if values.dtype.kind not in "iuf":  # pandas' own missing value among objects
        values = np.array([np.nan if is_missing(value) else value for value in series.to_list()], dtype=np.float64)
    if values.dtype.kind == "u" and values.size and int(values.max()) > np.iinfo(np.int64).max:
        return Numbers(values)
    return Numbers(values.astype(np.int64 if whole else np.float64))


# Writing


def _graph_keys(columns: dict[str, Column], table: GraphTable) -> Column:
    """What graphs are called, taken out of the columns; their numbers where nothing tells them apart."""
    for name in ("graph", "name"):
        if _tells_apart(columns.get(name), np.zeros(len(table), np.int64)):
            return columns.pop(name)
    return Numbers(np.arange(len(table)))


def _node_keys(columns: dict[str, Column], table: GraphTable) -> Column:
    if _tells_apart(columns.get("id"), table.node_graph):
        return columns.pop("id")
    return Numbers(np.arange(table.num_nodes) - np.repeat(table.node_ptr[:-1], np.diff(table.node_ptr)))


def _tells_apart(column: Column | None, graph: NDArray[np.int64]) -> bool:
    """Whether all names are there and differ within each graph."""
    if not isinstance(column, Text) or column.missing.any():
        return False
    coded = Factorized.of(column.texts.tolist())
    return np.unique(graph * max(len(coded.values), 1) + coded.codes).size == len(coded)


def _free(columns: Mapping[str, Column], side: Side) -> Mapping[str, Column]:
    """Columns, unless one has the name of those that refer to graphs and nodes."""
    for name in KEYS[side]:
        if name in columns:
            raise GraphError(
                f"the {side} have a column {name!r}, which is what data frames call the {name} of a row. Rename it."
            )
    return columns


def _values(column: Text) -> list[Any]:
    """Names and ids of one type, as data frames need them."""
    values: list[Any] = column.texts.tolist()
    kinds = {type(value) for value in values if value is not None}
    mixed = len(kinds) > 1 or not kinds <= {str, int, float, bool}
    return [None if value is None else str(value) for value in values] if mixed else values


def _pandas(columns: Mapping[str, Column]) -> Any:  # noqa: ANN401
    import pandas as pd  # type: ignore[import-untyped]

    def cells(column: Column) -> Any:  # noqa: ANN401
        if isinstance(column, Categories):
            return pd.Categorical.from_codes(column.codes, categories=list(column.names))
        if isinstance(column, Numbers):
            return column.numbers if column.numbers.ndim == 1 else pd.Series(list(column.numbers), dtype=object)
        values = _values(column)
        return pd.Series(values, dtype=object) if None in values or not values else values

    return pd.DataFrame({name: cells(column) for name, column in columns.items()})


def _polars(columns: Mapping[str, Column]) -> Any:  # noqa: ANN401
    import polars as pl

    def series(name: str, column: Column) -> Any:  # noqa: ANN401
        if isinstance(column, Categories):
            return pl.Series(name, column.values().tolist(), dtype=pl.Categorical)
        if isinstance(column, Numbers):
            return pl.Series(name, np.array(column.numbers), nan_to_null=column.numbers.ndim == 1)
        values = _values(column)
        return pl.Series(name, values, dtype=None if any(value is not None for value in values) else pl.String)

    return pl.DataFrame([series(name, column) for name, column in columns.items()])


def _pyarrow(columns: Mapping[str, Column]) -> Any:  # noqa: ANN401
    import pyarrow as pa  # type: ignore[import-untyped]

    def array(column: Column) -> Any:  # noqa: ANN401
        if isinstance(column, Categories):
            codes = pa.array(column.codes, mask=column.missing)
            return pa.DictionaryArray.from_arrays(codes, pa.array(column.names, pa.string()))
        if isinstance(column, Numbers) and column.numbers.ndim == 1:
            return pa.array(column.numbers, from_pandas=True)
        if isinstance(column, Numbers):
            return pa.FixedSizeListArray.from_arrays(pa.array(column.numbers.ravel()), column.width)
        values = _values(column)
        return pa.array(values, None if any(value is not None for value in values) else pa.string())

    return pa.table({name: array(column) for name, column in columns.items()})
