"""Words and figures of the plan page."""

from collections import Counter
from collections.abc import Iterable

from django import template

from optimizer.durations import format_duration
from optimizer.queries import Query

register = template.Library()
NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"


@register.filter
def times(value: float, factor: float) -> str:
    """A product, written so that SVG and CSS read it."""
    return f"{value * factor:g}"


@register.filter
def per_minute(per_second: float) -> float:
    return per_second * 60


@register.filter
def percent(share: float) -> str:
    """0.312 as 31 %; small shares keep a digit.

    >>> percent(0.312)
    '31\\u202f%'
    """
    digits = 1 if 0 < share < 0.0995 else 0
    return f"{share * 100:,.{digits}f}{NARROW_SPACE}%"


@register.filter
def three_digits(value: float) -> str:
    """1204 as 1,204, 38240 as 38.2 k, 0.0333 as 0.0333.

    >>> three_digits(38240)
    '38.2\\u202fk'
    """
    for unit, scale, least in (("G", 1e9, 1e9), ("M", 1e6, 1e6), ("k", 1e3, 1e4)):
        if abs(value) >= least:
            return f"{value / scale:.3g}{NARROW_SPACE}{unit}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


@register.filter
def query_names(queries: Iterable[Query]) -> str:
    """Each name once, with its windows: “Latency 1m, 5m, 1h · Requests 1m”."""
    windows: dict[str, list[str]] = {}
    for query in queries:
        windows.setdefault(query.name, []).append(format_duration(query.window.range))
    return " · ".join(f"{name} {', '.join(Counter(lengths))}" for name, lengths in windows.items())
