"""Files that are written whole or not at all, text, and tensors in files that are never a pickle."""

import json
import math
import os
import platform
import re
import shutil
import sys
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Literal, TextIO

from safetensors import SafetensorError, safe_open

from rwkplus.errors import DataError

HEADER = "rwkplus"
MACHINE = f"{zlib.crc32(os.fsencode(platform.node())):08x}"
"""Short for the name of the machine: others that share its folders have processes of the same numbers."""
NUMBERS = count()
"""Of the files this process writes."""
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that change how others are shown instead of being shown."""


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """Give the name of a file to write, which replaces ``path`` if the block ends well; folders are made.

    Every writer has a name of its own: when several write the same file, it is never a mixture, and the last to end
    wins. After the block it stays even if the machine stops. What killed processes have left of it is removed. If the
    file cannot be written, the ``OSError`` is about ``path``, not about the name to write.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with suppress(KeyboardInterrupt), atomic_file(f"{folder}/notes.txt") as scratch:
    ...         _ = scratch.write_text("half of wh")
    ...         raise KeyboardInterrupt
    ...     list(Path(folder).iterdir())
    []
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise DataError(f"{path} is {'a folder' if path.is_dir() else 'a device or pipe'}: give the name of a file.")
    path.parent.mkdir(parents=True, exist_ok=True)
    # numpy adds its suffixes where they are missing; with others, a search for results would find half of one
    suffix = path.suffix if path.suffix in (".npy", ".npz") else ""
    scratch = _scratch(path, f"new{suffix}")
    try:
        yield scratch
        _sync(scratch)
        scratch.replace(path)
    except OSError as error:
        _tell_about(path, scratch, error)
        raise
    finally:
        with suppress(OSError):  # what went wrong before matters more
            scratch.unlink(missing_ok=True)
    _sync_folder(path.parent)


@contextmanager
def atomic_folder(path: str | Path, replaces: str | Collection[str] | None = None) -> Iterator[Path]:
    """Give a folder to write into, which gets the name ``path`` if the block ends well.

    After the block it stays even if the machine stops. What killed processes have left of it is removed. A folder that
    has a file named ``replaces``, or none but files of these names, is replaced; anything else that is there already is
    refused.
    """
    path = Path(path)
    if path.exists() and (replaces is None or not _is_replaceable(path, replaces)):
        what = "a folder of other files" if path.is_dir() and replaces is not None else "there already"
        raise DataError(f"{path} is {what}: give the name of a new folder.")
    scratch, old = _scratch(path, "new"), _scratch(path, "old")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.mkdir()
        yield scratch
        for file in scratch.iterdir():
            _sync(file)
        if path.exists():
            path.rename(old)
        scratch.rename(path)
    except OSError as error:
        if old.exists() and not path.exists():
            old.rename(path)
        raise DataError(f"cannot write {path}: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
    _sync_folder(path.parent)


def _is_replaceable(folder: Path, replaces: str | Collection[str]) -> bool:
    """Whether it is empty, has the one file, or none but these files."""
    there = {entry.name for entry in folder.iterdir()} if folder.is_dir() else {""}
    return not there or (replaces in there if isinstance(replaces, str) else there <= set(replaces))


def _scratch(path: Path, end: str) -> Path:
    """A name beside ``path`` that nobody else uses; what dead processes of this machine left at others is removed."""
    name = re.compile(rf"{re.escape(path.name)}\.(\d+)-\d+-{MACHINE}\.new(\.np[yz])?")
    with suppress(OSError):  # a folder that may be written to but not read; files that another writer removes
        for entry in path.parent.iterdir():
            found = name.fullmatch(entry.name)
            if found and not _is_alive(int(found[1])):
                if entry.is_dir():
                    shutil.rmtree(entry, ignore_errors=True)
                else:
                    entry.unlink(missing_ok=True)
    return path.absolute().with_name(f"{path.name}.{os.getpid()}-{next(NUMBERS)}-{MACHINE}.{end}")


def _is_alive(process: int) -> bool:
    """Whether there is a process of this number, or nobody can tell."""
    try:
        if sys.platform != "win32":  # where asking would interrupt it
            os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # another user's
        pass
    return True


def _tell_about(path: Path, scratch: Path, error: OSError) -> None:
    """Let an error name the file that was asked for, where it names none or the one being written."""
    if error.filename in (None, scratch, str(scratch)):
        error.strerror = error.strerror or str(error) or "it cannot be written"  # numpy's has only a text
        error.filename = str(path)
        del error.filename2


def _sync(path: Path) -> None:
    """Wait until a file is on disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk, where the system can."""
    with suppress(OSError):
        place = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)


def printable(text: str) -> str:
    r"""Text that can be written anywhere: what is no character is spelled out, as bytes of file names not in UTF-8 are.

    >>> printable("caf\udce9.csv")
    'caf\\udce9.csv'
    """
    return text.encode(errors="backslashreplace").decode()


def visible(text: str) -> str:
    r"""Text that only shows: what terminals obey, and marks that turn the direction of what follows, are spelled out.

    >>> visible("red\x1b[31m\u202etxt.exe\n")
    'red\\x1b[31m\\u202etxt.exe\n'
    """
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), printable(text))


def write_atomic(path: str | Path, content: bytes | str) -> Path:
    """Write a file, whole or not at all, text as :func:`printable` spells it; folders are made.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     read_text(write_atomic(f"{folder}/new/notes.txt", "hello"))
    'hello'
    """
    with atomic_file(path) as scratch:
        scratch.write_bytes(printable(content).encode() if isinstance(content, str) else content)
    return Path(path)


@contextmanager
def opened_text(path: str | Path, newline: str | None = None) -> Iterator[TextIO]:
    """A file of text in UTF-8, read without the mark that some programs put at its beginning."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline=newline) as file:
            yield file
    except UnicodeDecodeError as error:
        reason = "it is not text in UTF-8; save it as such, a spreadsheet as CSV UTF-8"
        raise DataError(f"cannot read {path}: {reason}.") from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}.") from error


def read_text(path: str | Path) -> str:
    """Text of a file in UTF-8, without the mark that some programs put at its beginning."""
    with opened_text(path) as file:
        return file.read()


def read_json(path: str | Path, missing: str | None = None) -> Any:  # noqa: ANN401
    """Values of a JSON file in UTF-8; ``missing`` is the error if there is none, where more is known than its name."""
    if missing is not None and not Path(path).is_file():
        raise DataError(missing)
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path} is not valid JSON: {error}.") from error
    except RecursionError as error:
        raise DataError(f"cannot read {path}: its brackets are nested too deeply.") from error
    except ValueError as error:  # Python's, about digits
        raise DataError(f"cannot read {path}: one of its numbers has thousands of digits.") from error


def plain_number(value: object) -> object:
    """Let JSON write numbers of numpy: the ``default`` of :func:`json.dumps`."""
    import numpy as np

    if not isinstance(value, np.generic):
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return value.item()


def json_values(values: Any) -> Any:  # noqa: ANN401
    """What would be read again after writing: lists instead of tuples, plain numbers instead of numpy's.

    >>> json_values({"sizes": (3, 8)})
    {'sizes': [3, 8]}
    """
    return json.loads(json.dumps(_known(values), default=plain_number))


def from_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as they were before JSON made lists of their tuples.

    >>> from_json({"sizes": [3, 8], "steps": 2})
    {'sizes': (3, 8), 'steps': 2}
    """
    return {name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()}


def json_text(values: Any) -> str:  # noqa: ANN401
    """JSON that every program can read: nan and infinities, which it does not know, are null, text is printable.

    >>> print(json_text({"mean": 0.5, "best": math.nan}))
    {
     "mean": 0.5,
     "best": null
    }
    """
    return json.dumps(_known(values, finite=True), indent=1, allow_nan=False, default=plain_number)


def _known(value: Any, *, finite: bool = False) -> Any:  # noqa: ANN401
    """Values with text as :func:`printable` spells it and, if ``finite``, None for nan and infinities."""
    if isinstance(value, Mapping):
        names = {key: printable(key) if isinstance(key, str) else key for key in value}
        return {names[key]: _known(part, finite=finite) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_known(part, finite=finite) for part in value]
    if isinstance(value, str):
        return printable(value)
    return None if finite and isinstance(value, float) and not math.isfinite(value) else value


def write_tensors(path: str | Path, record: Mapping[str, Any], tensors: Mapping[str, Any], key: str = HEADER) -> Path:
    """Write a safetensors file of tensors, all of torch or all of numpy, whole or not at all; folders are made.

    ``record`` tells in JSON values what the tensors belong to; it is the entry ``key`` of the header.
    """
    try:
        metadata = {key: json.dumps(record, default=plain_number)}
    except (TypeError, ValueError) as error:
        raise DataError(f"the parameters that belong into {path} cannot be written as JSON: {error}.") from error
    return write_atomic(path, _pack(tensors, metadata))


def _pack(tensors: Mapping[str, Any], metadata: dict[str, str]) -> bytes:
    """Content of a safetensors file; torch is not needed for arrays of numpy."""
    torch = sys.modules.get("torch")  # it is there if any of its tensors is
    if torch is not None and any(isinstance(value, torch.Tensor) for value in tensors.values()):
        from safetensors.torch import save

        order = torch.contiguous_format
        # Copies, because weights that layers share would not be written otherwise.
        whole = {name: value.detach().cpu().clone(memory_format=order) for name, value in tensors.items()}
        return save(whole, metadata)
    import numpy as np
    from safetensors.numpy import save as save_arrays

    return save_arrays({name: np.ascontiguousarray(value) for name, value in tensors.items()}, metadata)


def read_tensors(
    path: str | Path, kind: str, expected: str | None, framework: Literal["pt", "numpy"], key: str = HEADER
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read record and tensors that :func:`write_tensors` wrote, or say why they cannot be; nothing is executed.

    ``kind`` is what the file should hold, for messages, and ``expected`` its format, if such files have one.
    """
    with _opened(path, kind, framework) as file:
        record = json.loads((file.metadata() or {}).get(key, "null"))
        found = record.get("format") if isinstance(record, dict) else None
        if not isinstance(record, dict) or found != expected:
            has = f": its format is {found!r}" if found else ""
            raise DataError(f"{path} does not hold a {kind} that this version of rwkplus reads{has}.")
        return record, {part: file.get_tensor(part) for part in file.keys()}  # noqa: SIM118


def read_record(path: str | Path) -> dict[str, Any]:
    """Read only the record that :func:`write_tensors` wrote; empty where there is none."""
    with _opened(path, "file", "numpy") as file:
        record = json.loads((file.metadata() or {}).get(HEADER, "null"))
        return record if isinstance(record, dict) else {}


@contextmanager
def _opened(path: str | Path, kind: str, framework: Literal["pt", "numpy"]) -> Iterator[Any]:
    """A safetensors file, with all that can be wrong with it in the words of this library."""
    try:
        with Path(path).open("rb") as raw:
            first = raw.read(9)
            # The length of a safetensors header may begin like a pickle, but the header itself follows it at once.
            if first[:4] == b"PK\x03\x04" or (first[:1] == b"\x80" and first[8:] != b"{"):
                raise DataError(
                    f"{path} is a pickle, which can run any code when opened. rwkplus reads only its own safetensors "
                    "files."
                )
            # safetensors takes names in UTF-8 alone; the system has one for every open file.
            name = path if printable(str(path)) == str(path) else f"/dev/fd/{raw.fileno()}"
            with safe_open(name, framework) as file:
                yield file
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"cannot read the {kind} {path}: {error.strerror or error}.") from error
    except (SafetensorError, ValueError, RecursionError) as error:
        raise DataError(f"{path} is not a {kind} saved by rwkplus, or is incomplete ({error}).") from error


def damaged(path: str | Path, why: object) -> DataError:
    """The error about a file whose parts do not agree."""
    return DataError(f"{path} is damaged or was changed by hand: {why}.")
