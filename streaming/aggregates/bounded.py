"""Answers that could grow without end are cut, and say so."""

from typing import Any, NamedTuple


class Bounded(NamedTuple):
    """The oldest items (or the beginning of a text), and whether there were more of them."""

    items: Any
    cut: bool

    @classmethod
    def of(cls, items: Any, limit: int, cut: bool) -> "Bounded":
        """At most `limit` of the items; `cut`: whether some are missing already."""
        return cls(items[:limit], cut or len(items) > limit)


NOTHING = Bounded((), False)
