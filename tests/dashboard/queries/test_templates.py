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
