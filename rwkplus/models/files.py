"""Networks in one safetensors file: weights, and in its header what they belong to, as JSON. Never a pickle."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from rwkplus.errors import DataError, RWKPlusError
from rwkplus.models.registry import MODELS, build

FORMAT = "rwkplus model, version 1"
HEADER = "rwkplus"
MODEL_FILE = "model.safetensors"


@dataclass(frozen=True)
class ModelFile:
    """A network and what is known about it."""

    model: nn.Module
    name: str
    in_channels: int
    out_channels: int
    params: Mapping[str, Any]
    about: Mapping[str, Any]
    """JSON values for those who use the network: meaning of inputs and outputs, scores."""


def write_model(path: str | Path, file: ModelFile) -> Path:
    """Write a network, whole or not at all; folders are made."""
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path} is a folder: give the name of a file, such as {path / 'model.safetensors'}.")
    record = {
        "format": FORMAT,
        "name": file.name,
        "in_channels": file.in_channels,
        "out_channels": file.out_channels,
        "params": dict(file.params),
        "about": dict(file.about),
    }
    try:
        text = json.dumps(record)
    except (TypeError, ValueError) as error:
        raise DataError(f"the parameters of {file.name} cannot be written as JSON: {error}.") from error
    weights = {key: value.detach().cpu().contiguous() for key, value in file.model.state_dict().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(path.name + ".new")
    scratch.write_bytes(save(weights, {HEADER: text}))
    scratch.replace(path)
    return path


def read_model(path: str | Path) -> ModelFile:
    """Read what :func:`write_model` wrote, or say why it cannot be that; a folder stands for the model in it."""
    path = _model_in(Path(path))
    text, weights = _read(path)
    try:
        record = json.loads(text)
        if record["format"] != FORMAT:
            raise DataError(f"{path} has the format {record['format']!r}; this version reads {FORMAT!r}.")
        name, sizes = record["name"], (record["in_channels"], record["out_channels"])
        params, about = dict(record["params"]), dict(record["about"])
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, RWKPlusError):
            raise
        raise damaged(path, "its description is incomplete") from error
    if name not in MODELS:
        raise DataError(
            f"{path} holds a {name!r}, which is not known here. Register its class with "
            "rwkplus.models.registry.register first."
        )
    return ModelFile(_assemble(path, name, sizes, params, weights), name, *sizes, params, about)


def _read(path: Path) -> tuple[str, dict[str, Tensor]]:
    try:
        with path.open("rb") as file:
            first = file.read(9)
        # The length of a safetensors header may begin like a pickle, but the header itself follows it at once.
        if first[:4] == b"PK\x03\x04" or (first[:1] == b"\x80" and first[8:] != b"{"):
            raise DataError(
                f"{path} is a pickle, which can run any code when opened. rwkplus reads only its own safetensors files."
            )
        with safe_open(path, "pt") as file:
            header = (file.metadata() or {}).get(HEADER)
            weights = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise DataError(f"cannot read the model {path}: {error.strerror or error}.") from error
    except SafetensorError as error:
        raise DataError(f"{path} is no model saved by rwkplus, or is not complete ({error}).") from error
    if header is None:
        raise DataError(f"{path} is a safetensors file, but not one of rwkplus.")
    return header, weights


def _assemble(
    path: Path, name: str, sizes: tuple[int, int], params: Mapping[str, Any], weights: dict[str, Tensor]
) -> nn.Module:
    try:
        with torch.random.fork_rng(devices=[]):  # initial weights are drawn and thrown away
            model = build(name, *sizes, params)
        model.load_state_dict(weights)
    except Exception as error:  # whatever a network raises on impossible sizes or parameters
        raise damaged(path, f"its weights do not fit a {name} with its parameters") from error
    return model.eval()


def _model_in(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = sorted(path.rglob(MODEL_FILE))
    if path / MODEL_FILE in found:
        return path / MODEL_FILE
    hint = f" Name one of its folds, such as {found[0]}, or train with --folds 0." if found else ""
    raise DataError(f"the folder {path} holds no {MODEL_FILE}.{hint}")


def damaged(path: str | Path, why: str) -> DataError:
    """The error about a file whose parts do not agree."""
    return DataError(f"{path} is damaged or was changed by hand: {why}.")
