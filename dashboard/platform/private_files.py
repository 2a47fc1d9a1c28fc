"""What an installation keeps is for its owner alone: made so, and put right where it is not."""

import logging
import stat
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def keep_private(path: Path) -> None:
    """Take from everybody but the owner what they may do with a file or directory that exists."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & OTHERS:
            path.chmod(mode & ~OTHERS)
    except FileNotFoundError:
        return
    except PermissionError:
        logger.warning("Others may read %s, and its owner is somebody else: chmod go= %s", path, path)


def keep_database_private(connection: Any, **kwargs: Any) -> None:
    """Receiver of `connection_created`: SQLite makes its files as readable as the system lets it."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite" and not name.startswith(("file:", ":memory:")):
        for suffix in ("", "-wal", "-shm"):
            keep_private(Path(name + suffix))
