"""What dashboards and panels look like from outside: in the API, and in files of `export`."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from ninja import Schema
from pydantic import Field

from dashboard.accounts.rights import unseen_words
from dashboard.api.shapes import Given, Text
from dashboard.boards.forms import DEFAULTS, PanelForm
from dashboard.boards.models import Board, Panel
from dashboard.boards.sight import Sight

MOST_NUMBER = 2**63 - 1  # that a database counts to


class ShownGiven(Given):
    """One query on a panel."""

    query: Text = Field("", description="The key of a query.")
    windows: list[Text] = Field([], description="Such as 1m every 10s; none: all of them.")
    computation: Text = Field("", description="Such as max of temp; empty: all of them.")
    axis: Text = Field("left", description="left or right.")


class ThresholdGiven(Given):
    value: float | None = Field(None, description="From this value on; none: from the beginning.")
    colour: Text = Field("", description="ok, warn or bad.")


class PanelGiven(Given):
    title: Text = ""
    kind: Text = Field("line", description="line, area, stacked, bar, number, gauge, top, heat or text.")
    shows: list[ShownGiven] = []
    unit: Text = Field("", description="% is of a share: 0.019 is 1.9 %; “% (0–100)” for percents.")
    decimals: int | None = None
    right_unit: Text = Field("", description="Of what is on the right axis.")
    right_decimals: int | None = Field(None, description="Of what is on the right axis.")
    thresholds: list[ThresholdGiven] = []
    scale: Text = Field("linear", description="linear or log.")
    least: float | None = Field(None, description="Where the axis begins; none: it fits the values.")
    greatest: float | None = Field(None, description="Where the axis ends; none: it fits the values.")
    groups: int | None = Field(8, description="Of a query by groups so many of the greatest, 1 to 50.")
    stack: bool = False
    change: Text = Field("15m", description="A number is compared with 1m, 5m or 15m ago; empty: not.")
    text: Text = Field("", description="Markdown, of a panel of kind text.")
    x: int | None = Field(None, description="Column, 0 to 11; none: where there is room.")
    y: int | None = Field(None, description="Row.")
    w: int | None = Field(None, description="Columns, 1 to 12; none: as the kind has it.")
    h: int | None = Field(None, description="Rows of 20 pixels; none: as the kind has it.")


class BoardGiven(Given):
    name: Text = ""
    tags: list[Text] = []
    panels: list[PanelGiven] = []


class BoardSent(BoardGiven):
    template: Text = Field("", description="overview, groups or wall: panels to begin with.")
    source: Text = Field("", description="The key of the source whose queries it is filled with; empty: all.")


class PlaceGiven(Given):
    panel: int = Field(ge=0, le=MOST_NUMBER)
    x: int
    y: int
    w: int
    h: int


class LayoutGiven(Given):
    panels: list[PlaceGiven]


class ShownShown(Schema):
    query: str
    windows: list[str]
    computation: str
    axis: str


class ThresholdShown(Schema):
    value: float | None
    colour: str


class PanelShown(Schema):
    id: int
    title: str
    kind: str
    shows: list[ShownShown]
    unit: str
    decimals: int | None
    right_unit: str
    right_decimals: int | None
    thresholds: list[ThresholdShown]
    scale: str
    least: float | None
    greatest: float | None
    groups: int | None
    stack: bool
    change: str
    text: str
    x: int | None
    y: int | None
    w: int
    h: int
    unseen: str | None = Field(
        None, description="Why a query on it, or all of it but its place, is not shown; null: all of it is."
    )

    @classmethod
    def of(cls, panel: Panel, sight: Sight) -> "PanelShown":
        """As much of it as who asks may see: its title belongs to its queries."""
        hidden = sight.hidden(panel)
        unseen = " ".join(unseen_words(hidden[0])) if hidden else None
        shape = panel_shape(panel, sight.seen)
        if sight.unseen(panel):
            shape = {"title": "", "kind": "", "shows": [], **DEFAULTS, **place_of(panel)}
        return cls.model_validate({"id": panel.pk, **shape, "unseen": unseen})


class BoardListed(Schema):
    key: str
    name: str
    tags: list[str]
    owner: str | None
    created_at: datetime

    @classmethod
    def of(cls, board: Board) -> "BoardListed":
        return cls(**_listed(board))


class BoardShown(BoardListed):
    panels: list[PanelShown]

    @classmethod
    def seen_by(cls, person: User, board: Board) -> "BoardShown":
        panels = list(board.panels.select_related("query"))
        sight = Sight.of(person, panels)
        return cls(**_listed(board), panels=[PanelShown.of(panel, sight) for panel in panels])


def _listed(board: Board) -> dict[str, Any]:
    owner = board.owner.username if board.owner else None
    return {
        "key": board.slug,
        "name": board.name,
        "tags": board.tags,
        "owner": owner,
        "created_at": board.created_at,
    }


def panel_shape(panel: Panel, queries: Collection[str]) -> dict[str, Any]:
    """A panel as it would be sent to make it, with those of its queries whose keys are given."""
    return {
        "title": panel.title,
        "kind": panel.kind,
        "shows": [
            {"windows": [], "computation": "", "axis": "left", **shown}
            for shown in panel.shown
            if shown["query"] in queries
        ],
        **DEFAULTS,
        **panel.settings,
        **place_of(panel),
    }


def place_of(panel: Panel) -> dict[str, int | None]:
    return {"x": panel.x, "y": panel.y, "w": panel.w, "h": panel.h}


def panel_typed(given: PanelGiven) -> dict[str, Any]:
    """What was sent, as the form of the editor takes it."""
    data = given.model_dump()
    return {name: data[name] for name in PanelForm.base_fields}
