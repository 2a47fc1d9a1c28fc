"""NaN differs even from itself; where values are told apart it is one value all the same, as in SQL."""

import enum
import math
from typing import Any


class OneNan(enum.Enum):
    """Stands for every NaN. A member of an enum stays itself wherever a state is sent."""

    NAN = "NaN"


def comparable(value: Any) -> Any:
    """The value, in a form that equals itself."""
    return value if value == value else OneNan.NAN


def plain(value: Any) -> Any:
    """The value that `comparable` was given."""
    return math.nan if value is OneNan.NAN else value
