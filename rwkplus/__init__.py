"""Random walk kernels that learn: exact kernels, kernel networks and patterns that can be read."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = [
    "data", "detect", "errors", "evaluate", "functional", "graphs", "kernels", "load_model", "loader", "mining",
    "models", "nn", "reports", "tasks", "types", "viz",
]  # fmt: skip


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import subpackages when they are first used, so that ``import rwkplus`` stays light."""
    if name == "load_model":
        return import_module("rwkplus.tasks").load_model
    if name in __all__:
        return import_module(f"rwkplus.{name}")
    raise AttributeError(f"module 'rwkplus' has no attribute {name!r}")
