"""What queries can ask for is compiled ahead: after the warm-up no plan has anything new to compile."""

import gc
import subprocess
import sys
from pathlib import Path
from random import Random

from numba.core.dispatcher import Dispatcher

from optimizer.group_windows import CountWindow, GroupQuery, SessionWindow
from optimizer.kernels import KERNELS
from optimizer.queries import AnyQuery, Query
from streaming.aggregates import AGGREGATES
from streaming.warm_up import warm_up_all
from tests.streaming import test_every_aggregate, test_group_windows
from tests.streaming.engine import Engine, plan_of
from tests.streaming.test_every_aggregate import SOURCE, WINDOWS, Log, field_of

ROOT = Path(__file__).resolve().parents[2]
PER_GROUP = (CountWindow(7, 2), SessionWindow(900))
WOVEN = "best_woven"  # trees that feed each other


def test_after_the_warm_up_nothing_is_left_for_the_compiler():
    """In a process of its own: what other tests have asked for is compiled there as well."""
    ask = f"from {__name__} import signatures_beyond_the_warm_up as beyond; print(*beyond(), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("", 0), done.stderr


def signatures_beyond_the_warm_up() -> list[str]:
    """Of compiled functions; one that was taken from disk counts like one that was compiled just now."""
    warm_up_all()
    known = _signatures()
    log = _log()
    for aggregate in AGGREGATES:
        _ask_for(aggregate, log)
    return sorted(_signatures() - known)


def _signatures() -> set[str]:
    compiled = (each for each in gc.get_objects() if isinstance(each, Dispatcher))
    return {f"{each.py_func.__qualname__}{signature}" for each in compiled for signature in each.signatures}


def _log() -> Log:
    """Events out of order, some of them late, with nulls."""
    chance = Random(7)
    made = [
        {
            "ts": 400 * number - chance.randrange(1_500),
            "device": chance.choice(["a", "b", None]),
            "site": chance.randrange(1, 3),
            "v": chance.choice([None, chance.randrange(-40, 400) / 8]),
            "i": chance.randrange(2**50),
            "t": chance.choice(["ä", "", None]),
            "b": chance.choice([True, False, None]),
        }
        for number in range(40)
    ]
    return Log(SOURCE, made)


def _ask_for(aggregate: str, log: Log) -> None:
    field, group_by = field_of(aggregate), ("device", "site")
    timed = [Query(f"q{at}", "q", aggregate, field, window, group_by) for at, window in enumerate(WINDOWS)]
    for kernel in KERNELS:
        if kernel.allows(aggregate):
            _run(Engine(plan_of([[query] for query in timed[:2]], kernel=kernel.name), source=SOURCE), log)
    test_every_aggregate.run(timed, WOVEN, log, [10])
    per_group: list[AnyQuery] = [
        GroupQuery(f"g{at}", "g", aggregate, field, window, group_by) for at, window in enumerate(PER_GROUP)
    ]
    test_group_windows.run(per_group, log, [10], restarts=True)


def _run(engine: Engine, log: Log) -> None:
    for batch in (log.made[:20], log.made[20:]):
        engine.batch({0: batch[::2], 1: batch[1::2]})
        engine.restart()
    engine.batch(end=True)
