"""When alerts fire: by example, and against a plain re-computation over the whole past."""

from collections.abc import Sequence
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from dashboard.alerts.rules import (
    DAY_MS,
    Condition,
    Instance,
    Move,
    Result,
    Rule,
    State,
    is_gone,
    let_go,
    step,
    tick,
)

VALUES = st.integers(-4, 4).map(float) | st.none()
GAPS = st.sampled_from([1, 1, 1, 2, 5, 30])
NUMBERS = st.integers(-3, 3).map(float)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    condition = draw(st.sampled_from([one for one in get_args(Condition) if one != "no_data"]))
    low = draw(NUMBERS)
    return Rule(
        condition,
        threshold=abs(low) if condition == "change" else low,
        upper=low + draw(st.integers(0, 3)),
        margin=float(draw(st.integers(0, 2))),
        percent=condition == "change" and draw(st.booleans()),
        within=draw(st.integers(1, 4)),
        hold=draw(st.integers(0, 4)),
        patience=draw(st.integers(3, 8)),
    )


@st.composite
def streams(draw: st.DrawFn) -> list[Result]:
    end, found = 1_000, []
    for value, gap in draw(st.lists(st.tuples(VALUES, GAPS), max_size=25)):
        end += gap
        found.append(Result(end, value, end))
    return found


def run(rule: Rule, results: Sequence[Result]) -> tuple[list[State], list[Move]]:
    known, states, moves = Instance(), [], []
    for result in results:
        known, made = step(rule, known, result)
        states.append(known.state)
        moves += made
    return states, moves


# --- the plain re-computation ------------------------------------------------------------------------------


def meets(rule: Rule, past: Sequence[Result], margin: float) -> bool | None:
    """Whether the last of these results meets the condition, looked up in all results before it."""
    value, end = past[-1].value, past[-1].end
    assert value is not None
    if rule.condition == "above":
        return value > rule.threshold - margin
    if rule.condition == "below":
        return value < rule.threshold + margin
    if rule.condition == "between":
        return rule.threshold - margin <= value <= rule.upper + margin
    if rule.condition == "outside":
        return not (rule.threshold + margin <= value <= rule.upper - margin)
    compared = [one for one in past if one.end <= end - rule.within]
    if not compared or end - rule.within - compared[-1].end > rule.patience:
        return None
    earlier = compared[-1].value
    assert earlier is not None
    change = abs(value - earlier)
    if rule.percent and change:
        change = 100 * change / abs(earlier) if earlier else float("inf")
    return change >= rule.threshold - margin


def began(rule: Rule, known: Sequence[Result], at: int, floor: int) -> int | None:
    """The index from which on the condition holds up to `at`, without a break and without a gap."""
    first = None
    for index in range(at, floor - 1, -1):
        if not meets(rule, known[: index + 1], 0.0):
            break
        if first is not None and known[first].end - known[index].end > rule.patience:
            break
        first = index
    return first


def plainly(rule: Rule, results: Sequence[Result]) -> list[bool]:
    """Whether it fires after each result that has a value, each time from the definition."""
    known = [one for one in results if one.value is not None]
    fires: list[bool] = []
    floor = 0  # what was before the last recovery does not count
    for at in range(len(known)):
        if at and fires[-1]:
            stays = meets(rule, known[: at + 1], rule.margin)
            fires.append(stays is not False)
            floor = at + 1 if stays is False else floor
            continue
        start = began(rule, known, at, floor)
        fires.append(start is not None and known[at].end - known[start].end >= rule.hold)
    return fires


@given(rules(), streams())
def test_it_fires_exactly_when_the_plain_re_computation_says_so(rule: Rule, results: list[Result]) -> None:
    states, _ = run(rule, results)
    told = [state == "firing" for state, one in zip(states, results, strict=True) if one.value is not None]
    assert told == plainly(rule, results)


@given(rules(), streams(), st.data())
def test_results_that_come_again_and_older_ones_change_nothing(
    rule: Rule, results: list[Result], data: st.DataObject
) -> None:
    repeated: list[Result] = []
    for at, result in enumerate(results):
        repeated.append(result)
        repeated += data.draw(st.lists(st.sampled_from(results[: at + 1]), max_size=2))
    # Of a window whose value is missing a later copy with a value would be news; here copies are copies.
    assert run(rule, repeated)[1] == run(rule, results)[1]


@given(rules(), streams(), st.integers(0, 25))
def test_a_restart_in_between_changes_nothing(rule: Rule, results: list[Result], at: int) -> None:
    """What is put away after any result and replayed from there comes to the same moves."""
    known, before = Instance(), []
    for result in results[:at]:
        known, made = step(rule, known, result)
        before += made
    after = []
    for result in results[at:]:
        known, made = step(rule, known, result)
        after += made
    assert before + after == run(rule, results)[1]


@given(rules(), streams())
def test_it_fires_and_recovers_in_turns(rule: Rule, results: list[Result]) -> None:
    _, moves = run(rule, results)
    assert [move.fires for move in moves] == [at % 2 == 0 for at in range(len(moves))]
    assert all(move.since <= move.at for move in moves)


@given(st.integers(1, 20), st.lists(st.integers(0, 9), max_size=20), st.integers(0, 40))
def test_no_data_fires_for_each_silence_that_lasts(hold: int, gaps: list[int], after: int) -> None:
    """However seldom the clock ticks: silences are found by what ends them, too."""
    rule, known, moves = Rule("no_data", hold=hold), Instance(heard=100), []
    heard, silences = 100, []
    for gap in gaps:
        silences.append((heard, heard + gap))
        heard += gap
        known, made = step(rule, known, Result(heard - 5, 1.0, heard))
        moves += made
    known, made = tick(rule, known, heard + after)
    moves += made
    fired = [(move.since, move.at) for move in moves if move.fires]
    lasting = [
        (start, start + hold) for start, end in [*silences, (heard, heard + after)] if end - start >= hold
    ]
    assert fired == lasting
    recovered = [move.at for move in moves if not move.fires]
    assert recovered == [end for start, end in silences if end - start >= hold]


# --- by example ---------------------------------------------------------------------------------------------


def ends(*values: float | None, every: int = 10) -> list[Result]:
    return [Result(every * (at + 1), value, every * (at + 1)) for at, value in enumerate(values)]


def test_pending_comes_before_firing_and_hysteresis_before_ok() -> None:
    rule = Rule("above", threshold=80, margin=5, hold=20)
    states, moves = run(rule, ends(79, 81, 82, 83, 78, 76, 75, 81))
    assert states == ["ok", "pending", "pending", "firing", "firing", "firing", "ok", "pending"]
    assert moves == [Move(True, 40, 20, 83), Move(False, 70, 20, 75)]


def test_a_long_gap_ends_what_was_pending_and_not_what_fires() -> None:
    rule = Rule("above", threshold=0, hold=10, patience=50)
    assert run(rule, [Result(10, 1, 10), Result(100, 1, 100), Result(110, 1, 110)])[0] == [
        "pending",
        "pending",
        "firing",
    ]
    assert run(rule, [Result(10, 1, 10), Result(20, 1, 20), Result(200, 1, 200)])[0][-1] == "firing"


def test_a_provisional_result_is_taken_back_by_its_revision() -> None:
    rule = Rule("above", threshold=10, provisional=True)
    states, moves = run(rule, [Result(10, 11, 1), Result(10, 9, 2), Result(10, 12, 3), Result(5, 1, 4)])
    assert states == ["firing", "ok", "firing", "firing"]
    assert len(moves) == 3


def test_a_group_that_others_go_on_without_is_let_go_and_recovers() -> None:
    rule = Rule("above", threshold=0, patience=50)
    known, _ = step(rule, Instance(), Result(100, 1.0, 100))
    assert not is_gone(rule, known, 150, 10_000)
    assert is_gone(rule, known, 151, 10_000)
    assert let_go(rule, known) == (Move(False, 150, 100, 1.0, "no more results"),)


def test_a_group_that_is_missed_for_a_day_is_let_go() -> None:
    rule = Rule("no_data", hold=10)
    known, _ = tick(rule, Instance(heard=100), 110)
    assert known.state == "firing"
    assert not is_gone(rule, known, 0, 110 + DAY_MS)
    assert is_gone(rule, known, 0, 111 + DAY_MS)
