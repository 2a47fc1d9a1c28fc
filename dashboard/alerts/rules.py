"""When an alert fires: functions of the rule, what is known of a group, its next result and the time.

Nothing here reads a clock, a database or Kafka, so that the evaluator, its replay after a restart and the
preview of a form come to the same answer. All times are milliseconds: `end` is where a window ends, `heard`
when its result came.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

State = Literal["ok", "pending", "firing"]
Condition = Literal["above", "below", "between", "outside", "change", "no_data"]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)

DAY_MS = 86_400_000
LEAST_PATIENCE_MS = 10 * 60_000


@dataclass(frozen=True)
class Rule:
    """What has to hold, and for how long."""

    condition: Condition
    threshold: float = 0.0  # of between and outside the lower bound; of change, by how much
    upper: float = 0.0  # of between and outside
    margin: float = 0.0  # how far beyond the threshold a firing group must go back
    percent: bool = False  # a change is told in per cent of the earlier value
    within: int = 0  # a change is against so long ago
    hold: int = 0  # how long it must hold; of no data, how long nothing may come
    provisional: bool = False
    patience: int = LEAST_PATIENCE_MS  # a longer gap between results says nothing about what was in it


@dataclass(frozen=True, slots=True)
class Instance:
    """What is known of one group."""

    state: State = "ok"
    since: int | None = None  # from when on the condition holds
    at: int | None = None  # end of the newest window that counted
    value: float | None = None
    heard: int = 0
    past: tuple[tuple[int, float], ...] = ()  # of a change: what it may be compared with, oldest first


class Result(NamedTuple):
    """One window of one group."""

    end: int
    value: float | None
    heard: int


class Move(NamedTuple):
    """A group began or ceased to fire."""

    fires: bool
    at: int
    since: int
    value: float | None
    reason: str = ""  # why it ceased, where no result says so


Stepped = tuple[Instance, tuple[Move, ...]]
NO_MOVE: tuple[Move, ...] = ()
NO_MORE_RESULTS = "no more results"


def step(rule: Rule, known: Instance, result: Result) -> Stepped:
    """Take a result in. One that was counted already, or is older than what was, changes nothing."""
    if result.value is None:
        return known, NO_MOVE
    if rule.condition == "no_data":
        return _heard_of(rule, known, result)
    if _is_old(rule, known, result.end):
        return known, NO_MOVE
    holds = _holds(rule, known, result)
    after = replace(
        known, at=result.end, value=result.value, heard=result.heard, past=_past(rule, known, result)
    )
    if known.state == "firing":
        return _recovered(after, result.end) if holds is False else (after, NO_MOVE)
    if not holds:
        return replace(after, state="ok", since=None), NO_MOVE
    goes_on = known.state == "pending" and known.since is not None and not _gap(rule, known, result.end)
    since = known.since if goes_on and known.since is not None else result.end
    if result.end - since < rule.hold:
        return replace(after, state="pending", since=since), NO_MOVE
    move = Move(True, result.end, since, result.value)
    return replace(after, state="firing", since=since), (move,)


def tick(rule: Rule, known: Instance, now: int) -> Stepped:
    """Let time pass: only whether data is missing depends on it."""
    if rule.condition != "no_data" or known.state == "firing" or now - known.heard < rule.hold:
        return known, NO_MOVE
    move = Move(True, known.heard + rule.hold, known.heard, known.value)
    return replace(known, state="firing", since=known.heard), (move,)


def is_gone(rule: Rule, known: Instance, newest_end: int, now: int) -> bool:
    """Whether a group can be let go: the others went on without it for long, or it was missed for a day."""
    if rule.condition == "no_data":
        return now - known.heard > rule.hold + DAY_MS
    return known.at is not None and newest_end - known.at > rule.patience


def let_go(rule: Rule, known: Instance) -> tuple[Move, ...]:
    """The last that is said of a group that is gone."""
    if known.state != "firing":
        return NO_MOVE
    last = (
        known.heard + rule.hold + DAY_MS if rule.condition == "no_data" else (known.at or 0) + rule.patience
    )
    return (Move(False, last, known.since or last, known.value, NO_MORE_RESULTS),)


def firings(rule: Rule, results: Iterable[Result], known: Instance, until: int) -> list[Move]:
    """When one group would have fired and recovered."""
    moves: list[Move] = []
    for result in results:
        known, made = step(rule, known, result)
        moves += made
    return [*moves, *tick(rule, known, until)[1]]


def _heard_of(rule: Rule, known: Instance, result: Result) -> Stepped:
    """Data came. That it was missed until then is found here, too: no clock may have ticked meanwhile."""
    known, missed = tick(rule, known, result.heard)
    end = result.end if known.at is None else max(known.at, result.end)
    after = replace(known, at=end, value=result.value, heard=max(known.heard, result.heard))
    if known.state != "firing":
        return after, missed
    recovered, moves = _recovered(after, result.heard)
    return recovered, (*missed, *moves)


def _recovered(known: Instance, at: int) -> Stepped:
    move = Move(False, at, known.since if known.since is not None else at, known.value)
    return replace(known, state="ok", since=None), (move,)


def _is_old(rule: Rule, known: Instance, end: int) -> bool:
    if known.at is None:
        return False
    return end < known.at if rule.provisional else end <= known.at


def _gap(rule: Rule, known: Instance, end: int) -> bool:
    return known.at is not None and end - known.at > rule.patience


def _holds(rule: Rule, known: Instance, result: Result) -> bool | None:
    """Whether the condition holds; None where there is nothing to compare with, which ends no firing."""
    value = result.value if result.value is not None else 0.0
    margin = rule.margin if known.state == "firing" else 0.0
    match rule.condition:
        case "above":
            return value > rule.threshold - margin
        case "below":
            return value < rule.threshold + margin
        case "between":
            return rule.threshold - margin <= value <= rule.upper + margin
        case "outside":
            return value < rule.threshold + margin or value > rule.upper - margin
    earlier = _earlier(rule, known, result.end)
    return None if earlier is None else _change(rule, earlier, value) >= rule.threshold - margin


def _change(rule: Rule, earlier: float, value: float) -> float:
    change = abs(value - earlier)
    if not rule.percent or change == 0:
        return change
    return 100 * change / abs(earlier) if earlier else float("inf")


def _earlier(rule: Rule, known: Instance, end: int) -> float | None:
    """The newest value that is `within` older, unless it is older than that by more than a gap."""
    reached = [one for one in known.past if one[0] <= end - rule.within]
    if not reached or end - rule.within - reached[-1][0] > rule.patience:
        return None
    return reached[-1][1]


def _past(rule: Rule, known: Instance, result: Result) -> tuple[tuple[int, float], ...]:
    if rule.condition != "change" or result.value is None:
        return ()
    kept = [one for one in known.past if one[0] < result.end]
    reached = sum(one[0] <= result.end - rule.within for one in kept)
    return (*kept[max(0, reached - 1) :], (result.end, result.value))
