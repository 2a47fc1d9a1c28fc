"""A query while it is typed: every problem beside its field, and an answer to the rest."""

from dataclasses import replace

import pytest

from dashboard.models import SavedQuery, Source
from dashboard.queries.drafts import Draft, check_draft


@pytest.fixture
def good(sensors: Source) -> Draft:
    return Draft(
        source=sensors,
        name="Hot",
        aggregate="max",
        field="temp",
        windows_text="1m, 5m every 10s",
        group_by=("device",),
        where="ok AND temp > 20",
    )


def test_a_good_draft_has_no_problem_and_is_what_was_typed(good: Draft) -> None:
    checked = check_draft(good)
    assert checked.is_good
    assert checked.answerable == good.spec()
    assert len(checked.windows) == 2


@pytest.mark.parametrize(
    ("change", "field", "sentence"),
    [
        ({"name": ""}, "name", "Give the query a name."),
        ({"name": "x" * 121}, "name", "The name is longer than 120 characters: shorten it."),
        ({"source": None}, "source", "Choose the source to read."),
        ({"aggregate": "median"}, "aggregate", "Choose one of count, sum, mean, min, max."),
        ({"field": None}, "field", "Choose the field to compute the max of."),
        ({"field": "tmep"}, "field", "No field “tmep” in sensors."),
        ({"field": "device"}, "field", "“device” holds text values: the max needs numbers."),
        ({"windows_text": ""}, "windows", "Give at least one window, such as 1m every 10s."),
        ({"windows_text": "1m, 60s"}, "windows", "60s every 60s is there twice."),
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
    assert check_draft(replace(good, aggregate="count", field=None)).is_good


def test_a_saved_query_comes_back_as_it_was_typed(hot: SavedQuery) -> None:
    draft = Draft.saved(hot)
    assert draft.windows_text == "1m, 5m every 10s"
    assert draft.spec() == hot.spec()


def test_a_first_draft_takes_a_number_that_is_not_the_event_time(sensors: Source) -> None:
    assert (Draft.first(sensors).aggregate, Draft.first(sensors).field) == ("mean", "temp")
    sensors.schema = [["device", "text"]]
    assert (Draft.first(sensors).aggregate, Draft.first(sensors).field) == ("count", None)


def test_moving_to_another_source_lets_go_of_what_is_not_there(good: Draft, sensors: Source) -> None:
    other = Source(key="web", name="web", schema=[["route", "text"], ["bytes", "integer"]])
    moved = replace(good, source=other).moved()
    assert (moved.field, moved.group_by) == ("bytes", ())
