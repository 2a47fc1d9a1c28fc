"""`replay` as people call it: what it prints, what it leaves behind, and what it says of mistakes."""

import errno
import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from dashboard.management.commands import replay as command
from dashboard.platform.comparison import comparison_text
from dashboard.platform.meter import Meter
from dashboard.platform.problems import Problem
from optimizer.queries import Query
from optimizer.windows import Window
from streaming.replay import Progress
from streaming.results import ResultBlock
from streaming.verify import Comparison, Difference

ROOT = Path(__file__).resolve().parents[2]
START = 1_767_225_600_000
SOURCE = {"event_time": "ts", "allowed_lateness": "10s"}
QUERY = {"name": "s", "aggregate": "sum", "field": "v", "windows": [{"range": "1m", "slide": "30s"}]}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    """Events with one that is malformed and one that is late, and a spec."""
    events, spec = tmp_path / "events.jsonl", tmp_path / "spec.json"
    lines = [json.dumps({"ts": START + at * 1_000, "v": at}) for at in range(100)]
    events.write_text("\n".join([*lines, "{cut", lines[0]]))
    spec.write_text(json.dumps({"source": SOURCE, "queries": [QUERY]}))
    return {"events": str(events), "spec": spec, "out": tmp_path / "results.jsonl"}


def run(**options: Any) -> str:
    out = StringIO()
    call_command("replay", stdout=out, **options)
    return out.getvalue()


def test_the_end_is_summed_up(files: dict[str, Any]) -> None:
    told = run(**files)
    assert told.startswith("5 results of 100 events in ")
    assert told.endswith("accepted 100, malformed 1, late 1, from the future 0, from the far past 0\n")
    assert "\nread 102 (" in told
    rows = [json.loads(line) for line in files["out"].read_text().splitlines()]
    assert [(row["value"], row["count"]) for row in rows] == [
        (sum(range(30)), 30),
        (sum(range(60)), 60),
        (sum(range(30, 90)), 60),
        (sum(range(60, 100)), 40),
        (sum(range(90, 100)), 10),
    ]


def test_several_computations_are_told_apart_and_verified(files: dict[str, Any]) -> None:
    values = [{"aggregate": "sum", "field": "v"}, {"aggregate": "max", "field": "v * 2"}]
    windows = [{"range": "1m", "slide": "1m"}]
    family = {"name": "s", "computations": [*values, {"aggregate": "count"}], "windows": windows}
    files["spec"].write_text(json.dumps({"source": SOURCE, "queries": [family]}))
    told = run(**files, verify=True)
    rows = [json.loads(line) for line in files["out"].read_text().splitlines()]
    assert [(row["computes"], row["value"]) for row in rows] == [
        ("sum(v)", sum(range(60))),
        ("sum(v)", sum(range(60, 100))),
        ("max(v * 2)", 118),
        ("max(v * 2)", 198),
        ("count(*)", 60),
        ("count(*)", 40),
    ]
    assert told.splitlines()[-3:] == [
        "s@1m/1m                2      2             0          0                   0",
        "s@1m/1m max(v * 2)     2      2             0          0                   0",
        "s@1m/1m count(*)       2      2             0          0                   0",
    ]


def test_verification_prints_a_table(files: dict[str, Any]) -> None:
    lines = run(**files, verify=True, strategy="best", kernel="flatfit").splitlines()
    assert lines[-2:] == [
        "query     rows  equal  within error  different  largest difference",
        "s@1m/30s     5      5             0          0                   0",
    ]


def test_a_difference_is_shown_and_fails_the_command(
    files: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, out = ResultBlock.rows, StringIO()
    monkeypatch.setattr(ResultBlock, "rows", lambda block: ((g, v + 1, n) for g, v, n in honest(block)))
    with pytest.raises(Problem, match=r"^5 of 5 rows differ from DuckDB's.$"):
        call_command("replay", stdout=out, **files, verify=True)
    assert "s@1m/30s     5      0             0          5                   1\n" in out.getvalue()
    first = "  s@1m/30s: window until 2026-01-01T00:00:30.000Z: ours 436.0 of 30 events, DuckDB 435.0 of 30 "
    assert first in out.getvalue()


def test_a_table_says_what_is_not_verified() -> None:
    query = Query("long name@1m/1m", "n", "sum", "v", Window(60_000, 60_000), ("g",))
    missing = Comparison(query, rows=12_345, equal=12_340, within=4, different=1, largest=0.5)
    missing.examples.append(Difference(0, (None, 1), None, (3.0, 2)))
    left_out = Comparison(Query("q", "q", "sum", "v", Window(1, 1)), "not verified: DuckDB has no sum")
    assert comparison_text([missing, left_out]).splitlines() == [
        "query              rows   equal  within error  different  largest difference",
        "long name@1m/1m  12,345  12,340             4          1                 0.5",
        "q                not verified: DuckDB has no sum",
        "  long name@1m/1m is rounded: sums in another order differ by up to 1e-09 of themselves.",
        "  long name@1m/1m: window until 1970-01-01T00:00:00.000Z, None, 1: ours has no such row, "
        "DuckDB 3.0 of 2 events",
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"events": "nowhere.jsonl"}, "There is no file nowhere.jsonl."),
        ({"spec": Path("nowhere.json")}, "There is no file nowhere.json."),
        ({"out": Path("/nowhere/results.jsonl")}, "There is no directory /nowhere to write results.jso"),
        ({"events": "events.txt"}, "There is no file events.txt."),
        ({"since": "now-15m"}, "--from and --until are for topics: a file is read as a whole."),
        ({"since": "soon"}, "“soon” is not a time: write it as 2026-11-16 09:30, 14:00, yesterday, now-15m "
         "or 15m ago."),
        ({"events": "kafka://nowhere"}, "“kafka://nowhere” is not a topic: write it as kafka://HOST:PORT/TOPIC."),
        ({"events": "kafka://127.0.0.1:1/t"}, "The Kafka cluster at 127.0.0.1:1 does not answer."),
        ({"strategy": "wovn"}, "No strategy “wovn”: use one of no_share, "),
        ({"kernel": "flatfet"}, "No kernel “flatfet”: use one of slickdeque, "),
        ({"kernel": "sparse_table"}, "The kernel “sparse_table” cannot compute sum, which is not idempo"),
        ({"spec": Path("/usr")}, "/usr is a directory: name the file of the spec."),
        ({"out": Path("/usr")}, "/usr is a directory: name a file to write to."),
        ({"most_results": 4}, "There would be more than 4 results: begin later, slide less often or group by "
         "fewer fields. --most-results allows more, where there is memory for them."),
    ],
)  # fmt: skip
def test_a_mistake_is_answered_by_a_sentence(
    files: dict[str, Any], change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Problem) as problem:
        run(**files | change)
    assert str(problem.value).startswith(sentence)
    assert not files["out"].exists()


def test_a_directory_that_cannot_be_written_to_is_told_before_the_work(
    files: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**where: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(command.tempfile, "TemporaryFile", refused)
    with pytest.raises(Problem) as problem:
        run(**files | {"events": "nowhere.jsonl"})
    assert str(problem.value) == f"{files['out'].parent} cannot be written to: Permission denied."


@pytest.mark.parametrize(
    ("windows", "told"),
    [
        ([{"range": "1m"}], "1 window in 1 tree.\n"),
        ([{"range": "1m"}, {"gap": "1s"}], "2 windows in 2 trees.\n"),
    ],
)
def test_what_is_planned_is_said(
    files: dict[str, Any], windows: list[Any], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files["spec"].write_text(json.dumps({"source": SOURCE, "queries": [QUERY | {"windows": windows}]}))
    run(**files, most_results=1_000)
    assert capsys.readouterr().err.startswith(told)


@pytest.mark.parametrize("typed", ["0", "-3", "many"])
def test_a_bound_that_is_none_is_refused(files: dict[str, Any], typed: str) -> None:
    arguments = [f"--{name}={value}" for name, value in files.items()]
    with pytest.raises(CommandError, match=f"“{typed}” is not a number of results: write it as 20,000,000.$"):
        call_command("replay", *arguments, f"--most-results={typed}")


def test_a_field_that_is_not_in_the_data_is_named(files: dict[str, Any]) -> None:
    files["spec"].write_text(json.dumps({"source": SOURCE | {"event_time": "at"}, "queries": [QUERY]}))
    with pytest.raises(Problem, match=r"^No field “at” in .*events.jsonl: it cannot be the event time.$"):
        run(**files)


def test_a_topic_that_does_not_exist_is_named(files: dict[str, Any], broker: str) -> None:
    with pytest.raises(Problem, match=f"^There is no topic “nowhere” on {broker}.$"):
        run(**files | {"events": f"kafka://{broker}/nowhere"})


def test_ctrl_c_ends_it_and_leaves_nothing(files: dict[str, Any], tmp_path: Path) -> None:
    """The signal comes while the file is being read."""
    long = tmp_path / "long.jsonl"
    long.write_bytes(Path(files["events"]).read_bytes() * 20_000)
    arguments = ["--events", str(long), "--spec", str(files["spec"]), "--out", str(files["out"])]
    code = (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # tests in the background ignore it
        "import dashboard.platform.meter as meter\n"
        "meter.LOG_SECONDS = 0\n"
        "show = meter.Meter.show\n"
        "def shown(self, *progress):\n"
        "    show(self, *progress)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "meter.Meter.show = shown\n"
        "from django.core.management import execute_from_command_line\n"
        f"execute_from_command_line(['manage.py', 'replay', *{arguments!r}])\n"
    )
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == command.INTERRUPTED
    assert "Problem: Stopped after " in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.rstrip().endswith(f"events: nothing was written to {files['out']}.")
    assert {path.name for path in tmp_path.iterdir()} == {"long.jsonl", "events.jsonl", "spec.json"}


@pytest.mark.parametrize(
    ("progress", "sentence"),
    [
        (None, "Stopped after 0 events: nothing was written to r."),
        (Progress("reading", 1_234, 1, 2), "Stopped after 1,234 events: nothing was written to r."),
        (Progress("writing results", 1_234), "Stopped while results were written: r is as it was before."),
        (Progress("verifying", 1_234, 0, 2), "Stopped: r is whole, but not verified."),
    ],
)
def test_what_was_written_is_said(progress: Progress | None, sentence: str) -> None:
    assert command._stopped(progress, Path("r")) == sentence


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_on_a_terminal_and_few_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("dashboard.platform.meter.time.monotonic", lambda: clock[0])
    terminal, log = Terminal(), StringIO()
    for meter in (Meter(terminal), Meter(log)):
        clock[0] = 100.0
        for second in range(12):
            clock[0] = 101.0 + second
            meter.show("reading", 1_000 * (second + 1), second + 1, 12)
        meter.show("writing results", 12_000, 0, 0)
        meter.close()
    assert "\n" not in terminal.getvalue()
    assert len(terminal.getvalue().split("\r\x1b[K")) == 15  # nothing before, 13 states, and the end
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert log.getvalue().splitlines() == [
        "reading: 41 %, 5,000 events, 1,000 events/s, 7 s left",
        "reading: 83 %, 10,000 events, 1,000 events/s, 2 s left",
        "writing results: 12,000 events",
    ]


def test_help_names_strategies_and_endings(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises((SystemExit, CommandError)):
        call_command("replay", "--help")
    told = " ".join(capsys.readouterr().out.split())
    for word in (".parquet", "kafka://HOST:PORT/TOPIC", "weave_share", "--kernel", "--verify", "now-15m"):
        assert word in told
