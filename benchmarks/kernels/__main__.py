"""All benchmarks of the kernels as one document with tables and charts.

A full run writes docs/benchmarks/kernels.md and streaming/kernels/costs.json; a quick one is not for the
record and writes to the data directory.
"""

import importlib
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Report, write

SECTIONS = ("shards", "single_query", "all_ranges", "latency", "memory", "operations", "warm_start", "costs")


def main(quick: bool, progress: Callable[[str], None]) -> list[Figure]:
    sections = [_run(name, quick, progress) for name in SECTIONS]
    report = Report(
        "Kernels",
        _summary(sections),
        [table for section in sections for table in section.tables],
        [chart for section in sections for chart in section.charts],
        [figure for section in sections for figure in section.figures],
    )
    document = write(report, "kernels", _directory(quick), benchmark="kernels", quick=quick)
    progress(f"written to {document}")
    return list(report.figures)


def _run(name: str, quick: bool, progress: Callable[[str], None]) -> Section:
    module = importlib.import_module(f"benchmarks.kernels.{name}")
    section: Section = module.run(quick=quick, progress=lambda text: progress(f"{name}: {text}"))
    return section


def _summary(sections: list[Section]) -> str:
    opening = (
        "Every kernel against memory, against each other and beside the papers' figures. How each of them "
        "works is drawn in [kernels](../kernels.md)."
    )
    return "\n".join(
        [opening, "", *(f"- {sentence}" for section in sections for sentence in section.sentences)]
    )


def _directory(quick: bool) -> Path:
    root: Path = settings.VAR_DIR / "benchmarks" if quick else settings.BASE_DIR / "docs" / "benchmarks"
    return root
