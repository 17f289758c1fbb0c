"""Graphs on disk."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rwkplus.data.csr_graph import CSRGraph
    from rwkplus.data.web_graph import WebGraph

__all__ = ["CSRGraph", "WebGraph"]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    module = {"CSRGraph": "csr_graph", "WebGraph": "web_graph"}.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_module("rwkplus.tensors")
    return getattr(import_module(f"rwkplus.data.{module}"), name)


def __dir__() -> list[str]:
    return __all__
