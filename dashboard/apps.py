"""The one app; what listens to Django's signals is connected when all models are known."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created


class DashboardConfig(AppConfig):
    name = "dashboard"

    def ready(self) -> None:
        from dashboard.accounts import sessions  # noqa: F401  # receivers of signing in and out
        from dashboard.audit.recording import watch
        from dashboard.platform.private_files import keep_database_private

        watch()
        connection_created.connect(keep_database_private)
