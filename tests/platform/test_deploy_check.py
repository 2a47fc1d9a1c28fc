"""Django's own list of what a server on a network needs, with the settings of docs/operations.md."""

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

BEHIND_TLS = {
    "MILLRACE_HTTPS": "true",
    "MILLRACE_ALLOWED_HOSTS": "millrace.example.org",
    "MILLRACE_TRUSTED_ORIGINS": "https://millrace.example.org",
}
# Whether other names below ours ask by TLS, and lists that browsers come with, are others' to decide.
NOT_OURS = {"security.W005", "security.W021"}


def test_nothing_is_left_to_say(tmp_path: Path) -> None:
    environment = os.environ | BEHIND_TLS | {"MILLRACE_VAR": str(tmp_path)}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "DEBUG"]
    done = subprocess.run(
        command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no issues" in done.stdout + done.stderr
    assert set(settings.SILENCED_SYSTEM_CHECKS) == NOT_OURS
