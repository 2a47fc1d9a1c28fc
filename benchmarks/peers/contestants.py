"""Who is compared: each a program under `programs/`, with the packages that it needs."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.environments import FLINK_CONNECTOR, jar_path, python_of

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Contestant:
    """`written` is the file that a person has to write; its lines are counted."""

    label: str
    program: str
    environment: str = ""
    requirements: tuple[str, ...] = ()
    jars: str = ""  # which jars the program wants: none, Spark's, Flink's, or all of Millrace's
    processes: int = 1
    written: str = ""

    @property
    def is_millrace(self) -> bool:
        return self.program == "millrace"

    @property
    def lines(self) -> int:
        """Lines with something on them."""
        text = (PROGRAMS / (self.written or f"{self.program}.py")).read_text()
        return sum(bool(line.strip()) for line in text.splitlines())


CONTESTANTS = (
    Contestant("Millrace", "millrace", jars="millrace", written="millrace.json"),
    Contestant("Spark `window()`", "spark_window", jars="spark"),
    Contestant("Spark, 1 s first, then `window()`", "spark_tumble_then_window", jars="spark"),
    Contestant("Flink SQL, HOP", "flink_hop", "flink", ("apache-flink==2.3.0",), "flink"),
    Contestant("Flink SQL, 1 s TUMBLE, then OVER", "flink_over", "flink", ("apache-flink==2.3.0",), "flink"),
    Contestant("Bytewax", "bytewax_windows", "bytewax", ("bytewax[kafka]==0.21.1",), processes=2),
    Contestant("Quix Streams", "quix_windows", "quix", ("quixstreams==3.28.0",)),
    Contestant("Pathway", "pathway_windows", "pathway", ("pathway==0.33.0",)),
)


@dataclass(frozen=True)
class Installed:
    contestant: Contestant
    python: Path
    jars: str  # as the program wants them named

    def commands(self, work: Path) -> list[list[str]]:
        """What to run, the last of which is the program itself."""
        name, python = self.contestant.program, str(self.python)
        if self.contestant.environment == "bytewax":
            # It snapshots its state only where it was told to keep it.
            processes = str(self.contestant.processes)
            keep = ["-r", str(work), "-s", "10", "-b", "0"]
            return [
                [python, "-m", "bytewax.recovery", str(work), processes],
                [python, "-m", "bytewax.testing", "-p", processes, *keep, f"{PROGRAMS / name}.py"],
            ]
        if self.contestant.is_millrace:
            return [[python, "-m", f"benchmarks.peers.programs.{name}"]]
        return [[python, f"{PROGRAMS / name}.py"]]


def install(
    contestant: Contestant, directory: Path, jars: Path, java: Path, tell: Callable[[str], None]
) -> Installed:
    """Make what a contestant needs; raises `NotInstalled` with the reason."""
    directory.mkdir(parents=True, exist_ok=True)
    python = python_of(contestant.environment, contestant.requirements, directory, tell)
    if contestant.jars == "millrace":
        names = str(jars)
    elif contestant.jars == "spark":
        names = ",".join(str(jar) for jar in sorted((jars / "spark").glob("*.jar")))
    elif contestant.jars == "flink":
        names = str(jar_path(FLINK_CONNECTOR, directory, java))
    else:
        names = ""
    return Installed(contestant, python, names)


def environment(installed: Installed, **told: str) -> dict[str, str]:
    """What a program is told, as variables; its own interpreter is the one that its workers use."""
    python = str(installed.python)
    return {**os.environ, "JARS": installed.jars, "PYSPARK_PYTHON": python, **told}
