"""A month of results: written down, thinned, and asked for."""

import gzip
import json
import time
import urllib.request
from statistics import median

from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Table
from benchmarks.web.stage import Progress, Stage, stage

GROUPS = 20
SLIDE = 10
DAY_HOURS = 24
RANGES = {"an hour": 1, "6 hours": 6, "2 days": 48, "a week": 168, "a month": 720}
TARGET_SECONDS = 1.0


def run(quick: bool, progress: Progress) -> Section:
    hours = 3 * DAY_HOURS if quick else 30 * DAY_HOURS
    until = int(time.time() * 1000)
    with stage() as made:
        began = time.monotonic()
        made.seed(boards=1, panels=1, groups=GROUPS, slide=SLIDE, past_hours=hours, until=until)
        results = hours * 3_600 // SLIDE * GROUPS
        writing = time.monotonic() - began
        size = (made.var_dir / "millrace.sqlite3").stat().st_size
        progress(f"{results:,} results written in {writing:.0f} s, {size / results:.2f} bytes each")
        port, _ = made.web()
        rows = [[name, *_asked(made, port, until, span)] for name, span in RANGES.items()]
    slowest = max(float(row[1]) for row in rows)
    progress(f"slowest answer {slowest * 1000:.0f} ms")
    return Section(
        [
            f"Of {results:,} kept results the past of any range is answered within {slowest * 1000:.0f} ms; "
            f"a result takes {size / results:.1f} bytes."
        ],
        [
            Table(
                "The past of a query",
                ["range", "answer, s", "points", "bytes sent"],
                rows,
                f"{GROUPS} groups, a result every {SLIDE} s for {hours // 24} days, SQLite; eight are sent.",
            )
        ],
        [],
        [Figure("slowest answer of a range", slowest, "s", None, TARGET_SECONDS, lower_is_better=True)],
    )


def _asked(made: Stage, port: int, until: int, hours: int) -> tuple[float, int, int]:
    key = made.made["boards"][0]["queries"][0]["key"]
    address = f"http://127.0.0.1:{port}/history/?queries={key}&from={until - hours * 3_600_000}&to={until}"
    headers = {"Cookie": f"sessionid={made.made['session']}", "Accept-Encoding": "gzip"}
    seconds, body = [], b""
    for _ in range(5):
        began = time.monotonic()
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
            body = answer.read()
        seconds.append(time.monotonic() - began)
    told = json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
    return median(seconds), sum(len(one["ends"]) for one in told[key]["series"]), len(body)
