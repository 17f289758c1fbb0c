"""The one way in: graphs in any form become a table."""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rwkplus.errors import GraphError, ParameterError
from rwkplus.io.options import ReadOptions, options_of
from rwkplus.table import GraphTable


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
        edges: A data frame (pandas, Polars or PyArrow) with a row per edge.
        nodes: A data frame with a row per node.
        graphs: A data frame with a row per graph.
        options: See :class:`rwkplus.io.options.ReadOptions`. ``source``, ``target``, ``graph``, ``node``, ``smiles``
            and ``y`` name columns; ``labels``, ``attributes`` and ``weight`` say what columns are; ``ignore`` leaves
            some out; ``directed``, ``multigraph`` and ``drop_duplicates`` say what rows of edges mean;
            ``on_error="skip"`` leaves out what cannot be read and says so; ``atom`` and ``bond`` choose what describes
            a molecule.
    """
    frames = {"edges": edges, "nodes": nodes, "graphs": graphs}
    if any(frame is not None for frame in frames.values()):
        from rwkplus.io.frames import from_frames

        if data is not None:
            raise ParameterError("give either graphs, or data frames as edges=, nodes= and graphs=.")
        return from_frames(edges, nodes, graphs, options_of(options))
    return _read(data, options_of(options))


def _read(data: Any, options: ReadOptions) -> GraphTable:  # noqa: ANN401
    if isinstance(data, GraphTable):
        return _from_tables([data], options)
    if isinstance(data, str | Path):
        from rwkplus.io.files import read_path

        return read_path(Path(data), options)
    if data is None:
        raise GraphError("expected a list of graphs, got NoneType; or give data frames: edges=, nodes= and graphs=.")
    whole = _whole(data)
    if whole is not None:
        return whole(data, options)
    items = _items(data)
    return _reader_of(items)(items, options)


Read = Callable[[Any, ReadOptions], GraphTable]


def _whole(data: Any) -> Read | None:  # noqa: ANN401
    """How to read what is no list of graphs but all of them at once."""
    if _is_a(data, "torch_geometric.data", "Batch"):
        from rwkplus.io.pyg import from_pyg

        return from_pyg
    if _is_a(data, "scipy.sparse", "sparray", "spmatrix"):
        from rwkplus.io.scipy import from_scipy

        return lambda adjacency, options: from_scipy([adjacency], options)
    if type(data).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow", "narwhals"):
        from rwkplus.io.frames import from_frame

        return from_frame
    return None


def _items(data: Any) -> list[Any]:  # noqa: ANN401
    """Graphs as a list, or what to do about what is none."""
    single = (("torch_geometric.data", ("Data", "HeteroData")), ("networkx", ("Graph",)), ("igraph", ("Graph",)))
    for module, names in (*single, ("rdkit.Chem", ("Mol",))):
        if _is_a(data, module, *names):
            raise GraphError(f"got a single {type(data).__name__}: put it into a list, [graph].")
    try:
        items = list(data)  # also what has only __getitem__, such as torch's Subset
    except TypeError as error:
        raise GraphError(f"expected a list of graphs, got {type(data).__name__}.") from error
    if not items:
        raise GraphError("the list of graphs is empty: give at least one graph.")
    return items


def _reader_of(items: Sequence[Any]) -> Read:
    """Which source reads these, by the first of them; each refuses what is of another kind."""
    first = items[0]
    if isinstance(first, GraphTable):
        return _from_tables
    if _is_a(first, "networkx", "Graph"):
        from rwkplus.io.networkx import from_networkx

        return from_networkx
    if isinstance(first, str) or _is_a(first, "rdkit.Chem", "Mol"):
        from rwkplus.io.smiles import from_molecules

        return from_molecules
    if _is_a(first, "igraph", "Graph"):
        from rwkplus.io.igraph import from_igraph

        return from_igraph
    if _is_a(first, "scipy.sparse", "sparray", "spmatrix"):
        from rwkplus.io.scipy import from_scipy

        return from_scipy
    if _is_a(first, "torch_geometric.data", "Data", "HeteroData"):
        from rwkplus.io.pyg import from_pyg

        return from_pyg
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
