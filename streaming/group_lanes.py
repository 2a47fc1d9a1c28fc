"""Group lanes: a plan's count and session windows as tasks and shards know them, over plan versions."""

import msgspec

from optimizer.group_trees import GroupTree
from optimizer.group_windows import CountWindow, GroupWindow, SessionWindow
from optimizer.plan import Plan
from streaming.aggregates.states import parts_of
from streaming.placement import WHOLE, Share, share_of


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """A query that a lane answers."""

    query: str
    aggregate: str


class GroupLane(msgspec.Struct, frozen=True, array_like=True):
    id: str
    tree: str
    measures: tuple[int, ...]  # count and every, or the gap alone
    where: str | None
    group_by: tuple[str, ...]
    field: str | None  # a field of the source, or an expression of fields
    parts: tuple[str, ...]  # which states are kept (streaming/aggregates/states.py)
    since: int  # events before it are not counted
    asked: tuple[Asked, ...]
    share: Share = WHOLE  # of the shards: those of the node that it began on

    @property
    def window(self) -> GroupWindow:
        return SessionWindow(*self.measures) if len(self.measures) == 1 else CountWindow(*self.measures)

    def whole_from(self, stream: int) -> int:
        """From when on it has all events of its source, of which the stream has all from `stream` on."""
        return max(self.since, stream)


def adopted(lanes: tuple[GroupLane, ...], plan: Plan, instant: int) -> tuple[GroupLane, ...]:
    """The lanes with `plan` in force: those of trees that stay go on, new ones begin at `instant`."""
    known = {lane.tree: lane for lane in lanes}
    return tuple(
        _lane(tree, known.get(tree.id), plan.version, instant, share_of(plan, tree.node))
        for tree in plan.group_trees
    )


def _lane(tree: GroupTree, known: GroupLane | None, version: int, instant: int, share: Share) -> GroupLane:
    key = tree.key
    lane = GroupLane(
        f"{tree.id}.{version}",
        tree.id,
        tuple(tree.window.to_json().values()),
        key.where or None,
        key.group_by,
        key.field or None,
        parts_of(query.aggregate for query in tree.queries),
        instant,
        tuple(Asked(query.id, query.aggregate) for query in tree.queries),
        share,
    )
    if known is None:
        return lane
    # It stays in the shards where it is: what it has counted is nowhere else, and cannot be read back.
    going_on = msgspec.structs.replace(lane, id=known.id, since=known.since, share=known.share)
    unchanged = msgspec.structs.replace(going_on, asked=known.asked) == known
    return going_on if unchanged else lane
