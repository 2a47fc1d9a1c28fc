"""Forms of dashboards and panels; pages, the API and `import` all refuse by them."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.text import slugify

from dashboard.boards.kinds import COLUMNS, KINDS
from dashboard.boards.templates import TEMPLATES, filled
from dashboard.models import Board, Panel, SavedQuery, Source
from dashboard.queries.models import tidy_tags
from dashboard.texts import KeyChoice, Line

MOST_QUERIES = 12
MOST_THRESHOLDS = 8
MOST_GROUPS = 50
MOST_TEXT = 20_000
MOST_ROWS = 100
LOWEST_ROW = 10_000
COLOURS = {"ok": "Green", "warn": "Amber", "bad": "Red"}
AXES = {"left": "Left axis", "right": "Right axis"}
SCALES = {"linear": "Linear", "log": "Logarithmic"}
CHANGES = {"": "No comparison", "1m": "1 min ago", "5m": "5 min ago", "15m": "15 min ago"}
GONE = "This query no longer exists: choose another."


class BoardForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A dashboard's name and tags; its address is made from the first name and stays."""

    tags = forms.CharField(required=False, strip=True)

    class Meta:
        model = Board
        fields = ["name"]
        field_classes = {"name": Line}
        error_messages = {
            "name": {
                "required": "Give the dashboard a name.",
                "max_length": "The name of a dashboard has at most 80 characters.",
            }
        }
        widgets = {"name": forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"})}

    def save(self, commit: bool = True) -> Board:
        if not self.instance.slug:
            self.instance.slug = free_slug(self.cleaned_data["name"])
        if "tags" in self.data:
            self.instance.tags = tidy_tags(self.cleaned_data["tags"].split(","))
        saved: Board = super().save(commit)
        return saved


class NewBoardForm(BoardForm):
    """A name, and a template to begin with."""

    template = forms.CharField(required=False)
    source = KeyChoice(
        Source.objects.none(),
        to_field_name="key",
        required=False,
        empty_label="Every source",
        error_messages={"invalid_choice": "This source no longer exists: choose another."},
        widget=forms.Select(attrs={"class": "form-select"}),
    )

    def __init__(self, sources: QuerySet[Source], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["source"].queryset = sources  # type: ignore[attr-defined]

    def clean_template(self) -> str:
        key = str(self.cleaned_data["template"])
        if key not in TEMPLATES:
            known = ", ".join(one for one in TEMPLATES if one)
            raise forms.ValidationError(f"There is no template “{key}”: choose from {known}.")
        return key

    def panels(self, queries: QuerySet[SavedQuery]) -> list[Panel]:
        """What the template makes of those of these queries that were asked for; not saved."""
        source = self.cleaned_data["source"]
        chosen = queries.filter(source=source) if source else queries
        return filled(self.cleaned_data["template"], list(chosen))


class AddPanelForm(forms.Form):
    """Which query a new panel shows, and how."""

    kind = forms.ChoiceField(
        choices=[(kind.name, kind.label) for kind in KINDS.values()], required=False, initial="line"
    )
    query = KeyChoice(
        SavedQuery.objects.none(),
        to_field_name="key",
        empty_label=None,
        required=False,
        error_messages={"invalid_choice": GONE},
        widget=forms.Select(attrs={"class": "form-select"}),
    )

    def __init__(self, queries: QuerySet[SavedQuery], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["query"].queryset = queries.select_related("source")  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        kind = KINDS[found.get("kind") or "line"]
        if kind.is_query and not found.get("query") and "query" not in self.errors:
            self.add_error("query", "Choose a query.")
        return found

    def panel(self) -> Panel:
        """Not saved yet."""
        kind = KINDS[self.cleaned_data["kind"] or "line"]
        query = self.cleaned_data["query"] if kind.is_query else None
        title = query.name if query else kind.label
        return Panel(query=query, title=title, kind=kind.name, w=kind.width, h=kind.height)


class PanelTitleForm(forms.ModelForm):  # type: ignore[type-arg]
    """A panel's title."""

    class Meta:
        model = Panel
        fields = ["title"]
        field_classes = {"title": Line}
        error_messages = {"title": {"required": "Give the panel a title."}}


class _Rows(forms.Field):
    """A list of objects, checked by the form's own method."""

    def to_python(self, value: Any) -> list[Mapping[str, Any]]:
        return list(value or [])


def _unit() -> Line:
    told = {"max_length": "A unit has at most 12 characters."}
    return Line(required=False, max_length=12, error_messages=told)


def _number(label: str, **more: Any) -> forms.FloatField:
    return forms.FloatField(required=False, error_messages={"invalid": f"{label} must be a number."}, **more)


def _count(label: str, least: int, most: int) -> forms.IntegerField:
    sentence = f"{label} must be a whole number from {least} to {most}."
    told = dict.fromkeys(("invalid", "min_value", "max_value"), sentence)
    return forms.IntegerField(required=False, min_value=least, max_value=most, error_messages=told)


def _choice(choices: Mapping[str, str], default: str) -> forms.ChoiceField:
    said = ", ".join(name for name in choices if name)
    told = {"invalid_choice": f"There is no “%(value)s” here: choose from {said}."}
    return forms.ChoiceField(
        choices=list(choices.items()), required=False, error_messages=told, initial=default
    )


class PanelForm(forms.Form):
    """All of a panel but its place; `queries` are those that it may show, all unless told."""

    title = Line(
        max_length=120,
        error_messages={
            "required": "Give the panel a title.",
            "max_length": "A title has at most 120 characters.",
        },
    )
    kind = _choice({kind.name: kind.label for kind in KINDS.values()}, "line")
    shows = _Rows(required=False)
    unit = _unit()
    decimals = _count("Decimals", 0, 6)
    right_unit = _unit()
    right_decimals = _count("Decimals", 0, 6)
    thresholds = _Rows(required=False)
    scale = _choice(SCALES, "linear")
    least = _number("The least value")
    greatest = _number("The greatest value")
    groups = _count("The number of groups", 1, MOST_GROUPS)
    stack = forms.BooleanField(required=False)
    change = _choice(CHANGES, "15m")
    text = forms.CharField(
        required=False,
        max_length=MOST_TEXT,
        strip=False,
        error_messages={"max_length": f"A text has at most {MOST_TEXT:,} characters."},
    )

    def __init__(self, *args: Any, queries: QuerySet[SavedQuery] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._queries = SavedQuery.objects.all() if queries is None else queries

    def clean_shows(self) -> list[dict[str, Any]]:
        rows = self.cleaned_data["shows"]
        kind = KINDS.get(self.cleaned_data.get("kind") or "line")
        if kind is None or not kind.is_query:
            return []
        if not rows:
            raise forms.ValidationError("Choose a query.")
        if len(rows) > MOST_QUERIES:
            raise forms.ValidationError(f"A panel shows at most {MOST_QUERIES} queries.")
        keys = [row.get("query") for row in rows]
        known = {query.key: query for query in self._queries.filter(key__in=keys)}
        return [_shown(row, known) for row in rows]

    def clean_thresholds(self) -> list[dict[str, Any]]:
        rows = self.cleaned_data["thresholds"]
        if len(rows) > MOST_THRESHOLDS:
            raise forms.ValidationError(f"A panel has at most {MOST_THRESHOLDS} thresholds.")
        steps = [_step(row) for row in rows]
        if len({step["value"] for step in steps}) < len(steps):
            raise forms.ValidationError("Two thresholds begin at the same value: keep one of them.")
        return sorted(steps, key=lambda step: float("-inf") if step["value"] is None else step["value"])

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        least, greatest = found.get("least"), found.get("greatest")
        if least is not None and greatest is not None and least >= greatest:
            self.add_error("least", "The least value must be below the greatest.")
        elif found.get("scale") == "log" and least is not None and least <= 0:
            self.add_error("least", "A logarithmic scale begins above 0.")
        return found

    def fill(self, panel: Panel) -> Panel:
        """The panel as the form says; not saved yet. Settings that its kind does not heed are dropped."""
        found = self.cleaned_data
        kind = KINDS[found["kind"] or "line"]
        panel.title, panel.kind, panel.shows = found["title"], kind.name, found["shows"]
        first = found["shows"][0]["query"] if found["shows"] else None
        panel.query = SavedQuery.objects.get(key=first) if first else None
        panel.settings = {
            name: found[name]
            for name, default in DEFAULTS.items()
            if name in kind.settings and found[name] not in (default, None, "")
        }
        return panel


# What a panel has where nothing else is said; the browser has the same in live/settings.js.
DEFAULTS: dict[str, Any] = {
    "unit": "",
    "decimals": None,
    "right_unit": "",
    "right_decimals": None,
    "thresholds": [],
    "scale": "linear",
    "least": None,
    "greatest": None,
    "groups": 8,
    "stack": False,
    "change": "15m",
    "text": "",
}


def _shown(row: Mapping[str, Any], known: Mapping[str, SavedQuery]) -> dict[str, Any]:
    """One query on a panel, without what says nothing."""
    query = known.get(str(row.get("query") or ""))
    if query is None:
        raise forms.ValidationError(GONE)
    spec = query.spec()
    windows = [str(window) for window in row.get("windows") or []]
    of_query = [window.words for window in spec.windows]
    for window in windows:
        if window not in of_query:
            raise forms.ValidationError(f"“{query.name}” has no window “{window}”.")
    computation = str(row.get("computation") or "")
    if computation and computation not in [one.words for one in spec.computations]:
        raise forms.ValidationError(f"“{query.name}” does not compute “{computation}”.")
    axis = str(row.get("axis") or "left")
    if axis not in AXES:
        raise forms.ValidationError("An axis is left or right.")
    shown: dict[str, Any] = {"query": query.key}
    if windows and len(windows) < len(of_query):
        shown["windows"] = [window for window in of_query if window in windows]
    if computation:
        shown["computation"] = computation
    if axis == "right":
        shown["axis"] = axis
    return shown


def _step(row: Mapping[str, Any]) -> dict[str, Any]:
    """One threshold: from which value on which colour; without a value it holds from the beginning."""
    typed = row.get("value")
    try:
        begins = None if typed in (None, "") else float(str(typed))
    except ValueError as error:
        raise forms.ValidationError(f"“{typed}” is not a number.") from error
    if begins is not None and not abs(begins) < float("inf"):
        raise forms.ValidationError(f"“{typed}” is not a number.")
    colour = str(row.get("colour") or "")
    if colour not in COLOURS:
        raise forms.ValidationError("A threshold is ok, warn or bad.")
    return {"value": begins, "colour": colour}


def typed_panel(post: QueryDict) -> dict[str, Any]:
    """What the editor sends, as the form and the API have it: its rows have the fields `show-N-…`."""
    rows = post.getlist("show")
    return {
        **{name: post.get(name, "") for name in PanelForm.base_fields},
        "stack": bool(post.get("stack")),
        "shows": [
            {
                "query": post.get(f"show-{row}-query"),
                "windows": post.getlist(f"show-{row}-window"),
                "computation": post.get(f"show-{row}-computation"),
                "axis": post.get(f"show-{row}-axis"),
            }
            for row in rows
        ],
        "thresholds": [
            {"value": begins, "colour": colour}
            for begins, colour in zip(post.getlist("threshold"), post.getlist("threshold-colour"))
        ],
    }


class PlaceForm(forms.Form):
    """Where on the grid a panel is, and how large."""

    x = forms.IntegerField(min_value=0, max_value=COLUMNS - 1)
    y = forms.IntegerField(min_value=0, max_value=LOWEST_ROW)
    w = forms.IntegerField(min_value=1, max_value=COLUMNS)
    h = forms.IntegerField(min_value=2, max_value=MOST_ROWS)

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        if self.errors or found["x"] + found["w"] > COLUMNS:
            self.errors.clear()
            sentence = f"A panel lies within {COLUMNS} columns and is 2 to {MOST_ROWS} rows high."
            raise forms.ValidationError(sentence)
        return found

    def sentence(self) -> str:
        """What is wrong with it."""
        return str(next(iter(self.errors.values()))[0])


def free_slug(name: str) -> str:
    base = slugify(name)[:50] or "dashboard"
    slug, number = base, 2
    while slug == "new" or Board.with_deleted.filter(slug=slug).exists():  # “new” is the form's own address
        slug, number = f"{base}-{number}", number + 1
    return slug
