"""`replay`: back-test queries over a file or a topic, with the job's own map task, shard and kernels."""

import errno
import os
import sys
import tempfile
import time
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from dashboard.instants import InvalidInstant, parse_instant
from dashboard.platform.meter import Meter
from dashboard.platform.problems import Problem, as_problems
from optimizer.explain import plural
from optimizer.strategies import DEFAULT_STRATEGY, STRATEGIES

if TYPE_CHECKING:
    from streaming.replay import Progress, Replay, Summary
    from streaming.replay.inputs import Input
    from streaming.spec import Spec

INTERRUPTED = 130  # what shells say of a command that was ended by Ctrl-C


class Command(BaseCommand):
    help = "Run queries over a file or a topic, to the end of the data, and write the final results."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--events",
            required=True,
            metavar="FILE|kafka://HOST:PORT/TOPIC",
            help="JSON lines (.jsonl, .ndjson, .json), .csv or .tsv with a header (each also with .gz),"
            " .parquet; or a topic, which is only read",
        )
        parser.add_argument("--spec", type=Path, required=True, help="the source and its queries, as JSON")
        parser.add_argument("--out", type=Path, required=True, help="where the results go, as JSON lines")
        parser.add_argument(
            "--from", dest="since", metavar="TIME", help="of a topic: 2026-01-31T12:00 or now-15m"
        )
        parser.add_argument("--until", metavar="TIME", help="of a topic: up to this time, instead of its end")
        parser.add_argument("--strategy", default=DEFAULT_STRATEGY, help=", ".join(STRATEGIES))
        parser.add_argument("--kernel", help="the one to answer all windows with, such as flatfit")
        parser.add_argument(
            "--verify", action="store_true", help="compute all again with DuckDB, and compare"
        )

        parser.add_argument(
            "--most-results",
            type=_number_of_results,
            metavar="N",
            help="stop where there would be more; by default 10,000,000, as they are held in memory",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # Before anything compiled is imported: set-up has filled this cache.
        os.environ.setdefault("NUMBA_CACHE_DIR", str(settings.VAR_DIR / "numba"))
        out = options["out"]
        with as_problems():
            _check_out(out)
            try:
                replay = _prepared(options)
            except KeyboardInterrupt as error:
                raise Problem(_stopped(None, out), returncode=INTERRUPTED) from error
            self._replay(replay, out, options)

    def _replay(self, replay: "Replay", out: Path, options: dict[str, Any]) -> None:
        from streaming.replay import MOST_RESULTS, TooManyResults
        from streaming.replay.inputs import UnreadableEvents

        meter = Meter(sys.stderr)
        last: list[Progress] = []

        def tell(progress: "Progress") -> None:
            last[:] = [progress]
            meter.show(progress.step, progress.events, progress.done, progress.total)

        print(_planned(replay), file=sys.stderr, flush=True)
        try:
            done = replay.run(out, tell, options["verify"], options["most_results"] or MOST_RESULTS)
        except TooManyResults as error:
            raise Problem(f"{error} --most-results allows more, where there is memory for them.") from error
        except UnreadableEvents as error:
            raise Problem(str(error)) from error
        except KeyboardInterrupt as error:
            raise Problem(_stopped(last[-1] if last else None, out), returncode=INTERRUPTED) from error
        finally:
            meter.close()
        self._tell(done, out)

    def _tell(self, done: "Summary", out: Path) -> None:
        from dashboard.platform.comparison import comparison_text

        counts = done.counts
        for name, (count, reason) in done.left_out.items():
            self.stderr.write(f"“{name}” left {count:,} value{'' if count == 1 else 's'} out: {reason}")
        self.stdout.write(
            f"{_counted(done.results, 'result')} of {_counted(counts.accepted, 'event')}"
            f" in {done.seconds:.1f} s → {out}\n"
            f"read {counts.read:,} ({counts.read / done.seconds:,.0f} events/s), "
            f"accepted {counts.accepted:,}, malformed {counts.malformed:,}, late {counts.late:,}, "
            f"from the future {counts.future:,}, from the far past {counts.past:,}"
            + (f", aborted {counts.aborted:,}" if counts.aborted else "")
        )
        if done.comparisons:
            self.stdout.write("\n" + comparison_text(done.comparisons))
        different = sum(comparison.different for comparison in done.comparisons)
        if different:
            rows = sum(comparison.rows for comparison in done.comparisons)
            raise Problem(f"{different:,} of {rows:,} rows differ from DuckDB's.")


def _number_of_results(typed: str) -> int:
    digits = typed.replace(",", "")
    if not digits.isdecimal() or int(digits) < 1:
        raise ArgumentTypeError(f"“{typed}” is not a number of results: write it as 20,000,000.")
    return int(digits)


def _check_out(out: Path) -> None:
    """Before the work, not after it."""
    directory = out.absolute().parent
    if not directory.is_dir():
        raise Problem(f"There is no directory {directory} to write {out.name} to.")
    if out.is_dir():
        raise Problem(f"{out} is a directory: name a file to write to.")
    try:
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise Problem(f"{directory} cannot be written to: {error.strerror}.") from error


def _planned(replay: "Replay") -> str:
    plan = replay.plan
    return f"{_counted(len(plan.all_queries), 'window')} in {_counted(len(plan.all_trees), 'tree')}."


def _counted(count: int, what: str) -> str:
    return f"{count:,} {plural(what, f'{what}s', count)}"


def _prepared(options: dict[str, Any]) -> "Replay":
    from streaming.reach import SourceProblem
    from streaming.replay import Replay
    from streaming.replay.inputs import UnreadableEvents
    from streaming.spec import InvalidSpec

    try:
        spec = _spec(options["spec"])
        return Replay.planned(_input(options, spec), spec, options["strategy"], options["kernel"])
    except (InvalidSpec, UnreadableEvents, SourceProblem) as error:
        raise Problem(str(error)) from error
    except PermissionError as error:
        raise Problem(f"{error.filename} cannot be read: {error.strerror}.") from error


def _spec(path: Path) -> "Spec":
    from streaming.spec import Spec

    try:
        return Spec.read(path.read_bytes())
    except FileNotFoundError as error:
        raise Problem(f"There is no file {path}.") from error
    except IsADirectoryError as error:
        raise Problem(f"{path} is a directory: name the file of the spec.") from error


def _input(options: dict[str, Any], spec: "Spec") -> "Input":
    from streaming.replay.files import open_file
    from streaming.replay.topics import SCHEME, Address, TopicSpan

    now = int(time.time() * 1000)
    try:
        since, until = (
            None if text is None else parse_instant(text, now)
            for text in (options["since"], options["until"])
        )
    except InvalidInstant as error:
        raise Problem(str(error)) from error
    if options["events"].startswith(SCHEME):
        return TopicSpan(Address.parse(options["events"]), spec.format, since, until, spec.isolation)
    if since is not None or until is not None:
        raise Problem("--from and --until are for topics: a file is read as a whole.")
    return open_file(Path(options["events"]), spec.time_zone)


def _stopped(last: "Progress | None", out: Path) -> str:
    if last is None or last.step == "reading":
        return f"Stopped after {last.events if last else 0:,} events: nothing was written to {out}."
    if last.step == "verifying":
        return f"Stopped: {out} is whole, but not verified."
    return f"Stopped while results were written: {out} is as it was before."
