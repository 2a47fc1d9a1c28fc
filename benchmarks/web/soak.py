"""Half an hour of open dashboards, all of them opened anew every five minutes: the process must not grow."""

from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Table
from benchmarks.web.many_viewers import BOARDS, GROUPS, KEPT_SECONDS, PANELS, Setting, watched
from benchmarks.web.stage import Progress, stage

ROUNDS = 6
FULL = Setting(300, 300.0)
QUICK = Setting(50, 5.0)
TARGET = 1.05


def run(quick: bool, progress: Progress) -> Section:
    setting = QUICK if quick else FULL
    with stage() as made:
        made.seed(boards=BOARDS, panels=PANELS, groups=GROUPS)
        made.feed(groups=GROUPS, slide=1, past=KEPT_SECONDS)
        webs = [made.web()]
        rounds = [watched(made, webs, setting, progress) for _ in range(ROUNDS)]
    first, last = rounds[0], rounds[-1]
    sentence = (
        f"After {ROUNDS} times {setting.seconds / 60:.0f} minutes with {setting.viewers} dashboards, opened "
        f"anew each time, the web process takes {last.memory / 1e6:.0f} MB, {last.memory / first.memory:.2f} "
        "times what it took after the first."
    )
    table = Table(
        "Soak",
        ["round", "all are open after, s", "p99, ms", "sockets lost", "memory, MB"],
        [
            [number, seen.opened_seconds, seen.most, seen.lost, seen.memory / 1e6]
            for number, seen in enumerate(rounds, 1)
        ],
        "Memory at the end of each round.",
    )
    figure = Figure(
        "memory of the web process after a soak",
        last.memory / 1e6,
        "MB",
        first.memory / 1e6,
        TARGET,
        lower_is_better=True,
    )
    return Section([sentence], [table], [], [figure])
