"""What ``user.json``, ``label.csv`` and ``split.csv`` say about users."""

import re
import reprlib
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rwkplus.data.twibot.json_array import stream_objects
from rwkplus.data.twibot.tables import Table
from rwkplus.errors import DataError

METRICS = ("followers_count", "following_count", "tweet_count", "listed_count")
LABELS = {"human": 0, "bot": 1}
SPLITS = {"train": 0, "val": 1, "valid": 1, "test": 2}
USER = re.compile(r"u(\d{1,18}|[0-8]\d{18})")  # fits into 64 bits
Index = NDArray[np.int64]


class UserIds:
    """Numbers of users by their ids.

    Args:
        ids: Ids of all users without their ``u``, in the order of ``user.json``: ``(N,)``.
    """

    def __init__(self, ids: Index) -> None:
        self.ids = ids
        self._order = np.argsort(ids, kind="stable")
        self._sorted = ids[self._order]

    def find(self, ids: Index) -> Index:
        """Number of each user, -1 for those who are not there."""
        places = np.minimum(np.searchsorted(self._sorted, ids), self.ids.size - 1)
        return np.where(self._sorted[places] == ids, self._order[places], -1)

    def repeated(self) -> int | None:
        """An id that two users have, or None."""
        twice = np.nonzero(np.diff(self._sorted) == 0)[0]
        return int(self._sorted[twice[0]]) if twice.size else None


def parse_id(text: str) -> int:
    """Number in the id of a user, or -1 if it is not one."""
    return int(text[1:]) if USER.fullmatch(text) else -1


def read_users(path: Path) -> tuple[Index, NDArray[np.float64]]:
    """Ids ``(N,)`` and public metrics ``(N, 4)`` of all users; metrics that are null count as 0."""
    ids, metrics = array("q"), array("d")
    for line, user in stream_objects(path):
        name = _field(path, line, user, "id")
        number = parse_id(name) if isinstance(name, str) else -1
        if number < 0:
            raise DataError(f"{path}, line {line}: id must be 'u' and a number, got {name!r}.")
        text = _field(path, line, user, "description")
        if not isinstance(text, str | None):
            raise DataError(f"{path}, line {line}: description must be a text or null, got {text!r}.")
        public = _field(path, line, user, "public_metrics")
        public = dict.fromkeys(METRICS) if public is None else public
        if not isinstance(public, dict):
            raise DataError(f"{path}, line {line}: public_metrics must be an object or null, got {public!r}.")
        ids.append(number)
        metrics.extend(_count(path, line, public, metric) for metric in METRICS)
    if not ids:
        raise DataError(f"{path} holds no users.")
    numbers = np.array(ids, np.int64)
    repeated = UserIds(numbers).repeated()
    if repeated is not None:
        raise DataError(f"{path} holds the user u{repeated} twice.")
    return numbers, np.array(metrics).reshape(-1, len(METRICS))


def read_descriptions(path: Path) -> Iterator[str]:
    """What users say about themselves."""
    for _, user in stream_objects(path):
        # Halves of emojis, which JSON can hold where texts were cut, are no text to encoders.
        yield (user["description"] or "").encode("utf-8", "replace").decode()


def read_column(path: Path, column: str, values: Mapping[str, int], users: UserIds) -> Index:
    """What a table says about each user: ``(N,)``; every user must be there, once."""
    found = np.full(users.ids.size, -1)
    for block in Table(path, ("id", column)).blocks():
        numbers = users.find(np.array([parse_id(row[0]) for row in block.rows], np.int64))
        for i, (row, number) in enumerate(zip(block.rows, numbers.tolist(), strict=True)):
            if number < 0:
                raise block.error(i, "id", f"{row[0]!r} is no user of user.json")
            if row[1] not in values:
                raise block.error(i, column, f"{row[1]!r} is none of {', '.join(values)}")
            if found[number] >= 0:
                raise block.error(i, "id", f"{row[0]} is there twice")
            found[number] = values[row[1]]
    missing = np.nonzero(found < 0)[0]
    if missing.size:
        raise DataError(
            f"{path} says nothing about {missing.size} users, the first of them u{users.ids[missing[0]]} (number "
            f"{missing[0] + 1} of user.json). Is the file cut off?"
        )
    return found


def _field(path: Path, line: int, user: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 -- JSON
    if name not in user:
        raise DataError(f"{path}, line {line}: the user has no field {name!r}; there are: {', '.join(user)}.")
    return user[name]


def _count(path: Path, line: int, public: Mapping[str, Any], metric: str) -> float:
    value = _field(path, line, public, metric)
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**63:
        found = reprlib.repr(value)
        raise DataError(
            f"{path}, line {line}: public_metrics.{metric} must be a number below 2**63 from 0, got {found}."
        )
    return float(value)
