"""Minutes of made-up inputs for whatever takes text and bytes of strangers: how many, and what failed."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from benchmarks.figures import Figure
from benchmarks.report import Cell, Report, Table, write
from tests.fuzz.targets import TARGETS, Target
from tests.fuzz.trying import attempt_for

SECONDS, QUICK_SECONDS = 60.0, 2.0  # for each target


@dataclass(frozen=True)
class Tried:
    name: str
    inputs: int
    fault: str  # empty: none was found


def main(quick: bool, progress: Callable[[str], None]) -> list[Figure]:
    number = secrets.randbelow(1_000_000)
    progress(f"seed {number}")
    seconds = QUICK_SECONDS if quick else SECONDS
    kept = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        tried = [_try(target, seconds, number, progress) for target in TARGETS]
    finally:
        connection.creation.destroy_test_db(kept, verbosity=0)
    directory = (settings.VAR_DIR if quick else settings.BASE_DIR / "docs") / "benchmarks"
    report = _report(tried, number, seconds)
    progress(f"written to {write(report, 'fuzz', directory, benchmark='fuzz', quick=quick)}")
    return list(report.figures)


def _try(target: Target, seconds: float, number: int, progress: Callable[[str], None]) -> Tried:
    """One target to its first fault."""
    inputs, fault = [0], ""
    try:
        attempt_for(target, seconds, number, inputs)
    except Exception as error:
        fault = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        progress("\n".join([f"{target.name}: a fault", fault, *getattr(error, "__notes__", ())]))
    progress(f"{target.name}: {inputs[0]:,} inputs")
    return Tried(target.name, inputs[0], fault)


def _report(tried: list[Tried], number: int, seconds: float) -> Report:
    inputs, faults = sum(one.inputs for one in tried), sum(bool(one.fault) for one in tried)
    fault_figure = Figure("faults found", faults, "", None, 0, lower_is_better=True)
    rows: list[list[Cell]] = [[one.name, one.inputs, one.fault or "none"] for one in tried]
    note = "A target ends with its first fault. Every test run tries each target with at most sixty inputs."
    return Report(
        "Fuzzing",
        f"{inputs:,} made-up inputs for {len(tried)} targets, {seconds:g} s each; {faults} failed. "
        f"Seed {number}.",
        [Table("Targets", ["what", "inputs tried", "fault found"], rows, note)],
        [],
        [Figure("inputs tried", inputs, ""), fault_figure],
    )
