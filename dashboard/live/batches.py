"""A batch as its shards measured it: one meter message per shard, added up."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dashboard.live.messages import MeterMessage, QueryMeter, Recall, TreeMeter

END_OF_TIME_MS = 253_402_300_800_000  # the year 10000


@dataclass(frozen=True)
class LeftOut:
    """What a tree could not take: values, and groups beyond the limit, which are counted together."""

    values: int = 0
    why: str = ""  # of one of them
    groups_limited: bool = False

    def __bool__(self) -> bool:
        return self.values > 0 or self.groups_limited

    def plus(self, more: "LeftOut") -> "LeftOut":
        """The first reason stays: it would else be another one with every batch."""
        return LeftOut(
            self.values + more.values, self.why or more.why, self.groups_limited or more.groups_limited
        )


@dataclass(frozen=True)
class TreeWork:
    """What one tree did in one batch, over all shards."""

    partials: int = 0
    kernel_steps: int = 0
    seconds: float = 0.0
    groups: int = 0
    results: int = 0
    state_bytes: int = 0
    left_out: LeftOut = LeftOut()

    def plus(self, message: TreeMeter) -> "TreeWork":
        return TreeWork(
            self.partials + message["partials"],
            self.kernel_steps + message["kernel_steps"],
            self.seconds + message["seconds"],
            self.groups + message["groups"],
            self.results + message["results"],
            self.state_bytes + message.get("state_bytes", 0),
            self.left_out.plus(_left_out(message)),
        )


@dataclass(frozen=True)
class QueryWork:
    """How much one single-window query was answered in one batch, over all shards."""

    tree: str
    windows: int = 0
    results: int = 0


@dataclass(frozen=True)
class Batch:
    """One batch of one source. Every shard repeats what belongs to the whole batch."""

    number: int
    clock: int  # ms, wall time
    plan: int
    watermark: int | None
    max_event_time: int | None
    events: int
    malformed: int
    late: int
    future: int
    past: int
    map_seconds: float
    shard_seconds: float
    kernel_seconds: float
    partials: int
    kernel_steps: int
    state_bytes: int | None
    trees: Mapping[str, TreeWork] = field(default_factory=dict)
    active: tuple[int, ...] | None = None  # partitions that are waited for; None: not told
    recalled: float | None = None  # the part that has been read of what new queries lack of the past
    recalled_for: tuple[str, ...] = ()  # these queries
    queries: Mapping[str, QueryWork] = field(default_factory=dict)
    aborted: int = 0  # messages, by their transactions
    waiting: Mapping[str, int] = field(default_factory=dict)  # by query, until when it warms up

    @property
    def busy_seconds(self) -> float:
        """Core time that the batch used: map tasks and shards."""
        return self.map_seconds + self.shard_seconds

    @cached_property
    def left_out(self) -> Mapping[str, LeftOut]:
        """By tree that left something out. Mostly there is none, and batches are looked through often."""
        return {tree: work.left_out for tree, work in self.trees.items() if work.left_out}


def add_up(messages: Mapping[int, MeterMessage]) -> Batch:
    """The batch that these meter messages, by shard, describe."""
    whole = messages[min(messages)]
    shards = messages.values()
    return Batch(
        number=whole["batch"],
        clock=max(shard["clock"] for shard in shards),
        plan=max(shard["plan"] for shard in shards),
        watermark=_instant(whole["watermark"]),
        max_event_time=_instant(whole["max_event_time"]),
        events=whole["events"],
        malformed=whole["malformed"],
        late=whole["late"],
        future=whole.get("future", 0),
        past=whole.get("past", 0),
        aborted=whole.get("aborted", 0),
        map_seconds=whole["map_seconds"],
        shard_seconds=sum(shard["shard_seconds"] for shard in shards),
        kernel_seconds=sum(shard["kernel_seconds"] for shard in shards),
        partials=sum(shard["partials"] for shard in shards),
        kernel_steps=sum(shard["kernel_steps"] for shard in shards),
        state_bytes=_state_bytes(shards),
        trees=_trees(shard["trees"] for shard in shards),
        active=_active(whole.get("active")),
        recalled=_recalled(whole.get("recall")),
        recalled_for=_recalled_for(whole.get("recall")),
        queries=_queries(shard.get("queries", {}) for shard in shards),
        waiting=whole.get("waiting", {}),
    )


def _left_out(message: TreeMeter) -> LeftOut:
    return LeftOut(
        message.get("failed_values", 0), message.get("failure", ""), message.get("groups_limited", False)
    )


def _active(partitions: list[int] | None) -> tuple[int, ...] | None:
    return None if partitions is None else tuple(partitions)


def _recalled(recall: Recall | None) -> float | None:
    return None if recall is None else recall["read"] / max(1, recall["messages"])


def _recalled_for(recall: Recall | None) -> tuple[str, ...]:
    return () if recall is None else tuple(recall["queries"])


def _queries(shards: Iterable[Mapping[str, QueryMeter | int]]) -> dict[str, QueryWork]:
    found: dict[str, QueryWork] = {}
    for shard in shards:
        for query, told in shard.items():
            if isinstance(told, int):
                continue
            known = found.get(query, QueryWork(told["tree"]))
            found[query] = QueryWork(
                told["tree"], known.windows + told["windows"], known.results + told["results"]
            )
    return found


def _state_bytes(shards: Collection[MeterMessage]) -> int | None:
    told = [shard["state_bytes"] for shard in shards if "state_bytes" in shard]
    return sum(told) if told else None


def _instant(time: int | None) -> int | None:
    """A time of an event; the sentinels of a source that has seen none are no time."""
    return time if time is not None and abs(time) < END_OF_TIME_MS else None


def _trees(shards: Iterable[Mapping[str, TreeMeter]]) -> dict[str, TreeWork]:
    trees: dict[str, TreeWork] = {}
    for shard in shards:
        for tree, work in shard.items():
            trees[tree] = trees.get(tree, TreeWork()).plus(work)
    return trees
