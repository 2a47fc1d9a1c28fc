"""The page of personal tokens: each person sees and revokes their own."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.accounts.forms import TokenForm
from dashboard.accounts.models import ApiToken
from dashboard.accounts.people import signed_in
from dashboard.accounts.tokens import make_token


@never_cache
@require_http_methods(["GET", "POST"])
def token_list(request: HttpRequest) -> HttpResponse:
    """The tokens of who asks. A new one is in the answer to the form and nowhere else, session included."""
    if request.method == "GET":
        return render(request, "accounts/tokens.html", _context(request, TokenForm(request)))
    form = TokenForm(request, request.POST)
    if not form.is_valid():
        return render(request, "accounts/tokens.html", _context(request, form), status=422)
    row, token = make_token(signed_in(request), form.cleaned_data["name"], form.expires_at())
    context = _context(request, TokenForm(request)) | {"made": row, "token": token}
    return render(request, "accounts/tokens.html", context)


def _context(request: HttpRequest, form: TokenForm) -> dict[str, Any]:
    tokens = ApiToken.objects.filter(owner=signed_in(request))
    return {"form": form, "tokens": tokens, "address": request.build_absolute_uri("/api/queries")}


@require_POST
def token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=pk, owner=signed_in(request))
    token.delete()
    messages.info(request, f"Revoked “{token.name}”.")
    return redirect("tokens")
