"""Long lists in parts."""

from collections.abc import Callable
from typing import Annotated, Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from ninja import Query, Schema
from pydantic import Field

MOST_AT_ONCE = 200
FARTHEST = 1_000_000  # within what every database counts to
Shown = TypeVar("Shown")
Row = TypeVar("Row", bound=Model)


class Page(Schema, Generic[Shown]):
    """Some of the items, and how many there are in all."""

    items: list[Shown]
    count: int


class Part(Schema):
    limit: int = Field(100, ge=1, le=MOST_AT_ONCE)
    offset: int = Field(0, ge=0, le=FARTHEST)


PageAsked = Annotated[Part, Query()]


def page_of(rows: QuerySet[Row], asked: Part, shown: Callable[[Row], Any]) -> dict[str, Any]:
    part = rows[asked.offset : asked.offset + asked.limit]
    return {"items": [shown(row) for row in part], "count": rows.count()}
