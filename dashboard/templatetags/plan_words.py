"""Words and figures of the plan page."""

from collections import Counter
from collections.abc import Iterable

from django import template

from dashboard.planning.changes import kernel_label
from optimizer.durations import format_duration
from optimizer.group_trees import GroupTree
from optimizer.plan import Tree
from optimizer.queries import AnyQuery, Query

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
def query_names(queries: Iterable[AnyQuery]) -> str:
    """Each name once, with its windows: “Latency 1m, 5m, 1h · Requests 1m”."""
    windows: dict[str, list[str]] = {}
    for query in queries:
        size = format_duration(query.window.range) if isinstance(query, Query) else query.window.words
        windows.setdefault(query.name, []).append(size)
    return " · ".join(f"{name} {', '.join(Counter(lengths))}" for name, lengths in windows.items())


@register.filter
def rounded(value: float) -> str:
    """All digits, of which three count: 85,312 as 85,300.

    >>> rounded(85_312.4)
    '85,300'
    """
    return f"{float(f'{value:.3g}'):,.0f}"


@register.filter
def kernel_name(tree: Tree | GroupTree) -> str:
    return kernel_label(tree) or "none"


@register.filter
def signed_percent(share: float) -> str:
    """−0.061 as −6.1 %, 0.2 as +20 %.

    >>> signed_percent(-0.061)
    '\u22126.1\u202f%'
    """
    sign = "+" if share > 0 else "\N{MINUS SIGN}" if share < 0 else ""
    return f"{sign}{percent(abs(share))}"


@register.filter
def microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.3g}"


@register.filter
def core_percent(seconds: float) -> str:
    """Busy seconds a second as a share of one core."""
    value = 100 * seconds
    return f"{value:.2g}{NARROW_SPACE}%" if value < 10 else f"{value:.0f}{NARROW_SPACE}%"


@register.filter
def file_size(count: int) -> str:
    """18400000 as 18.4 MB.

    >>> file_size(18_400_000)
    '18.4\u202fMB'
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g}{NARROW_SPACE}{unit}"
    return f"{count}{NARROW_SPACE}B"


@register.filter
def planning_time(seconds: float) -> str:
    """Time to plan: under 0.1 s, 0.4 s, 12 s."""
    if seconds < 0.1:
        return f"<{NARROW_SPACE}0.1{NARROW_SPACE}s"
    return f"{seconds:.1f}{NARROW_SPACE}s" if seconds < 10 else f"{seconds:.0f}{NARROW_SPACE}s"
