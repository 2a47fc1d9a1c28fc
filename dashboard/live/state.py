"""Whether results can be expected: the job's own word, its silence, and the broker's reachability."""

from collections import deque
from typing import Any

from dashboard.live.messages import StatusMessage
from dashboard.live.spans import KEPT_MS

SILENT_AFTER_MS = 6_000


class LiveState:
    """What is known of the job, its sources and the broker. Times are wall-clock milliseconds."""

    def __init__(self) -> None:
        self._status: StatusMessage | None = None
        self._broker_state = "connecting"
        self._broker_since: int | None = None
        self._lags: dict[str, deque[tuple[int, int]]] = {}

    def observe(self, status: StatusMessage) -> None:
        """Take in a status message; an older one than the newest known changes nothing."""
        if self._status is None or status["clock"] >= self._status["clock"]:
            self._status = status
            self._note_lags(status)

    def _note_lags(self, status: StatusMessage) -> None:
        for key, told in status["sources"].items():
            lag, lags = told.get("lag"), self._lags.setdefault(key, deque())
            if lag is not None:
                lags.append((status["clock"], lag))
            while lags and lags[0][0] < status["clock"] - KEPT_MS:
                lags.popleft()
        for gone in self._lags.keys() - status["sources"].keys():
            del self._lags[gone]

    def lags(self, key: str) -> list[tuple[int, int]]:
        """Wall clock and messages not read yet, of the last quarter of an hour."""
        return list(self._lags.get(key, ()))

    def broker_reachable(self, now: int) -> None:
        self._set_broker("reachable", now)

    def broker_down(self, now: int) -> None:
        self._set_broker("down", now)

    def _set_broker(self, state: str, now: int) -> None:
        if self._broker_state != state:
            self._broker_state, self._broker_since = state, now

    def broker(self) -> dict[str, Any]:
        return {"state": self._broker_state, "since": self._broker_since}

    def job(self, now: int) -> dict[str, Any]:
        """The job as one word: unknown (no sign of life ever seen), starting, running or stopped."""
        if self._status is None:
            return {"state": "unknown", "since": None}
        if self._status["state"] != "stopped" and self._silent(now):
            return {"state": "stopped", "since": self._status["clock"]}
        since = self._status["clock"] if self._status["state"] == "stopped" else self._status["since"]
        return {"state": self._status["state"], "since": since}

    def source(self, key: str) -> dict[str, Any]:
        """What the job last said of a source; `absent` when it has not taken the source up."""
        told = self._status["sources"].get(key) if self._status else None
        if told is None:
            return {"state": "absent", "since": None, "error": None}
        return {"state": told["state"], "since": told["since"], "error": told["error"]}

    def reading(self, key: str) -> dict[str, Any]:
        """How many messages of a source are not read yet, and how many partitions it has; None: not told."""
        told = self._status["sources"].get(key) if self._status else None
        return {
            "lag": told.get("lag") if told else None,
            "partitions": told.get("partitions") if told else None,
        }

    def failing(self) -> list[str]:
        """The keys of the sources that the job cannot run at present."""
        sources = self._status["sources"] if self._status else {}
        return sorted(key for key, told in sources.items() if told["state"] == "failing")

    def _silent(self, now: int) -> bool:
        # While the broker is down nothing can be heard: that silence says nothing about the job.
        if self._status is None or self._broker_state != "reachable" or self._broker_since is None:
            return False
        last_heard: int = max(self._status["clock"], self._broker_since)
        return now - last_heard > SILENT_AFTER_MS
