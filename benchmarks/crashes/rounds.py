"""Rounds of crashes: in each, one part of an installation ends at a random moment while events flow."""

import errno
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.crashes.installation import Installation, kill, wait_until
from benchmarks.crashes.verdict import Verdict, judge
from optimizer.queries import CountSpec, QuerySpec, SessionSpec, WindowSpec

# These stay from beginning to end; what is added lives for some rounds.
LASTING = (
    QuerySpec.single(
        "hot",
        "max",
        "temp",
        (WindowSpec("10s", "10s"), WindowSpec("30s", "5s"), WindowSpec("45s", "20s")),
        ("device",),
    ),
    QuerySpec.single("mean", "mean", "temp", (WindowSpec("30s", "10s"),), ("device",)),
    QuerySpec.single("visit", "sum", "temp", (CountSpec(20, 5), SessionSpec("300ms")), ("device",)),
)
# One slide for all that is added: then every window fits the edges of any tree, and a series has no holes.
ADDED_SLIDE = "10s"
ADDED_RANGES = ("10s", "20s", "30s", "60s")
FILTERS = (None, "temp > 50")
# Some of every kind: trees that read the events, or that are made of other trees', on one node and on two.
STRATEGIES = ("best", "best_woven", "best_balanced", "triweave", "no_share", "factor_partitioned", "phantoms")
RECOVERY_SECONDS = 300.0
SAVED_WITHIN = 0.3  # s, about what saving a query takes


@dataclass
class Trial:
    """The rounds of one seed on one installation."""

    installation: Installation
    seed: int
    say: Callable[[str], None] = lambda text: None
    recoveries: dict[str, list[float]] = field(default_factory=dict)  # seconds, by victim
    queries: list[QuerySpec] = field(default_factory=lambda: list(LASTING))
    removed: list[QuerySpec] = field(default_factory=list)
    more_strikes: dict[str, Callable[[], None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._random_of_web = random.Random(self.seed)  # asked by another thread than the plans' one
        self._added = 0

    def run(self, victims: Sequence[str]) -> Verdict:
        """One round for each victim, in random order; then let all windows close and compare."""
        installation = self.installation
        installation.web.prepare(installation.source, self.queries)
        installation.keep_running()
        installation.feed.start()
        installation.transactions.start()
        self._await_batch(1)
        for number, victim in enumerate(self._random.sample(victims, len(victims)), 1):
            seconds = self._round(victim)
            self.recoveries.setdefault(victim, []).append(seconds)
            self.say(f"round {number} of {len(victims)}: {victim}, going on after {seconds:.1f} s")
        settled = "Adopting the last plan, with the past of its queries,"
        wait_until(settled, lambda: installation.is_settled, RECOVERY_SECONDS, installation.keep_running)
        installation.transactions.stop()
        installation.feed.stop()
        return judge(installation, self.queries, self.removed, installation.keep_running)

    def _round(self, victim: str) -> float:
        if self._random.random() < 0.4:
            self._change_plan()
        time.sleep(1.5 * self._random.random())
        began = time.monotonic()
        reached = self._batch()
        self.more_strikes.get(victim, lambda: STRIKES[victim](self))()
        self._await_batch(reached + 2)
        return time.monotonic() - began

    def _change_plan(self) -> None:
        """Save a query, delete one, or have another strategy make the plan."""
        web, added = self.installation.web, [query for query in self.queries if query not in LASTING]
        chance = self._random.random()
        if chance < 0.25:
            web.adopt(self._random.choice(STRATEGIES), self._random.randrange(1, 3))
        elif added and chance < 0.6:
            gone = self._random.choice(added)
            web.remove(gone)
            self.queries.remove(gone)
            self.removed.append(gone)
        else:
            self.queries.append(web.add(self._new_query()))

    def _new_query(self) -> QuerySpec:
        self._added += 1
        windows = self._random.sample(ADDED_RANGES, self._random.randrange(1, 3))
        return QuerySpec.single(
            f"added{self._added}",
            self._random.choice(["max", "min", "sum", "count", "mean"]),
            "temp",
            tuple(WindowSpec(size, ADDED_SLIDE) for size in windows),
            ("device",),
            self._random.choice(FILTERS),
        )

    def _batch(self) -> int:
        progress = self.installation.progress()
        return -1 if progress is None else progress.batch

    def _await_batch(self, batch: int) -> None:
        wait_until(
            f"Batch {batch}", lambda: self._batch() >= batch, RECOVERY_SECONDS, self.installation.keep_running
        )

    # --- victims --------------------------------------------------------------------------------------

    def kill_job(self) -> None:
        """The Python driver; its JVM is left behind."""
        job = self.installation.job
        if job is not None:
            job.kill()
            job.wait()

    def kill_jvm(self) -> None:
        """Spark's JVM; the Python driver is left behind."""
        pid = self.installation.jvm
        if pid is not None:
            kill(pid)

    def kill_worker(self) -> None:
        """One of the processes in which tasks run; once in a while the one that forks them."""
        workers = self.installation.python_workers()
        if workers:
            kill(workers[-1] if self._random.random() < 0.1 else self._random.choice(workers))

    def kill_web(self) -> None:
        """While somebody changes the plan: it is changed, or not at all."""
        with ThreadPoolExecutor(1) as person:
            change = person.submit(self._change_plan)
            time.sleep(SAVED_WITHIN * self._random_of_web.random())
            self.installation.web.kill()
            self.installation.keep_running()
            change.result()

    def kill_broker(self) -> None:
        self.installation.broker.kill()
        time.sleep(2 * self._random.random())
        self.installation.broker.start()
        self.installation.broker.wait_until_ready()

    def fill_disk(self) -> None:
        filler = self.installation.var_dir / "filler"
        fill(filler)
        try:
            # Spark removes files that it needs no more: the room that they leave is taken, too.
            wait_until(
                "A report of the full disk", self._disk_is_reported, RECOVERY_SECONDS, lambda: fill(filler)
            )
            time.sleep(3 * self._random.random())
        finally:
            filler.unlink()

    def _disk_is_reported(self) -> bool:
        status = self.installation.status()
        return status.get("state") == "failing" and "is full" in status["error"]


STRIKES: dict[str, Callable[[Trial], None]] = {
    "job": Trial.kill_job,
    "JVM": Trial.kill_jvm,
    "web": Trial.kill_web,
    "worker": Trial.kill_worker,
    "broker": Trial.kill_broker,
    "disk": Trial.fill_disk,
}


def fill(path: Path) -> None:
    """Make it longer until nothing more fits."""
    with path.open("ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
