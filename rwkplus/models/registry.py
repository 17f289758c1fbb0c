"""Networks by name, for commands, estimators and files; and how all of them read graphs and options."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NamedTuple, TypeVar, Unpack

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset

from rwkplus.errors import DataError, GraphError, ParameterError, Remedy, RWKPlusError, ShapeError
from rwkplus.functional.kernels import count_graphs
from rwkplus.nn.kernel_conv import KernelModule, KernelOptions
from rwkplus.table import Reader
from rwkplus.tensors import check_device, check_dtype


class Entry(NamedTuple):
    """A network that can be named."""

    cls: type[nn.Module]
    space: Mapping[str, Any]
    """What a search tries: lists of choices, or ranges ``{"low": ..., "high": ..., "log": true}``."""


Model = str | type[nn.Module]
Init = TypeVar("Init", bound=Callable[..., None])
MODELS: dict[str, Entry] = {}
CHANNELS = ("in_channels", "out_channels")
LARGEST = 10**6
"""Number that a parameter in a file may be."""
OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def register(name: str, cls: type[nn.Module], space: Mapping[str, Any] | None = None) -> None:
    """Give a network of your own a name, so that it can be saved, and loaded by programs that register it, too.

    A network takes ``in_channels``, ``out_channels`` and keyword arguments of JSON values, and maps a PyG ``Batch`` to
    outputs ``(B, out_channels)``. Two attributes are optional:

    - ``pre_transform``: a PyG transform to apply once to every graph, such as one that finds egonets;
    - ``reads``: fields it uses beside ``edge_index``, of ``x``, ``edge_attr`` and ``edge_weight``; the others are
      refused rather than ignored in silence.

    Args:
        name: Its name.
        cls: Its class.
        space: What a search tries: lists of choices, or ranges ``{"low": ..., "high": ..., "log": True}``.
    """
    MODELS[name] = Entry(cls, space or {})


def class_of(model: Model) -> type[nn.Module]:
    """Return the class of a network."""
    if not isinstance(model, str):
        return model
    if model not in MODELS:
        raise ParameterError(f"there is no model {model!r}; known are {', '.join(MODELS)}.")
    return MODELS[model].cls


def parameters_of(model: Model) -> list[str]:
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


def build(model: Model, in_channels: int, out_channels: int, params: Mapping[str, Any]) -> nn.Module:
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


def sizes_of(reader: Reader) -> dict[str, Any]:
    """What networks may want to know beside the width of ``x``: categories of labels, width of ``edge_attr``.

    >>> from rwkplus.table import GraphTable
    >>> sizes_of(Reader.fit(GraphTable.of(["CCO", "C=N"]), by_column=["nodes", "edges"]))
    {'categories': [3], 'edge_categories': [2]}
    """
    sizes: dict[str, Any] = {}
    if reader.nodes.vocabularies:
        sizes["categories"] = reader.nodes.categories
    if reader.edges.vocabularies:
        sizes["edge_categories"] = reader.edges.categories
    elif reader.edges.exists:
        sizes["edge_channels"] = reader.edges.width
    return sizes


def fitted_params(reader: Reader, model: Model, params: Mapping[str, Any]) -> dict[str, Any]:
    """Add what can be read off the graphs to a network's parameters, as far as it has them and nobody gave them.

    >>> from rwkplus.table import GraphTable
    >>> fitted_params(Reader.fit(GraphTable.of(["CCO", "C=N"])), "gnn", {"layers": 2})
    {'edge_channels': 5, 'layers': 2}
    """
    known = parameters_of(model)
    given = {"edge_channels", "edge_categories"} if {"edge_channels", "edge_categories"} & params.keys() else set()
    sizes = {name: size for name, size in sizes_of(reader).items() if name in known and name not in given}
    return sizes | dict(params)


def check_fields(reader: Reader, model: nn.Module) -> None:
    """Refuse what the network declares not to read, and label numbers that it has no room for."""
    sizes, reads = sizes_of(reader), getattr(model, "reads", None)
    _check_categories(reader, "categories", "x", model)
    if "edge_attr" in (reads or ()):
        _check_categories(reader, "edge_categories", "edge_attr", model)
    width, needed = getattr(model, "edge_channels", None), sizes.get("edge_channels")
    if width is not None and needed not in (None, width):
        raise GraphError(f"edge_attr needs edge_channels={needed} but the network was made for {width}.")
    if reads is None:
        return
    unread = f"which {type(model).__name__} does not read as it is."
    if reader.edges.exists and "edge_attr" not in reads:
        names = [*reader.edges.labels, *(name for name, _ in reader.edges.attributes)]
        of_pyg = all(name.startswith("edge_attr") for name in names)
        columns = "edge_attr" if of_pyg else " and ".join(map(repr, names))
        ignore = ("edge_attr",) if of_pyg else tuple(f"edges.{name}" for name in names)
        remedies = Remedy("Leave it out: {ignore}.", ignore=ignore), *_edge_remedies(reader, model)
        raise GraphError(f"the edges have {columns}, {unread}", *remedies)
    if reader.weighted and "edge_weight" not in reads:
        remedy = Remedy("Leave it out: {ignore}.", ignore=("edge_weight",))
        raise GraphError(f"the edges have edge_weight, {unread}", remedy)


def _edge_remedies(reader: Reader, model: nn.Module) -> list[Remedy]:
    """Parameters with which the network would read what edges have."""
    known = parameters_of(type(model))
    sizes = {name: size for name, size in sizes_of(reader).items() if name.startswith("edge") and name in known}
    if "edge_dim" in known:
        sizes = {"edge_dim": reader.edges.width}
    return [Remedy("Or give the network {model_params}.", model_params=sizes)] if sizes else []


def _check_categories(reader: Reader, name: str, field: str, model: nn.Module) -> None:
    needed, room = sizes_of(reader).get(name), getattr(model, name, None)
    if needed is None:
        if room is not None and (field == "x" or reader.edges.exists):
            raise GraphError(
                f"the network has {name}={list(room)} for label numbers, but {field} holds features.",
                *([Remedy("Read labels as numbers: {features}.", features="discrete")] if field == "x" else []),
            )
        return
    if room is None:
        raise GraphError(
            f"{field} holds label numbers, which {type(model).__name__} does not read as it is.",
            f"Give the model gnn {name}={needed}.",
            *([Remedy("Or read them as one-hot labels: {features}.", features="given")] if field == "x" else []),
        )
    if len(room) != len(needed) or any(r < n for r, n in zip(room, needed, strict=True)):
        raise GraphError(f"{field} needs {name}={needed} but the network was made for {list(room)}.")


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


def name_of(model: Model) -> str | None:
    """Return the registered name of a network, or None.

    >>> name_of(class_of("gnn")), name_of(nn.Linear)
    ('gnn', None)
    """
    if isinstance(model, str):
        return model
    return next((name for name, entry in MODELS.items() if entry.cls is model), None)


def name_to_save(model: Model) -> str:
    """Return the registered name of a network, or say how to give it one."""
    name = name_of(model)
    if name is None:
        raise ParameterError(
            f"{model} has no name to be saved under.", "Call rwkplus.models.register(name, class) first."
        )
    return name


class Network(nn.Module):
    """What the networks of this library have in common."""

    in_channels: int
    reads: tuple[str, ...] = ("x",)
    pre_transform: Any = None

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for part in self.children():
            reset(part)

    def node_features(self, data: Data) -> Tensor:
        """Features of all nodes ``(N, in_channels)``; refuses others than the network was made for."""
        x: Tensor | None = data.get("x")
        if x is None:
            raise GraphError(
                f"the graphs have no node features x, of which the network reads {self.in_channels}.",
                "Give them some, such as rwkplus.io.pyg.one_hot_degree(graphs).",
            )
        weight, name = next(self.parameters()), type(self).__name__
        check_device("x", x, weight.device, name)
        if x.dim() != 2 or x.size(1) != self.in_channels:
            raise ShapeError(f"x is {tuple(x.shape)} but {name} takes (N, {self.in_channels}).")
        check_dtype(x, weight.dtype, name)
        return x


def graphs_of(data: Data) -> tuple[Tensor, int]:
    """Graph of each node, and the number of graphs; a ``Data`` without ``batch`` is a single one.

    >>> graphs_of(Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]])))
    (tensor([0, 0]), 1)
    """
    batch: Tensor | None = data.get("batch")
    if batch is None:
        return torch.zeros(data.num_nodes, dtype=torch.long, device=data.edge_index.device), 1
    return batch, count_graphs(batch, getattr(data, "num_graphs", None))


def takes_kernel_options(**defaults: Unpack[KernelOptions]) -> Callable[[Init], Init]:
    """Let a network pass all of :class:`~rwkplus.nn.KernelOptions` on to its layers, with defaults of its own.

    Its signature names them, so that editors, ``help`` and :mod:`rwkplus.models.registry` see them.

    >>> class Network:
    ...     @takes_kernel_options(steps=2)
    ...     def __init__(self, **options):
    ...         self.options = options
    >>> Network(kernel="rwk-").options
    {'steps': 2, 'kernel': 'rwk-'}
    """
    given: dict[str, Any] = {**defaults}

    def _decorate(init: Init) -> Init:
        @wraps(init)
        def _with_defaults(self: object, *arguments: object, **options: object) -> None:
            init(self, *arguments, **given | options)

        signature = inspect.signature(init)
        own = [part for part in signature.parameters.values() if part.kind is not inspect.Parameter.VAR_KEYWORD]
        known = inspect.signature(KernelModule.__init__).parameters
        options = [
            known[name].replace(default=given.get(name, known[name].default))
            for name in KernelOptions.__annotations__
            if name not in ("generator", "compiled")  # neither can be written down as JSON
        ]
        _with_defaults.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
        return _with_defaults  # type: ignore[return-value]

    return _decorate
