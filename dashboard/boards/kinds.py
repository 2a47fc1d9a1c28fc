"""The kinds of panels. Each is drawn by static/js/live/kinds/NAME.js; this is the one list of their names."""

from dataclasses import dataclass

COLUMNS = 12


@dataclass(frozen=True)
class Kind:
    """What a panel can be: its size when it is new, in columns and rows, and the settings that it heeds."""

    name: str
    label: str
    icon: str
    width: int
    height: int
    settings: frozenset[str] = frozenset()
    is_query: bool = True  # it shows results of queries


_VALUES = frozenset({"unit", "decimals", "thresholds"})
_RIGHT = frozenset({"axis", "right_unit", "right_decimals"})
_CHART = _VALUES | _RIGHT | {"scale", "least", "greatest", "groups"}

_ALL = (
    Kind("line", "Line", "chart-line", 6, 19, _CHART),
    Kind("area", "Area", "chart-area-line", 6, 19, _CHART),
    Kind("stacked", "Stacked", "chart-area", 6, 19, _CHART - _RIGHT - {"scale"}),
    Kind("bar", "Bar", "chart-bar", 6, 12, _CHART | {"stack"}),
    Kind("number", "Number", "number-123", 3, 9, _VALUES | {"change"}),
    Kind("gauge", "Gauge", "gauge", 3, 9, _VALUES | {"least", "greatest"}),
    Kind("top", "Top list", "list-numbers", 3, 19, _VALUES | {"groups"}),
    Kind("heat", "Heat map", "grid-dots", 6, 12, _VALUES - {"thresholds"} | {"least", "greatest", "groups"}),
    Kind("text", "Text", "text-size", 3, 9, frozenset({"text"}), is_query=False),
)
KINDS = {kind.name: kind for kind in _ALL}
