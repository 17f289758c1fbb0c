"""Pages to look at: what was found, drawn and explained in one self-contained file."""

from rwkplus.reports.detection import detection_report, write_detection_report
from rwkplus.reports.mining import mining_report, write_mining_report
from rwkplus.reports.network import network_report, write_network_report

__all__ = [
    "detection_report",
    "mining_report",
    "network_report",
    "write_detection_report",
    "write_mining_report",
    "write_network_report",
]
