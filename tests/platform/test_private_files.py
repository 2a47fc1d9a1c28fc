"""var/ and the database are their owner's alone, also those that an older version made."""

import os
import stat
import subprocess
import sys
from pathlib import Path

from django.conf import settings


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def migrate(var_dir: Path, database: Path) -> None:
    environment = os.environ | {"MILLRACE_VAR": str(var_dir), "DATABASE_URL": f"sqlite:///{database}"}
    environment = {
        name: value for name, value in environment.items() if not name.startswith("MILLRACE_SECRET")
    }
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", "dashboard", "0001"]
    subprocess.run(command, cwd=settings.BASE_DIR, env=environment, check=True, umask=0o022)


def test_what_is_made_is_private_and_what_was_not_is_put_right(tmp_path: Path) -> None:
    var_dir, database = tmp_path / "var", tmp_path / "elsewhere" / "db.sqlite3"
    database.parent.mkdir()
    migrate(var_dir, database)
    assert (mode(var_dir), mode(database)) == (0o700, 0o600)
    assert {mode(var_dir / name) for name in ("secret_key", "secrets_key")} == {0o600}
    var_dir.chmod(0o755)
    database.chmod(0o644)
    migrate(var_dir, database)
    assert (mode(var_dir), mode(database)) == (0o700, 0o600)
