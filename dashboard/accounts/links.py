"""Links with which somebody sets their password: the first one, or another one that was forgotten.

They are Django's own: good once, for as long as PASSWORD_RESET_TIMEOUT says, and kept nowhere.
"""

from dataclasses import dataclass
from smtplib import SMTPException
from typing import Any

from axes.utils import reset as unlock
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import send_mail
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from dashboard.accounts.people import first_name, signed_in
from dashboard.audit.recording import record


@dataclass(frozen=True)
class Link:
    address: str
    mailed_to: str = ""  # empty: somebody has to hand it over

    @property
    def days(self) -> int:
        return int(settings.PASSWORD_RESET_TIMEOUT // 86_400)


def make_link(request: HttpRequest, person: User) -> Link:
    """A link for this person, mailed where that is possible; who was locked out may try again."""
    unlock(username=person.username)
    place = {
        "uidb64": urlsafe_base64_encode(force_bytes(person.pk)),
        "token": default_token_generator.make_token(person),
    }
    address = request.build_absolute_uri(reverse("password-set", kwargs=place))
    is_new = not person.has_usable_password()
    link = Link(address, person.email if _mailed(request, person, address, is_new=is_new) else "")
    words = f"mailed to {link.mailed_to}" if link.mailed_to else "to be handed over"
    record("made a link for", "person", person.username, [["Link", None, words]], key=str(person.pk))
    return link


def _mailed(request: HttpRequest, person: User, address: str, *, is_new: bool) -> bool:
    if not settings.MAILS or not person.email:
        return False
    context: dict[str, Any] = {
        "name": first_name(person),
        "by": first_name(signed_in(request)),
        "address": address,
    }
    context |= {"person": person, "is_new": is_new, "days": settings.PASSWORD_RESET_TIMEOUT // 86_400}
    subject = "Your account on Millrace" if is_new else "Set your password on Millrace"
    try:
        send_mail(subject, render_to_string("accounts/mail_link.txt", context), None, [person.email])
    except (SMTPException, OSError):
        return False
    return True
