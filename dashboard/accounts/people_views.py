"""People and groups, for administrators; `gate` lets nobody else through."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import Group, User
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dashboard.accounts.forms import GroupForm, PersonForm
from dashboard.accounts.links import make_link
from dashboard.accounts.people import first_name, role_of, signed_in
from dashboard.accounts.sessions import browser_words, end_other_sessions, sessions_of
from dashboard.models import Board, Source


@require_GET
def people(request: HttpRequest) -> HttpResponse:
    return render(request, "accounts/people.html", _people(request))


def _people(request: HttpRequest, **forms: Any) -> dict[str, Any]:
    everyone = User.objects.prefetch_related("groups").annotate(seen_at=Max("sign_ins__seen_at"))
    rows = [
        {
            "person": one,
            "role": role_of(one),
            "has_password": one.has_usable_password(),
            "seen_at": one.seen_at or one.last_login,
        }
        for one in everyone.order_by("-is_active", "username")
    ]
    return {
        "rows": rows,
        "groups": Group.objects.annotate(size=Count("user")).order_by("name"),
        "form": forms.get("form") or PersonForm(by=signed_in(request)),
        "group_form": forms.get("group_form") or GroupForm(),
        "mails": settings.MAILS,
        "limits": _limits(),
    }


def _limits() -> list[dict[str, Any]]:
    """What people may ask for, as the settings say."""
    return [
        {"words": LIMIT_WORDS[name], "value": value, "key": f"MILLRACE_{name.upper()}"}
        for name, value in settings.LIMITS.items()
    ]


LIMIT_WORDS = {
    "queries_per_person": "Running queries per owner",
    "queries_per_source": "Running queries per source",
    "windows_per_person": "Windows per owner, of each computation",
    "windows_per_source": "Windows per source, of each computation",
    "groups_per_person": "Groups per owner, in each window",
    "groups_per_source": "Groups per source, in each window",
    "results_per_person": "Results a second per owner",
    "results_per_source": "Results a second per source",
    "overlap": "Windows that one event is in (range / slide)",
    "api_rate": "API requests a second per person",
}


@never_cache
@require_POST
def invite(request: HttpRequest) -> HttpResponse:
    """A new person. The link is in this answer (or in a mail), and nowhere else."""
    form = PersonForm(request.POST, by=signed_in(request))
    if not form.is_valid():
        return render(request, "accounts/people.html", _people(request, form=form), status=422)
    person = form.save()
    return _with_link(request, person)


@never_cache
@require_POST
def new_link(request: HttpRequest, pk: int) -> HttpResponse:
    return _with_link(request, get_object_or_404(User, pk=pk, is_active=True))


def _with_link(request: HttpRequest, person: User) -> HttpResponse:
    link = make_link(request, person)
    return render(request, "accounts/person.html", {**_person(request, person), "link": link})


@require_http_methods(["GET", "POST"])
def person_page(request: HttpRequest, pk: int) -> HttpResponse:
    person = get_object_or_404(User, pk=pk)
    if request.method == "GET":
        return render(request, "accounts/person.html", _person(request, person))
    form = PersonForm(request.POST, by=signed_in(request), editing=person)
    if not form.is_valid():
        person.refresh_from_db()
        return render(request, "accounts/person.html", _person(request, person, form=form), status=422)
    form.save()
    messages.info(request, f"Saved {first_name(person)}.")
    return redirect("people")


def _person(request: HttpRequest, person: User, form: PersonForm | None = None) -> dict[str, Any]:
    return {
        "person": person,
        "name": first_name(person),
        "form": form or PersonForm(by=signed_in(request), editing=person),
        "sessions": [{"row": one, "browser": browser_words(one.browser)} for one in sessions_of(person)],
        "tokens": person.api_tokens.all(),
        "has_password": person.has_usable_password(),
    }


@require_POST
def sign_out_person(request: HttpRequest, pk: int) -> HttpResponse:
    person = get_object_or_404(User, pk=pk)
    kept = request.session.session_key if person == signed_in(request) else None
    ended = end_other_sessions(person, kept)
    messages.info(request, f"Signed {first_name(person)} out of {ended} browser{'' if ended == 1 else 's'}.")
    return redirect("person", pk=pk)


@require_POST
def new_group(request: HttpRequest) -> HttpResponse:
    form = GroupForm(request.POST)
    if not form.is_valid():
        return render(request, "accounts/people.html", _people(request, group_form=form), status=422)
    return redirect("group", pk=form.save().pk)


@require_http_methods(["GET", "POST"])
def group_page(request: HttpRequest, pk: int) -> HttpResponse:
    group = get_object_or_404(Group, pk=pk)
    form = GroupForm(request.POST if request.method == "POST" else None, editing=group)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.info(request, f"Saved “{group.name}”.")
        return redirect("people")
    group.refresh_from_db()
    there = Source.living("source__") & Board.living("board__")  # one of them is not set
    grants = group.grants.filter(there).select_related("source", "board")
    context = {"group": group, "form": form, "grants": grants}
    return render(request, "accounts/group.html", context, status=422 if form.errors else 200)


@require_POST
def delete_group(request: HttpRequest, pk: int) -> HttpResponse:
    """Its members stay; what only the group let them see they see no more."""
    group = get_object_or_404(Group, pk=pk)
    group.delete()
    messages.info(request, f"Deleted “{group.name}”.")
    return redirect("people")
