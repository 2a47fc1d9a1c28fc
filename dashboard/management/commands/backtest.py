"""`backtest`: compute one back-test of the query builder; the web server starts it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandParser

from dashboard.live.warnings import values_left_out
from dashboard.platform.folder_tasks import Cancelled
from dashboard.queries.backtests import MOST_RESULTS, BackTest
from dashboard.queries.computed import described
from streaming.sources import SourceSpec

if TYPE_CHECKING:
    from streaming.replay import Progress, Tell
    from streaming.replay.engine import Engine

TELL_SECONDS = 0.3


class Command(BaseCommand):
    help = "Compute a back-test that the query builder asked for."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        from streaming.reach import SourceProblem
        from streaming.replay import TooManyResults
        from streaming.replay.inputs import UnreadableEvents
        from streaming.spec import InvalidSpec

        test = BackTest(options["folder"])
        try:
            _run(test)
        except Cancelled:
            return
        except (SourceProblem, TooManyResults, UnreadableEvents, InvalidSpec) as problem:
            test.write("problem", {"sentence": str(problem)})
        except Exception:
            test.write("problem", {"sentence": "It failed on our side; the log of the web server says why."})
            raise


def _run(test: BackTest) -> None:
    from streaming.replay import Replay
    from streaming.replay.results import write_results
    from streaming.replay.topics import SourceSpan

    asked = test.read("run") or {}
    source = SourceSpec.from_json(asked["source"])
    began = time.monotonic()
    span = SourceSpan(source).between(asked["since"])
    replay = Replay.of_source(span, source, (test.spec(),))
    engine = replay.computed(_teller(test, began), MOST_RESULTS)
    seconds = time.monotonic() - began
    results = write_results(test.results, replay.spec, engine.blocks)
    test.write("chart", _chart(engine, test))
    test.write("summary", _summary(engine, results, seconds))


def _teller(test: BackTest, began: float) -> "Tell":
    told = 0.0

    def tell(progress: "Progress") -> None:
        nonlocal told
        if test.is_cancelled:
            raise Cancelled
        now = time.monotonic()
        if now - told >= TELL_SECONDS:
            told = now
            figures = {"done": progress.done, "total": progress.total, "seconds": now - began}
            test.write("progress", figures)

    return tell


def _chart(engine: "Engine", test: BackTest) -> dict[str, Any]:
    watermark = engine.watermark
    return {
        **described(test.spec(), [*engine.blocks, *engine.provisional]),
        "until": watermark.greatest,
        "watermark": watermark.value,
        "notes": [values_left_out(count, why) for count, why in engine.left_out.values()],
    }


def _summary(engine: "Engine", results: int, seconds: float) -> dict[str, Any]:
    counts = engine.counts
    return {
        "messages": counts.read,
        "malformed": counts.malformed,
        "late": counts.late,
        "misdated": counts.future + counts.past,
        "aborted": counts.aborted,
        "results": results,
        "seconds": seconds,
    }
