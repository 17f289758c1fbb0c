"""Memory that a piece of work takes at its height."""

import resource
import sys
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak() -> None:
    """Begin to measure; elsewhere than on Linux the peak stays that of the whole process."""
    try:
        CLEAR.write_text("5")
    except OSError:
        return


def peak_gigabytes() -> float:
    """Largest resident memory since :func:`reset_peak`, pages of mapped files included."""
    try:
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e9
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9
