"""Random walk kernels that learn, and patterns that can be read."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rwkplus.datasets import load_graphs
    from rwkplus.detect import PatternDetector, SurpriseDetector, WalkKernelDetector
    from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel, RandomWalkNystroem
    from rwkplus.mining import PatternMiner
    from rwkplus.nn import KernelConv, RWKPlusConv
    from rwkplus.saving import load
    from rwkplus.table import GraphTable
    from rwkplus.training import GraphClassifier, GraphRegressor, NodeClassifier

__version__ = "0.2.0.dev0"
__all__ = [
    "GraphClassifier",
    "GraphRegressor",
    "GraphTable",
    "KernelConv",
    "NodeClassifier",
    "PatternDetector",
    "PatternMiner",
    "RWKPlusConv",
    "RandomWalkFeatures",
    "RandomWalkKernel",
    "RandomWalkNystroem",
    "SurpriseDetector",
    "WalkKernelDetector",
    "load",
    "load_graphs",
]
_HOMES = {
    "datasets": ("load_graphs",),
    "detect": ("PatternDetector", "SurpriseDetector", "WalkKernelDetector"),
    "kernels": ("RandomWalkFeatures", "RandomWalkKernel", "RandomWalkNystroem"),
    "mining": ("PatternMiner",),
    "nn": ("KernelConv", "RWKPlusConv"),
    "saving": ("load",),
    "table": ("GraphTable",),
    "training": ("GraphClassifier", "GraphRegressor", "NodeClassifier"),
}
_ROOMS = (
    "cli", "datasets", "descriptive", "detect", "drawing", "errors", "files", "functional", "hub", "io", "kernels",
    "large", "loops", "mining", "models", "nn", "progress", "reports", "saving", "table", "training", "types",
)  # fmt: skip


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import rooms and names when they are first used, so that ``import rwkplus`` stays light."""
    home = next((room for room, names in _HOMES.items() if name in names), None)
    if home is None and name not in _ROOMS:
        raise AttributeError(f"module 'rwkplus' has no attribute {name!r}")
    found = import_module(f"rwkplus.{name}") if home is None else getattr(import_module(f"rwkplus.{home}"), name)
    globals()[name] = found  # from now on it is an ordinary name
    return found


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "__version__"]
