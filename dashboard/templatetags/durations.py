"""Durations in templates."""

from django import template

from dashboard.queries.windows_text import spaced

register = template.Library()


@register.filter
def duration(milliseconds: int) -> str:
    """Milliseconds as the pages write a duration: `1 m 30 s`."""
    return spaced(milliseconds) if milliseconds else "none"
