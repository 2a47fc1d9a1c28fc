"""Map side: lanes that gather the same events by the same groups are made of common partials.

Trees with different slides cut time differently, so that each would look at every event. Instead events are
folded once, into slices that end wherever one of the lanes' slices does, and each lane's partials are made of
those (`streaming/feeds.py`): some thousand rows in place of some hundred thousand events.
"""

from collections.abc import Iterable, Sequence

import msgspec

from streaming.lanes import EARLIEST, LATEST, Cut, Feed, Lane, Signature

_Alike = tuple[str | None, tuple[str, ...]]  # filter and group-by


def common_lanes(lanes: Sequence[Lane], earliest: int) -> tuple[list[Lane], list[Lane]]:
    """The lanes, fed by common ones where that saves work, and these; no event is older than `earliest`."""
    alike: dict[_Alike, list[Lane]] = {}
    for lane in lanes:
        cut = lane.cuts[-1]
        if lane.feed is None and not lane.fragments and cut.until == LATEST and cut.since <= earliest:
            alike.setdefault((lane.signature.where, lane.signature.group_by), []).append(lane)
    common: list[Lane] = []
    feed_of: dict[str, str] = {}
    for number, (key, members) in enumerate(alike.items()):
        if len({member.cuts[-1].classes for member in members}) > 1:
            for lane, fed in _commons(f"common.{number}", key, members):
                common.append(lane)
                feed_of |= {member.id: lane.id for member in fed}
    return [_fed(lane, feed_of.get(lane.id)) for lane in lanes], common


def _commons(name: str, key: _Alike, members: Sequence[Lane]) -> Iterable[tuple[Lane, list[Lane]]]:
    """One lane for every field that is gathered, all cut alike: where events go is worked out once."""
    classes = set().union(*(member.cuts[-1].classes for member in members))
    since = max(member.cuts[-1].since for member in members)  # where some have an edge
    cut = Cut(since, LATEST, _without_multiples(classes))
    fields: dict[str | None, list[Lane]] = {}
    for member in members:
        fields.setdefault(member.signature.field, []).append(member)
    for number, (field, fed) in enumerate(fields.items()):
        parts = sorted(set().union(*(member.signature.parts for member in fed)))
        signature = Signature(*key, field, tuple(parts))
        yield Lane(f"{name}.{number}", "", "flatfit", signature, (cut,), kept=False), fed


def _without_multiples(classes: set[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The classes without those whose instants are all in another one.

    >>> _without_multiples({(1_000, 0), (5_000, 0), (5_000, 500), (10_000, 2_000)})
    ((1000, 0), (5000, 500))
    """
    return tuple(
        sorted(
            (period, residue)
            for period, residue in classes
            if not any(
                period % other == 0 and residue % other == rest
                for other, rest in classes
                if (other, rest) != (period, residue)
            )
        )
    )


def _fed(lane: Lane, by: str | None) -> Lane:
    return lane if by is None else msgspec.structs.replace(lane, feed=Feed(by, EARLIEST))
