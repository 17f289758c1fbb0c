"""Reports: what was mined, flagged or learned, drawn and explained in one self-contained HTML page.

May import everything below the command line; nothing but commands imports this room.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rwkplus.reports.description import describe_graphs
from rwkplus.reports.detection import detection_report, write_detection_report
from rwkplus.reports.mining import mining_report, write_mining_report

if TYPE_CHECKING:
    from rwkplus.reports.network import network_report, write_network_report

__all__ = [
    "describe_graphs",
    "detection_report",
    "mining_report",
    "network_report",
    "write_detection_report",
    "write_mining_report",
    "write_network_report",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Pages about networks need PyTorch: they are imported when they are asked for."""
    if name in ("network_report", "write_network_report"):
        import_module("rwkplus.tensors")
        return getattr(import_module("rwkplus.reports.network"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
