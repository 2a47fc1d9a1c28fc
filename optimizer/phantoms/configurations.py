"""Configurations: which group-bys are kept and which of them each one is fed by, in PHANTOM's notation.

`ABCD(AC(A C) BD(B D))`: the stream feeds ABCD, which feeds AC and BD, and these feed what is asked for.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

Relation = frozenset[str]  # the attributes of a group-by; their order makes no difference

NO_ATTRIBUTES = "∅"
_PART = re.compile(r"[()]|[^\s()]+")


def relation(text: str) -> Relation:
    """A group-by as written: capital letters stand for one attribute each, longer names are joined by `+`.

    >>> sorted(relation("AC")), sorted(relation("device+site"))
    (['A', 'C'], ['device', 'site'])
    """
    if text == NO_ATTRIBUTES:
        return frozenset()
    return frozenset(text if text.isalpha() and text.isupper() else text.split("+"))


def written(attributes: Relation) -> str:
    """The group-by in the form that `relation` reads."""
    if not attributes:
        return NO_ATTRIBUTES
    names = sorted(attributes)
    return "".join(names) if all(len(name) == 1 and name.isupper() for name in names) else "+".join(names)


@dataclass(frozen=True)
class Configuration:
    """A forest of relations: `feeders` holds each one's position of what feeds it, None for the stream."""

    relations: tuple[Relation, ...]  # what feeds stands before what it feeds
    feeders: tuple[int | None, ...]

    @cached_property
    def fed(self) -> tuple[tuple[int, ...], ...]:
        """For each relation the positions of those it feeds."""
        fed: list[list[int]] = [[] for _ in self.relations]
        for position, feeder in enumerate(self.feeders):
            if feeder is not None:
                fed[feeder].append(position)
        return tuple(map(tuple, fed))

    @cached_property
    def raw(self) -> tuple[int, ...]:
        """Positions of the relations that the stream feeds directly."""
        return tuple(position for position, feeder in enumerate(self.feeders) if feeder is None)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """1 for what the stream feeds, 2 for what that feeds, and so on."""
        depths: list[int] = []
        for feeder in self.feeders:
            depths.append(1 if feeder is None else depths[feeder] + 1)
        return tuple(depths)

    def __str__(self) -> str:
        return " ".join(self._in_words(self.raw))

    def _in_words(self, positions: tuple[int, ...]) -> list[str]:
        words = []
        for position in sorted(positions, key=lambda position: sorted(self.relations[position])):
            below = " ".join(self._in_words(self.fed[position]))
            words.append(written(self.relations[position]) + (f"({below})" if below else ""))
        return words

    @classmethod
    def parse(cls, text: str) -> "Configuration":
        """The configuration that is written like this.

        >>> str(Configuration.parse("ABCD(BD(B D) AC(C A))"))
        'ABCD(AC(A C) BD(B D))'
        """
        relations: list[Relation] = []
        feeders: list[int | None] = []
        open_feeders: list[int | None] = [None]
        for part in _parts(text):
            if part == "(":
                if len(relations) == 0 or open_feeders[-1] == len(relations) - 1:
                    raise ValueError(f"“{text}” opens a bracket without a group-by before it.")
                open_feeders.append(len(relations) - 1)
            elif part == ")":
                if len(open_feeders) == 1:
                    raise ValueError(f"“{text}” closes a bracket that was not opened.")
                open_feeders.pop()
            else:
                relations.append(relation(part))
                feeders.append(open_feeders[-1])
                _refuse_what_cannot_feed(relations, feeders[-1])
        if len(open_feeders) > 1:
            raise ValueError(f"“{text}” leaves a bracket open.")
        return cls(tuple(relations), tuple(feeders))


def _parts(text: str) -> Iterator[str]:
    return (match.group() for match in _PART.finditer(text))


def _refuse_what_cannot_feed(relations: list[Relation], feeder: int | None) -> None:
    if relations[-1] in relations[:-1]:
        raise ValueError(f"{written(relations[-1])} is there twice: a relation is fed once.")
    if feeder is not None and not relations[-1] < relations[feeder]:
        raise ValueError(
            f"{written(relations[feeder])} cannot feed {written(relations[-1])}: it needs all its attributes."
        )
