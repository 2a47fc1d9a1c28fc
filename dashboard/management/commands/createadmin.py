"""`createadmin`: the first account of an installation that has none."""

from typing import Any

from django.core.management.base import BaseCommand

from dashboard.platform import database, setup


class Command(BaseCommand):
    help = "Create the administrator if there is no account yet; MILLRACE_ADMIN_PASSWORD sets the password."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        admin = database.ensure_admin()
        if admin is None:
            self.stdout.write("There are accounts already: nothing was created.")
        else:
            self.stdout.write(setup.admin_sentence(admin))
