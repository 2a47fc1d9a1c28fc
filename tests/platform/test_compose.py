"""docker-compose.yml, as far as it can be checked without a Docker engine."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands, load_command_class

from tests.platform.test_environment_keys import listed_keys

ROOT = Path(__file__).resolve().parents[2]
OWN = ("prepare", "web", "job", "history", "alerts", "demo")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def test_the_services_are_those_promised(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"kafka", "postgres", "redis", *OWN}
    assert compose["services"]["demo"]["profiles"] == ["demo"]


@pytest.mark.parametrize("service", OWN)
def test_every_command_is_a_management_command_that_takes_its_arguments(
    service: str, compose: dict[str, Any]
) -> None:
    name, *arguments = compose["services"][service]["command"]
    command = load_command_class(get_commands()[name], name)
    command.create_parser("manage.py", name).parse_args(arguments)


def test_the_jobs_health_check_is_a_management_command(compose: dict[str, Any]) -> None:
    *program, name, option = compose["services"]["job"]["healthcheck"]["test"]
    assert program == ["CMD", ".venv/bin/python", "manage.py"]
    load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args([option])


@pytest.mark.parametrize("service", OWN)
def test_every_environment_key_of_ours_is_in_the_example(service: str, compose: dict[str, Any]) -> None:
    assert set(compose["services"][service]["environment"]) <= listed_keys()


def test_every_variable_that_compose_asks_for_is_in_the_example() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    assert set(re.findall(r"\$\{([A-Z_]+)", text)) <= listed_keys()


def test_no_secret_has_a_value_in_the_file(compose: dict[str, Any]) -> None:
    secrets = [
        (key, str(value))
        for service in compose["services"].values()
        for key, value in service.get("environment", {}).items()
        if "PASSWORD" in key or "SECRET" in key or key == "DATABASE_URL"
    ]
    assert len(secrets) >= 3
    for key, value in secrets:
        assert re.search(r"\$\{[A-Z_]+:\?.+\}", value), f"{key} must be asked for"


def test_what_keeps_running_restarts_and_has_a_health_check(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert service["restart"] == ("on-failure" if name == "prepare" else "unless-stopped"), name
        if name not in ("prepare", "demo"):
            assert "healthcheck" in service, name


def test_every_volume_is_declared_and_every_dependency_exists(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        for volume in service.get("volumes", []):
            assert volume.split(":")[0] in compose["volumes"]
        assert set(service.get("depends_on", {})) <= set(compose["services"])


def test_the_pages_are_served_on_loopback_unless_told_otherwise(compose: dict[str, Any]) -> None:
    assert compose["services"]["web"]["ports"] == ["${MILLRACE_BIND:-127.0.0.1}:${MILLRACE_PORT:-8000}:8000"]


def test_the_image_installs_the_same_installer_as_the_launcher() -> None:
    pinned = re.search(r"^uv=(\S+)$", (ROOT / "millrace").read_text(), re.MULTILINE)
    assert pinned is not None
    assert pinned[1] in (ROOT / "Dockerfile").read_text()


def _has_compose() -> bool:
    docker = shutil.which("docker")
    return (
        docker is not None
        and subprocess.run([docker, "compose", "version"], capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not _has_compose(), reason="Docker's compose plugin is not installed")
def test_docker_accepts_the_file_and_asks_for_the_secrets() -> None:
    command = ["docker", "compose", "config", "--quiet"]
    without = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert without.returncode != 0
    assert "Set POSTGRES_PASSWORD" in without.stderr
    given = dict.fromkeys(
        ("POSTGRES_PASSWORD", "MILLRACE_SECRET_KEY", "MILLRACE_SECRETS_KEY", "MILLRACE_ADMIN_PASSWORD"), "x"
    )
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **given}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
