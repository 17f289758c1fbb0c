"""Edges that a table has several times."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.io.coded import Coded, Ints, distinct
from rwkplus.io.options import ReadOptions
from rwkplus.table.columns import Categories, Column, Text


class Repeated(NamedTuple):
    """Edges that are there several times."""

    kept: NDArray[np.bool_]  # edges that stay
    rows: Ints  # edges that contradict others
    firsts: Ints  # those others


def repeated_edges(source: Ints, target: Ints, columns: Mapping[str, Column], options: ReadOptions) -> Repeated | None:
    """Find edges that are there several times; None where all are to stay.

    An undirected edge may be given in both directions if all else is equal, and is kept once.
    """
    own = options.directed or options.multigraph
    if (own and not options.drop_duplicates) or not source.size:
        return None
    one, other = (source, target) if options.directed else (np.minimum(source, target), np.maximum(source, target))
    key = one * (int(other.max(initial=0)) + 1) + other
    several, group = _in_groups(key)
    kept = np.ones(key.size, bool)
    if not several.size:
        return None
    if options.drop_duplicates:
        place = _place_in_group(_with_cells(group, several, columns))[0]
        kept[several[place > 0]] = False
        several, group = several[place == 0], group[place == 0]
    if own:
        return Repeated(kept, several[:0], several[:0])
    place, first = _place_in_group(group)
    cells = _with_cells(np.zeros_like(group), several, columns)
    back = source[several] != source[several][first]
    reverse = (place == 1) & back & (cells == cells[first])
    kept[several[place > 0]] = False
    wrong = np.flatnonzero((place > 0) & ~reverse)
    return Repeated(kept, several[wrong], several[first[wrong]])


def _in_groups(key: Ints) -> tuple[Ints, Ints]:
    """Rows that share their key with others, ascending, and a number for the key of each."""
    order = np.argsort(key, kind="stable")
    same = np.diff(key[order]) == 0
    shares = np.append(same, False) | np.append(False, same)
    rows = np.sort(order[shares])
    return rows, distinct(key[rows])


def _place_in_group(group: Ints) -> tuple[Ints, Ints]:
    """The how manieth of its group each row is, and which row is the first of it."""
    order = np.argsort(group, kind="stable")
    start = np.flatnonzero(np.diff(group[order], prepend=-1))
    sizes = np.diff(np.append(start, group.size))
    place, first = np.empty(group.size, np.int64), np.empty(group.size, np.int64)
    place[order] = np.arange(group.size) - np.repeat(start, sizes)
    first[order] = np.repeat(order[start], sizes)
    return place, first


def _with_cells(group: Ints, rows: Ints, columns: Mapping[str, Column]) -> Ints:
    """Split groups of rows by what their cells hold."""
    for column in columns.values():
        part = column.take(rows)
        if isinstance(part, Categories):
            codes = part.codes.astype(np.int64) + 1
        elif isinstance(part, Text):
            codes = Coded.of(map(repr, part.texts.tolist())).codes.astype(np.int64)
        else:
            codes = np.zeros(rows.size, np.int64)
            for numbers in part.matrix().T:
                value = distinct(np.where(np.isnan(numbers), np.inf, numbers + 0.0))
                codes = distinct(codes * (int(value.max(initial=0)) + 1) + value)
        group = distinct(group * (int(codes.max(initial=0)) + 1) + codes)
    return group
