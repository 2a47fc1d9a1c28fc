"""The rules of docs/time.md, one message at a time: what the engine does with whole columns equals this."""

from dataclasses import dataclass
from typing import Any

from streaming.lanes import EARLIEST
from streaming.sources import SourceSpec


@dataclass
class Judge:
    """One partition of a source."""

    source: SourceSpec
    mark: int = EARLIEST

    def kind(self, event: Any, timestamp: int, now: int, watermark: int = EARLIEST) -> str | None:
        """Why a message is refused; None if it is accepted. `event` is what it holds, if that is readable."""
        time = event.get("ts") if isinstance(event, dict) else None
        if not isinstance(time, int):
            return "malformed"
        clock = min(timestamp or now, now)
        if self.source.future_bound is not None and time > clock + self.source.future_bound:
            return "future"
        if self.source.past_bound is not None and time < clock - self.source.past_bound:
            return "past"
        late = time < self.mark - self.source.allowed_lateness or time < watermark
        self.mark = max(self.mark, min(time, clock))
        return "late" if late else None
