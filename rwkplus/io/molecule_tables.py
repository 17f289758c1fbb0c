"""Tables with a column of molecules: each row is a graph, and its other columns describe that graph."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rwkplus.io.coded import Cells, Coded
from rwkplus.io.mistakes import Mistakes
from rwkplus.io.options import ReadOptions
from rwkplus.io.tables import as_spelled, find, is_left_out, needed, typed
from rwkplus.table import Column, GraphTable, Text

TAKES = ("smiles", "graph", "y", "labels", "attributes", "ignore", "on_error", "atom", "bond", "n_jobs")


def with_molecules(
    columns: Mapping[str, Cells],
    options: ReadOptions,
    mistakes: Mistakes,
    *,
    lines: NDArray[np.int64] | None = None,
    path: Path | None = None,
) -> GraphTable:
    """Read the molecules of a table and carry its other columns along.

    Args:
        columns: Columns by name; one of them holds SMILES, or molecules of RDKit.
        options: Which column that is, and which are targets.
        mistakes: Names the rows, and may know of mistakes already.
        lines: Line of every row in its file.
        path: That file.
    """
    options.check("a table of molecules", TAKES)
    options = as_spelled(options, {"graphs": columns})
    smiles = needed(options.smiles, columns, "smiles", mistakes.table("graphs"))
    molecules = _values(columns[smiles])
    empty = np.flatnonzero([molecule is None for molecule in molecules])
    mistakes.add("graphs", empty, f"column {smiles!r} is empty")
    kept = {
        name: cells for name, cells in columns.items() if name != smiles and not is_left_out(name, "graphs", options)
    }
    described = _described(kept, options)
    bad = mistakes.settle().get("graphs", np.zeros(0, np.int64))
    rows = np.setdiff1d(np.arange(len(molecules)), bad)
    if not rows.size:
        raise mistakes.nothing_left()
    mistakes.warn()

    from rwkplus.io.smiles import read_molecules

    own = ReadOptions(
        atom=options.atom,
        bond=options.bond,
        ignore=[name for name in options.ignore if find(name, columns) is None],
        on_error=options.on_error,
        n_jobs=options.n_jobs,
    )
    places = None if lines is None else lines[rows].tolist()
    read = read_molecules([molecules[row] for row in rows], own, lines=places, path=path)
    rows = rows[read.kept]
    return options.applied(
        read.table.with_columns(graphs={name: column.take(rows) for name, column in described.items()})
    )


def _values(cells: Cells) -> list[object]:
    if isinstance(cells, list):
        return cells
    found: list[object] = (cells.cells() if isinstance(cells, Coded) else cells.values()).tolist()
    return found


def _described(columns: Mapping[str, Cells], options: ReadOptions) -> dict[str, Column]:
    """Columns of the graphs; one that names all of them is called ``name``."""
    described: dict[str, Column] = {}
    for column in ("name", options.graph, "id"):
        found = find(column, columns)
        if found is not None and found not in options.targets and "name" not in described:
            names = _values(columns[found])
            if all(name is not None for name in names):
                described["name"] = Text.of(map(str, names))
                columns = {name: cells for name, cells in columns.items() if name != found}
    return described | {name: typed(name, cells, "graphs", options) for name, cells in columns.items()}
