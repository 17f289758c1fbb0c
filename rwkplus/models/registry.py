"""Networks by name, for commands, estimators and files."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from rwkplus.errors import DataError, ParameterError, RWKPlusError


@dataclass(frozen=True)
class Entry:
    """A network that can be named."""

    name: str
    about: str
    module: str
    cls: str
    space: Mapping[str, Any] = field(default_factory=dict)
    """What a search tries: lists of choices, or ranges ``{"low": ..., "high": ..., "log": true}``."""

    own: type[nn.Module] | None = None
    """The class itself where it was registered: it may be local to a function, where no import finds it."""

    def load(self) -> type[nn.Module]:
        """Return the class, imported if it is one of this library."""
        if self.own is not None:
            return self.own
        found: type[nn.Module] = getattr(import_module(self.module), self.cls)
        return found


CHANNELS = ("in_channels", "out_channels")
LARGEST = 10**6
"""Number that a parameter in a file may be."""
OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
KERNEL_SPACE = {"steps": [2, 3], "num_hidden": [8, 16, 32], "hidden_nodes": [4, 6, 8]}
MODELS = {
    entry.name: entry
    for entry in [
        Entry(
            "kergnn",
            "kernels between hidden graphs and the egonet of every node",
            "rwkplus.models.kernel_networks",
            "KerGNN",
            KERNEL_SPACE | {"kernel": ["rwk+", "rwk-"], "layers": [1, 2]},
        ),
        Entry(
            "rwnn",
            "kernels between hidden graphs and whole graphs",
            "rwkplus.models.kernel_networks",
            "RWNN",
            KERNEL_SPACE,
        ),
        Entry(
            "gin",
            "graph isomorphism network, for comparison",
            "rwkplus.models.gnn",
            "GIN",
            {"hidden_channels": [16, 32, 64], "layers": [2, 3, 4], "dropout": [0.0, 0.3, 0.5]},
        ),
        Entry(
            "igad",
            "anomalous graphs by their features and their topology",
            "rwkplus.models.igad",
            "IGAD",
            {"num_hidden": [8, 16], "hidden_nodes": [5, 10], "steps": [2, 3], "kernel": ["rwk+", "rwk-"]},
        ),
        Entry(
            "gnn",
            "one backbone for RWKPlusConv, GCNConv, GINConv and GINEConv",
            "rwkplus.models.gnn",
            "GNN",
            {"hidden_channels": [32, 64, 128], "layers": [2, 3, 4], "dropout": [0.0, 0.3, 0.5]},
        ),
    ]
}


def register(name: str, cls: type[nn.Module], about: str = "", space: Mapping[str, Any] | None = None) -> None:
    """Give a network of your own a name, so that it can be saved, and loaded by programs that register it, too.

    A network takes ``in_channels``, ``out_channels`` and keyword arguments of JSON values, and maps a PyG ``Batch`` to
    outputs ``(B, out_channels)``. Two attributes are optional:

    - ``pre_transform``: a PyG transform to apply once to every graph, such as one that finds egonets;
    - ``reads``: fields it uses beside ``edge_index``, of ``x``, ``edge_attr`` and ``edge_weight``; the others are
      refused rather than ignored in silence.

    Args:
        name: Its name.
        cls: Its class.
        about: One line about it.
        space: What a search tries: lists of choices, or ranges ``{"low": ..., "high": ..., "log": True}``.
    """
    MODELS[name] = Entry(name, about, cls.__module__, cls.__qualname__, space or {}, cls)


def entry_of(model: str) -> Entry:
    """Look up a name.

    >>> entry_of("gin").about
    'graph isomorphism network, for comparison'
    """
    if model not in MODELS:
        raise ParameterError(f"there is no model {model!r}; known are {', '.join(MODELS)}.")
    return MODELS[model]


def class_of(model: str | type[nn.Module]) -> type[nn.Module]:
    """Return the class of a network.

    >>> class_of("gin").__name__
    'GIN'
    """
    return entry_of(model).load() if isinstance(model, str) else model


def parameters_of(model: str | type[nn.Module]) -> list[str]:
    """Names of a network's parameters, beside its numbers of inputs and outputs; with those it passes to its base.

    >>> "hidden_channels" in parameters_of("gin")
    True
    """
    names: list[str] = []
    for cls in class_of(model).__mro__:
        if (init := vars(cls).get("__init__")) is not None:
            names += [parameter.name for parameter in _parameters(init)[1:] if parameter.kind not in OPEN]
            if not _takes_any(init):
                break
    return [name for name in dict.fromkeys(names) if name not in CHANNELS]


def _parameters(call: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(call).parameters.values())


def _takes_any(call: Callable[..., Any]) -> bool:
    """Whether it takes parameters that it does not name."""
    return any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in _parameters(call))


def build(model: str | type[nn.Module], in_channels: int, out_channels: int, params: Mapping[str, Any]) -> nn.Module:
    """Make a network; parameters that it does not have, or cannot be made with, are refused by name.

    >>> sum(weight.numel() for weight in build("gin", 3, 2, {"layers": 1, "hidden_channels": 4}).parameters()) > 0
    True
    """
    cls, known = class_of(model), parameters_of(model)
    for name in params:
        if name not in known and not _takes_any(cls):
            raise ParameterError(f"{cls.__name__} has no parameter {name!r}; known are {', '.join(known)}.")
    try:
        return cls(in_channels, out_channels, **params)
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, RWKPlusError) or not params:
            raise
        given = ", ".join(f"{name}={value!r}" for name, value in params.items())
        raise ParameterError(f"{cls.__name__} cannot be made with {given}: {error}.") from error


def assembled(
    name: str, in_channels: int, out_channels: int, params: Mapping[str, Any], weights: Mapping[str, Tensor]
) -> nn.Module:
    """Make a network with the weights of a file, ready to predict; ``ValueError`` where they do not fit.

    >>> network = build("gin", 3, 2, {"layers": 1})
    >>> again = assembled("gin", 3, 2, {"layers": 1}, network.state_dict())
    >>> all(bool((value == network.state_dict()[name]).all()) for name, value in again.state_dict().items())
    True
    """
    if name not in MODELS:
        raise DataError(
            f"it holds a {name!r}, which is not known here.", "Register its class with rwkplus.models.register first."
        )
    if _largest(params) > LARGEST:
        raise ValueError(f"parameters of its {name} are too large for any network")
    try:
        with torch.random.fork_rng(devices=[]):  # initial weights are drawn and thrown away
            model = build(name, in_channels, out_channels, params)
        kinds = {value.dtype for value in weights.values() if value.is_floating_point()}
        if len(kinds) == 1:
            model.to(kinds.pop())
        model.load_state_dict(dict(weights))
    except Exception as error:  # whatever a network raises on impossible sizes or parameters
        raise ValueError(f"its weights do not fit a {name} with its parameters") from error
    return model.eval()


def _largest(value: object) -> float:
    """The largest number in parameters: one that was changed by hand could keep us busy for ever."""
    if isinstance(value, Mapping | list | tuple):
        return max((_largest(part) for part in (value.values() if isinstance(value, Mapping) else value)), default=0)
    return value if isinstance(value, int | float) else 0


def name_of(model: str | type[nn.Module]) -> str | None:
    """Return the registered name of a network, or None.

    >>> name_of(class_of("gnn")), name_of(nn.Linear)
    ('gnn', None)
    """
    if isinstance(model, str):
        return model
    for entry in MODELS.values():
        # Classes of a function have one path but need not be one class.
        if entry.own is model or (entry.own, entry.module, entry.cls) == (None, model.__module__, model.__qualname__):
            return entry.name
    return None


def name_to_save(model: str | type[nn.Module]) -> str:
    """Return the registered name of a network, or say how to give it one."""
    name = name_of(model)
    if name is None:
        raise ParameterError(
            f"{model} has no name to be saved under.", "Call rwkplus.models.register(name, class) first."
        )
    return name
