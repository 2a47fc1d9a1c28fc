"""Spark's classes in one file that Java can map, for quicker starts: made once per Java and Spark."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from streaming.java import Java


class ClassArchive:
    def __init__(self, base_dir: Path, var_dir: Path, java: Java) -> None:
        self._base_dir = base_dir
        self._var_dir = var_dir
        self._stamp = var_dir / "spark.jsa.stamp"
        self._fits = f"java {java.version} at {java.path}, pyspark {version('pyspark')}"

    def is_current(self) -> bool:
        return self._stamp.exists() and self._stamp.read_text() == self._fits

    def make(self, log: Path) -> None:
        """A start without the archive is only slower, so a failure is left in the log and not tried again."""
        command = [sys.executable, "-m", "streaming.class_archive", str(self._var_dir)]
        with log.open("a") as file:
            subprocess.run(command, cwd=self._base_dir, stdout=file, stderr=file, timeout=300, check=False)
        self._stamp.write_text(self._fits)
