"""One edit on a running plan: how long it takes, and what is lost against optimizing everything."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import median

import numpy as np

from benchmarks.figures import Figure
from benchmarks.optimizer.workloads import Setting, as_queries, windows_of
from benchmarks.report import Cell, Chart, Report, Table
from optimizer import Statistics, optimize
from optimizer.incremental import adapt
from optimizer.plan import Plan
from optimizer.queries import Query

SETTINGS = {
    "factors of 1 h, λ = 1/s": Setting(1000, 3600, 1.0, largest_overlap=10, slides="factors"),
    "factors of 1 h, λ = 1000/s": Setting(1000, 3600, 1000.0, largest_overlap=10, slides="factors"),
    "any up to 100 s, λ = 1/s": Setting(1000, 100, 1.0, largest_overlap=10),
    "primes up to 1000 s, λ = 1000/s": Setting(1000, 1000, 1000.0, largest_overlap=10, slides="primes"),
}
SUMMARY = """One edit on a running plan takes milliseconds and leaves the other trees alone.
Queries are added, removed and given another window in turn, each on the plan that the last edit left.
What optimizing everything would gain is worked out apart, now and then."""


@dataclass
class Course:
    """What edits in a row took, and what optimizing everything would gain after some of them."""

    trees: int
    milliseconds: dict[str, list[float]] = field(
        default_factory=lambda: {"add": [], "remove": [], "change": []}
    )
    gains: dict[int, float] = field(default_factory=dict)
    full_seconds: list[float] = field(default_factory=list)

    @property
    def median_edit(self) -> float:
        return median(took for kind in self.milliseconds.values() for took in kind)


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    queries, edits, looks = (200, 30, 2) if quick else (1000, 120, 5)
    courses = {}
    for name, setting in SETTINGS.items():
        progress(f"{edits} edits on {queries:,} queries: {name}")
        courses[name] = follow(replace(setting, queries=queries), edits, looks)
    return Report(
        "One edit on a running plan",
        SUMMARY,
        [_table(courses, queries)],
        [_chart(courses)],
        _figures(courses, queries),
    )


def follow(setting: Setting, edits: int, looks: int, seed: int = 1) -> Course:
    """The setting's queries planned, then edited so many times."""
    statistics = Statistics(rate=setting.rate)
    queries = as_queries(windows_of(setting, seed))
    spare = as_queries(windows_of(replace(setting, queries=edits), seed + 1))
    draws = np.random.default_rng(seed)
    plan = optimize(queries, statistics)
    course = Course(len(plan.trees))
    look_at = {round(edits * (number + 1) / looks) for number in range(looks)}
    for number, new in enumerate(spare, start=1):
        kind = list(course.milliseconds)[number % 3]
        queries = _edited(queries, kind, replace(new, id=f"new{number}"), draws)
        began = time.perf_counter()
        adapted = adapt(plan, queries, statistics)
        course.milliseconds[kind].append(1000 * (time.perf_counter() - began))
        if number in look_at:
            began = time.perf_counter()
            course.gains[number] = adapted.gain_of_full
            course.full_seconds.append(time.perf_counter() - began)
        plan = _checked(adapted.plan, queries)
    return course


def _edited(queries: list[Query], kind: str, new: Query, draws: np.random.Generator) -> list[Query]:
    if kind == "add":
        return [*queries, new]
    place = int(draws.integers(len(queries)))
    before, after = queries[:place], queries[place + 1 :]
    if kind == "remove":
        return before + after
    return [*before, replace(queries[place], window=new.window), *after]


def _checked(plan: Plan, queries: list[Query]) -> Plan:
    assert sorted(query.id for query in plan.queries) == sorted(query.id for query in queries)
    return plan


def _table(courses: dict[str, Course], queries: int) -> Table:
    headings = [
        "setting",
        "trees",
        "add, ms",
        "remove, ms",
        "change, ms",
        "everything, ms",
        "gain of everything, %",
    ]
    rows: list[list[Cell]] = [
        [
            name,
            course.trees,
            *(median(took) for took in course.milliseconds.values()),
            1000 * median(course.full_seconds),
            100 * list(course.gains.values())[-1],
        ]
        for name, course in courses.items()
    ]
    note = "Medians over the edits. The gain is what optimizing everything would save after the last edit."
    return Table(f"Edits on {queries:,} queries", headings, rows, note)


def _chart(courses: dict[str, Course]) -> Chart:
    edits = list(next(iter(courses.values())).gains)
    gains = {name: [100 * gain for gain in course.gains.values()] for name, course in courses.items()}
    return Chart("What edits in a row lose", "edits", "gain of optimizing everything, %", edits, gains)


def _figures(courses: dict[str, Course], queries: int) -> list[Figure]:
    slowest = max(courses.values(), key=lambda course: course.median_edit)
    everything = 1000 * median(slowest.full_seconds)
    return [
        Figure(f"one edit on {queries:,} queries, slowest setting", slowest.median_edit, "ms", everything),
        Figure(
            "most that optimizing everything gains after the edits",
            100 * max(gain for course in courses.values() for gain in course.gains.values()),
            "%",
        ),
    ]
