"""Programs that only the tests need: a browser, and the servers that production may use."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Tool:
    what: str
    package: str  # Debian's
    find: Callable[[], Path | None]


def chromium() -> Path | None:
    """The browser for the tests: MILLRACE_CHROMIUM, else the first one on PATH."""
    chosen = os.environ.get("MILLRACE_CHROMIUM")
    found = chosen if chosen and Path(chosen).is_file() else _first_on_path(BROWSERS)
    return Path(found) if found else None


def redis_server() -> Path | None:
    found = shutil.which("redis-server")
    return Path(found) if found else None


def postgres_bin() -> Path | None:
    """The directory with initdb and postgres; Debian keeps it off the PATH."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return candidates[-1].parent if candidates else None


TOOLS = (
    Tool("Chromium", "chromium", chromium),
    Tool("Redis", "redis-server", redis_server),
    Tool("PostgreSQL", "postgresql", postgres_bin),
)


def missing_tools() -> list[Tool]:
    return [tool for tool in TOOLS if tool.find() is None]


def can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(tools: list[Tool], log: Path) -> bool:
    """Install the tools' Debian packages; whether that worked."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    packages = [tool.package for tool in tools]
    commands = (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *packages])
    with log.open("a") as file:
        return all(
            subprocess.run(command, env=environment, stdout=file, stderr=file, check=False).returncode == 0
            for command in commands
        )


def _first_on_path(names: tuple[str, ...]) -> str | None:
    return next((found for name in names if (found := shutil.which(name))), None)
