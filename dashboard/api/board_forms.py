"""From dashboards that were sent to what the forms of the pages take."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from dashboard.accounts.rights import visible_sources
from dashboard.api.board_shapes import BoardSent, LayoutGiven, PanelGiven, panel_shape, panel_typed
from dashboard.api.refusals import Refused, refuse_bad
from dashboard.boards.forms import BoardForm, NewBoardForm, PanelForm, PlaceForm
from dashboard.boards.kinds import KINDS
from dashboard.boards.models import Board, Panel
from dashboard.boards.places import Place
from dashboard.boards.sight import queries_of
from dashboard.queries.models import SavedQuery

MOST_PANELS = 100


def checked_board(name: str, editing: Board | None = None) -> BoardForm:
    form = BoardForm({"name": name}, instance=editing)
    refuse_bad(form)
    return form


def checked_new_board(sent: BoardSent, person: User) -> NewBoardForm:
    typed = sent.model_dump(include={"name", "template", "source"})
    form = NewBoardForm(visible_sources(person), typed)
    refuse_bad(form)
    return form


def checked_panel(
    given: PanelGiven, queries: QuerySet[SavedQuery] | None, editing: Panel | None = None
) -> Panel:
    """A panel that may be saved; of one that is there, what was not sent stays."""
    sent = given.model_dump(exclude_unset=editing is not None)
    kept = panel_shape(editing, queries_of([editing])) if editing else {}
    whole = PanelGiven.model_validate({**kept, **sent}) if editing else given
    form = PanelForm(panel_typed(whole), queries=queries)
    refuse_bad(form)
    panel = form.fill(editing or Panel())
    kind = KINDS[panel.kind]
    if editing is None or sent.keys() & {"x", "y", "w", "h"}:
        _put(panel, whole, (kind.width, kind.height))
    return panel


def _put(panel: Panel, given: PanelGiven, size: tuple[int, int]) -> None:
    width, height = (given.w or size[0]), (given.h or size[1])
    is_placed = given.x is not None and given.y is not None
    x, y = (given.x, given.y) if is_placed else (0, 0)
    place = checked_place({"x": x, "y": y, "w": width, "h": height})
    panel.w, panel.h = place.w, place.h
    if is_placed:
        panel.x, panel.y = place.x, place.y


def checked_place(sent: dict[str, Any]) -> Place:
    form = PlaceForm(sent)
    if not form.is_valid():
        raise Refused({"panels": form.sentence()})
    return Place(**{name: form.cleaned_data[name] for name in Place._fields})


def checked_layout(given: LayoutGiven) -> dict[int, Place]:
    return {one.panel: checked_place(one.model_dump(exclude={"panel"})) for one in given.panels}


def checked_panels(given: Sequence[PanelGiven], queries: QuerySet[SavedQuery] | None = None) -> list[Panel]:
    """`queries` are those that may be shown; all unless told."""
    if len(given) > MOST_PANELS:
        raise Refused({"panels": f"A dashboard has at most {MOST_PANELS} panels."})
    panels = []
    for number, one in enumerate(given, 1):
        try:
            panels.append(checked_panel(one, queries))
        except Refused as refused:
            named = f"Panel {number}" + (f", “{one.title}”" if one.title else "")
            raise Refused({"panels": f"{named}: {next(iter(refused.problems.values()))}"}) from refused
    return panels
