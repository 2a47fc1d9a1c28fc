"""One real broker and one real Spark session serve all tests that need them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from streaming.broker import Broker, free_port
from streaming.jars import jars_dir
from streaming.java import find_java
from tests.secured import SecuredBroker

# A quarter of a second for every password is right for people and wrong for a thousand tests.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A database in a file, as it is outside of tests.

    Threads share one in memory through a cache, where whoever finds a table locked fails instead of waiting.
    """
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        database["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap servers of a broker that lives as long as the test run."""
    jars = jars_dir(settings.VAR_DIR) / "broker"
    with Broker(tmp_path_factory.mktemp("broker"), free_port(), jars, find_java().path) as running:
        yield running.bootstrap_servers


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A broker with TLS and logins, for as long as the test run."""
    jars = jars_dir(settings.VAR_DIR) / "broker"
    with SecuredBroker(tmp_path_factory.mktemp("secured"), jars, find_java().path) as running:
        yield running


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A local Spark session with the job's own settings."""
    from streaming import spark as engine

    session = engine.session("local[2]", jars_dir(settings.VAR_DIR), _numba_dir())
    yield session
    session.stop()


def _numba_dir() -> Path:
    """Compiled kernels are kept between runs, as they are for the job."""
    return Path(settings.VAR_DIR)
