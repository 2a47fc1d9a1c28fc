"""The broker's and Spark's jars: Maven coordinates, fetched by pyspark's own Ivy, checked by hash.

Three directories, because their classes must not meet: the broker brings another kafka-clients than Spark's
connector, and the bare file system has to be on the driver's class path, not among `spark.jars`.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LOCK = Path(__file__).with_suffix(".lock")
_FETCHED = re.compile(r"\[SUCCESSFUL \] (\S+)#(\S+);(\S+)!")


class JarError(RuntimeError):
    """A jar that could not be had or is not the one expected; the message is the sentence for people."""


@dataclass(frozen=True)
class Coordinate:
    group: str
    artifact: str
    version: str
    transitive: bool = False


@dataclass(frozen=True)
class JarSet:
    directory: str
    what: str
    coordinates: tuple[Coordinate, ...]


JAR_SETS = (
    JarSet(
        "broker",
        "Kafka broker",
        (
            Coordinate("org.apache.kafka", "kafka_2.13", "4.3.1", transitive=True),
            # Without a binding for slf4j the broker would log nothing.
            Coordinate("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
        ),
    ),
    JarSet(
        "spark",
        "Spark's Kafka connector",
        (
            Coordinate("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
            Coordinate("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
            Coordinate("org.apache.kafka", "kafka-clients", "3.9.2"),
            Coordinate("org.apache.commons", "commons-pool2", "2.13.1"),
        ),
    ),
    JarSet(
        "bare",
        "Spark's local file system",
        (Coordinate("com.globalmentor", "hadoop-bare-naked-local-fs", "0.1.0"),),
    ),
)


def jars_dir(var_dir: Path) -> Path:
    """Where the jars are: under `var`, unless an image keeps them elsewhere (MILLRACE_JARS)."""
    return Path(os.environ.get("MILLRACE_JARS") or var_dir / "jars")


def locked_hashes() -> dict[str, str]:
    """SHA-256 by `directory/file`, from the list that is part of the project."""
    lines = (line.split() for line in LOCK.read_text().splitlines() if not line.startswith("#"))
    return {name: digest for digest, name in lines}


def missing(directory: Path, jar_set: JarSet) -> list[str]:
    """Names of the set's jars that are not there yet."""
    return [name for name in _names(jar_set) if not (directory / name).is_file()]


def fetch(directory: Path, jar_set: JarSet, java: Path, log: Path, tell: Callable[[str], None]) -> None:
    """Resolve the set with Ivy, check every file against the lock, then move the whole set into place."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix="fetching-") as scratch:
        work = Path(scratch)
        _resolve(work, jar_set, java, log, tell)
        _check(work, jar_set)
        target = directory / jar_set.directory
        shutil.rmtree(target, ignore_errors=True)
        (work / jar_set.directory).rename(target)


def _names(jar_set: JarSet) -> list[str]:
    return [name for name in locked_hashes() if name.startswith(f"{jar_set.directory}/")]


def _resolve(work: Path, jar_set: JarSet, java: Path, log: Path, tell: Callable[[str], None]) -> None:
    (work / "ivy.xml").write_text(_ivy_module(jar_set))
    ivy = next(_pyspark_jars().glob("ivy-*.jar"))
    pattern = f"{work}/{jar_set.directory}/[artifact]-[revision].[ext]"
    command = [str(java), "-jar", str(ivy), "-m2compatible", "-ivy", f"{work}/ivy.xml"]
    command += ["-cache", f"{work}/cache", "-confs", "default", "-retrieve", pattern]
    total, fetched = len(_names(jar_set)), 0
    output: list[str] = []
    tell("resolving")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as ivy_process:
        assert ivy_process.stdout is not None  # noqa: S101 (it was asked for)
        for line in ivy_process.stdout:
            output.append(line)
            if match := _FETCHED.search(line):
                fetched += 1
                tell(f"{fetched} of {total}: {match[2]} {match[3]}")
    with log.open("a") as file:
        file.writelines(output)
    if ivy_process.returncode != 0:
        raise JarError(_failure(jar_set, "".join(output), log))


def _pyspark_jars() -> Path:
    """Found without importing pyspark, which takes a second that every start would pay."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarError("pyspark is not installed: run ./millrace setup, which installs it.")
    return Path(spec.origin).parent / "jars"


def _ivy_module(jar_set: JarSet) -> str:
    dependencies = "\n".join(
        f'    <dependency org="{c.group}" name="{c.artifact}" rev="{c.version}" '
        + ('conf="default->default"/>' if c.transitive else 'transitive="false" conf="default->master"/>')
        for c in jar_set.coordinates
    )
    return f"""<ivy-module version="2.0">
  <info organisation="millrace" module="{jar_set.directory}"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""


def _failure(jar_set: JarSet, output: str, log: Path) -> str:
    if "No space left on device" in output:
        return "The disk is full: free about 1 GB, then run this again."
    return (
        f"The jars ({jar_set.what}) could not be fetched: check that this machine reaches a Maven "
        f"repository (network, proxy), then run this again. What happened is in {log}."
    )


def _check(work: Path, jar_set: JarSet) -> None:
    hashes = locked_hashes()
    for name in _names(jar_set):
        path = work / name
        if not path.is_file():
            raise JarError(f"{name} was not fetched, though it is listed in {LOCK.name}: run this again.")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != hashes[name]:
            raise JarError(
                f"{name} is not the file that {LOCK.name} expects (SHA-256 {digest[:16]}… instead of "
                f"{hashes[name][:16]}…) and was removed: it was changed on its way, so do not use it."
            )
    unexpected = {
        f"{jar_set.directory}/{p.name}" for p in (work / jar_set.directory).iterdir()
    } - hashes.keys()
    for name in unexpected:  # a class path takes whatever lies in its directory
        (work / name).unlink()
