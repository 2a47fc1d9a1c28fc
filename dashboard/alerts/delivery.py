"""Sends what is to be sent, each message in its own time: a slow address holds up nobody else.

A message is claimed by counting its attempt, before it is sent: a crash in between makes it late, not lost.
It may arrive twice, under the same id.
"""

import json
import logging
import smtplib
import time
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Event

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import DatabaseError, connection
from django.db.models import F
from django.utils import timezone

from dashboard.alerts import words
from dashboard.alerts.models import Delivery
from dashboard.alerts.webhook import NotSent, post, signature
from streaming.security import SecretProblem, unseal

logger = logging.getLogger(__name__)

FIRST_DELAY = timedelta(seconds=5)  # doubles with every attempt
LONGEST_DELAY = timedelta(minutes=10)
MOST_ATTEMPTS = 12  # about an hour
AT_ONCE = 8
LOOK_SECONDS = 0.5
UNSIGNED = "The alert has no secret to sign with: type one on its page."
NO_MAIL_SERVER = "This Millrace has no mail server: the administrator sets MILLRACE_EMAIL_URL."


def delay_after(attempts: int) -> timedelta:
    """How long to wait after so many attempts have failed."""
    doublings = min(attempts - 1, 20)
    return min(FIRST_DELAY * (1 << doublings), LONGEST_DELAY)


class Sender:
    """Sends as long as it is let."""

    def run(self, stop: Event) -> None:
        busy: set[Future[None]] = set()
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="send") as threads:
            while not stop.wait(LOOK_SECONDS):
                busy = {one for one in busy if not one.done()}
                try:
                    claimed = claim(timezone.now(), AT_ONCE - len(busy))
                    busy |= {threads.submit(attempt, one) for one in claimed}
                except DatabaseError:
                    logger.exception("Could not look for messages to send; trying again.")
                    connection.close()
        connection.close()


def claim(now: datetime, most: int) -> list[Delivery]:
    """The next messages that are due; whoever counts the attempt has it."""
    claimed = []
    for one in Delivery.objects.filter(due_at__lte=now).select_related("alert").order_by("due_at")[:most]:
        next_due = now + delay_after(one.attempts + 1)
        mine = Delivery.objects.filter(pk=one.pk, attempts=one.attempts, due_at=one.due_at)
        if mine.update(attempts=F("attempts") + 1, due_at=next_due):
            one.attempts, one.due_at = one.attempts + 1, next_due
            claimed.append(one)
    return claimed


def attempt(delivery: Delivery) -> None:
    """Send a message that was claimed, and write down what came of it."""
    try:
        _deliver(delivery)
    except NotSent as problem:
        delivery.problem = str(problem)[:300]
        if problem.final or delivery.attempts >= MOST_ATTEMPTS:
            delivery.due_at = None
            logger.warning("Gave up telling of %s by %s: %s", delivery.alert, delivery.channel, problem)
    else:
        delivery.sent_at, delivery.due_at, delivery.problem = timezone.now(), None, ""
    finally:
        delivery.save(update_fields=["sent_at", "due_at", "problem"])
        connection.close()  # of this thread


def _deliver(delivery: Delivery) -> None:
    if delivery.channel == "email":
        _mail(delivery)
    else:
        _post(delivery)


def _mail(delivery: Delivery) -> None:
    if not settings.MAILS:
        raise NotSent(NO_MAIL_SERVER)
    message = EmailMessage(
        words.headline(delivery.payload),
        words.body(delivery.payload),
        to=[delivery.target],
        headers={"Message-ID": f"<{delivery.key}@millrace>"},
    )
    try:
        message.send()
    except smtplib.SMTPRecipientsRefused as error:
        raise NotSent(f"The mail server refuses {delivery.target}.", final=True) from error
    except (OSError, smtplib.SMTPException) as error:
        raise NotSent(f"The mail server did not take it: {error}.") from error


def _post(delivery: Delivery) -> None:
    if not delivery.alert.sealed_secret:  # it came with a file, which has no secrets
        raise NotSent(UNSIGNED, final=True)
    body = json.dumps(
        {"id": delivery.key, "text": words.headline(delivery.payload), **delivery.payload}
    ).encode()
    try:
        secret = unseal(delivery.alert.sealed_secret)
    except SecretProblem as problem:
        raise NotSent(str(problem), final=True) from problem
    headers = {
        "User-Agent": "Millrace",
        "X-Millrace-Delivery": delivery.key,
        "X-Millrace-Signature": signature(secret, int(time.time()), body),
    }
    post(delivery.target, body, headers)
