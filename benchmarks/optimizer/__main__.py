"""All benchmarks of the optimizer, one after another, each written as a document with tables and charts.

A full run writes docs/benchmarks/; a quick one is not for the record and writes to the data directory.
"""

import importlib
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from benchmarks.figures import Figure
from benchmarks.report import Report, write

DOCUMENTS = (
    "edge_counting",
    "small_sets",
    "many_nodes",
    "kernels_in_plans",
    "factor_windows",
    "phantoms",
    "incremental",
)


def main(quick: bool, progress: Callable[[str], None]) -> list[Figure]:
    figures: list[Figure] = []
    for name in DOCUMENTS:
        report = _run(name, quick, progress)
        document = write(report, name, _directory(quick), benchmark="optimizer", quick=quick)
        progress(f"{name}: written to {document}")
        figures += report.figures
    return figures


def _run(name: str, quick: bool, progress: Callable[[str], None]) -> Report:
    module = importlib.import_module(f"benchmarks.optimizer.{name}")
    report: Report = module.run(quick=quick, progress=lambda text: progress(f"{name}: {text}"))
    return report


def _directory(quick: bool) -> Path:
    root: Path = settings.VAR_DIR / "benchmarks" if quick else settings.BASE_DIR / "docs" / "benchmarks"
    return root
