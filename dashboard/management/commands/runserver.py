"""The web process: Daphne's command, with a server that fits open dashboards."""

from typing import Any

from daphne.management.commands.runserver import Command as Daphne
from daphne.server import Server

from dashboard.planning.publishing import keep_publishing

# Seconds. When a server of a thousand open dashboards restarts, they are back after half a minute; Daphne
# would hang up on each that waits for more than five, and all of these would begin anew.
CONNECT_SECONDS = 120
# Bytes; Daphne's limit of 1 MB holds for what is sent, too. Fifty lines of a quarter of an hour are more.
MOST_SENT = 64 * 1024 * 1024


class DashboardServer(Server):  # type: ignore[misc]  # Daphne has no types
    def __init__(self, **options: Any) -> None:
        options |= {"websocket_handshake_timeout": CONNECT_SECONDS}
        options |= {"websocket_max_message_size": MOST_SENT, "websocket_max_frame_size": MOST_SENT}
        super().__init__(websocket_connect_timeout=CONNECT_SECONDS, **options)

    def run(self) -> None:
        keep_publishing()
        super().run()


class Command(Daphne):  # type: ignore[misc]  # Daphne has no types
    server_cls = DashboardServer
