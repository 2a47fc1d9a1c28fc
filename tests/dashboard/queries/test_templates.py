"""Templates: every one that is offered is a query that can be saved as it is."""

import pytest
from django.test import Client

from dashboard.models import Source
from dashboard.queries.drafts import check_draft
from dashboard.queries.templates import TEMPLATES, fitting, from_template

WEB = [
    ["ts", "integer"],
    ["client ip", "text"],
    ["status", "integer"],
    ["bytes", "integer"],
    ["latency_ms", "number"],
]


def test_every_template_fits_a_source_with_all_kinds_of_fields(sensors: Source) -> None:
    assert fitting(sensors) == list(TEMPLATES)
    for template in TEMPLATES:
        assert check_draft(from_template(template.key, sensors)).problems == {}, template.key


def test_templates_choose_fields_by_what_they_are_called(sensors: Source) -> None:
    sensors.schema = WEB
    assert from_template("latency", sensors).computations[0].field == "latency_ms"
    assert (
        from_template("errors", sensors).computations[0].field == "CASE WHEN status >= 500 THEN 1 ELSE 0 END"
    )
    assert from_template("talkers", sensors).group_by == ("client ip",)
    for template in fitting(sensors):
        assert check_draft(from_template(template.key, sensors)).problems == {}, template.key


@pytest.mark.parametrize(
    ("schema", "condition"),
    [
        ([["failed", "boolean"]], "failed"),
        ([["is_error", "boolean"]], "is_error"),
        ([["hasErrors", "boolean"]], "hasErrors"),
        ([["request.failed", "boolean"]], '"request.failed"'),
        ([["ok", "boolean"]], "NOT ok"),
        ([["isSuccessful", "boolean"]], "NOT isSuccessful"),
        ([["is_valid", "boolean"]], "NOT is_valid"),
        ([["invalid", "boolean"]], "invalid"),
        ([["cached", "boolean"], ["status", "integer"]], "status >= 500"),
        ([["ok", "boolean"], ["failed", "boolean"]], "failed"),
        ([["http_status", "integer"]], "http_status >= 500"),
        ([["statusCode", "integer"]], "statusCode >= 500"),
        ([["code", "integer"]], "code >= 500"),
        ([["exit_code", "integer"]], "exit_code <> 0"),
        ([["level", "text"]], "lower(level) IN ('error', 'fatal', 'critical')"),
        ([["severity", "text"]], "lower(severity) IN ('error', 'fatal', 'critical')"),
        ([["level", "text"], ["status", "integer"]], "status >= 500"),
        ([["status", "text"]], "status <> 'ok'"),
        ([["outcome", "text"]], "outcome <> 'ok'"),
        ([["cached", "boolean"]], None),
        ([["token", "boolean"]], None),
        ([["country_code", "text"], ["zip_code", "integer"]], None),
        ([["level", "number"]], None),  # of a river, or of a log: nobody knows which end is bad
    ],
)
def test_an_error_is_told_by_the_field_that_says_so(
    sensors: Source, schema: list[list[str]], condition: str | None
) -> None:
    sensors.schema = [["ts", "integer"], *schema]
    draft = from_template("errors", sensors)
    if condition is None:
        assert draft is None
        return
    assert draft is not None
    assert draft.computations[0].field == f"CASE WHEN {condition} THEN 1 ELSE 0 END"
    assert check_draft(draft).problems == {}


def test_a_source_without_the_fields_is_offered_less(sensors: Source) -> None:
    sensors.schema = [["ts", "integer"]]
    assert [template.key for template in fitting(sensors)] == ["rate"]
    assert fitting(None) == []
    assert from_template("nosuch", sensors) is None


@pytest.mark.parametrize("template", [one.key for one in TEMPLATES])
def test_the_form_begins_with_the_template_that_was_chosen(
    as_ana: Client, sensors: Source, template: str
) -> None:
    page = as_ana.get("/queries/new/", {"source": "sensors", "template": template}).content.decode()
    assert f'value="{from_template(template, sensors).name}"' in page
    assert "of capacity" in page  # its cost is there at once
