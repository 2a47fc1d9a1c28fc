"""A query while it is typed: every problem beside its field, and an answer to the rest."""

from dataclasses import replace

import pytest

from dashboard.models import SavedQuery, Source
from dashboard.queries.aggregate_words import EXPLAINED
from dashboard.queries.drafts import Draft, TypedComputation, check_draft
from optimizer.aggregates import AGGREGATES


@pytest.fixture
def good(sensors: Source) -> Draft:
    return Draft(
        source=sensors,
        name="Hot",
        computations=(TypedComputation("max", "temp"),),
        windows_text="1m, 5m every 10s",
        group_by=("device",),
        where="ok AND temp > 20",
    )


def test_a_good_draft_has_no_problem_and_is_what_was_typed(good: Draft) -> None:
    checked = check_draft(good)
    assert checked.is_good
    assert checked.answerable == good.spec()
    assert len(checked.windows) == 2


def computing(aggregate: str, field: str | None = None) -> dict:
    return {"computations": (TypedComputation(aggregate, field),)}


@pytest.mark.parametrize(
    ("change", "field", "sentence"),
    [
        ({"name": ""}, "name", "Give the query a name."),
        ({"name": "x" * 121}, "name", "The name is longer than 120 characters: shorten it."),
        ({"source": None}, "source", "Choose the source to read."),
        (computing("max"), "computation-0", "Choose the field to compute the max of."),
        (computing("max", "tmep"), "computation-0", "No field “tmep” in sensors."),
        (computing("max", "device"), "computation-0", "“device” is text; the max needs numbers."),
        (computing("text_max", "temp"), "computation-0", "“temp” is number; the text_max needs texts."),
        (computing("any", "temp"), "computation-0", "“temp” is number; the any needs true or false."),
        (
            computing("max", "temp * tmep"),
            "computation-0",
            "No field “tmep” in sensors (character 8).",
        ),
        (
            computing("max", "temp +"),
            "computation-0",
            "The computed field is not complete or has a syntax error at character 6.",
        ),
        (
            {"computations": (TypedComputation("max", "temp"), TypedComputation("max", "temp"))},
            "computations",
            "“max of temp” is there twice.",
        ),
        (
            {"computations": ()},
            "computations",
            "Say what to compute, such as the count or the mean of a field.",
        ),
        ({"windows_text": ""}, "windows", "Give at least one window, such as 1m every 10s."),
        ({"windows_text": "1m, 60s"}, "windows", "60s every 60s is there twice."),
        (
            {"windows_text": "1m, 3650d every 1ms"},
            "windows",
            "3650d every 1ms: each event would be in 315,360,000,000 windows, more than 1,000,000:"
            " slide less often.",
        ),
        ({"group_by": ("regoin",)}, "group_by", "No field “regoin” in sensors."),
        ({"where": "ok AND tmep > 2"}, "where", "No field “tmep” in sensors (character 8)."),
    ],
)
def test_bad_input_is_refused_beside_its_field(good: Draft, change: dict, field: str, sentence: str) -> None:
    checked = check_draft(replace(good, **change))
    assert list(checked.problems) == [field]
    assert checked.problems[field].sentence == sentence


def test_all_problems_are_told_at_once(good: Draft) -> None:
    checked = check_draft(replace(good, name="", windows_text="soon", where="temp >"))
    assert set(checked.problems) == {"name", "windows", "where"}


def test_a_misspelt_field_in_the_filter_is_offered_its_right_name(good: Draft) -> None:
    checked = check_draft(replace(good, where="tmep > 2"))
    assert checked.problems["where"].suggestion == "temp"


def test_a_wrong_filter_is_left_out_of_the_answer(good: Draft) -> None:
    checked = check_draft(replace(good, where="temp >", name=""))
    assert checked.filter_left_out
    assert checked.answerable is not None
    assert checked.answerable.where is None


def test_wrong_windows_leave_nothing_to_answer(good: Draft) -> None:
    assert check_draft(replace(good, windows_text="soon")).answerable is None


def test_a_count_needs_no_field(good: Draft) -> None:
    assert check_draft(replace(good, **computing("count"))).is_good


def test_every_computation_has_its_own_problem(good: Draft) -> None:
    lines = (TypedComputation("mode", "temp"), TypedComputation("p95", "temp / 2"), TypedComputation("sum"))
    checked = check_draft(replace(good, computations=lines))
    assert list(checked.problems) == ["computation-0", "computation-2"]
    assert checked.problems["computation-0"].sentence.startswith("No aggregate “mode”: use one of count,")


def test_a_wrong_expression_tells_which_characters_and_what_was_meant(good: Draft) -> None:
    problem = check_draft(replace(good, **computing("max", "1 + tmep"))).problems["computation-0"]
    assert (problem.span, problem.suggestion) == ((4, 8), "temp")
    where = check_draft(replace(good, where="ok AND\ntemp > > 1")).problems["where"]
    assert where.span == (7, 17)  # two of these in a row are an operator of SQL
    where = check_draft(replace(good, where="ok AND\ntemp 1")).problems["where"]
    assert where.span == (12, 13)


def test_every_aggregate_is_offered_with_a_word_of_explanation() -> None:
    assert set(EXPLAINED) == set(AGGREGATES)


def test_a_saved_query_comes_back_as_it_was_typed(hot: SavedQuery) -> None:
    draft = Draft.saved(hot)
    assert draft.windows_text == "1m, 5m every 10s"
    assert draft.spec() == hot.spec()


def test_a_first_draft_takes_a_number_that_is_not_the_event_time(sensors: Source) -> None:
    assert Draft.first(sensors).computations == (TypedComputation("mean", "temp"),)
    sensors.schema = [["device", "text"]]
    assert Draft.first(sensors).computations == (TypedComputation("count"),)


def test_moving_to_another_source_lets_go_of_what_is_not_there(good: Draft, sensors: Source) -> None:
    other = Source(key="web", name="web", schema=[["route", "text"], ["bytes", "integer"]])
    moved = replace(good, source=other).moved()
    assert (moved.computations, moved.group_by) == ((TypedComputation("mean", "bytes"),), ())
