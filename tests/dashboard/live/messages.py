"""Messages as the job sends them, and as viewers get them."""

import json
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from dashboard.live.feed import Message, frames
from streaming.results import GroupKey, ResultBlock


def block(
    end: int,
    values: dict[GroupKey, float],
    *,
    query: str = "hot@1m/10s",
    shard: int = 0,
    batch: int = 1,
    final: bool = True,
) -> ResultBlock:
    return ResultBlock(
        source="sensors",
        query=query,
        plan=1,
        start=end - 60_000,
        end=end,
        shard=shard,
        batch=batch,
        final=final,
        keys=msgspec.Raw(msgspec.msgpack.encode(list(values))),
        values=np.array(list(values.values()), np.float64).tobytes(),
        counts=np.full(len(values), 7, np.int64).tobytes(),
    )


def meter(batch: int, *, clock: int, shard: int = 0, **changed: Any) -> dict[str, Any]:
    return {
        "source": "sensors",
        "shard": shard,
        "batch": batch,
        "clock": clock,
        "plan": 1,
        "watermark": clock - 10_000,
        "max_event_time": clock - 1_000,
        "events": 1_000,
        "malformed": 1,
        "late": 2,
        "future": 3,
        "past": 1,
        "aborted": 7,
        "batch_seconds": 0.5,
        "map_seconds": 0.02,
        "shard_seconds": 0.01,
        "kernel_seconds": 0.004,
        "partials": 100,
        "kernel_steps": 2_000,
        "results": 5,
        "groups": 10,
        "state_bytes": 1_000,
        "trees": {
            "1": {
                "partials": 100,
                "kernel_steps": 2_000,
                "seconds": 0.004,
                "groups": 10,
                "slices": 1,
                "results": 5,
            }
        },
        **changed,
    }


def status(clock: int, *, state: str = "running", since: int = 0, **sources: Any) -> dict[str, Any]:
    return {"job": "j", "state": state, "since": since, "clock": clock, "sources": sources}


def arrived(messages: Iterable[Message]) -> list[Message]:
    """What a browser reads of them."""
    return [message for frame in frames(messages) for message in json.loads(frame)]
