"""Bounds for every socket: how many somebody has open, how fast its messages come, and that they are JSON."""

import json
import time
from collections import Counter
from typing import Any

from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.conf import settings
from django.contrib.auth.models import User

TOO_MANY = 4429  # the code with which a socket ends that is one too many
TOO_FAST = 1008
NOT_JSON = 1007
MESSAGES_AT_ONCE = 400.0
MESSAGES_A_SECOND = 40.0  # a page acknowledges what it is told: some five frames a second, hidden or not
_open: Counter[str] = Counter()  # sockets of this process, by who has them


class Pace:
    """So many messages at once, and so many a second on average."""

    def __init__(self, at_once: float = MESSAGES_AT_ONCE, a_second: float = MESSAGES_A_SECOND) -> None:
        self._at_once, self._a_second = at_once, a_second
        self._left, self._at = at_once, time.monotonic()

    def allows(self) -> bool:
        """Whether one more may come now; it counts."""
        now = time.monotonic()
        self._left = min(self._at_once, self._left + (now - self._at) * self._a_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class BoundedSocket(AsyncJsonWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """What all sockets have in common: `connect` asks `admit`, and `receive_json` gets what is in bounds."""

    def __init__(self) -> None:
        super().__init__()
        self._pace = Pace()
        self._held_by = ""
        self._over = False  # closed by us: what was on its way is not looked at

    async def admit(self, person: User | None) -> bool:
        """Accept the handshake, or end the socket with TOO_MANY if its person or address has too many."""
        client = (self.scope.get("client") or ("unknown",))[0]
        holder = f"address {client}" if person is None else f"person {person.pk}"
        most = settings.SOCKETS_PER_ADDRESS if person is None else settings.SOCKETS_PER_PERSON
        await self.accept()
        if _open[holder] >= most:
            await self.end(TOO_MANY)
            return False
        self._held_by = holder
        _open[holder] += 1
        return True

    async def websocket_disconnect(self, message: dict[str, Any]) -> None:
        if self._held_by:
            _open[self._held_by] -= 1
            if not _open[self._held_by]:
                del _open[self._held_by]
            self._held_by = ""
        await super().websocket_disconnect(message)

    async def end(self, code: int) -> None:
        self._over = True
        await self.close(code=code)

    async def receive(
        self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any
    ) -> None:
        if self._over:
            return
        if not self._pace.allows():
            await self.end(TOO_FAST)
            return
        try:
            content = json.loads(text_data or "")
        except (ValueError, RecursionError):
            await self.end(NOT_JSON)
            return
        await self.receive_json(content)
