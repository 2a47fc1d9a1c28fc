"""Whatever is sent to the API, as it is described or against that, no call fails."""

from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from dashboard.accounts.tokens import make_token
from dashboard.api.api import api
from dashboard.models import Alert, SavedQuery

EXAMPLES_OF_EACH_CALL = 15
CHECKS = [not_a_server_error, response_schema_conformance, status_code_conformance]
CALLS = [
    (method, path) for path, operations in api.get_openapi_schema()["paths"].items() for method in operations
]


@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize(("method", "path"), CALLS)
def test_no_call_fails(ana: User, hot: SavedQuery, method: str, path: str, mode: GenerationMode) -> None:
    """Each call over and over, with what is there and what is not; what is made is gone after the test."""
    hot.source.connection.created_by = ana
    hot.source.connection.save()
    alert = Alert.objects.create(
        query=hot, name="Too hot", computation="max(temp)", window="1m/10s", condition="above", owner=ana
    )
    keys = {
        "connections": hot.source.connection.key,
        "sources": hot.source.key,
        "queries": hot.key,
        "alerts": alert.key,
    }
    headers = {"Authorization": f"Bearer {make_token(ana, 'schemathesis', None)[1]}"}
    described = schemathesis.openapi.from_wsgi("/api/openapi.json", get_wsgi_application(), headers=headers)

    @settings(
        max_examples=EXAMPLES_OF_EACH_CALL,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(described[path][method].as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        case.call_and_validate(headers=headers, checks=CHECKS)
        if "{key}" in path:
            case.path_parameters["key"] = keys[path.split("/")[2]]  # chance would rarely find it
            case.call_and_validate(headers=headers, checks=CHECKS)

    ask()
