"""Where the peers live: a virtual environment of pinned packages for each, and Flink's connector from Maven.

All of it is under `var/benchmarks/`; a peer that does not install is told of in the table, with the reason.
"""

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MOST_SECONDS = 900


class NotInstalled(RuntimeError):
    """A peer that cannot run here; the message is the reason."""


@dataclass(frozen=True)
class Jar:
    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"


FLINK_CONNECTOR = Jar(
    "org.apache.flink",
    "flink-sql-connector-kafka",
    "5.0.0-2.2",
    "5605c691d11a501382c383fecba37a7a552467da5ab7ba904ef5d6f3d62c5616",
)


def python_of(name: str, requirements: tuple[str, ...], directory: Path, tell: Callable[[str], None]) -> Path:
    """The interpreter of a peer's environment, made if it is missing or was made of other packages."""
    if not requirements:
        return Path(sys.executable)
    home = directory / name
    stamp = home / "requirements"
    python = home / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != "\n".join(requirements):
        tell(f"installing {', '.join(requirements)}")
        uv = Path(sys.executable).with_name("uv")
        _run([str(uv), "venv", "--quiet", "--clear", "--python", sys.executable, str(home)])
        _run([str(uv), "pip", "install", "--quiet", "--python", str(python), *requirements])
        stamp.write_text("\n".join(requirements))
    return python


def jar_path(jar: Jar, directory: Path, java: Path) -> Path:
    """The jar, fetched by its coordinates with pyspark's own Ivy, and checked by its hash."""
    target = directory / jar.name
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=directory) as scratch:
            fetched = _fetch(jar, Path(scratch), java)
            shutil.move(fetched, target)
    with target.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != jar.sha256:
        target.unlink()
        raise NotInstalled(f"{jar.name} is not the expected file (SHA-256 {digest[:16]}…) and was removed")
    return target


def _fetch(jar: Jar, work: Path, java: Path) -> Path:
    (work / "ivy.xml").write_text(
        '<ivy-module version="2.0"><info organisation="millrace" module="peers"/>'
        '<configurations><conf name="default"/></configurations><dependencies>'
        f'<dependency org="{jar.group}" name="{jar.artifact}" rev="{jar.version}" transitive="false" '
        'conf="default->master"/></dependencies></ivy-module>'
    )
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise NotInstalled("pyspark is missing")
    ivy = next((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))
    command = [str(java), "-jar", str(ivy), "-m2compatible", "-ivy", str(work / "ivy.xml")]
    command += ["-cache", str(work / "cache"), "-confs", "default"]
    _run([*command, "-retrieve", f"{work}/[artifact]-[revision].[ext]"])
    return work / jar.name


def _run(command: list[str]) -> None:
    """Run an installer; the last line that it says is the reason where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(str(error)) from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise NotInstalled(said[-1].strip())
