"""Whatever ends, whenever it ends: results equal those of an undisturbed run."""

import os
import secrets
from pathlib import Path

import pytest

from benchmarks.crashes.__main__ import victims
from benchmarks.crashes.installation import Installation
from benchmarks.crashes.rounds import Trial
from benchmarks.crashes.verdict import Answers, Verdict, check_window
from tests.streaming.oracle import Row


@pytest.mark.spark
def test_twenty_crashes_in_a_row_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    seed = int(os.environ.get("MILLRACE_CRASH_SEED", secrets.randbelow(1_000_000)))
    print(f"MILLRACE_CRASH_SEED={seed}")  # noqa: T201 (shown when the test fails)
    with Installation(tmp_path, seed) as installation:
        trial = Trial(installation, seed, print)
        verdict = trial.run(victims(20, installation.disk_can_be_filled))
    assert verdict.problems == []
    assert verdict.answers > 1_000
    assert installation.job_starts > 4


def test_the_verdict_notices_what_is_missing_wrong_or_too_much() -> None:
    right: Answers = {("q", "10s", "10s", ("d",), start, start + 10): (1.0, 1) for start in range(0, 50, 10)}
    first, second, *_, last = right

    def problems(changed: Answers, *, without: tuple[Row, ...] = (), was_removed: bool = False) -> int:
        verdict = Verdict()
        told = {key: value for key, value in (right | changed).items() if key not in without}
        check_window("q", told, right, was_removed, verdict)
        return len(verdict.problems)

    assert problems({}) == 0
    assert problems({}, without=(first,)) == 0, "an added query begins when it can"
    assert problems({}, without=(second,)) == 1
    assert problems({}, without=(last,)) == 1
    assert problems({}, without=(last,), was_removed=True) == 0
    assert problems({}, without=tuple(right)) == 1
    assert problems({second: (1.0, 2)}) == 1
    assert problems({("q", "10s", "10s", ("other",), 10, 20): (1.0, 1)}) == 1
