"""The whole path from Kafka to Kafka, measured in sections that make one document.

A section that is run in full is kept beside the document, docs/benchmarks/engine.md, which is written from
all that are kept: each compares side by side within its own run. A quick run is not for the record and goes
to the data directory. The soak takes half an hour and runs only when it is asked for.
"""

import importlib
import re
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from django.conf import settings

from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Report, write

SECTIONS = (
    "throughput",
    "sharing",
    "estimates",
    "groups",
    "window_length",
    "latency",
    "start",
    "formats",
    "replay",
)
ON_REQUEST = ("soak",)


def main(quick: bool, progress: Callable[[str], None], sections: Sequence[str] = SECTIONS) -> list[Figure]:
    chosen = [*SECTIONS, *ON_REQUEST] if "all" in sections else list(sections)
    directory = (settings.VAR_DIR if quick else settings.BASE_DIR / "docs") / "benchmarks"
    kept = directory / "engine"
    kept.mkdir(parents=True, exist_ok=True)
    figures: list[Figure] = []
    for name in chosen:
        section = _run(name, quick, progress)
        (kept / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(section)) + b"\n")
        figures += section.figures
    document = write(_report(kept), "engine", directory, benchmark="engine", quick=quick)
    progress(f"written to {document}")
    return figures


def _run(name: str, quick: bool, progress: Callable[[str], None]) -> Section:
    """One section; one that fails must not cost the others, which take long, and says so in the document."""
    module = importlib.import_module(f"benchmarks.engine.{name}")
    try:
        section: Section = module.run(quick=quick, progress=lambda text: progress(f"{name}: {text}"))
    except Exception as error:
        progress(f"{name}: failed\n{traceback.format_exc()}")
        return Section([f"“{name}” did not come to an end: {_reason(error)}"])
    return section


def _report(kept: Path) -> Report:
    paths = (kept / f"{name}.json" for name in (*SECTIONS, *ON_REQUEST))
    done = [msgspec.json.decode(path.read_bytes(), type=Section) for path in paths if path.exists()]
    return Report(
        "Engine",
        _summary(done),
        [table for section in done for table in section.tables],
        [chart for section in done for chart in section.charts],
        [figure for section in done for figure in section.figures],
    )


def _reason(error: Exception) -> str:
    """What is behind an error in its first line: Spark puts tasks and machines before it."""
    lines = str(error).splitlines() or [type(error).__name__]
    return re.split(r"(?:Error|Exception): ", lines[0])[-1]


def _summary(sections: Sequence[Section]) -> str:
    opening = (
        "Millrace from Kafka to Kafka, beside what Spark does by itself. All read the same topics on the "
        "same broker: JSON of about 100 bytes, 1,000 devices, 4 partitions, unless said; broker, Spark and "
        "whatever feeds them share the cores. Windows are full when the clock starts. Where rounds are shown "
        "they alternate and their median counts, but for estimates, which are held against the greatest; "
        "1,000 queries, Spark's five windows, latencies, the restart and the soak are single runs. Ratios, "
        "not rates, are what another machine would repeat. [Flink and others](peers.md) are compared in a "
        "document of their own."
    )
    return "\n".join(
        [opening, "", *(f"- {sentence}" for section in sections for sentence in section.sentences)]
    )
