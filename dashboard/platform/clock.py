"""How long ago this program was started, the launcher's own work included."""

import os
import time
from pathlib import Path

_IMPORTED = time.monotonic()


def seconds_since_start() -> float:
    """The launcher becomes this process by exec, so the system's start time of the process is the user's."""
    stat = Path("/proc/self/stat")
    if not stat.exists():
        return time.monotonic() - _IMPORTED
    ticks = int(stat.read_text().rpartition(")")[2].split()[19])  # field 22, starttime
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
