"""What is said of a query that runs and leaves something out: values, or groups beyond the limit.

The meters tell it by plan and tree: a tree's number says nothing in another plan.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from textwrap import shorten

from dashboard.live.batches import Batch, LeftOut
from dashboard.live.hub import Hub
from dashboard.live.spans import KEPT_MS, MINUTE_MS
from streaming.group_index import GROUP_LIMIT, OTHER

Place = tuple[int, str]  # the version of a plan, and a tree of it
Places = frozenset[Place]

LONGEST_REASON = 200  # characters: it may quote a value, which may be of any length
OF_LATE = f" in the last {KEPT_MS // MINUTE_MS}\N{NARROW NO-BREAK SPACE}min"


def values_left_out(count: int, why: str = "", when: str = "") -> str:
    """The sentence, wherever it is said.

    >>> values_left_out(1_203, "could not convert 'n/a' to a number", " in the last minute")
    "1,203 values left out in the last minute: could not convert 'n/a' to a number."
    """
    reason = shorten(why, LONGEST_REASON, placeholder=" …")
    sentence = f"{count:,} value{'' if count == 1 else 's'} left out{when}{f': {reason}' if reason else ''}"
    return sentence if sentence.endswith((".", "…")) else f"{sentence}."


def left_out(batches: Iterable[Batch], now: int) -> dict[Place, LeftOut]:
    """By place where something was, in the last quarter of an hour."""
    found: dict[Place, LeftOut] = {}
    for batch in batches:
        if batch.clock > now - KEPT_MS:
            for tree, more in batch.left_out.items():
                place = (batch.plan, tree)
                found[place] = found.get(place, LeftOut()).plus(more)
    return found


def left_out_of(hub: Hub, source: str, now: int) -> dict[Place, LeftOut]:
    """The same of a source, by whoever asks first since something was new. For the relay's thread alone."""
    key = ("left out", source)
    known = hub.shared.get(key)
    if not isinstance(known, dict):
        known = hub.shared[key] = left_out(hub.meters.source(source).batches(), now)
    return known


def warning_of(found: Mapping[Place, LeftOut], places: Places, *, with_why: bool = True) -> str:
    """Of what has been in these places; empty where nothing was left out.

    A reason may quote a value: it is for those who may see the source.
    """
    whole = _over_plans([(plan, found[plan, tree]) for plan, tree in sorted(places & found.keys())])
    sentences = []
    if whole.values:
        sentences.append(values_left_out(whole.values, whole.why if with_why else "", OF_LATE))
    if whole.groups_limited:
        sentences.append(f"More than {GROUP_LIMIT:,} groups: further ones are counted together as {OTHER}.")
    return " ".join(sentences)


def _over_plans(told: Iterable[tuple[int, LeftOut]]) -> LeftOut:
    """Trees of a query leave the same values out: in each plan the one that leaves most out speaks for it."""
    by_plan: dict[int, LeftOut] = {}
    for plan, one in told:
        known = by_plan.get(plan, LeftOut())
        most = max(known, one, key=lambda each: each.values)
        by_plan[plan] = replace(most, groups_limited=known.groups_limited or one.groups_limited)
    whole = LeftOut()
    for one in by_plan.values():
        whole = whole.plus(one)
    return whole
