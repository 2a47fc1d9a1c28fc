"""One's own account: name, password, where one is signed in, and what others ask of one."""

from typing import Any

from axes.utils import reset as unlock
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import PasswordResetConfirmView, PasswordResetView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse_lazy
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dashboard.accounts.forms import ForgottenForm, NewPasswordForm, OwnPasswordForm, ProfileForm
from dashboard.accounts.people import ROLES, role_of, signed_in
from dashboard.accounts.sessions import (
    browser_words,
    end_other_sessions,
    end_sessions,
    keep_session,
    sessions_of,
)
from dashboard.accounts.sharing import answer_notice, ask_for_access
from dashboard.accounts.tokens import end_tokens
from dashboard.models import Board, Notice, SavedQuery, SignIn, Source


@require_http_methods(["GET", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    form = ProfileForm(request, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.info(request, "Saved your account.")
        return redirect("account")
    return render(request, "accounts/account.html", _context(request, profile=form), status=_status(form))


@sensitive_post_parameters()
@require_POST
def change_password(request: HttpRequest) -> HttpResponse:
    """Another password; every other browser is signed out, as its session was begun with the old one."""
    form = OwnPasswordForm(request, request.POST)
    if not form.is_valid():
        return render(request, "accounts/account.html", _context(request, password=form), status=422)
    ended = end_other_sessions(signed_in(request), request.session.session_key)
    form.save()
    keep_session(request, form.user)
    others = f" {ended} other browser{'s were' if ended > 1 else ' was'} signed out." if ended else ""
    messages.info(request, f"Your password is changed.{others}{_tokens_ended(form)}")
    return redirect("account")


def _tokens_ended(form: OwnPasswordForm | NewPasswordForm) -> str:
    """End the tokens of whose password this is if they wish it; the sentence that says so."""
    ended = end_tokens(form.user) if form.cleaned_data["end_tokens"] else 0
    return f" {ended} API token{'s were' if ended > 1 else ' was'} revoked." if ended else ""


def _context(request: HttpRequest, **forms: Any) -> dict[str, Any]:
    person = signed_in(request)
    own = request.session.session_key
    sessions = [
        {"row": one, "browser": browser_words(one.browser), "is_this": one.session_key == own}
        for one in sessions_of(person)
    ]
    return {
        "profile": forms.get("profile") or ProfileForm(request),
        "password": forms.get("password") or OwnPasswordForm(request),
        "sessions": sorted(sessions, key=lambda one: not one["is_this"]),
        "role": ROLES[role_of(person)],
        "groups": person.groups.order_by("name"),
    }


def _status(form: Any) -> int:
    return 422 if form.errors else 200


@require_POST
def end_session(request: HttpRequest, pk: int) -> HttpResponse:
    one = get_object_or_404(SignIn, pk=pk, person=signed_in(request))
    end_sessions(signed_in(request), [one])
    messages.info(request, f"Signed out {browser_words(one.browser)}.")
    return redirect("account")


@require_POST
def end_others(request: HttpRequest) -> HttpResponse:
    ended = end_other_sessions(signed_in(request), request.session.session_key)
    messages.info(request, f"Signed out {ended} other browser{'' if ended == 1 else 's'}.")
    return redirect("account")


@require_GET
def notices(request: HttpRequest) -> HttpResponse:
    """What others ask of this person, what waits first."""
    own = Notice.objects.filter(to=signed_in(request)).select_related("asked_by", "source", "board")
    waiting = [one for one in own if one.answered_at is None]
    answered = [one for one in own if one.answered_at is not None]
    return render(request, "accounts/notices.html", {"waiting": waiting, "answered": answered[:20]})


@require_POST
def notice_answer(request: HttpRequest, pk: int) -> HttpResponse:
    notice = get_object_or_404(Notice, pk=pk, to=signed_in(request))
    gives = request.POST.get("do") == "give"
    answer_notice(notice, gives=gives)
    name = notice.asked_by.first_name or notice.asked_by.username
    messages.info(request, f"{name} may see it now." if gives else "Put aside.")
    return redirect("notices")


@require_POST
def ask(request: HttpRequest) -> HttpResponse:
    """Ask whoever can give it for access to what one may not see."""
    messages.info(request, ask_for_access(signed_in(request), asked_about(**_asked(request))))
    back = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure())
    return redirect(back if safe else "home")


def _asked(request: HttpRequest) -> dict[str, str]:
    return {"kind": request.POST.get("kind", ""), "key": request.POST.get("key", "")}


def asked_about(kind: str, key: str) -> Source | Board | SavedQuery:
    found: Source | Board | SavedQuery | None = None
    if kind == "source":
        found = Source.objects.select_related("created_by").filter(key=key).first()
    elif kind == "dashboard":
        found = Board.objects.select_related("owner").filter(slug=key).first()
    elif kind == "query":
        found = SavedQuery.objects.select_related("source__created_by", "owner").filter(key=key).first()
    if found is None:
        raise Http404("There is nothing of this name to ask for.")
    return found


class Forgotten(PasswordResetView):
    """A link by mail, where a mail server is set; else the page says whom to ask."""

    form_class = ForgottenForm
    template_name = "accounts/forgotten.html"
    email_template_name = "accounts/mail_forgotten.txt"
    subject_template_name = "accounts/mail_forgotten_subject.txt"
    success_url = reverse_lazy("password-mailed")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().post(request, *args, **kwargs) if settings.MAILS else self.get(request)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"mails": settings.MAILS}


class SetPassword(PasswordResetConfirmView):
    """The page behind such a link, and behind an invitation."""

    form_class = NewPasswordForm
    template_name = "accounts/set_password.html"
    success_url = reverse_lazy("sign-in")

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        end_other_sessions(form.user, None)
        unlock(username=form.user.username)
        messages.info(
            self.request, f"Your password is set.{_tokens_ended(form)} Sign in as {form.user.username}."
        )
        return response
