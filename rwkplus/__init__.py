"""Random walk kernels that learn: exact kernels, kernel networks and patterns that can be read."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rwkplus.saving import load
    from rwkplus.table import GraphTable

__version__ = "0.1.0"
__all__ = [
    "GraphTable",
    "data",
    "descriptive",
    "detect",
    "drawing",
    "errors",
    "evaluate",
    "functional",
    "graphs",
    "io",
    "kernels",
    "load",
    "loader",
    "mining",
    "models",
    "nn",
    "reports",
    "table",
    "training",
    "types",
]  # fmt: skip
HOMES = {"GraphTable": "table", "load": "saving"}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import rooms and names when they are first used, so that ``import rwkplus`` stays light."""
    if name in HOMES:
        return getattr(import_module(f"rwkplus.{HOMES[name]}"), name)
    if name in __all__:
        return import_module(f"rwkplus.{name}")
    raise AttributeError(f"module 'rwkplus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
