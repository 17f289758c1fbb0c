"""The one way in, graphs in any form become a table, as :class:`ReadOptions` say; and the way back to files."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from fnmatch import filter as filter_names
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from rwkplus.errors import DataError, GraphError, ParameterError, Remedy
from rwkplus.table import Categories, Column, GraphTable, Numbers, Text
from rwkplus.table.arrays import parallel_edges
from rwkplus.table.columns import Kind, equal, is_missing, target_column
from rwkplus.table.graph_table import ARRAYS, SIDES
from rwkplus.types import Atom, GraphForm, TUFeatures, check_choice, check_ignore

OnError = Literal["raise", "skip"]
CHOICES = {"atom": get_args(Atom), "bond": ("type", "stereo", "conjugated", "ring")}
"""What may describe atoms and bonds."""
Read = Callable[[Any, "ReadOptions"], GraphTable]
OBJECTS = (
    ("networkx", ("Graph",), "networkx.from_networkx"),
    ("rdkit.Chem", ("Mol",), "smiles.from_molecules"),
    ("igraph", ("Graph",), "networkx.from_igraph"),
    ("scipy.sparse", ("sparray", "spmatrix"), "scipy.from_scipy"),
    ("torch_geometric.data", ("Data", "HeteroData"), "pyg.from_pyg"),
)
"""Classes of graphs, and what reads a list of them."""
FILES = {
    ".csv": "csv.read_csv", ".jsonl": "json_lines.read_json_lines", ".smi": "smiles.read_smi",
    ".sdf": "smiles.read_sdf", ".parquet": "parquet.read_parquet", ".zip": "tu.read_tu",
}  # fmt: skip
"""What reads a file, by the end of its name."""
FOLDERS = {
    "edges.csv": "csv.read_csv", "edges.parquet": "parquet.open_table", "table.json": "parquet.open_table",
    "*_A.txt": "tu.read_tu",
}  # fmt: skip
"""What reads a folder, by a file in it."""


NOTES = {"*_A.txt": " (TU format)", ".zip": " (TU format)", "table.json": " (written by GraphTable.write)"}


def _listed(names: Iterable[str]) -> str:
    *most, last = (name + NOTES.get(name, "") for name in names)
    return f"{', '.join(most)} or {last}"


KNOWN = f"a folder with {_listed(FOLDERS)}; a {_listed(FILES)} file"
"""What can be read, in words."""


@dataclass(frozen=True)
class ReadOptions:
    """Options of :func:`rwkplus.io.read_graphs`; each source takes those that mean something to it.

    >>> ReadOptions(labels=("type",), attributes=("type",))
    Traceback (most recent call last):
    ...
    rwkplus.errors.ParameterError: 'type' is named in labels and in attributes: choose one.
    """

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
        for name, known in CHOICES.items():
            chosen = getattr(self, name)
            for own in chosen:
                if own not in known:
                    raise ParameterError(f"{name} must be some of {', '.join(known)}; got {own!r}.")
            if len(set(chosen)) < len(chosen):
                raise ParameterError(f"{name}={tuple(chosen)!r} names something twice.")
        both = set(self.labels) & set(self.attributes)
        if both:
            raise ParameterError(f"{sorted(both)[0]!r} is named in labels and in attributes: choose one.")

    @property
    def targets(self) -> tuple[str, ...]:
        """Columns that are to be learned.

        >>> ReadOptions().targets, ReadOptions(y=["toxic", "soluble"]).targets
        (('y',), ('toxic', 'soluble'))
        """
        return (self.y,) if isinstance(self.y, str) else tuple(self.y)

    def kind(self, name: str, side: str) -> Kind | None:
        """What the user says a column is; ``"edges.type"`` tells two of one name apart.

        >>> ReadOptions(labels=("edges.type",)).kind("type", "edges")
        'label'
        """
        if name in self.labels or f"{side}.{name}" in self.labels:
            return "label"
        return "attribute" if name in self.attributes or f"{side}.{name}" in self.attributes else None

    def ignores(self, name: str, side: str) -> bool:
        """Whether the user wants to ignore a column.

        >>> options = ReadOptions(ignore=("edges.when",))
        >>> options.ignores("when", "edges"), options.ignores("when", "nodes")
        (True, False)
        """
        return name in self.ignore or f"{side}.{name}" in self.ignore

    def check(self, what: str, takes: Sequence[str]) -> None:
        """Refuse options that would do nothing: all but those that ``what`` takes.

        >>> ReadOptions(directed=True).check("molecules", ("atom", "bond"))
        Traceback (most recent call last):
        ...
        rwkplus.errors.ParameterError: directed=True says nothing about molecules: leave it out.
        """
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name not in takes and value != option.default:
                about = what.replace("{", "{{").replace("}", "}}")
                text = f"{{{option.name}}} says nothing about {about}: leave it out."
                raise ParameterError(Remedy(text, **{option.name: value}))

    def check_columns(self, columns: Mapping[str, Iterable[str]], *, sure: bool) -> None:
        """Refuse names of columns that neither nodes nor edges have; ``ignore`` may name some that are not there.

        Unless there are nodes and edges, so that one can be ``sure``, only slips of the pen are told.

        >>> ReadOptions(labels=("knd",)).check_columns({"nodes": ["kind"], "edges": []}, sure=True)
        Traceback (most recent call last):
        ...
        rwkplus.errors.ParameterError: there is no column 'knd' to read as labels. Did you mean labels=('kind',)?
        """
        names = {name for own in columns.values() for name in own}
        known = names | {f"{side}.{name}" for side, own in columns.items() for name in own}
        check_ignore(self.ignore, known)
        for option in ("labels", "attributes"):
            for name in getattr(self, option):
                if name not in known and (sure or get_close_matches(name, names, 1)):
                    raise no_such_column(option, name, names)

    def mark_weight(self, table: GraphTable) -> GraphTable:
        """Say which column is the weight."""
        if self.weight is not None:
            column = table.edges.get(self.weight)
            if column is None:
                there = f"There are {', '.join(map(repr, table.edges))}." if table.edges else "Edges have no columns."
                raise GraphError(f"there is no edge column {self.weight!r} to be the weight.", there)
            if not isinstance(column, Numbers) or column.width != 1:
                raise GraphError(f"the weight {self.weight!r} must be one number for every edge.")
        return replace(table, weight=self.weight)

    def mark_columns(self, table: GraphTable) -> GraphTable:
        """Say which column is the weight and which are targets, where there are such."""
        known = {name for side in SIDES for name in getattr(table, side)}
        for name in self.targets:
            if name not in known and get_close_matches(name, known, 1, 0.7):
                raise no_such_column("y", name, known)
        return replace(self.mark_weight(table), targets=tuple(t for t in self.targets if t in table.graphs))


def options_from(given: Mapping[str, Any]) -> ReadOptions:
    """Options by name, or an error about one that does not exist.

    >>> options_from({"direct": True})
    Traceback (most recent call last):
    ...
    rwkplus.errors.ParameterError: there is no option 'direct'. Did you mean 'directed'?
    """
    known = sorted(option.name for option in fields(ReadOptions))
    for name in given:
        if name not in known:
            meant = get_close_matches(name, known, 1)
            remedy = f"Did you mean {meant[0]!r}?" if meant else f"There are {', '.join(known)}."
            raise ParameterError(f"there is no option {name!r}.", remedy)
    return ReadOptions(**given)


def no_such_column(option: str, name: str, columns: Iterable[str]) -> ParameterError:
    """The error about an option that names a column that does not exist.

    >>> print(no_such_column("y", "toxc", ["toxic", "name"]))
    there is no column 'toxc' to be the target. Did you mean y='toxic'?
    """
    columns = sorted(columns)
    remedy: str | Remedy = f"There are {', '.join(map(repr, columns))}." if columns else "There are no columns."
    for meant in get_close_matches(name, columns, 1):
        remedy = Remedy(f"Did you mean {{{option}}}?", **{option: meant if option == "y" else (meant,)})
    purpose = {"labels": "read as labels", "attributes": "read as numbers", "y": "be the target"}[option]
    return ParameterError(f"there is no column {name!r} to {purpose}.", remedy)


def read_graphs(
    data: Any = None,  # noqa: ANN401
    *,
    edges: Any = None,  # noqa: ANN401
    nodes: Any = None,  # noqa: ANN401
    graphs: Any = None,  # noqa: ANN401
    **options: Any,  # noqa: ANN401
) -> GraphTable:
    """Make a table of graphs in any form; :meth:`rwkplus.GraphTable.of` is the same.

    Args:
        data: A table, or a list of one-graph tables; networkx graphs; PyG ``Data`` objects, a ``Batch`` or a data set;
            igraph graphs; SMILES strings or RDKit molecules in a list, array or series; a SciPy adjacency or several; a
            data frame of edges or of molecules; the path of a file or folder.
        edges: A data frame (pandas, Polars or PyArrow) with a row per edge; it may be given as ``data``.
        nodes: A data frame with a row per node.
        graphs: A data frame with a row per graph.
        options: See :class:`rwkplus.io.sources.ReadOptions`. ``source``, ``target``, ``graph``, ``node``, ``smiles``
            and ``y`` name columns; ``labels``, ``attributes`` and ``weight`` say what columns are; ``ignore`` leaves
            some out; ``directed``, ``multigraph`` and ``drop_duplicates`` say what rows of edges mean;
            ``on_error="skip"`` leaves out what cannot be read and says so; ``atom`` and ``bond`` choose what describes
            a molecule.

    Example:
        >>> import networkx as nx
        >>> read_graphs([nx.path_graph(3), nx.cycle_graph(4)])
        GraphTable: 2 undirected graphs, 7 nodes, 6 edges
    """
    if edges is None and nodes is None and graphs is None:
        return _read(data, options_from(options))
    from rwkplus.io.frames import from_frames

    if edges is None and hasattr(data, "columns"):
        data, edges = None, data
    if data is not None:
        raise ParameterError("give either graphs, or data frames of edges, nodes and graphs, not both.")
    return from_frames(edges, nodes, graphs, options_from(options))


def read_path(path: Path, options: ReadOptions = ReadOptions()) -> GraphTable:
    r"""Read graphs from a file or folder of any known kind.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "alcohols.smi"
        ...     _ = file.write_text("CO\nCCO\n")
        ...     read_path(file)
        GraphTable: 2 undirected graphs, 5 nodes, 3 edges
          nodes  label: 2 labels (C, O)
          edges  label: 5 labels (-, =, #, :, ~)
    """
    try:
        read = _reader_of_path(path)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from error
    return read(path, options)


def _reader_of_path(path: Path) -> Read:
    if path.is_dir():
        names = [child.name for child in path.iterdir() if child.is_file()]
        for pattern, read in FOLDERS.items():
            if filter_names(names, pattern):
                return _function(read)
        raise DataError(f"the folder {path} holds no graphs that can be read: give {KNOWN}.")
    if not path.exists():
        single = [] if path.suffix or len(path.parts) > 1 else [f"A SMILES goes into a list: [{str(path)!r}]."]
        raise DataError(f"there is no file or folder {path}. Graphs can be read from {KNOWN}.", *single)
    if path.suffix.lower() not in FILES:
        raise DataError(f"{path} is of in no known format: give {KNOWN}.")
    return _function(FILES[path.suffix.lower()])


def _function(name: str) -> Read:
    """A function of this room, imported only when it is needed."""
    module, _, function = name.partition(".")
    found: Read = getattr(import_module(f"rwkplus.io.{module}"), function)
    return found


def _read(data: Any, options: ReadOptions) -> GraphTable:  # noqa: ANN401
    if isinstance(data, GraphTable):
        return _from_tables([data], options)
    if isinstance(data, str | Path):
        return read_path(Path(data), options)
    if data is None:
        frames = Remedy("Or give data frames: {edges}, {nodes}, {graphs}", edges=..., nodes=..., graphs=...)
        raise GraphError("expected a list of graphs, got NoneType.", frames)
    if _is_a(data, "torch_geometric.data", "Batch"):
        return _function("pyg.from_pyg")(data, options)
    if _is_a(data, "scipy.sparse", "sparray", "spmatrix"):
        return _function("scipy.from_scipy")([data], options)
    if type(data).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow", "narwhals"):
        return _function("frames.from_frame")(data, options)
    items = _items(data)
    return _reader_of(items[0])(items, options)


def _items(data: Any) -> list[Any]:  # noqa: ANN401
    """Graphs as a list, or what to do about what is none."""
    if isinstance(data, Mapping):  # its names would be read as SMILES
        raise GraphError(
            f"expected a list of graphs, got a {type(data).__name__}.",
            "Give its values, list(graphs.values()).",
            Remedy("Or give data frames: {edges}, {nodes}, {graphs}", edges=..., nodes=..., graphs=...),
        )
    if any(_is_a(data, module, *names) for module, names, _ in OBJECTS):
        raise GraphError(f"got a single {type(data).__name__}: put it into a list, [graph].")
    try:
        items = list(data)  # also what has only __getitem__, such as torch's Subset
    except TypeError as error:
        raise GraphError(f"expected a list of graphs, got {type(data).__name__}.") from error
    if not items:
        raise GraphError("the list of graphs is empty: give at least one graph.")
    return items


def _reader_of(first: object) -> Read:
    """Which source reads graphs like this one; each refuses what is of another kind."""
    if isinstance(first, GraphTable):
        return _from_tables
    if isinstance(first, str):
        return _function("smiles.from_molecules")
    for module, names, read in OBJECTS:
        if _is_a(first, module, *names):
            return _function(read)
    raise GraphError(
        f"graph 0 is a {type(first).__name__}: expected networkx, PyG or igraph graphs, SMILES, RDKit molecules or "
        "SciPy adjacencies, all of one kind."
    )


def _from_tables(tables: Iterable[Any], options: ReadOptions) -> GraphTable:
    options.check("tables", ("ignore",))
    parts = []
    for i, table in enumerate(tables):
        if not isinstance(table, GraphTable):
            raise GraphError(f"graph {i} is a {type(table).__name__}, graph 0 a GraphTable: give all in one form.")
        parts.append(table.without(options.ignore))
    return GraphTable.concatenate(parts)


def _is_a(value: object, module: str, *names: str) -> bool:
    """Whether a value is of a class of some module; one that nobody has imported has no values."""
    loaded = sys.modules.get(module)
    classes = tuple(kind for kind in (getattr(loaded, name, None) for name in names) if isinstance(kind, type))
    return loaded is not None and isinstance(value, classes)


# And back


class WrittenGraphs(NamedTuple):
    """A table in a file or folder, and what became of it."""

    path: Path
    options: dict[str, Any]
    """With which it is read again."""
    lost: list[str]
    """What differs even then, in words."""


def write_graphs(table: GraphTable, path: str | Path, form: GraphForm = "arrow") -> WrittenGraphs:
    """Write graphs as JSON lines, as a folder of CSV or Parquet files, or of Arrow files (:meth:`GraphTable.write`).

    What was written is read again, so that nothing gets lost in silence.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> table = GraphTable.of(["CO", "N#N"]).with_targets(["yes", "no"], "active")
        >>> with TemporaryDirectory() as folder:
        ...     written = write_graphs(table, f"{folder}/molecules.jsonl", "jsonl")
        ...     GraphTable.of(written.path, **written.options) == table
        True
        >>> written.options
        {'y': 'active'}
    """
    check_choice("form", form, GraphForm)
    write = {
        "arrow": "parquet.write_table", "csv": "csv.write_csv", "jsonl": "json_lines.write_json_lines",
        "parquet": "parquet.write_parquet",
    }  # fmt: skip
    module, _, function = write[form].partition(".")
    made: Path = getattr(import_module(f"rwkplus.io.{module}"), function)(table, path)
    if form == "arrow":
        return WrittenGraphs(made, {}, [])
    options: dict[str, Any] = {}
    if table.targets not in ((), ("y",)):
        options["y"] = table.targets[0] if len(table.targets) == 1 else list(table.targets)
    if table.weight is not None:
        options["weight"] = table.weight
    if form != "jsonl":
        options |= {"directed": True} if table.directed else {}
        options |= {"multigraph": True} if parallel_edges(table).any() else {}
    again = read_path(made, options_from(options))
    for option, kind in (("labels", Categories), ("attributes", Numbers)):
        names = [f"{side}.{name}" for side, name in _of_other_kind(table, again, kind)]
        options |= {option: names} if names else {}
    again = read_path(made, options_from(options))
    return WrittenGraphs(made, options, list(_differences(table, again)))


def _of_other_kind(table: GraphTable, again: GraphTable, kind: type) -> Iterator[tuple[str, str]]:
    """Columns of nodes and edges of a kind that came back as another."""
    for side in SIDES[1:]:
        for name, column in getattr(table, side).items():
            found = getattr(again, side).get(name)
            if isinstance(column, kind) and found is not None and not isinstance(found, kind):
                yield side, name


def _differences(table: GraphTable, again: GraphTable) -> Iterator[str]:
    """In which a table differs from one that it became, in words."""
    if len(again) != len(table):
        yield f"{len(table) - len(again)} of {len(table)} graphs are gone"
        return
    if not all(np.array_equal(getattr(again, name), getattr(table, name)) for name in ARRAYS):
        yield "nodes or edges are gone or have another order"
    for side in SIDES:
        for name, column in getattr(table, side).items():
            found = getattr(again, side).get(name)
            if found is None:
                yield f"the {side} have no column {name!r}"
            elif found.kind != column.kind:
                yield f"the column {name!r} of the {side} is {found.describe()}"
            elif len(found) == len(column) and not equal(found, column):
                yield f"the column {name!r} of the {side} has other values"


# What sources of single graphs share


def graph_columns(names: Sequence[Any], targets: Mapping[str, Sequence[Any]]) -> dict[str, Column]:
    """Names of graphs, if all have one, and targets, if any has one.

    >>> list(graph_columns(["a", "b"], {"y": [1, None], "z": [None, None]}))
    ['name', 'y']
    """
    for i, name in enumerate(names):
        if not (name is None or isinstance(name, str | Real | tuple)):
            raise GraphError(f"graph {i}: its name is a {type(name).__name__}. Name graphs by a word or a number.")
    columns: dict[str, Column] = {}
    if all(not is_missing(name) and name != "" for name in names):
        columns["name"] = Text.of(map(str, names))
    for target, values in targets.items():
        if any(not is_missing(value) for value in values):
            columns[target] = target_column(target, values)
    return columns
