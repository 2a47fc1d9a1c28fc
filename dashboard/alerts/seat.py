"""One process evaluates at a time: it holds a seat in the database, and writes only while it does.

The seat is held for some seconds and renewed; whoever finds it free takes it. Every change of the evaluator
is in one transaction with a look at the seat, so that a process that slept through its time changes nothing.
"""

import os
import secrets
import socket
import time

from dashboard.alerts.models import Seat

HELD_SECONDS = 12.0
THE_SEAT = 1


class SeatLost(RuntimeError):
    """Another process evaluates now."""


class Holder:
    """This process' claim to the seat."""

    def __init__(self, name: str = "") -> None:
        self.name = name or f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"

    def take(self) -> bool:
        """Take the seat if it is free or ours; False while another has it."""
        Seat.objects.get_or_create(pk=THE_SEAT)
        now = time.time()
        free = Seat.objects.filter(pk=THE_SEAT, until__lt=now).update(
            holder=self.name, until=now + HELD_SECONDS
        )
        return bool(free) or self._renewed()

    def keep(self, **changes: int) -> None:
        """Stay seated, within the transaction that relies on it; `changes` are to the seat itself."""
        if not self._renewed(**changes):
            raise SeatLost("Another process evaluates the alerts now.")

    def leave(self) -> None:
        """So that the next one need not wait."""
        Seat.objects.filter(pk=THE_SEAT, holder=self.name).update(until=0)

    def offset(self) -> int | None:
        return Seat.objects.values_list("offset", flat=True).get(pk=THE_SEAT)

    def _renewed(self, **changes: int) -> bool:
        until = time.time() + HELD_SECONDS
        return bool(Seat.objects.filter(pk=THE_SEAT, holder=self.name).update(until=until, **changes))
