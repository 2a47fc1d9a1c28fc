"""Warm start: how long a new process takes to its first answers when compiled code is on disk."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from statistics import median
from time import perf_counter

from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from streaming.kernels import KERNELS

FIRST_ANSWERS = """
from time import perf_counter
began = perf_counter()
from streaming.warm_up import warm_up
loaded = perf_counter()
{work}
print(loaded - began, perf_counter() - loaded)
"""
# A worker is forked from a process that has loaded all modules; what it still does is in the second number.
ONE_KERNEL = "warm_up((('max', 'slickdeque_noninv'), ('mean', 'slickdeque_inv')))"
ALL_KERNELS = "warm_up()"


def run(quick: bool, progress: Callable[[str], None]) -> Section:
    with tempfile.TemporaryDirectory() as cache:
        progress("compiling everything")
        began = perf_counter()
        _answers(ALL_KERNELS, cache)
        compiling = perf_counter() - began
        runs = 2 if quick else 5
        progress("starting anew")
        one = [_answers(ONE_KERNEL, cache) for _ in range(runs)]
        every = [_answers(ALL_KERNELS, cache) for _ in range(runs)]
    first = median(seconds for _, seconds in one)
    return Section(
        [
            f"Compiling every kernel and family of the job takes {compiling:.0f} s once, at set-up; a new "
            f"worker then has its first answers after {first:.2f} s, and through all {len(KERNELS)} kernels "
            f"after {median(seconds for _, seconds in every):.1f} s. Importing everything takes "
            f"{median(load for load, _ in one):.1f} s, which workers forked from Spark's daemon do not spend."
        ],
        figures=[Figure("a new worker's first answer", first, "s", target=2.0, lower_is_better=True)],
    )


def _answers(work: str, cache: str) -> tuple[float, float]:
    """Seconds to import, and from there to the answers, in a new process."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", FIRST_ANSWERS.format(work=work)]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    load, seconds = printed.split()
    return float(load), float(seconds)
