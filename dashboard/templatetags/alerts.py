"""The alerts of a query, wherever a page shows it; and numbers as messages write them."""

from typing import Any

from django import template

from dashboard.alerts import words
from dashboard.alerts.models import Alert, Firing
from dashboard.alerts.views import row_of
from dashboard.queries.models import SavedQuery

FIRINGS_SHOWN = 20

register = template.Library()
register.filter("alert_number", words.number)


@register.inclusion_tag("alerts/_of_query.html")
def alerts_of(query: SavedQuery) -> dict[str, Any]:
    found = Alert.objects.filter(query=query).select_related("query__source", "evaluation")
    firings = Firing.objects.filter(alert__in=found).select_related("alert")[:FIRINGS_SHOWN]
    return {
        "query": query,
        "rows": [row_of(alert) for alert in found.prefetch_related("silences")],
        "firings": [{"firing": one, "group": words.group_words(one.group)} for one in firings],
    }
