"""The Java that runs the broker and Spark: found and checked before anything is started with it."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SUPPORTED = (17, 21)
# Half the work of a cold JVM is its second compiler. Without it Spark's own part is slower by about a third,
# which only a stream near capacity notices: MILLRACE_SPARK_JAVA_OPTIONS=-XX:+UseParallelGC is for such a one.
QUICK_START = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_ADVICE = "Install Java 17 or 21, or point JAVA_HOME at one."


class JavaError(RuntimeError):
    """No usable Java; the message is the sentence shown to people."""


@dataclass(frozen=True)
class Java:
    path: Path
    version: str  # as Java itself says it, such as 17.0.15


def find_java() -> Java:
    """Java by JAVA_HOME, else from PATH: the one that Spark's own scripts would take."""
    home = os.environ.get("JAVA_HOME")
    if home:
        path = Path(home) / "bin" / "java"
        if not path.is_file():
            raise JavaError(f"JAVA_HOME is {home}, but there is no bin/java in it. {_ADVICE}")
    else:
        found = shutil.which("java")
        if found is None:
            raise JavaError(f"Java was not found. {_ADVICE}")
        path = Path(found)
    version = _version(path)
    if int(version.split(".")[0]) not in SUPPORTED:
        raise JavaError(f"{path} is Java {version}, which Spark and Kafka do not support here. {_ADVICE}")
    return Java(path, version)


def _version(path: Path) -> str:
    try:
        told = subprocess.run(
            [path, "-version"], capture_output=True, text=True, timeout=30, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise JavaError(f"{path} does not run ({error}). {_ADVICE}") from error
    match = re.search(r'version "(?:1\.)?(\d+[\d.]*)', told)
    if match is None:
        raise JavaError(f"{path} does not say which Java it is. {_ADVICE}")
    return match[1]
