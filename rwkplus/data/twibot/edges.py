"""Follow edges of ``edge.csv``, which holds many times more of other kinds."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rwkplus.data.twibot.tables import Block, Table
from rwkplus.data.twibot.users import Index, UserIds, parse_id
from rwkplus.errors import DataError
from rwkplus.large.undirected import Edges

FOLLOWS = ("followers", "following")
COLUMNS = ("source_id", "relation", "target_id")
CHUNK = 1 << 20
PAIR = 16
"""Bytes of an edge in the file of pairs."""


@dataclass
class EdgeProgress:
    """How far the edges have been read, in JSON values."""

    place: int | None = None
    line: int = 2
    kept: int = 0
    """Edges in the file of pairs."""
    strangers: int = 0
    """Edges left out because an end is not among the users."""
    relations: dict[str, int] = field(default_factory=dict)


def gather_edges(
    table: Path,
    pairs: Path,
    users: UserIds,
    relations: Sequence[str],
    progress: EdgeProgress,
    save: Callable[[], None],
    *,
    block_size: int | None = None,
) -> None:
    """Append the wanted edges to a file of pairs of numbers, from where ``progress`` is; ``save`` it after blocks.

    If the file holds less than ``progress`` says, as a machine that stopped may leave it, edges are read anew.
    """
    rows = Table(table, COLUMNS) if block_size is None else Table(table, COLUMNS, size=block_size)
    with pairs.open("ab") as file:
        if file.tell() < progress.kept * PAIR:
            vars(progress).update(vars(EdgeProgress()))
        file.truncate(progress.kept * PAIR)  # what a killed run wrote after it saved
        for block in rows.blocks(progress.place, progress.line):
            ends = _ends(block, set(relations), progress.relations)
            found = users.find(ends)
            known = np.min(found, axis=1) >= 0
            _check_last(block, known)
            found[known].tofile(file)
            file.flush()
            os.fsync(file.fileno())  # on the disk before the note that says so
            progress.place, progress.line = block.end, block.next_line
            progress.kept += int(known.sum())
            progress.strangers += int((~known).sum())
            save()
    if not any(relation in progress.relations for relation in relations):
        raise DataError(
            f"{table}, column relation: there is no {' or '.join(relations)}; there are: "
            f"{', '.join(progress.relations) or 'no rows'}."
        )


def read_pairs(pairs: Path) -> Iterator[Edges]:
    """Sources and targets, chunk by chunk."""
    count = pairs.stat().st_size // PAIR
    for begin in range(0, count, CHUNK):
        chunk = np.fromfile(pairs, np.int64, 2 * min(CHUNK, count - begin), offset=PAIR * begin).reshape(-1, 2)
        yield chunk[:, 0], chunk[:, 1]


def _ends(block: Block, relations: set[str], seen: dict[str, int]) -> Index:
    """Ids at both ends of the wanted edges: ``(n, 2)``."""
    for name, count in Counter(row[1] for row in block.rows).items():
        seen[name] = seen.get(name, 0) + count
    wanted = [row for row in block.rows if row[1] in relations]
    ends = np.array([(parse_id(row[0]), parse_id(row[2])) for row in wanted], np.int64).reshape(-1, 2)
    if (ends < 0).any():
        place, side = np.argwhere(ends < 0)[0].tolist()
        row = wanted[place]
        what = f"{row[1]} must join users, 'u' and a number, got {row[2 * side]!r}"
        raise block.error(block.rows.index(row), COLUMNS[2 * side], what)
    return ends


def _check_last(block: Block, known: NDArray[np.bool_]) -> None:
    """An unknown user in a last line without its break, a block of its own, is a known one, cut off."""
    if not block.complete and not known.all():
        raise block.error(0, COLUMNS[2], f"{block.rows[0][2]!r} is no user: the file is cut off")
