"""Windows as people type them: `1m, 5m, 15m every 10s`, one or several families of them."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from optimizer.durations import format_duration
from optimizer.queries import InvalidQuery, WindowSpec

_LINE_ENDS = re.compile(r"[\n;]")
_EVERY = re.compile(r"\bevery\b", re.IGNORECASE)


def parse_windows(text: str) -> tuple[WindowSpec, ...]:
    """The windows that a text defines, in its order.

    On a line, `every` belongs to all sizes before it that have none of their own; a size without any
    `every` after it is tumbling. Commas separate sizes; a new line or a semicolon starts afresh.

    >>> [(w.range, w.slide) for w in parse_windows("1m, 5m every 10s; 30s")]
    [('1m', '10s'), ('5m', '10s'), ('30s', '30s')]
    """
    specs = tuple(spec for line in _LINE_ENDS.split(text) for spec in _line(line))
    for spec in specs:
        spec.window()  # refuses what is not a duration, with a sentence
    return specs


def _line(line: str) -> list[WindowSpec]:
    items = [item for item in line.split(",") if item.strip()]
    specs: list[WindowSpec] = []
    slide: str | None = None
    for item in reversed(items):
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


def _compact(text: str) -> str:
    return re.sub(r"\s+", "", text).lower()


def write_windows(windows: Sequence[WindowSpec]) -> str:
    """The text that `parse_windows` reads back to the same windows, one line per slide."""
    lines = []
    for slide, family in groupby(windows, key=lambda window: None if _tumbles(window) else window.slide):
        sizes = ", ".join(window.range for window in family)
        lines.append(sizes if slide is None else f"{sizes} every {slide}")
    return "\n".join(lines)


def _tumbles(spec: WindowSpec) -> bool:
    window = spec.window()
    return window.range == window.slide


def spoken(spec: WindowSpec) -> str:
    """A window in the words of the pages: `5 m every 10 s`, or `1 m tumbling`.

    >>> spoken(WindowSpec("90s", "10s"))
    '1 m 30 s every 10 s'
    """
    window = spec.window()
    size = spaced(window.range)
    return f"{size} tumbling" if window.range == window.slide else f"{size} every {spaced(window.slide)}"


def spaced(milliseconds: int) -> str:
    """A duration with a space between numbers and units, as the pages write it."""
    parts = re.findall(r"\d+|[a-z]+", format_duration(milliseconds))
    return " ".join(parts)


def summary(windows: Iterable[WindowSpec]) -> str:
    return ", ".join(spoken(window) for window in windows)
