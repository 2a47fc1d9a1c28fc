"""Back-tests over the API: start one, see how far it is, read its results in parts, cancel it."""

from datetime import UTC, datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from dashboard.accounts.people import signed_in
from dashboard.api.forms import checked_query, written_by
from dashboard.api.pages import Page, PageAsked
from dashboard.api.refusals import REFUSALS, Refused
from dashboard.api.shapes import QueryDefined, Text
from dashboard.instants import InvalidInstant
from dashboard.queries.backtests import (
    DONE,
    FAILED,
    GONE,
    NO_RESULTS,
    RUNNING,
    BackTest,
    TooMany,
    beginning,
    check_may_see,
)

router = Router(tags=["Back-tests"])
MOST_ROWS = 1_000
FARTHEST_BYTE = 1 << 50


class BackTestSent(QueryDefined):
    """A draft, and from when on it is run; it needs no name."""

    source: Text = Field("", description="The key of a source.")
    since: str = Field(
        "",
        description="now-15m, yesterday or 2026-11-16 09:30, in UTC unless it names a zone; "
        "empty: all that Kafka holds.",
    )


class Progress(Schema):
    done: int = Field(description="Messages read.")
    total: int
    seconds: float


class Summary(Schema):
    """What was read, and how many results there are."""

    messages: int
    malformed: int
    late: int
    misdated: int
    aborted: int = Field(0, description="Messages of aborted transactions; not among those read.")
    results: int
    seconds: float


class BackTestShown(Schema):
    key: str
    state: str = Field(description="running, done, failed or cancelled; asked: it was never started.")
    source: str
    name: str
    computations: list[dict[str, str | float | None]]
    windows: list[dict[str, str | int]]
    group_by: list[str]
    where: str
    since: datetime | None = Field(description="None: the oldest message that Kafka held.")
    began_at: datetime | None
    progress: Progress | None = Field(description="While it runs, once the topic was looked at.")
    summary: Summary | None = Field(description="Once it is done.")
    problem: str | None = Field(description="Why it failed.")

    @classmethod
    def of(cls, test: BackTest) -> "BackTestShown":
        spec, state, run = test.spec(), test.state, test.read("run") or {}
        progress = test.read("progress") if state == RUNNING else None
        return cls(
            key=test.key,
            state=state,
            source=test.asked["source"],
            name=spec.name,
            computations=[one.to_json() for one in spec.computations],
            windows=[dict[str, str | int](window.to_json()) for window in spec.windows],
            group_by=list(spec.group_by),
            where=spec.where or "",
            since=_moment(run.get("since"), per_second=1000),
            began_at=_moment(run.get("began")),
            progress=Progress(**progress) if progress else None,
            summary=Summary(**(test.read("summary") or {})) if state == DONE else None,
            problem=test.problem if state == FAILED else None,
        )


class PartOfResults(Schema):
    limit: int = Field(100, ge=1, le=MOST_ROWS)
    after: int = Field(0, ge=0, le=FARTHEST_BYTE, description="“next” of the part before; 0: the first.")


class Results(Schema):
    """Final results, one for each window and group: by computation and window, then time, then group."""

    items: list[dict[str, Any]] = Field(description="As `./millrace replay` writes them.")
    count: int = Field(description="How many there are in all.")
    next: int | None = Field(description="To be sent as ?after= for the next part; none: this is the last.")


ResultsAsked = Annotated[PartOfResults, Query()]


@router.get("", response={200: Page[BackTestShown], **REFUSALS}, summary="List your back-tests")
def list_backtests(request: HttpRequest, asked: PageAsked) -> Any:
    """Your own, newest first; they are kept for a day, and no more than twenty of a person."""
    own = BackTest.of(signed_in(request))
    part = own[asked.offset : asked.offset + asked.limit]
    return {"items": [BackTestShown.of(test) for test in part], "count": len(own)}


@router.post("", response={201: BackTestShown, **REFUSALS}, summary="Start a back-test")
def start_backtest(request: HttpRequest, sent: BackTestSent) -> Any:
    """Runs a draft over what Kafka holds, in the background; nothing is saved. A person has two at a time."""
    source, spec = checked_query(written_by(signed_in(request), sent, sent.source), besides=("name",))
    try:
        since = beginning(sent.since)
    except InvalidInstant as problem:
        raise Refused({"since": str(problem)}) from problem
    test = BackTest.ask(source, spec, signed_in(request))
    try:
        test.start(source, since)
    except TooMany as problem:
        test.forget()
        raise Refused({"backtests": str(problem)}) from problem
    return 201, BackTestShown.of(test)


@router.get("/{slug:key}", response={200: BackTestShown, **REFUSALS}, summary="See how far a back-test is")
def show_backtest(request: HttpRequest, key: str) -> Any:
    return BackTestShown.of(_own(request, key))


@router.get("/{slug:key}/results", response={200: Results, **REFUSALS}, summary="Read its results")
def backtest_results(request: HttpRequest, key: str, asked: ResultsAsked) -> Any:
    """In parts: begin without `after`, and send `next` of each answer until there is none."""
    test = _own(request, key)
    summary = test.read("summary")
    if test.state != DONE or summary is None:
        raise HttpError(404, NO_RESULTS)
    try:
        rows, following = test.rows(asked.after, asked.limit)
    except ValueError as problem:
        raise Refused({"after": str(problem)}) from problem
    return Results(items=rows, count=summary["results"], next=following)


@router.post("/{slug:key}/cancel", response={200: BackTestShown, **REFUSALS}, summary="Cancel a back-test")
def cancel_backtest(request: HttpRequest, key: str) -> Any:
    """Nothing of it is kept. It ends a moment later; one that has ended stays as it is."""
    test = _own(request, key)
    test.cancel()
    return BackTestShown.of(test)


def _own(request: HttpRequest, key: str) -> BackTest:
    test = BackTest.find(key)
    if test is None:
        raise HttpError(404, GONE)
    check_may_see(test, signed_in(request))
    return test


def _moment(told: float | None, per_second: int = 1) -> datetime | None:
    return None if told is None else datetime.fromtimestamp(told / per_second, UTC)
