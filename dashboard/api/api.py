"""The REST API under /api/: what the pages do, for programs. /api/docs describes it."""

from functools import cache
from typing import Any

from django.http import HttpRequest
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

from dashboard.api import (
    access,
    account,
    alerts,
    audit,
    backtests,
    binned,
    boards,
    connections,
    past,
    people,
    plans,
    queries,
    sources,
)
from dashboard.api.refusals import speak
from dashboard.api.who import PersonalToken, SignedIn


class Api(NinjaAPI):
    def get_openapi_operation_id(self, operation: Operation) -> str:
        """The plain name of the function: programs are generated from it."""
        return str(operation.view_func.__name__)


api = Api(
    title="Millrace",
    version="1",
    urls_namespace="api",
    docs_url=None,
    openapi_url=None,  # served below: with a token, too
    auth=[PersonalToken(), SignedIn()],
)
speak(api)
api.add_router("/connections", connections.router)
api.add_router("/sources", sources.router)
api.add_router("/sources", plans.router)
api.add_router("/queries", queries.router)
api.add_router("/backtests", backtests.router)
api.add_router("", access.router)
api.add_router("/account", account.router)
api.add_router("/people", people.people)
api.add_router("/groups", people.groups)
api.add_router("/audit", audit.router)
api.add_router("/dashboards", boards.router)
api.add_router("/alerts", alerts.router)
api.add_router("/bin", binned.router)
api.add_router("", past.router)


@cache
def described() -> OpenAPISchema:
    """All calls and shapes; made once, since it takes most of a second."""
    return api.get_openapi_schema()


@api.get("/openapi.json", include_in_schema=False)
def description(request: HttpRequest) -> Any:
    return described()
