"""The web process and the pages, measured in sections that make one document, docs/benchmarks/web.md.

A section that is run in full is kept beside the document, which is written from all that are kept; a quick
run goes to the data directory. The soak takes half an hour and runs only when it is asked for.
"""

import importlib
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from django.conf import settings

from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Report, write

SECTIONS = ("many_viewers", "drawing", "long_past", "wall_screen")
ON_REQUEST = ("soak",)


def main(quick: bool, progress: Callable[[str], None], sections: Sequence[str] = SECTIONS) -> list[Figure]:
    chosen = [*SECTIONS, *ON_REQUEST] if "all" in sections else list(sections)
    directory = (settings.VAR_DIR if quick else settings.BASE_DIR / "docs") / "benchmarks"
    kept = directory / "web"
    kept.mkdir(parents=True, exist_ok=True)
    figures: list[Figure] = []
    for name in chosen:
        section = _run(name, quick, progress)
        (kept / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(section)) + b"\n")
        figures += section.figures
    document = write(_report(kept), "web", directory, benchmark="web", quick=quick)
    progress(f"written to {document}")
    return figures


def _run(name: str, quick: bool, progress: Callable[[str], None]) -> Section:
    """One section; one that fails must not cost the others, and says so in the document."""
    module = importlib.import_module(f"benchmarks.web.{name}")
    try:
        section: Section = module.run(quick=quick, progress=lambda text: progress(f"{name}: {text}"))
    except Exception as error:
        progress(f"{name}: failed\n{traceback.format_exc()}")
        return Section(
            [f"“{name}” did not come to an end: {(str(error).splitlines() or [type(error).__name__])[0]}"]
        )
    return section


def _report(kept: Path) -> Report:
    paths = (kept / f"{name}.json" for name in (*SECTIONS, *ON_REQUEST))
    done = [msgspec.json.decode(path.read_bytes(), type=Section) for path in paths if path.exists()]
    opening = (
        "What people watch: many open dashboards on one web process, long pasts, and screens that are left "
        "on. Broker, web processes, viewers and browser share the cores."
    )
    return Report(
        "Web",
        "\n".join([opening, "", *(f"- {sentence}" for section in done for sentence in section.sentences)]),
        [table for section in done for table in section.tables],
        [chart for section in done for chart in section.charts],
        [figure for section in done for figure in section.figures],
    )
