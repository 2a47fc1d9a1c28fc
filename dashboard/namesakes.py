"""Things of the same name: allowed, and pointed out when one is saved."""

from typing import TypeVar

from django.contrib import messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

Named = TypeVar("Named", bound=Model)


def namesake(others: QuerySet[Named], name: str, besides: Named | None = None) -> Named | None:
    """One of the others that is called the same."""
    known = others.filter(name__iexact=name.strip()) if name.strip() else others.none()
    return (known.exclude(pk=besides.pk) if besides else known).first()


def namesake_words(others: QuerySet[Named], saved: Named) -> str | None:
    """The same without the link."""
    other = namesake(others, str(saved), besides=saved)
    return None if other is None else f"Another {_noun(other)} has the same name."


def note_namesake(request: HttpRequest, others: QuerySet[Named], saved: Named) -> None:
    """Say with a link that another thing has the name of what was saved."""
    other = namesake(others, str(saved), besides=saved)
    if other is not None:
        address = other.get_absolute_url()  # type: ignore[attr-defined]
        told = 'Another {} has the same name: <a href="{}">{}</a>.'
        messages.info(request, format_html(told, _noun(other), address, other))


def _noun(thing: Model) -> str:
    return {"savedquery": "query", "board": "dashboard"}.get(thing._meta.model_name or "", "alert")
