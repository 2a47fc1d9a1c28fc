"""`.env.example` lists every key that the code reads, and no other."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READS = re.compile(r"""(?:\benv(?:\.\w+)?\(|environ\.get\(|environ\[|getenv\()\s*["']([A-Z][A-Z_]+)["']""")
# Set by the system or by a tool for its own children, never by the person who runs Millrace.
NOT_SETTINGS = {"CI", "PATH", "PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "NUMBA_CACHE_DIR"}


def listed_keys() -> set[str]:
    return set(re.findall(r"^#?([A-Z][A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def _read_keys() -> set[str]:
    files = [path for room in ("dashboard", "streaming", "optimizer") for path in (ROOT / room).rglob("*.py")]
    return {key for path in files for key in READS.findall(path.read_text())} - NOT_SETTINGS


def test_every_key_that_the_code_reads_is_listed() -> None:
    assert len(_read_keys()) > 10
    assert _read_keys() - listed_keys() == set()


def test_every_listed_key_is_read_by_the_code_or_by_compose() -> None:
    compose = set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "docker-compose.yml").read_text()))
    assert listed_keys() - _read_keys() - compose == set()
