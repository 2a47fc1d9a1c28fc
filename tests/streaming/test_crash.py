"""Whatever ends, whenever it ends: results equal those of an undisturbed run."""

import os
import secrets
import warnings
from pathlib import Path

import msgspec
import numpy as np
import pytest

from benchmarks.crashes.__main__ import report, victims
from benchmarks.crashes.installation import Installation
from benchmarks.crashes.rounds import LASTING, Trial
from benchmarks.crashes.verdict import Answers, Log, Verdict, check_group_windows, check_window
from optimizer import Statistics, optimize
from streaming.lanes import LATEST
from streaming.results import ResultBlock
from tests.streaming.engine import SOURCE, Engine
from tests.streaming.oracle import Row


@pytest.mark.spark
def test_twenty_crashes_in_a_row_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    seed = int(os.environ.get("MILLRACE_CRASH_SEED", secrets.randbelow(1_000_000)))
    print(f"MILLRACE_CRASH_SEED={seed}")  # noqa: T201 (shown when the test fails)
    with Installation(tmp_path, seed) as installation:
        if not installation.disk_can_be_filled:
            warnings.warn("No right to mount a small disk here: no round filled the disk.", stacklevel=1)
        trial = Trial(installation, seed, print)
        verdict = trial.run(victims(20, installation.disk_can_be_filled))
    assert verdict.problems == []
    assert verdict.answers > 1_000
    assert installation.job_starts > 4


def test_the_document_tells_crashes_and_differences() -> None:
    recoveries = {"worker": [1.0, 2.0, 6.0], "broker": [3.0]}
    found = report(recoveries, Verdict(messages=50, answers=20), seed=7)
    assert "After 4 crashes in a row, 20 final answers over 50 messages" in found.summary
    assert "none differs" in found.summary
    assert list(found.tables[0].rows) == [["broker", 1, 3.0, 3.0], ["worker", 3, 2.0, 6.0]]
    assert "1 differ" in report(recoveries, Verdict(problems=["wrong"]), seed=7).summary
    assert report(recoveries, Verdict(problems=["wrong"]), seed=7).figures[0].met is False


def test_the_verdict_notices_what_is_missing_wrong_or_too_much() -> None:
    right: Answers = {("q", "10s", "10s", ("d",), start, start + 10): (1.0, 1) for start in range(0, 50, 10)}
    first, second, third, fourth, last = right

    def problems(
        changed: Answers,
        *,
        without: tuple[Row, ...] = (),
        was_removed: bool = False,
        owed_after: int = LATEST,
    ) -> int:
        verdict = Verdict()
        told = {key: value for key, value in (right | changed).items() if key not in without}
        check_window("q", told, right, was_removed, verdict, owed_after)
        return len(verdict.problems)

    assert problems({}) == 0
    assert problems({}, without=(first,)) == 0, "an added query begins when it can"
    assert problems({}, without=(second,)) == 1
    assert problems({}, without=(last,)) == 1
    assert problems({}, without=(last,), was_removed=True) == 0
    assert problems({}, without=tuple(right)) == 1
    assert problems({}, without=(third,), was_removed=True) == 1
    assert problems({}, without=(fourth,), was_removed=True, owed_after=third[5]) == 0, (
        "it waited for its past"
    )
    assert problems({}, without=(third,), was_removed=True, owed_after=third[5]) == 1
    assert problems({}, without=(fourth,), owed_after=third[5]) == 1, "who is still there gets what is owed"
    assert problems({fourth: (1.0, 2)}, was_removed=True, owed_after=third[5]) == 1
    assert problems({second: (1.0, 2)}) == 1
    assert problems({("q", "10s", "10s", ("other",), 10, 20): (1.0, 1)}) == 1


def test_the_verdict_notices_count_and_session_windows_that_are_missing_wrong_or_too_many() -> None:
    events = [{"ts": 90 * at, "device": f"d{at % 3}", "temp": at / 8} for at in range(200)]
    queries = [query for spec in LASTING for query in spec.queries()]
    engine = Engine(optimize(queries, Statistics(), source="s"), source=SOURCE)
    engine.batch({0: events})
    engine.batch(end=True)
    log = Log([event | {"place": at} for at, event in enumerate(events)])

    def problems(blocks: list[ResultBlock]) -> list[str]:
        verdict = Verdict()
        check_group_windows(blocks, log, list(LASTING), verdict)
        return [problem.partition(", such as")[0] for problem in verdict.problems]

    counted = [block for block in engine.blocks if "events" in block.query]
    others = [block for block in engine.blocks if "events" not in block.query]
    wrong = msgspec.structs.replace(counted[0], values=(np.frombuffer(counted[0].values) + 1).tobytes())
    moved = msgspec.structs.replace(counted[0], end=counted[0].end + 7)
    name = counted[0].query
    assert problems(engine.blocks) == []
    assert problems([*others, *counted[1:]]) == [f"{name}: missing: found 1"]
    assert problems([*engine.blocks, moved]) == [f"{name}: too many: found 1"]
    assert problems([*others, *counted[1:], wrong]) == [f"{name}: wrong: found 1"]
