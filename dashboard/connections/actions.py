"""What people do to saved connections; sources that are read otherwise afterwards get new plans."""

from django.contrib.auth.models import User
from django.db import transaction

from dashboard.accounts.people import first_name
from dashboard.connections.forms import ConnectionForm
from dashboard.planning import service as planning
from dashboard.planning.models import PlanVersion


def change_connection(form: ConnectionForm, person: User) -> list[PlanVersion]:
    """The new plans of the sources that are read otherwise now: the job knows a source by its plan."""
    with transaction.atomic():
        sources = list(form.editing.sources.all()) if form.editing else []
        before = {source.pk: source.spec() for source in sources}
        connection = form.save(person)
        cause = f"{first_name(person)} changed the connection {connection.name}"
        plans = []
        for source in sources:
            source.connection = connection
            if source.spec() != before[source.pk] and planning.newest(source) is not None:
                plans.append(planning.replan(source, cause))
        return plans
