"""The web process: Daphne's command, which gives open pages time to come back all at once."""

from argparse import ArgumentParser

from daphne.management.commands.runserver import Command as Daphne

# Seconds. When a server of a thousand open dashboards restarts, they are back after half a minute; Daphne
# would hang up on each that waits for more than five seconds, and all of these would begin anew.
HANDSHAKE_SECONDS = 120


class Command(Daphne):  # type: ignore[misc]  # Daphne has no types
    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(websocket_handshake_timeout=HANDSHAKE_SECONDS)
