"""All that this web process knows of the running job, and which queries changed since viewers were told."""

from dataclasses import dataclass, field
from typing import Protocol

from dashboard.alerts.bells import Bells
from dashboard.live.history import History, query_key
from dashboard.live.messages import MeterMessage, StatusMessage
from dashboard.live.meters import Meters, process_meters
from dashboard.live.state import LiveState
from streaming.results import ResultBlock


@dataclass
class Arrivals:
    """What one look at the topics brought, decoded."""

    blocks: list[ResultBlock] = field(default_factory=list)
    meters: list[MeterMessage] = field(default_factory=list)
    status: list[StatusMessage] = field(default_factory=list)


class Listener(Protocol):
    """A socket of this process."""

    sign_in: int  # what it is open by; NO_SIGN_IN: a link

    async def told(self, changed: frozenset[str]) -> None:
        """Something is new (results of these queries), or time has passed."""

    async def plan_made(self) -> None:
        """Somebody changed, paused, resumed, deleted or brought back a query."""

    async def rights_changed(self) -> None:
        """Somebody's rights changed, or somebody asks for some."""


class Hub:
    """Results, meters and state; touched only from the event loop's thread."""

    def __init__(self, meters: Meters | None = None) -> None:
        self.history = History()
        self.meters = meters or Meters()
        self.state = LiveState()
        self.changed: set[str] = set()  # keys of saved queries
        self.caught_up = False  # the past has been read
        self.listeners: set[Listener] = set()
        self.shared: dict[object, object] = {}  # what many viewers are told alike, until something is new
        self.bells = Bells()  # another object whenever something of the alerts has changed

    def take(self, arrivals: Arrivals) -> None:
        if arrivals.meters or arrivals.status:
            self.shared.clear()  # messages with results know by themselves how new they are
        for block in arrivals.blocks:
            if self.history.add(block):
                self.changed.add(query_key(block.query))
        for meter in arrivals.meters:
            self.meters.add(meter)
        for status in arrivals.status:
            self.state.observe(status)

    def take_changed(self) -> set[str]:
        changed, self.changed = self.changed, set()
        return changed

    def keep_only(self, query_keys: set[str], source_keys: set[str]) -> None:
        """Forget deleted queries and sources."""
        self.history.keep_only(query_keys)
        self.meters.keep_only(source_keys)


process_hub = Hub(process_meters)
