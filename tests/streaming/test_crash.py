"""Whatever ends, whenever it ends: results equal those of an undisturbed run."""

import os
import secrets
from pathlib import Path

import pytest

from benchmarks.crashes.__main__ import victims
from benchmarks.crashes.installation import Installation
from benchmarks.crashes.rounds import Trial

pytestmark = pytest.mark.spark


def test_twenty_crashes_in_a_row_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    seed = int(os.environ.get("MILLRACE_CRASH_SEED", secrets.randbelow(1_000_000)))
    print(f"MILLRACE_CRASH_SEED={seed}")  # noqa: T201 (shown when the test fails)
    with Installation(tmp_path, seed) as installation:
        trial = Trial(installation, seed, print)
        verdict = trial.run(victims(20, installation.disk_can_be_filled))
    assert verdict.problems == []
    assert verdict.answers > 1_000
    assert installation.job_starts > 4
