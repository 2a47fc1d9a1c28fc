"""Half an hour of open dashboards: the web process must not grow."""

from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Table
from benchmarks.web.many_viewers import BOARDS, GROUPS, PANELS, Setting, watched
from benchmarks.web.stage import Progress, stage

FIRST_LOOK = Setting(300, 300.0)
REST = Setting(300, 1_500.0)
QUICK = Setting(50, 20.0)


def run(quick: bool, progress: Progress) -> Section:
    first, rest = (QUICK, QUICK) if quick else (FIRST_LOOK, REST)
    with stage() as made:
        made.seed(boards=BOARDS, panels=PANELS, groups=GROUPS)
        made.feed(groups=GROUPS, slide=1)
        webs = [made.web()]
        # A quarter of an hour is kept for everybody: it is there when memory is first looked at.
        before = watched(made, webs, first, progress)
        if not quick:
            before = watched(made, webs, Setting(first.viewers, 660.0), progress)
        after = watched(made, webs, rest, progress)
    minutes = rest.seconds / 60
    sentence = (
        f"{minutes:.0f} minutes later the web process takes {after.memory / 1e6:.0f} MB, "
        f"{after.memory / before.memory:.2f} times what it took before."
    )
    table = Table(
        "Soak",
        ["", "memory, MB", "sockets lost"],
        [["before", before.memory / 1e6, before.lost], ["after", after.memory / 1e6, after.lost]],
    )
    figure = Figure(
        "memory of the web process after a soak",
        after.memory / 1e6,
        "MB",
        before.memory / 1e6,
        1.05,
        lower_is_better=True,
    )
    return Section([sentence], [table], [], [figure])
