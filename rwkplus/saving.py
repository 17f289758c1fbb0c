"""One way to keep whatever has a ``fit``: a safetensors file with arrays, and in its header all else as JSON.

Nothing in such a file is executed, it is written whole or not at all, and what is in it is checked before it is used.
A class joins by deriving from :class:`Savable`, saying what it has learned, and adding its name to ``KINDS``.
"""

from collections.abc import Mapping
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rwkplus import __version__
from rwkplus.errors import DataError
from rwkplus.files import damaged, from_json, json_values, read_record, read_tensors, write_tensors
from rwkplus.types import check_integer

FORMAT = "rwkplus, version 3"
MODEL_FILE = "model.safetensors"
"""What commands and the Hub call the one file of a folder."""
KINDS = {
    "RandomWalkKernel": "rwkplus.kernels",
    "RandomWalkFeatures": "rwkplus.kernels",
    "RandomWalkNystroem": "rwkplus.kernels",
    "PatternMiner": "rwkplus.mining",
    "GradientMiner": "rwkplus.descriptive",
    "SurpriseDetector": "rwkplus.detect",
    "WalkKernelDetector": "rwkplus.detect",
    "PatternDetector": "rwkplus.detect",
    "GraphClassifier": "rwkplus.training",
    "GraphRegressor": "rwkplus.training",
    "NodeClassifier": "rwkplus.training",
}
"""Where each class that can be saved is found."""
READ_ERRORS = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RuntimeError)
"""What reading the content of a damaged file may raise."""


class Savable:
    """Gives an estimator of graphs ``save`` and ``load``.

    Its constructor's arguments are kept as JSON values; where it draws a seed, ``seed_`` is kept for ``random_state``.
    """

    framework: ClassVar[Literal["numpy", "pt"]] = "numpy"
    """Whose arrays ``_learned`` returns and ``_restore`` expects."""

    def save(self, path: str | Path) -> Path:
        """Write everything fitted into one safetensors file, whole or not at all; folders are made."""
        check_is_fitted(self)
        name = type(self).__name__
        if name not in KINDS:
            raise DataError(
                f"a {name} could be saved but not opened again: rwkplus does not know the class.",
                f"Say where it is found: rwkplus.saving.KINDS[{name!r}] = {type(self).__module__!r}.",
            )
        learned, arrays = self._learned()
        return write_tensors(path, header_of(self, learned), arrays)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote; nothing in the file is executed.

        >>> from tempfile import TemporaryDirectory
        >>> from rwkplus import RandomWalkKernel
        >>> with TemporaryDirectory() as folder:
        ...     path = RandomWalkKernel(steps=1).fit(["CC"]).save(f"{folder}/kernel.safetensors")
        ...     RandomWalkKernel.load(path).transform(["CCC"])
        array([[8.]])
        """
        found = load(path)
        if not isinstance(found, cls):
            raise DataError(
                f"{path} holds a {type(found).__name__}, not a {cls.__name__}.", "rwkplus.load opens whatever it is."
            )
        return found

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False  # whatever can be saved was fitted to graphs, not to a matrix
        return tags

    def _learned(self) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """What was fitted, as JSON values and arrays."""
        raise NotImplementedError

    def _restore(self, learned: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Take what :meth:`_learned` returned, checking all of it; disorder raises one of ``READ_ERRORS``."""
        raise NotImplementedError


def load(path: str | Path) -> Any:  # noqa: ANN401
    """Open whatever was saved: a kernel, miner, detector or trained network.

    Args:
        path: What ``save`` of any estimator wrote, or a folder with one ``*.safetensors`` in it, as commands leave it.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from rwkplus import RandomWalkKernel, load
        >>> with TemporaryDirectory() as folder:
        ...     load(RandomWalkKernel(steps=1).fit(["CC"]).save(f"{folder}/kernel.safetensors")).transform(["CCC"])
        array([[8.]])
    """
    path = _file_in(Path(path))
    kind = _kind_of(path)
    record, arrays = read_tensors(path, kind.__name__, FORMAT, kind.framework)
    try:
        return unpack(kind, record, arrays)
    except DataError as error:  # the file is sound, but something else is missing
        raise DataError(f"{path}: {error.args[0]}", *error.args[1:]) from error
    except READ_ERRORS as error:
        raise damaged(path, error) from error


def header_of(estimator: Any, learned: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    """The header of a file, or the part of one that belongs to an estimator inside another."""
    return {"format": FORMAT, "version": __version__, **_described(estimator), "learned": learned}


def _described(estimator: Any) -> dict[str, Any]:  # noqa: ANN401
    """Kind and parameters as JSON values; a parameter that is an estimator is described likewise."""
    parameters = estimator.get_params(deep=False)
    if "random_state" in parameters:  # what was drawn, where it was left to chance
        given = parameters["random_state"]
        parameters["random_state"] = getattr(estimator, "seed_", given if isinstance(given, Integral) else None)
    plain = {name: _described(value) if isinstance(value, Savable) else value for name, value in parameters.items()}
    return {"kind": type(estimator).__name__, "parameters": json_values(plain)}


def unpack(kind: type[Any], record: dict[str, Any], arrays: dict[str, Any]) -> Any:  # noqa: ANN401
    """An estimator from its header and arrays."""
    check_entries(record, "format", "version", "kind", "parameters", "learned")
    estimator = _unfitted(kind, record["parameters"])
    seed = record["parameters"].get("random_state")
    if isinstance(seed, int):
        check_integer("random_state", seed, 0)
        estimator.seed_ = seed
    estimator._restore(record["learned"], arrays)
    return estimator


def _unfitted(kind: type[Any], parameters: dict[str, Any]) -> Any:  # noqa: ANN401
    check_entries(parameters, *kind._get_param_names())
    return kind(**{name: _parameter(value) for name, value in from_json(parameters).items()})


def _parameter(value: Any) -> Any:  # noqa: ANN401
    """A parameter out of a file, made into an estimator where it describes one."""
    if not isinstance(value, dict) or set(value) != {"kind", "parameters"}:
        return value
    return _unfitted(_class_of(value["kind"]), value["parameters"])


def _class_of(name: str) -> type[Any]:
    kind: type[Any] = getattr(import_module(KINDS[name]), name)
    return kind


def check_entries(values: object, *names: str) -> None:
    """Raise ``ValueError`` unless ``values``, out of a file, are a dictionary with just these entries.

    >>> check_entries({"reader": {}}, "reader")
    """
    if not isinstance(values, dict) or set(values) != set(names):
        raise ValueError(f"it should tell {', '.join(sorted(names))} and nothing else")


def array(arrays: Mapping[str, Any], name: str, kind: str, ndim: int) -> NDArray[Any]:
    """An array out of a file, refused where it has other dimensions, nan or infinities, or no type of ``kind``.

    ``kind`` has one letter of numpy for each type that will do: ``"f"`` floats, ``"i"`` and ``"u"`` integers, ``"b"``.

    >>> array({"scores": np.array([0.5])}, "scores", "f", 1)
    array([0.5])
    """
    values: NDArray[Any] = arrays[name]
    if values.dtype.kind not in kind or values.ndim != ndim:
        raise ValueError(f"{name} is an array of {values.dtype} with {values.ndim} dimensions")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{name} holds nan or infinities")
    return values


def _kind_of(path: Path) -> type[Any]:
    record = read_record(path)
    found, name = record.get("format"), record.get("kind")
    if found != FORMAT and isinstance(found, str) and found.startswith("rwkplus "):
        raise DataError(
            f"{path} was saved by rwkplus 0.1 (its format is {found!r}), which this version does not read.",
            "Fit and save it again, or go on with it in rwkplus 0.1.",
        )
    if found != FORMAT or not isinstance(name, str) or name not in KINDS:
        raise DataError(f"{path} holds nothing that this version of rwkplus ({__version__}) can open.")
    return _class_of(name)


def _file_in(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = sorted(path.glob("*.safetensors"))
    if len(found) == 1:
        return found[0]
    below = sorted(path.rglob("*.safetensors"))
    has = f"several: {', '.join(p.name for p in found)}" if found else "none"
    raise DataError(
        f"the folder {path} should hold one file saved by rwkplus, and has {has}.",
        *([f"Name one, such as {below[0]}."] if below else []),
    )
