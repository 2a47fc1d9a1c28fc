"""Windows as people type them: `1m, 5m, 15m every 10s`, `100 events every 10`, `gap 30s`."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from optimizer.durations import format_duration
from optimizer.queries import AnyWindowSpec, CountSpec, InvalidQuery, SessionSpec, WindowSpec

_LINE_ENDS = re.compile(r"[\n;]")
_EVERY = re.compile(r"\bevery\b", re.IGNORECASE)
_COUNT = re.compile(
    r"\s*(\d{1,15})\s*events?(?:\s+every\s+(\d{1,15})(?:\s*events?)?)?\s*", re.IGNORECASE | re.ASCII
)
_GAP = re.compile(r"\s*gap\b(.*)", re.IGNORECASE | re.DOTALL)


def parse_windows(text: str) -> tuple[AnyWindowSpec, ...]:
    """The windows that a text defines, in its order.

    On a line, `every` belongs to all sizes before it that have none of their own; a size without any
    `every` after it is tumbling. Commas separate sizes; a new line or a semicolon starts afresh. Windows of
    so many events, and sessions, say all of themselves.

    >>> [(w.range, w.slide) for w in parse_windows("1m, 5m every 10s; 30s")]
    [('1m', '10s'), ('5m', '10s'), ('30s', '30s')]
    >>> parse_windows("100 events every 10, gap 30s")
    (CountSpec(count=100, every=10), SessionSpec(gap='30s'))
    """
    specs = tuple(spec for line in _LINE_ENDS.split(text) for spec in _line(line))
    for spec in specs:
        spec.window()  # refuses what is not a duration, with a sentence
    return specs


def _line(line: str) -> list[AnyWindowSpec]:
    items = [item for item in line.split(",") if item.strip()]
    specs: list[AnyWindowSpec] = []
    slide: str | None = None
    for item in reversed(items):
        own = _group_window(item)
        if own is not None:
            specs.append(own)
            continue
        size, *own_slide = _EVERY.split(item)
        if len(own_slide) > 1:
            raise InvalidQuery(
                "windows", f"“{item.strip()}” says “every” twice: put a comma between windows."
            )
        if own_slide:
            slide = _compact(own_slide[0])
            if not slide:
                raise InvalidQuery("windows", f"Say how often after “{item.strip()}”, such as every 10s.")
        size = _compact(size)
        if not size:
            raise InvalidQuery("windows", f"Give a window size before “{item.strip()}”, such as 1m.")
        specs.append(WindowSpec(size, slide or size))
    return specs[::-1]


def _group_window(item: str) -> CountSpec | SessionSpec | None:
    if counted := _COUNT.fullmatch(item):
        return CountSpec(int(counted[1]), int(counted[2] or counted[1]))
    if gap := _GAP.fullmatch(item):
        return SessionSpec(_compact(gap[1]))
    return None


def _compact(text: str) -> str:
    return re.sub(r"\s+", "", text).lower()


def write_windows(windows: Sequence[AnyWindowSpec]) -> str:
    """The text that `parse_windows` reads back to the same windows, one line per slide."""
    lines = []
    for slide, family in groupby(windows, key=_slide):
        sizes = ", ".join(spec.range if isinstance(spec, WindowSpec) else spec.words for spec in family)
        lines.append(f"{sizes} every {slide}" if slide else sizes)
    return "\n".join(lines)


def _slide(spec: AnyWindowSpec) -> str | None:
    """What a line of windows ends with; None for tumbling ones, and nothing where each says it itself."""
    if not isinstance(spec, WindowSpec):
        return ""
    window = spec.window()
    return None if window.range == window.slide else spec.slide


def spoken(spec: AnyWindowSpec) -> str:
    """A window in the words of the pages: `5 m every 10 s`, or `1 m tumbling`.

    >>> spoken(WindowSpec("90s", "10s"))
    '1 m 30 s every 10 s'
    """
    if isinstance(spec, CountSpec):
        return spec.words
    if isinstance(spec, SessionSpec):
        return f"gap {spaced(spec.window().gap)}"
    window = spec.window()
    size = spaced(window.range)
    return f"{size} tumbling" if window.range == window.slide else f"{size} every {spaced(window.slide)}"


def spaced(milliseconds: int) -> str:
    """A duration with a space between numbers and units, as the pages write it."""
    parts = re.findall(r"\d+|[a-z]+", format_duration(milliseconds))
    return " ".join(parts)


def summary(windows: Iterable[AnyWindowSpec]) -> str:
    return ", ".join(spoken(window) for window in windows)
