"""Two hundred crashes in a row: one victim a round, at a random moment, while events flow.

Victims are the job (its Python driver, and its JVM), the Python workers in which tasks run, the broker, and
the disk, which fills up. Afterwards every final answer, count and dead letter is compared with what DuckDB
finds in the very messages of the topic. The seed is printed; `MILLRACE_CRASH_SEED` repeats a run.
"""

import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.crashes.installation import Installation
from benchmarks.crashes.rounds import Trial
from benchmarks.figures import Figure

SHARES = {"worker": 12, "job": 2, "JVM": 2, "broker": 3, "disk": 1}  # of twenty rounds


def victims(rounds: int, disk_can_be_filled: bool) -> list[str]:
    """A mix for so many rounds, a multiple of twenty."""
    chosen = [victim for victim, share in SHARES.items() for _ in range(share * rounds // 20)]
    return [victim for victim in chosen if victim != "disk" or disk_can_be_filled]


def main(quick: bool, progress: Callable[[str], None]) -> list[Figure]:
    seed = int(os.environ.get("MILLRACE_CRASH_SEED", secrets.randbelow(1_000_000)))
    progress(f"seed {seed}")
    with (
        tempfile.TemporaryDirectory(prefix="millrace-crashes-") as directory,
        Installation(Path(directory), seed) as installation,
    ):
        chosen = victims(20 if quick else 200, installation.disk_can_be_filled)
        if not installation.disk_can_be_filled:
            progress("no right to mount a small disk here: the full disk is left out")
        trial = Trial(installation, seed, progress)
        verdict = trial.run(chosen)
    for problem in verdict.problems:
        progress(problem)
    return [
        Figure("rounds", len(chosen), "crashes"),
        Figure("messages", verdict.messages, "messages"),
        Figure("final answers compared with DuckDB", verdict.answers, "answers"),
        Figure("final blocks told again, alike", verdict.repeated_blocks, "blocks"),
        Figure("differences", len(verdict.problems), "differences", target=0, lower_is_better=True),
        *[
            Figure(f"from the crash of a {victim} to the second batch after it, median", median(times), "s")
            for victim, times in sorted(trial.recoveries.items())
        ],
    ]
