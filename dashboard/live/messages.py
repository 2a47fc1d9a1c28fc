"""The JSON messages of the job, as they are checked on arrival."""

from typing import Literal, NotRequired, TypedDict


class TreeMeter(TypedDict):
    """What one tree did in one shard's part of a batch."""

    partials: int
    kernel_steps: int
    seconds: float
    groups: int
    results: int
    state_bytes: NotRequired[int]  # these are not in the meters of older jobs
    failed_values: NotRequired[int]
    failure: NotRequired[str]  # why one of them could not be taken
    groups_limited: NotRequired[bool]


class Recall(TypedDict):
    """What is read back for queries that came with the newest plan."""

    queries: list[str]
    read: int
    messages: int


class QueryMeter(TypedDict):
    """What one query was answered in one shard's part of a batch."""

    tree: str
    windows: int
    results: int


class MeterMessage(TypedDict):
    """What one shard did in one batch; events to map_seconds are the whole batch's, the rest its own."""

    source: str
    shard: int
    batch: int
    clock: int
    plan: int
    watermark: int | None
    max_event_time: int | None
    active: NotRequired[list[int] | None]  # partitions that are waited for; one shard tells them
    events: int
    malformed: int
    late: int
    future: NotRequired[int]  # these two are not in the meters of older jobs
    past: NotRequired[int]
    aborted: NotRequired[int]  # by their transactions, and so not among the events; nor is this
    map_seconds: float
    shard_seconds: float
    kernel_seconds: float
    partials: int
    kernel_steps: int
    state_bytes: NotRequired[int]  # where the state store tells it
    recall: NotRequired[Recall | None]
    trees: dict[str, TreeMeter]
    queries: NotRequired[dict[str, QueryMeter | int]]  # older jobs told the number of results alone
    waiting: NotRequired[dict[str, int]]  # by query without a whole window yet, until when it warms up
    stopped: NotRequired[dict[str, str]]  # by filter or computed field that takes too much, what it takes


class SourceStatus(TypedDict):
    """How the job is doing with one source."""

    state: Literal["starting", "running", "failing"]
    since: int
    error: str | None
    lag: NotRequired[int | None]  # messages; these two are not in the status of older jobs
    partitions: NotRequired[int | None]


class StatusMessage(TypedDict):
    """The job's sign of life."""

    state: Literal["starting", "running", "stopped"]
    since: int
    clock: int
    sources: dict[str, SourceStatus]
