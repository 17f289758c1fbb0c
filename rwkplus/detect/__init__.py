"""Graph outlier detection: graphs that do not look like the rest, and why; may import kernels, mining and the table."""

from typing import Any

from rwkplus.detect.graph_detector import Explanation, GraphDetector, Judgments
from rwkplus.detect.pattern_detector import PatternDetector
from rwkplus.detect.surprise import SurpriseDetector
from rwkplus.detect.walk_kernel import WalkKernelDetector

__all__ = [
    "Explanation",
    "GraphDetector",
    "Judgments",
    "PatternDetector",
    "PyODDetector",
    "SurpriseDetector",
    "WalkKernelDetector",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import the adapter to PyOD, an extra, when it is asked for."""
    if name != "PyODDetector":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rwkplus.detect.pyod_detector import PyODDetector

    return PyODDetector
