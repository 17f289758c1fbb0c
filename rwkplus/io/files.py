"""Files and folders of graphs, told apart by their names and by what folders hold."""

from collections.abc import Callable
from pathlib import Path

from rwkplus.errors import DataError
from rwkplus.io.options import ReadOptions
from rwkplus.table import GraphTable

KNOWN = (
    "a folder with edges.csv or edges.parquet, with a data set in TU format (a file *_A.txt) or written by "
    "GraphTable.write; a .csv, .jsonl, .smi, .sdf or .parquet file; a .zip in TU format"
)
TABLES = ("table.json", "edges.parquet")
"""Files of a folder that GraphTable.write or others wrote."""
Read = Callable[[Path, ReadOptions], GraphTable]


def read_path(path: Path, options: ReadOptions = ReadOptions()) -> GraphTable:  # noqa: B008
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
        read = _reader_of(path)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from error
    return read(path, options)


def _reader_of(path: Path) -> Read:
    if path.is_dir():
        return _reader_of_folder(path)
    if not path.exists():
        single = "" if path.suffix or len(path.parts) > 1 else f" A SMILES goes into a list: [{str(path)!r}]."
        raise DataError(f"there is no file or folder {path}. Graphs can be read from {KNOWN}.{single}")
    kinds: dict[str, Read] = {
        ".csv": _read_csv,
        ".jsonl": _read_json_lines,
        ".sdf": _read_sdf,
        ".smi": _read_smi,
        ".zip": _read_tu,
        ".parquet": _read_parquet,
    }
    read = kinds.get(path.suffix.lower())
    if read is None:
        raise DataError(f"{path} is of no known kind: give {KNOWN}.")
    return read


def _reader_of_folder(path: Path) -> Read:
    if (path / "edges.csv").is_file():
        return _read_csv
    if any((path / name).is_file() for name in TABLES):
        return _open_table
    if any(child.name.endswith("_A.txt") for child in path.iterdir()):
        return _read_tu
    raise DataError(f"the folder {path} holds no graphs that can be read: give {KNOWN}.")


def _read_csv(path: Path, options: ReadOptions) -> GraphTable:
    from rwkplus.io.csv import read_csv

    return read_csv(path, options)


def _read_json_lines(path: Path, options: ReadOptions) -> GraphTable:
    from rwkplus.io.json_lines import read_json_lines

    return read_json_lines(path, options)


def _read_sdf(path: Path, options: ReadOptions) -> GraphTable:
    from rwkplus.io.smiles import read_sdf

    return read_sdf(path, options)


def _read_smi(path: Path, options: ReadOptions) -> GraphTable:
    from rwkplus.io.smiles import read_smi

    return read_smi(path, options)


def _read_tu(path: Path, options: ReadOptions) -> GraphTable:
    from rwkplus.io.tu import read_tu

    return read_tu(path, options)


def _open_table(path: Path, options: ReadOptions) -> GraphTable:
    from rwkplus.io.parquet import open_table

    return open_table(path, options)


def _read_parquet(path: Path, options: ReadOptions) -> GraphTable:
    from rwkplus.io.frames import from_frame
    from rwkplus.io.parquet import read_parquet

    return from_frame(read_parquet(path), options)
