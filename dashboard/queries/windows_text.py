"""Windows as people type them: `1m, 5m every 10s`, `1h offset 15m`, `100 events every 10`, `gap 30s`."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from optimizer.durations import InvalidDuration, abbreviated, format_duration
from optimizer.queries import AnyWindowSpec, CountSpec, InvalidQuery, SessionSpec, WindowSpec, refuse_absurd

_LINE_ENDS = re.compile(r"[\n;]")
_EVERY = re.compile(r"\bevery\b", re.IGNORECASE)
_OFFSET = re.compile(r"\boffset\b", re.IGNORECASE)
_COUNT = re.compile(
    r"\s*(\d{1,15})\s*events?(?:\s+every\s+(\d{1,15})(?:\s*events?)?)?\s*", re.IGNORECASE | re.ASCII
)
_GAP = re.compile(r"\s*gap\b(.*)", re.IGNORECASE | re.DOTALL)


def parse_windows(text: str) -> tuple[AnyWindowSpec, ...]:
    """The windows that a text defines, in its order.

    On a line, `every` (and an `offset` after it) belongs to all sizes before it that have none of their own;
    a size without any `every` after it is tumbling. Commas separate sizes; a new line or a semicolon starts
    afresh. Windows of so many events, and sessions, say all of themselves.

    >>> [(w.range, w.slide) for w in parse_windows("1m, 5m every 10s; 30s")]
    [('1m', '10s'), ('5m', '10s'), ('30s', '30s')]
    >>> parse_windows("1h every 30m offset 15m")
    (WindowSpec(range='1h', slide='30m', offset='15m'),)
    >>> parse_windows("100 events every 10, gap 30s")
    (CountSpec(count=100, every=10), SessionSpec(gap='30s'))
    """
    specs = tuple(spec for line in _LINE_ENDS.split(text) for spec in _line(line))
    refuse_absurd(specs)  # and what is not a duration
    return specs


def _line(line: str) -> list[AnyWindowSpec]:
    items = [item for item in line.split(",") if item.strip()]
    specs: list[AnyWindowSpec] = []
    slide, shared_offset = "", ""
    for item in reversed(items):
        own = _group_window(item)
        if own is not None:
            specs.append(own)
            continue
        size, own_slide, offset = _parts(item)
        if own_slide:
            slide, shared_offset = own_slide, offset
        specs.append(WindowSpec(size, slide or size, offset or shared_offset))
    return specs[::-1]


def _parts(item: str) -> tuple[str, str, str]:
    """Size, slide and offset of one item; empty where it does not say them."""
    told = item.strip()
    timing, *offset = _OFFSET.split(item)
    size, *slide = _EVERY.split(timing)
    if len(slide) > 1:
        raise InvalidQuery("windows", f"“{told}” says “every” twice: put a comma between windows.")
    if len(offset) > 1 or (offset and _EVERY.search(offset[0])):
        raise InvalidQuery("windows", f"“{told}”: the offset comes last, as in 1h every 30m offset 15m.")
    if slide and not slide[0].strip():
        raise InvalidQuery("windows", f"Say how often after “{told}”, such as every 10s.")
    if offset and not offset[0].strip():
        raise InvalidQuery("windows", f"Say how far after “{told}”, such as offset 15m.")
    if not size.strip():
        raise InvalidQuery("windows", f"Give a window size before “{told}”, such as 1m.")
    shift = _duration("".join(offset))
    return _duration(size), _duration("".join(slide)), "" if shift in ("0", "0s") else shift


def _group_window(item: str) -> CountSpec | SessionSpec | None:
    if counted := _COUNT.fullmatch(item):
        return CountSpec(int(counted[1]), int(counted[2] or counted[1]))
    if gap := _GAP.fullmatch(item):
        return SessionSpec(_duration(gap[1]))
    return None


def _duration(text: str) -> str:
    """In short; what is no duration stays as it was typed, to be refused in those words."""
    try:
        return abbreviated(text)
    except InvalidDuration:
        return text.strip()


def write_windows(windows: Sequence[AnyWindowSpec]) -> str:
    """The text that `parse_windows` reads back to the same windows, one line per slide."""
    lines = []
    for timing, family in groupby(windows, key=_timing):
        lines.append(", ".join(_size(spec, timing) for spec in family) + timing)
    return "\n".join(lines)


def _timing(spec: AnyWindowSpec) -> str:
    """What a line of windows ends with: nothing for tumbling ones and those that say all of themselves."""
    if not isinstance(spec, WindowSpec) or spec.range == spec.slide:
        return ""
    return f" every {spec.slide}" + (f" offset {spec.offset}" if spec.offset else "")


def _size(spec: AnyWindowSpec, timing: str) -> str:
    if not isinstance(spec, WindowSpec):
        return spec.words
    return f"{spec.range} offset {spec.offset}" if spec.offset and not timing else spec.range


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
    words = f"{size} tumbling" if window.range == window.slide else f"{size} every {spaced(window.slide)}"
    return f"{words} offset {spaced(window.offset)}" if window.offset else words


def brief(windows: Sequence[AnyWindowSpec]) -> list[str]:
    """Each window in as few words as tell them apart: by its size where no other has the same.

    >>> brief(parse_windows("1m, 5m every 10s"))
    ['1 m', '5 m']
    >>> brief(parse_windows("1m every 10s; 1m"))
    ['1 m every 10 s', '1 m tumbling']
    """
    sizes = [spaced(one.window().range) if isinstance(one, WindowSpec) else one.words for one in windows]
    return sizes if len(set(sizes)) == len(sizes) else [spoken(one) for one in windows]


def spaced(milliseconds: int) -> str:
    """A duration with a space between numbers and units, as the pages write it."""
    parts = re.findall(r"\d+|[a-z]+", format_duration(milliseconds))
    return " ".join(parts)


def summary(windows: Iterable[AnyWindowSpec]) -> str:
    """All windows in words, those of one slide together.

    >>> summary(parse_windows("1m, 5m, 1h every 10s; 1h, 1d"))
    '1 m, 5 m, 1 h every 10 s; 1 h, 1 d tumbling'
    """
    return "; ".join(_family_words(list(family)) for _, family in groupby(windows, key=_rhythm))


def _rhythm(spec: AnyWindowSpec) -> str:
    """What windows must have in common to be named together."""
    if not isinstance(spec, WindowSpec):
        return ""
    slide = "tumbling" if spec.window().range == spec.window().slide else spec.slide
    return f"{slide} {spec.offset}"


def _family_words(family: list[AnyWindowSpec]) -> str:
    *before, last = family
    if not isinstance(last, WindowSpec):
        return ", ".join(spoken(spec) for spec in family)
    sizes = [spaced(spec.window().range) for spec in before if isinstance(spec, WindowSpec)]
    return ", ".join([*sizes, spoken(last)])


def skipping(windows: Iterable[AnyWindowSpec]) -> list[str]:
    """A sentence for each window between whose results events are in none.

    >>> skipping(parse_windows("10s every 1m; 1m every 10s; 10 events every 100"))
    ['10 s every 1 m skips events: those of 50 s of every 1 m are in no window.', \
'10 events every 100 skips events: 90 of every 100 are in no window.']
    """
    return [sentence for spec in windows if (sentence := _skipped(spec))]


def _skipped(spec: AnyWindowSpec) -> str:
    if isinstance(spec, CountSpec) and spec.every > spec.count:
        missed, every = f"{spec.every - spec.count:,}", f"{spec.every:,}"
    elif isinstance(spec, WindowSpec) and spec.window().slide > spec.window().range:
        window = spec.window()
        missed, every = f"those of {spaced(window.slide - window.range)}", spaced(window.slide)
    else:
        return ""
    return f"{spoken(spec)} skips events: {missed} of every {every} are in no window."
