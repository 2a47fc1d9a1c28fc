"""What a page says about a plan that was just made."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest

from dashboard.planning.models import PlanVersion

NOT_HEARD = (
    "The job has not heard of this plan yet: Kafka does not answer. It will be told as soon as it does."
)


def warn_if_unheard(request: HttpRequest, plan: PlanVersion) -> None:
    """A stored plan that Kafka did not take is safe, but people should know why nothing changes yet."""
    note = note_if_unheard([plan])
    if note:
        messages.warning(request, note)


def note_if_unheard(plans: Sequence[PlanVersion]) -> str | None:
    for plan in plans:
        plan.refresh_from_db(fields=["published_at"])
    return NOT_HEARD if any(plan.published_at is None for plan in plans) else None
