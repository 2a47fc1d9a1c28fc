"""Runs a command that ends when its parent does, even if the parent is killed with SIGKILL.

`python tether.py COMMAND…` asks Linux for a signal at the parent's death (PR_SET_PDEATHSIG, which
outlives exec) and becomes COMMAND. It is a program of its own because asking between fork and exec
inside a process with threads can deadlock. The signal comes when the *thread* that started the child
ends: start children from a thread that lives as long as they should. Elsewhere than on Linux the command
simply runs.
"""

import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1


def tethered(command: Sequence[str]) -> list[str]:
    """The command line that runs `command` on a tether to the calling process."""
    if sys.platform != "linux":
        return list(command)
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def _main(parent: int, command: list[str]) -> None:
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before the tether held
        sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606 (no shell is wanted)


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2:])
