"""`reseal`: seal every stored secret with the newest key, so that an old one can be taken away."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from dashboard.alerts.models import Alert
from dashboard.connections.models import Connection
from dashboard.planning import service as planning
from dashboard.sources.models import Source
from streaming.security import SecretProblem, reseal


class Command(BaseCommand):
    help = "Seal the secrets of all connections with the first key in MILLRACE_SECRETS_KEY."

    def handle(self, *args: Any, **options: Any) -> None:
        connections = Connection.with_deleted.exclude(sealed_password="", sealed_key="")
        with transaction.atomic():
            for connection in connections:
                self._reseal(connection)
            for alert in Alert.with_deleted.exclude(sealed_secret=""):
                self._reseal_alert(alert)
        count = len(connections)
        self.stdout.write(f"Sealed the secrets of {count} connection{'' if count == 1 else 's'} anew.")

    def _reseal_alert(self, alert: Alert) -> None:
        try:
            alert.sealed_secret = reseal(alert.sealed_secret)
        except SecretProblem as problem:
            raise CommandError(f"Alert “{alert.name}”: {problem} Nothing was changed.") from problem
        alert.save(update_fields=["sealed_secret"])

    def _reseal(self, connection: Connection) -> None:
        try:
            connection.sealed_password = reseal(connection.sealed_password)
            connection.sealed_key = reseal(connection.sealed_key)
        except SecretProblem as problem:
            raise CommandError(f"Connection “{connection.name}”: {problem} Nothing was changed.") from problem
        connection.save(update_fields=["sealed_password", "sealed_key"])
        for source in Source.with_deleted.filter(connection=connection):
            if planning.newest(source) is not None:
                planning.replan(source, f"The secrets of the connection {connection.name} were sealed anew")
