"""Networks in one safetensors file: weights, and in its header what they belong to, as JSON. Never a pickle."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rwkplus.errors import DataError
from rwkplus.files import damaged, read_tensors, write_tensors
from rwkplus.models.registry import MODELS, build

FORMAT = "rwkplus model, version 1"
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
    record = {
        "format": FORMAT,
        "name": file.name,
        "in_channels": file.in_channels,
        "out_channels": file.out_channels,
        "params": dict(file.params),
        "about": dict(file.about),
    }
    return write_tensors(path, record, file.model.state_dict())


def read_model(path: str | Path) -> ModelFile:
    """Read what :func:`write_model` wrote, or say why it cannot be that; a folder stands for the model in it."""
    path = _model_in(Path(path))
    record, weights = read_tensors(path, "model", FORMAT, "pt")
    try:
        name, sizes = record["name"], (record["in_channels"], record["out_channels"])
        params, about = dict(record["params"]), dict(record["about"])
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path, "its description is incomplete") from error
    if name not in MODELS:
        raise DataError(
            f"{path} holds a {name!r}, which is not known here. Register its class with rwkplus.models.register first."
        )
    return ModelFile(_assemble(path, name, sizes, params, weights), name, *sizes, params, about)


def _assemble(
    path: Path, name: str, sizes: tuple[int, int], params: Mapping[str, Any], weights: dict[str, Tensor]
) -> nn.Module:
    try:
        with torch.random.fork_rng(devices=[]):  # initial weights are drawn and thrown away
            model = build(name, *sizes, params)
        kinds = {value.dtype for value in weights.values() if value.is_floating_point()}
        if len(kinds) == 1:
            model.to(kinds.pop())
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
