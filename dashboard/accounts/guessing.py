"""Guesses at passwords: so many are let for a user name at an address, and so many for an address in all."""

import ipaddress
from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

LOCKED_OUT = "There were too many tries with a wrong password. Wait 15 minutes, or ask your administrator."
TOO_MANY_REQUESTS = 429


class CountedByAddress(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no types
    """Axes with a second limit: one address that tries many names is locked out for all of them.

    It is higher than that for one name, as many people may share an address.
    """

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        address = request.axes_ip_address  # type: ignore[attr-defined]
        recent = AccessAttempt.objects.filter(
            ip_address=address, attempt_time__gte=get_cool_off_threshold(request)
        )
        of_address = recent.aggregate(failures=Sum("failures_since_start"))["failures"] or 0
        share = of_address * settings.AXES_FAILURE_LIMIT // settings.ADDRESS_FAILURE_LIMIT
        of_name: int = super().get_failures(request, credentials)
        return max(of_name, share)


def address_of(request: HttpRequest) -> str:
    """Where a request comes from; of IPv6 the network, of which every household has one to itself."""
    text = str(request.META.get("REMOTE_ADDR", ""))
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "0.0.0.0"  # noqa: S104  # none is known, such as of a socket file
    if isinstance(address, ipaddress.IPv4Address):
        return text
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), 64), strict=False).network_address)


def locked_out(request: HttpRequest, *args: Any) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse({"problem": LOCKED_OUT}, status=TOO_MANY_REQUESTS)
    context = {"sentence": LOCKED_OUT}
    return render(request, "accounts/locked_out.html", context, status=TOO_MANY_REQUESTS)


def knows_password(request: HttpRequest, person: User, typed: str) -> bool:
    """Whether this is the person's password; a wrong one counts as a guess, as on the sign-in page."""
    return authenticate(request, username=person.get_username(), password=typed) == person
