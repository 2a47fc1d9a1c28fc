"""Forms of dashboards and panels."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.text import slugify

from dashboard.models import Board, Panel, SavedQuery
from dashboard.texts import KeyChoice, Line


class BoardForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A dashboard's name; its address is made from the first name and stays."""

    class Meta:
        model = Board
        fields = ["name"]
        field_classes = {"name": Line}
        error_messages = {"name": {"required": "Give the dashboard a name."}}
        widgets = {"name": forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"})}

    def save(self, commit: bool = True) -> Board:
        if not self.instance.slug:
            self.instance.slug = _free_slug(self.cleaned_data["name"])
        saved: Board = super().save(commit)
        return saved


class AddPanelForm(forms.Form):
    """Which query a new panel shows."""

    query = KeyChoice(
        SavedQuery.objects.none(),
        to_field_name="key",
        empty_label=None,
        error_messages={
            "required": "Choose a query.",
            "invalid_choice": "This query no longer exists: choose another.",
        },
        widget=forms.Select(attrs={"class": "form-select"}),
    )

    def __init__(self, queries: QuerySet[SavedQuery], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["query"].queryset = queries.select_related("source")  # type: ignore[attr-defined]


class PanelTitleForm(forms.ModelForm):  # type: ignore[type-arg]
    """A panel's title."""

    class Meta:
        model = Panel
        fields = ["title"]
        field_classes = {"title": Line}
        error_messages = {"title": {"required": "Give the panel a title."}}


def _free_slug(name: str) -> str:
    base = slugify(name)[:50] or "dashboard"
    slug, number = base, 2
    while slug == "new" or Board.objects.filter(slug=slug).exists():  # “new” is the form's own address
        slug, number = f"{base}-{number}", number + 1
    return slug
