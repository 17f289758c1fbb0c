"""Tables on disk: folders of Arrow files that open without being read, and of Parquet files (extra: ``arrow``)."""

import json
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar
from uuid import uuid4

import msgspec
import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import DataError, GraphError, MissingExtraError
from rwkplus.files import atomic_folder, damaged, read_json
from rwkplus.io.sources import ReadOptions
from rwkplus.table import Categories, Column, GraphTable, Numbers, Text
from rwkplus.table.columns import Rows, read_only
from rwkplus.table.graph_table import SIDES, Origin
from rwkplus.table.packing import check_table, tuples

try:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.ipc  # type: ignore[import-untyped]
except ImportError as error:
    raise MissingExtraError("tables on disk need PyArrow: pip install 'rwkplus[arrow]'.") from error

ABOUT = "table.json"
FORMAT = "rwkplus table 1"
OWN: dict[str, tuple[str, ...]] = {
    "graphs": ("first_node", "first_edge"),
    "nodes": ("graph",),
    "edges": ("graph", "source", "target"),
}
"""Fields of each file that are no columns."""
CHECKED = 2**24
"""Rows up to which all numbers of nodes and labels are checked when a table is opened; of larger ones, those in use."""


Size = Annotated[int, msgspec.Meta(ge=0)]
T = TypeVar("T")


class _Field(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What ``table.json`` says about a column."""

    name: str
    field: str
    kind: Literal["labels", "numbers", "text"]
    one_hot: bool = False  # of labels
    type: str = ""  # of numbers, as NumPy calls it; of text, what StoredText calls its kind
    axes: Literal[1, 2] = 1  # of numbers


class _Sides(msgspec.Struct, Generic[T], forbid_unknown_fields=True):
    """The same about graphs, nodes and edges."""

    graphs: T
    nodes: T
    edges: T


class _About(msgspec.Struct, forbid_unknown_fields=True):
    """What ``table.json`` says."""

    format: str
    id: str
    directed: bool
    weight: str | None
    targets: list[str]
    rows: _Sides[Size]
    bytes: _Sides[Size]
    columns: _Sides[list[_Field]]


class StoredText(Text):
    """Text in an Arrow array, of which Python objects are made when somebody asks for them."""

    array: Any
    form: str  # words, numbers, or json for all else

    def __init__(self, array: Any, form: str) -> None:  # noqa: ANN401
        object.__setattr__(self, "array", array)
        object.__setattr__(self, "form", form)

    @cached_property
    def texts(self) -> NDArray[np.object_]:  # type: ignore[override]
        """The texts."""
        try:
            self.array.validate(full=True)
            values = self.array.to_pylist()
            if self.form == "json":
                values = [None if value is None else tuples(json.loads(value)) for value in values]
        except ValueError as error:  # of Arrow, JSON or Unicode
            raise DataError(f"a column of text on disk is damaged: {error}.") from error
        return read_only(Text.of(values).texts)

    def __len__(self) -> int:
        return len(self.array)

    def __reduce__(self) -> tuple[type[Text], tuple[NDArray[np.object_]]]:
        return Text, (self.texts,)

    def take(self, rows: Rows) -> "Text":  # type: ignore[override]
        """Some of the rows."""
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            return Text(self.texts[rows])
        start, stop, _ = rows.indices(len(self))
        return StoredText(self.array.slice(start, max(stop - start, 0)), self.form)


def write_table(table: GraphTable, folder: str | Path) -> Path:
    """Write a table as a folder, whole or not at all; one that was there before is replaced.

    The folder has three Arrow files, ``graphs.arrow``, ``nodes.arrow`` and ``edges.arrow``, which pandas and
    Polars can read as well, and ``table.json``, which says what their columns are.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import networkx as nx
        >>> with TemporaryDirectory() as folder:
        ...     path = write_table(GraphTable.of([nx.path_graph(3), nx.cycle_graph(4)]), f"{folder}/two")
        ...     open_table(path)[1]
        GraphTable: 1 undirected graph, 4 nodes, 4 edges
    """
    folder = Path(folder)
    fields = {side: _fields(table, side) for side in SIDES}
    with atomic_folder(folder, replaces=ABOUT) as scratch:
        for side in SIDES:
            batch = pa.RecordBatch.from_pydict(fields[side][0])
            with (scratch / f"{side}.arrow").open("wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
                writer.write_batch(batch)
        about = _About(
            format=FORMAT,
            id=uuid4().hex,
            directed=table.directed,
            weight=table.weight,
            targets=list(table.targets),
            rows=_Sides(len(table), table.num_nodes, table.num_edges),
            bytes=_Sides(*((scratch / f"{side}.arrow").stat().st_size for side in SIDES)),
            columns=_Sides(*(fields[side][1] for side in SIDES)),
        )
        (scratch / ABOUT).write_bytes(msgspec.json.format(msgspec.json.encode(about), indent=1))
    return folder


def open_table(folder: str | Path, options: ReadOptions = ReadOptions()) -> GraphTable:
    """Open a folder that :func:`write_table` wrote, or read one of Parquet files.

    Arrays of a written table are views of its files, which the system reads where they are used. What is sent to other
    processes is the path and the range of graphs. A folder of others has ``edges.parquet`` and, where needed,
    ``nodes.parquet`` and ``graphs.parquet``, whose columns are read as those of data frames, with the same options; a
    written table only takes ``ignore``.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     table = open_table(GraphTable.of(["CCO", "N#N"]).write(f"{folder}/two"))
        >>> table.origin.start, table.origin.stop
        (0, 2)
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"cannot open the table {folder}: {'it is no folder' if folder.exists() else 'there is none'}.")
    if (folder / ABOUT).exists():
        options.check("a written table", ("ignore",))
        path, mark = str(folder.resolve()), _mark(folder)
        table = _opened(path, mark)
        return open_block(path, mark, 0, len(table)).without(options.ignore)
    if not (folder / "edges.parquet").exists():
        raise DataError(f"{folder} is no table: it has neither {ABOUT} nor edges.parquet.")
    from rwkplus.io.frames import from_frames

    frames = {side: _parquet(folder / f"{side}.parquet") for side in SIDES}
    return from_frames(frames["edges"], frames["nodes"], frames["graphs"], options)


def open_block(path: str, mark: str, start: int, stop: int) -> GraphTable:
    """Open some graphs of a written table: what workers are sent."""
    if mark != _mark(Path(path)):
        raise DataError(f"{path} was written anew after the table was opened: open it again.")
    table = _opened(path, mark)[start:stop]
    if table.num_edges + table.num_nodes <= CHECKED:
        try:
            check_table(table)
        except ValueError as error:
            raise damaged(path, error) from error
    return table


# Writing


def _fields(table: GraphTable, side: str) -> tuple[dict[str, Any], list[_Field]]:
    """All fields of a file as Arrow arrays, and what is known of columns besides."""
    if side == "graphs":
        own: list[NDArray[Any]] = [table.node_ptr[:-1], table.edge_ptr[:-1]]
    elif side == "nodes":
        own = [table.node_graph.astype(np.int32)]
    else:
        own = [table.edge_graph.astype(np.int32), table.source, table.target]
    arrays, columns = dict(zip(OWN[side], map(pa.array, own), strict=True)), []
    for name, column in getattr(table, side).items():
        field = name
        while field in arrays:
            field += "_"
        arrays[field], about = _array(name, column, side)
        columns.append(_Field(name, field, **about))
    return arrays, columns


def _array(name: str, column: Column, side: str) -> tuple[Any, dict[str, Any]]:
    """A column as an Arrow array whose bytes are those of the column."""
    try:
        name.encode()
        if isinstance(column, Categories):
            return _labels(column), {"kind": "labels", "one_hot": column.one_hot}
        if isinstance(column, Numbers):
            return _numbers(column), {"kind": "numbers", "type": column.numbers.dtype.str, "axes": column.numbers.ndim}
        return _texts(column)
    except (UnicodeEncodeError, OverflowError, TypeError, ValueError) as error:
        raise GraphError(f"column {name!r} of the {side} cannot be written: {error}.") from error


def _labels(column: Categories) -> Any:  # noqa: ANN401
    codes = np.ascontiguousarray(column.codes)
    missing = column.missing
    bits = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    indices = pa.Array.from_buffers(pa.from_numpy_dtype(codes.dtype), codes.size, [bits, pa.py_buffer(codes)])
    return pa.DictionaryArray.from_arrays(indices, pa.array(column.names, pa.string()))


def _numbers(column: Numbers) -> Any:  # noqa: ANN401
    numbers = np.ascontiguousarray(column.numbers)
    flat = pa.array(numbers.astype(np.uint8).ravel() if numbers.dtype.kind == "b" else numbers.ravel())
    return flat if numbers.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, numbers.shape[1])


def _texts(column: Text) -> tuple[Any, dict[str, Any]]:
    """Words and whole numbers as they are, anything else as JSON."""
    values = column.texts.tolist()
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {str}:
        return pa.array(values, pa.large_string()), {"kind": "text", "type": "words"}
    if kinds == {int} and all(value is None or abs(value) < 2**63 for value in values):
        return pa.array(values, pa.int64()), {"kind": "text", "type": "numbers"}
    texts = [None if value is None else json.dumps(value) for value in values]
    return pa.array(texts, pa.large_string()), {"kind": "text", "type": "json"}


# Opening


def _mark(folder: Path) -> str:
    """Tells a table from another one that was written to the same place."""
    try:
        return blake2b((folder / ABOUT).read_bytes(), digest_size=16).hexdigest()
    except OSError as error:
        raise DataError(f"cannot open the table {folder}: {error.strerror or error}.") from error


@lru_cache(maxsize=4)
def _opened(path: str, mark: str) -> GraphTable:
    about = _about(Path(path) / ABOUT)
    files = {side: _File.of(Path(path), side, about) for side in SIDES}
    table = GraphTable(
        _pointers(files["graphs"], "first_node", about.rows.nodes),
        _pointers(files["graphs"], "first_edge", about.rows.edges),
        files["edges"].numbers("source", "<i4"),
        files["edges"].numbers("target", "<i4"),
        **{side: file.columns(getattr(about.columns, side)) for side, file in files.items()},  # type: ignore[arg-type]
        directed=about.directed,
        weight=about.weight,
        targets=tuple(about.targets),
    )
    object.__setattr__(table, "origin", Origin(path, mark, 0, len(table)))
    return table


def _about(path: Path) -> _About:
    """What ``table.json`` says, if it has the form of one."""
    given = read_json(path)
    found = given.get("format") if isinstance(given, dict) else None
    if found != FORMAT:
        raise DataError(f"{path} is no table that this version of rwkplus reads: its format is {found!r}.")
    try:
        about = msgspec.convert(given, _About)
    except msgspec.ValidationError as error:
        raise damaged(path, error) from error
    weights = {own.name for own in about.columns.edges if own.kind == "numbers"}
    if about.weight is not None and about.weight not in weights:
        raise damaged(path, "the weight is no column of numbers of the edges")
    if not set(about.targets) <= {own.name for own in about.columns.graphs}:
        raise damaged(path, "a target is no column of the graphs")
    return about


class _File(NamedTuple):
    """One file of a written table, mapped into memory."""

    path: Path
    batch: Any
    names: list[str]

    @classmethod
    def of(cls, folder: Path, side: str, about: _About) -> "_File":
        """Map a file; its size and number of rows must be those that were written."""
        path = folder / f"{side}.arrow"
        try:
            size, written = path.stat().st_size, getattr(about.bytes, side)
            if size != written:
                raise damaged(path, f"it has {size:,} bytes, {written:,} were written")
            reader = pa.ipc.open_file(pa.memory_map(str(path)))
            if reader.num_record_batches != 1:
                raise damaged(path, f"it has {reader.num_record_batches} batches instead of one")
            batch = reader.get_batch(0)
            batch.validate()
            names = batch.schema.names
        except OSError as error:
            raise DataError(f"cannot open {path}: {error.strerror or error}.") from error
        except (pa.ArrowException, ValueError) as error:
            raise error if isinstance(error, DataError) else damaged(path, error) from error
        if batch.num_rows != getattr(about.rows, side):
            raise damaged(path, f"it has {batch.num_rows:,} rows instead of {getattr(about.rows, side):,}")
        return cls(path, batch, names)

    def field(self, name: str) -> Any:  # noqa: ANN401
        """The array of a field."""
        if self.names.count(name) != 1:
            raise damaged(self.path, f"it has no field {name!r}")
        return self.batch.column(name)

    def numbers(self, name: str, kind: str) -> NDArray[Any]:
        """A field as a view of the file."""
        array, types = self.field(name), pa.types
        if array.null_count or not (types.is_integer(array.type) or types.is_floating(array.type)):
            raise damaged(self.path, f"the field {name!r} does not hold numbers throughout")
        values: NDArray[Any] = array.to_numpy(zero_copy_only=True)
        if values.dtype != np.dtype(kind):
            raise damaged(self.path, f"the field {name!r} holds {values.dtype} instead of {np.dtype(kind)}")
        return values

    def columns(self, about: list[_Field]) -> dict[str, Column]:
        """Columns of the table."""
        return {own.name: self._column(own) for own in about}

    def _column(self, about: _Field) -> Column:
        array = self.field(about.field)
        try:
            if about.kind == "labels":
                return self._labels(array, one_hot=about.one_hot)
            if about.kind == "numbers":
                return Numbers(self._measured(array, about))
            return StoredText(array, {"words": "words", "numbers": "numbers", "json": "json"}[about.type])
        except (pa.ArrowException, KeyError, TypeError, AttributeError, ValueError) as error:
            raise damaged(self.path, f"the field {about.field!r} is not what {ABOUT} says ({error})") from error

    def _labels(self, array: Any, *, one_hot: bool) -> Categories:  # noqa: ANN401
        array.dictionary.validate(full=True)
        indices, names = array.indices, array.dictionary.to_pylist()
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise TypeError("labels must have distinct names")
        kind = np.dtype(indices.type.to_pandas_dtype())
        codes = np.frombuffer(indices.buffers()[1], kind, len(indices), indices.offset * kind.itemsize)
        return Categories(codes, tuple(names), one_hot)

    def _measured(self, array: Any, about: _Field) -> NDArray[Any]:  # noqa: ANN401
        kind = np.dtype(about.type)
        if kind.kind not in "iufb":
            raise TypeError("no numbers")
        values = array.flatten() if about.axes == 2 else array
        if array.null_count or values.null_count:
            raise TypeError("some are missing")
        numbers: NDArray[Any] = values.to_numpy(zero_copy_only=True)
        numbers = numbers.view(bool) if kind.kind == "b" and numbers.dtype == np.uint8 else numbers
        if numbers.dtype != kind:
            raise TypeError(f"{numbers.dtype} instead of {kind}")
        return numbers.reshape(len(array), array.type.list_size) if about.axes == 2 else numbers


def _pointers(graphs: _File, field: str, total: int) -> NDArray[np.int64]:
    ptr = np.append(graphs.numbers(field, "<i8"), total)
    if ptr[0] != 0 or (ptr[1:] < ptr[:-1]).any():
        raise damaged(graphs.path, f"the numbers in {field!r} do not ascend from 0 to {total:,}")
    return ptr


def write_parquet(table: GraphTable, folder: str | Path) -> Path:
    """Write a folder of ``graphs.parquet``, ``nodes.parquet`` and ``edges.parquet``, whole or not at all.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     open_table(write_parquet(GraphTable.of(["CO"]), f"{folder}/co")).num_edges
    1
    """
    from pyarrow import parquet  # type: ignore[import-untyped]

    from rwkplus.io.frames import to_frames

    with atomic_folder(folder, replaces=[f"{side}.parquet" for side in SIDES]) as scratch:
        for side, frame in to_frames(table, "pyarrow")._asdict().items():
            parquet.write_table(frame, scratch / f"{side}.parquet")
    return Path(folder)


def read_parquet(path: str | Path, options: ReadOptions = ReadOptions()) -> GraphTable:
    """Read one Parquet file, of edges or with a column of molecules, as a data frame would be.

    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> with TemporaryDirectory() as folder:
    ...     pd.DataFrame({"source": [0, 1], "target": [1, 2]}).to_parquet(f"{folder}/edges.parquet")
    ...     read_parquet(f"{folder}/edges.parquet")
    GraphTable: 1 undirected graph, 3 nodes, 2 edges
    """
    from rwkplus.io.frames import from_frame

    return from_frame(_parquet(Path(path)), options)


def _parquet(path: Path) -> Any:  # noqa: ANN401
    """A Parquet file as an Arrow table, None where there is none."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    if not path.exists():
        return None
    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"cannot read {path}: {str(error).rstrip('.')}.") from error
