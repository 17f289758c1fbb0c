"""Names of the choices that appear in more than one signature, and how to refuse all others."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral, Real
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from rwkplus.errors import ParameterError, Remedy

if TYPE_CHECKING:
    from numpy.random import RandomState

DIGITS = re.compile(r"\d")
KernelName = Literal["rwk+", "rwk-", "node-centric"]
NetworkKernel = Literal["rwk+", "rwk-"]
Route = Literal["auto", "explicit", "blocks"]
Walks = Literal["open", "closed"]
UnknownLabel = Literal["new", "ignore", "error"]
Assignment = Literal["dirac", "optimal"]
Combine = Literal["sum", "last", "mean", "geometric"]
GraphForm = Literal["arrow", "csv", "jsonl", "parquet"]
TUFeatures = Literal["labels", "attributes", "both"]
Atom = Literal["element", "charge", "aromatic", "hydrogens", "degree", "isotope", "chirality", "ring"]
Criterion = Literal["maximal", "blocks", "contrast"]
Coloring = Literal["auto", "structural"]
OutlierMethod = Literal["nearest", "density", "lof", "svm", "forest"]
Task = Literal["auto", "classification", "regression", "counting", "multitask"]
Features = Literal["auto", "given", "degree", "constant", "discrete"]
Unknown = Literal["ignore", "error"]
"""Not ``"new"``, which kernels know: a network has no weights for labels that it has not seen."""
Loss = Literal["squared", "absolute"]
Balance = Literal["none", "logits"]
LrSchedule = Literal["halve", "cosine"]


class Progress(NamedTuple):
    """How far long work has come: what a ``callback`` is called with."""

    phase: str
    """What is being counted, such as ``"patterns"`` or ``"epochs"``."""
    done: int
    total: int | None = None
    values: Mapping[str, float] = {}
    """What is known by now, such as the losses of an epoch."""


Callback = Callable[[Progress], None]


def check_choice(name: str, value: object, choices: object) -> None:
    """Refuse a value that is none of ``choices``: a ``Literal`` type, or an iterable of names.

    >>> check_choice("walks", "round", Walks)
    Traceback (most recent call last):
    ...
    rwkplus.errors.ParameterError: walks must be one of open, closed; got 'round'.
    """
    known = get_args(choices) or (tuple(choices) if isinstance(choices, Iterable) else ())
    if value not in known:
        raise ParameterError(f"{name} must be one of {', '.join(known)}; got {value!r}.")


def check_ignore(ignore: object, fields: Iterable[str] = ()) -> None:
    """Refuse anything but a collection of names; a single name would be taken for its letters.

    Args:
        ignore: What to leave out. Names that are not there are fine, as graphs may differ, but no slips of the pen.
        fields: What is there.
    """
    if isinstance(ignore, str) or not isinstance(ignore, Collection):
        raise ParameterError(f"ignore must be a sequence of field names, such as ('edge_attr',); got {ignore!r}.")
    there = set(fields)
    for name in set(ignore) - there:
        # Names of a series differ in their digits alone, and are no slips; nor is edges.label one of nodes.label.
        side = name.rpartition(".")[0]
        alike = [
            field
            for field in there
            if field.rpartition(".")[0] == side and DIGITS.sub("", field) != DIGITS.sub("", name)
        ]
        for meant in get_close_matches(name, alike, 1, 0.8):
            raise ParameterError(
                f"there is no {name!r} to ignore, but {meant!r}.", Remedy("Did you mean {ignore}?", ignore=(meant,))
            )


def is_positive_integer(value: object) -> bool:
    """Whether ``value`` is an integer, of Python or numpy, of at least 1.

    >>> is_positive_integer(3), is_positive_integer(0), is_positive_integer(True)
    (True, False, False)
    """
    return _is_integer(value, 1)


def check_integer(name: str, value: object, least: int) -> None:
    """Refuse a value that is no integer, of Python or numpy, of at least ``least``.

    >>> check_integer("steps", 0, 1)
    Traceback (most recent call last):
    ...
    rwkplus.errors.ParameterError: steps must be a whole number of at least 1, got 0.
    """
    if not _is_integer(value, least):
        raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def check_share(name: str, value: object) -> None:
    """Refuse a value that is no number from 0 to 1.

    >>> check_share("dropout", 1.5)
    Traceback (most recent call last):
    ...
    rwkplus.errors.ParameterError: dropout must be a number from 0 to 1, got 1.5.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise ParameterError(f"{name} must be a number from 0 to 1, got {value!r}.")


def check_jobs(n_jobs: object) -> None:
    """Refuse what joblib would refuse later.

    >>> check_jobs(None)
    >>> check_jobs(-1)
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ParameterError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.")


def _is_integer(value: object, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def seed_of(random_state: "int | RandomState | None") -> int:
    """Read what scikit-learn calls ``random_state``: a seed, a source of seeds, or None to draw one.

    >>> seed_of(7)
    7
    """
    if isinstance(random_state, Integral):
        check_integer("random_state", random_state, 0)
        return int(random_state)
    from sklearn.utils import check_random_state  # not for those who ask for --help

    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        raise ParameterError(f"random_state must be a seed, a RandomState or None, got {random_state!r}.") from error
