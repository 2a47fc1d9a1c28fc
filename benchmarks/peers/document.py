"""What the comparison found, as one table with charts."""

from collections.abc import Sequence

from benchmarks.figures import Figure
from benchmarks.peers.found import Found, Setting, named
from benchmarks.report import Cell, Chart, Report, Table

# By program and number of windows, how many times its rate Millrace is to reach.
TARGETS = {
    ("flink_over", 1): 1.3,
    ("flink_hop", 1): 1.3,
    ("flink_over", 20): 10.0,
    ("flink_hop", 20): 30.0,
}
NOTE = (
    "Each peer is one program under `benchmarks/peers/programs/`, installed by the benchmark in its pinned "
    "version; lines are those of the program, for Millrace those of its spec. All read JSON of about 100 "
    "bytes from 4 partitions, allow 1 s of lateness, keep checkpoints (Millrace and Spark with every batch, "
    "Flink, Bytewax and Pathway every 10 s, Quix Streams every 5 s) and write final results to Kafka. Rates "
    "follow from the ends of windows on the results topic, stamped by the broker; “not full” means that the "
    "windows had not filled when the time was over, and such a rate still falls. With one window the stream "
    "is short, and its first batches, while a program still warms up, count. Latency is from the end of "
    "a window to its final value on Kafka, the second of lateness included, at 200 events/s with one window "
    "of 60 s. Spark and Flink work on every core and Bytewax with two processes; Quix Streams runs as one "
    "process, Pathway with its default threads. Memory is the peak of all the peer's processes, without the "
    "broker; a JVM fills what it may have, 6 GB for Spark and 12 GB for Flink, whose state is faster on the "
    "heap (twenty windows need it; rows and one window were measured with 4 GB, of which it took 2.4)."
)


def report(found: Sequence[Found], setting: Setting) -> Report:
    counts = list(setting.lead_in)
    return Report(
        "Millrace beside its peers",
        _summary(found, setting),
        [_table(found, counts), _spreads(found, counts)],
        [chart for chart in (_rates(found, counts), _latencies(found)) if _has_values(chart)],
        _figures(found, counts),
    )


def _summary(found: Sequence[Found], setting: Setting) -> str:
    ours, *peers = found
    most = max(setting.lead_in)
    fastest = max(peers, key=lambda peer: peer.rate(most) or 0.0)
    rate, best = ours.rate(most), fastest.rate(most)
    least = "" if fastest.is_full(most) else "at least "  # its rate would have fallen further
    opening = (
        f"With {most} windows every second Millrace takes {least}{rate / best:.1f} times the events of the "
        f"fastest peer, {fastest.contestant.label}."
        if rate and best
        else "Not every figure could be had: the table says why."
    )
    return (
        f"{opening} The greatest temperature of each of 1,000 devices, over windows of {setting.shortest} s "
        "and its multiples, every second; each number of windows in one run, on a machine whose cores the "
        "broker shares. Rows are compared with DuckDB's over a smaller stream, with gaps and events out of "
        "order."
    )


def _table(found: Sequence[Found], counts: Sequence[int]) -> Table:
    headings = ["", *(f"{named(count)}, events/s" for count in counts)]
    headings += ["latency, median ms", "99th percentile, ms", "memory, GB", "lines", "rows"]
    return Table("Side by side", headings, [_row(one, counts) for one in found], NOTE)


def _row(one: Found, counts: Sequence[int]) -> list[Cell]:
    label, lines = one.contestant.label, one.contestant.lines
    if one.not_installed:
        nothing: list[Cell] = [None] * (len(counts) + 3)
        return [label, *nothing, lines, f"does not install here: {one.not_installed}"]
    memory = max(one.peak_memory.values(), default=0)
    rates = [rate_cell(one, count) for count in counts]
    return [
        label,
        *rates,
        one.latency(50),
        one.latency(99),
        memory / 1e9 if memory else None,
        lines,
        one.rows,
    ]


def rate_cell(one: Found, windows: int) -> Cell:
    """The rate as text, with what there is to say of it."""
    rate = one.rate(windows)
    if rate is None:
        return one.notes.get(windows)
    return f"{rate:,.0f}" if one.is_full(windows) else f"{rate:,.0f} (not full)"


def _spreads(found: Sequence[Found], counts: Sequence[int]) -> Table:
    rows: list[list[Cell]] = []
    for one in found:
        for count in (count for count in counts if count in one.paces):
            rates = [pace.events_per_second for pace in one.paces[count]]
            rows.append([one.contestant.label, count, len(rates), min(rates), max(rates)])
    headings = ["", "windows", "rounds", "least events/s", "most events/s"]
    return Table("Spread of the rounds", headings, rows)


def _rates(found: Sequence[Found], counts: Sequence[int]) -> Chart:
    series = {
        f"{count} windows" if count > 1 else "1 window": [one.rate(count) for one in found]
        for count in counts
    }
    labels = [_plain(one) for one in found]
    return Chart("Events per second", "", "events/s", labels, series, log_y=True, kind="bar")


def _latencies(found: Sequence[Found]) -> Chart:
    series = {
        "median": [one.latency(50) for one in found],
        "99th percentile": [one.latency(99) for one in found],
    }
    labels = [_plain(one) for one in found]
    return Chart("Latency of final values", "", "ms", labels, series, kind="bar")


def _has_values(chart: Chart) -> bool:
    """Whether a section that it draws has been run."""
    return any(value for values in chart.series.values() for value in values)


def _plain(one: Found) -> str:
    return one.contestant.label.replace("`", "")


def _figures(found: Sequence[Found], counts: Sequence[int]) -> list[Figure]:
    ours, *peers = found
    return [
        Figure(
            f"{named(count)}, against {_plain(peer)}",
            rate,
            "events/s",
            baseline=other,
            target=TARGETS.get((peer.contestant.program, count)),
        )
        for count in counts
        for peer in peers
        if (rate := ours.rate(count)) and (other := peer.rate(count))
    ]
