"""Two hundred crashes in a row: one victim a round, at a random moment, while events flow.

Some events come in transactions, of which a third is aborted. Victims are the job (its Python driver, and its
JVM), the Python workers in which tasks run, the broker, the web process while somebody changes the plan, and
the disk, which fills up. Afterwards every final answer, count and dead letter is compared with what DuckDB
finds in the very messages of the topic. The seed is printed; `MILLRACE_CRASH_SEED` repeats a run.
"""

import os
import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from django.conf import settings

from benchmarks.crashes.installation import Installation
from benchmarks.crashes.rounds import Trial
from benchmarks.crashes.verdict import Verdict
from benchmarks.figures import Figure
from benchmarks.report import Report, Table, write

SHARES = {"worker": 9, "job": 2, "JVM": 2, "broker": 3, "web": 3, "disk": 1}  # of twenty rounds


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
    directory = (settings.VAR_DIR if quick else settings.BASE_DIR / "docs") / "benchmarks"
    found = report(trial.recoveries, verdict, seed)
    progress(f"written to {write(found, 'crashes', directory, benchmark='crashes', quick=quick)}")
    return list(found.figures)


def report(recoveries: Mapping[str, Sequence[float]], verdict: Verdict, seed: int) -> Report:
    rounds = sum(map(len, recoveries.values()))
    problems = len(verdict.problems)
    differ = "none differs" if not problems else f"{problems:,} differ"
    victims_table = Table(
        "Victims",
        ["victim", "crashes", "median, s", "longest, s"],
        [[victim, len(times), median(times), max(times)] for victim, times in sorted(recoveries.items())],
        "From the crash to the second batch after it; the full disk from the moment it was filled, and it "
        "stays full for up to three seconds after the job has said so. The web process ends while a query is "
        "saved or deleted, or another strategy adopted: its time ends when that is done, too.",
    )
    return Report(
        "Crashes",
        f"After {rounds} crashes in a row, {verdict.answers:,} final answers over {verdict.messages:,} "
        f"messages are compared with DuckDB's: {differ}. In each round one part ends by SIGKILL, or the disk "
        "fills, at a random moment while events flow and plans change: the job (its Python driver), its JVM, "
        "a Python worker, the broker, the web process in the middle of a request. Results, counts and dead "
        f"letters are compared with the messages that are in the topic. Seed {seed}.",
        [victims_table],
        (),
        [
            Figure("differences", problems, "differences", target=0, lower_is_better=True),
            Figure("rounds", rounds, "crashes"),
            Figure("messages", verdict.messages, "messages"),
            Figure("final answers compared with DuckDB", verdict.answers, "answers"),
            Figure("final blocks told again, alike", verdict.repeated_blocks, "blocks"),
        ],
    )
