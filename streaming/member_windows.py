"""Windows of members that are to be answered, sorted by the lanes that answer them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from optimizer.windows import Window
from streaming.lane_kernels import Chain, Due, Wanted
from streaming.lanes import Member


class MemberWindows(NamedTuple):
    """Windows of a member that lie in one lane."""

    member: Member
    ends: list[int]  # ascending

    def due(self, lane: str) -> Due:
        member = self.member
        return Due(member.window, self.ends, member.chain if member.segments[-1].lane == lane else ())


def by_lane(
    member: Member, ends: list[int], lanes: dict[str, list[MemberWindows]]
) -> list[tuple[int, Member]]:
    """Add windows to those of the lane that they lie in; returns those that lie in several."""
    if len(member.segments) == 1:  # mostly so
        if ends:
            lanes[member.segments[0].lane].append(MemberWindows(member, ends))
        return []
    inside: dict[str, list[int]] = {}
    spanning = []
    for end in ends:
        pieces = member.pieces(end - member.range, end)
        if len(pieces) == 1:
            inside.setdefault(pieces[0][0], []).append(end)
        else:
            spanning.append((end, member))
    for lane, own in inside.items():
        lanes[lane].append(MemberWindows(member, own))
    return spanning


def wanted_of_lanes(members: Iterable[Member]) -> dict[str, Wanted]:
    """By lane, the windows that it is asked for, each with the answers that it is made of."""
    found: dict[str, dict[Chain, frozenset[Window]]] = {}
    for member in members:
        for segment in member.segments:
            wanted = found.setdefault(segment.lane, {})
            chain = member.chain if segment is member.segments[-1] else ()
            for length, window in enumerate((*chain, member.window)):
                wanted[chain[:length]] = wanted.get(chain[:length], frozenset()) | {window}
    return dict(found)


def in_chunks(windows: Iterable[MemberWindows], most: int) -> Iterator[list[MemberWindows]]:
    """At most so many windows at once."""
    some: list[MemberWindows] = []
    room = most
    for member, ends in windows:
        left = ends
        while left:
            some.append(MemberWindows(member, left[:room]))
            left, room = left[room:], room - len(some[-1].ends)
            if not room:
                yield some
                some, room = [], most
    if some:
        yield some
