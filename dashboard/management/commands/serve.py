"""`serve`: one web process, with pages and sockets."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from dashboard.platform.checks import require_free_port
from dashboard.platform.problems import as_problems
from dashboard.platform.web_server import serve


class Command(BaseCommand):
    help = "Serve pages and sockets until Ctrl-C or SIGTERM."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = options["host"], options["port"]
        with as_problems():
            require_free_port(port, host, "--port")
        serve(host, port)
