"""What people do to saved sources."""

from django.contrib.auth.models import User
from django.db import transaction

from dashboard.accounts.people import first_name
from dashboard.audit.recording import record
from dashboard.planning import service as planning
from dashboard.planning.models import PlanVersion
from dashboard.sources.forms import SettingsForm
from dashboard.sources.models import Source


def change_source(form: SettingsForm, person: User) -> PlanVersion | None:
    """The new plan, where the job has to hear of the change: it knows a source by its plan."""
    cause = f"{first_name(person)} changed the settings of {form.source.name}"
    with transaction.atomic():
        before = Source.objects.select_for_update().get(pk=form.source.pk).spec()
        source = form.save()
        if source.spec() == before or planning.newest(source) is None:
            return None
        return planning.replan(source, cause)


def read_again(source: Source, person: User) -> PlanVersion | str:
    """The plan with which the job reads the topic from as far back as it can, or why there is none."""
    with transaction.atomic():
        known = Source.objects.select_for_update().select_related("connection").get(pk=source.pk)
        if not known.queries.exists():
            return f"No query reads {known.name}: there is nothing to count again."
        known.rereads += 1
        known.save(update_fields=["rereads"])
        record("read again", "source", known.name, key=known.key)
        return planning.replan(known, f"{first_name(person)} had {known.name} read again")
