"""The database made ready: migrations applied, and somebody who can sign in."""

import os
import secrets
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import OperationalError

from dashboard.platform.problems import Problem

ADMIN_NAME = "admin"


@dataclass(frozen=True)
class NewAdmin:
    name: str
    password: str | None  # None: it was chosen by MILLRACE_ADMIN_PASSWORD, so it is not repeated


def needs_migration() -> bool:
    try:
        executor = MigrationExecutor(connection)
    except OperationalError as error:
        raise Problem(f"The database of DATABASE_URL does not answer: {str(error).strip()}") from error
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def migrate() -> None:
    call_command("migrate", interactive=False, verbosity=0)


def ensure_admin() -> NewAdmin | None:
    """Create the administrator of an installation that has no account yet."""
    user_model = get_user_model()
    with transaction.atomic():
        if user_model.objects.exists():
            return None
        chosen = os.environ.get("MILLRACE_ADMIN_PASSWORD")
        password = chosen or secrets.token_urlsafe(12)
        user_model.objects.create_superuser(username=ADMIN_NAME, password=password)
    return NewAdmin(ADMIN_NAME, None if chosen else password)
