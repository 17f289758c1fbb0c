"""Random walk kernels that learn: exact kernels, kernel networks and patterns that can be read."""

from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"
__all__ = ["data", "errors", "evaluate", "functional", "graphs", "kernels", "mining", "models", "nn", "types", "viz"]


def __getattr__(name: str) -> ModuleType:
    """Import subpackages when they are first used, so that ``import rwkplus`` stays light."""
    if name in __all__:
        return import_module(f"rwkplus.{name}")
    raise AttributeError(f"module 'rwkplus' has no attribute {name!r}")
