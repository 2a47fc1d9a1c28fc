"""Instants within sentences."""

import re

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


@register.filter
def with_times(sentence: str) -> SafeString:
    """A sentence whose instants the page shows in the browser's zone, with UTC on hover (`times.js`).

    >>> with_times("<a> 2026-01-31T12:00:00.500Z")
    '&lt;a&gt; <time datetime="2026-01-31T12:00:00.500Z" data-exact>2026-01-31T12:00:00.500Z</time>'
    """
    marked = _INSTANT.sub(r'<time datetime="\g<0>" data-exact>\g<0></time>', conditional_escape(sentence))
    return mark_safe(marked)  # noqa: S308  # escaped above
