"""`./millrace` finds its Python, passes commands on, and explains in one sentence what is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory with the launcher alone, as a fresh clone has it."""
    directory = tmp_path / "a clone"
    directory.mkdir()
    for name in ("millrace", "uv.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, directory)
    return directory


def _run(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {
        key: value for key, value in os.environ.items() if not key.startswith(("MILLRACE_", "PIP_", "UV_"))
    }
    return subprocess.run(
        [project / "millrace", *arguments],
        cwd="/",
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_alone_it_prints_how_to_use_it(project: Path) -> None:
    for arguments in ((), ("--help",)):
        done = _run(project, *arguments)
        assert done.returncode == 0
        assert done.stdout.startswith("Usage: ./millrace COMMAND")


def test_without_a_recent_python_it_says_so_in_one_sentence(project: Path, tmp_path: Path) -> None:
    old = tmp_path / "bin"
    for name in ("python3", "python", "python3.11", "python3.12", "python3.13"):
        _program(old / name, "exit 1")
    done = _run(project, "up", PATH=f"{old}:/usr/bin:/bin")
    assert done.returncode == 1
    assert done.stderr == (
        "Problem: Millrace needs Python 3.11, 3.12 or 3.13 and found none: "
        "install one, or set PYTHON to its path.\n"
    )


def test_a_python_that_was_chosen_and_does_not_fit_is_named(project: Path) -> None:
    done = _run(project, "up", PYTHON="/bin/false")
    assert done.returncode == 1
    assert done.stderr == "Problem: PYTHON is /bin/false, which is not a Python 3.11, 3.12 or 3.13.\n"


def test_it_takes_a_newer_python_where_python3_is_too_old(project: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    _program(programs / "python3", "exit 1")
    _program(programs / "python3.13", "exit 1")
    _program(programs / "python3.12", 'case "$*" in *venv*) echo "made with 3.12"; exit 1 ;; esac')
    _run(project, "up", PATH=f"{programs}:/usr/bin:/bin")
    assert "made with 3.12" in (project / "var" / "log" / "setup.log").read_text()


def test_without_a_network_it_says_what_to_check(project: Path) -> None:
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1"}
    done = _run(project, "up", PYTHON=sys.executable, PIP_FIND_LINKS="", **nowhere)
    assert done.returncode == 1
    assert "The package index could not be reached" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_named_as_such(project: Path, tmp_path: Path) -> None:
    full = 'case "$*" in *venv*) echo "OSError: [Errno 28] No space left on device"; exit 1 ;; esac'
    done = _run(project, "up", PYTHON=str(_program(tmp_path / "python", full)))
    assert done.returncode == 1
    assert "The disk is full: free about 3 GB" in done.stderr


def test_a_prepared_environment_is_used_as_it_is_from_any_directory(project: Path) -> None:
    _program(project / ".venv" / "bin" / "python", 'echo "$@"')
    lock = subprocess.run(
        ["cksum"], stdin=(project / "uv.lock").open(), capture_output=True, text=True, check=True
    )
    installer = next(
        line[3:] for line in (ROOT / "millrace").read_text().splitlines() if line.startswith("uv=")
    )
    (project / ".venv" / "millrace-stamp").write_text(f"{lock.stdout.strip()} {installer} test\n")
    done = _run(project, "replay", "--events", "a file.jsonl")
    assert done.returncode == 0
    assert done.stdout == f"{project}/manage.py replay --events a file.jsonl\n"
