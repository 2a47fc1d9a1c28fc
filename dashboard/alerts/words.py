"""Alerts in words: the condition, a group, a value, and what is said when one fires or recovers."""

from collections.abc import Sequence
from typing import Any

from dashboard.alerts.models import Alert
from dashboard.queries.windows_text import spaced

LISTED = 20  # groups in one message
NO_ADDRESS = "Nothing sent: the alert has no e-mail address and no webhook."

LABELS = {
    "above": "is above",
    "below": "is below",
    "between": "is between",
    "outside": "is outside",
    "change": "changes by",
    "no_data": "has no data",
}


def number(value: float | None) -> str:
    """A value as the pages write one: four digits, or all before the point.

    >>> number(-1204.5), number(31.8013), number(None)
    ('−1,204', '31.8', 'no value')
    """
    if value is None:
        return "no value"
    return (f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}").replace("-", "−")


def bound(value: float) -> str:
    """A number as it was typed."""
    return f"{value:,.12g}".replace("-", "−")


def condition(alert: Alert) -> str:
    """`above 80 for 5 m, ok again at 75 or below`."""
    held = f" for {spaced(alert.hold)}" if alert.hold else ""
    if alert.condition == "no_data":
        return f"no data{held}"
    recovers = f", {_recovery(alert)}" if alert.margin else ""
    return f"{_bounds(alert)}{held}{recovers}"


def _bounds(alert: Alert) -> str:
    low, high = bound(alert.threshold), bound(alert.upper)
    unit = "\N{NARROW NO-BREAK SPACE}%" if alert.percent else ""
    return {
        "above": f"above {low}",
        "below": f"below {low}",
        "between": f"between {low} and {high}",
        "outside": f"outside {low} to {high}",
        "change": f"changed by {low}{unit} or more within {spaced(alert.within or 1)}",
    }[alert.condition]


def _recovery(alert: Alert) -> str:
    low, high, margin = alert.threshold, alert.upper, alert.margin
    return {
        "above": f"ok again at {bound(low - margin)} or below",
        "below": f"ok again at {bound(low + margin)} or above",
        "between": f"ok again below {bound(low - margin)} or above {bound(high + margin)}",
        "outside": f"ok again from {bound(low + margin)} to {bound(high - margin)}",
        "change": f"ok again under {bound(low - margin)}",
    }[alert.condition]


def subject(alert: Alert) -> str:
    """What it looks at: `max of temp, 1m every 10s`."""
    target = alert.target()
    if target is None:
        return f"{alert.computation}, {alert.window}"
    return f"{target[0].words}, {target[1].words}"


def group_words(group: Sequence[Any]) -> str:
    """A group as legends name it; nothing where the query has none."""
    return " · ".join("none" if part is None else str(part) for part in group)


def counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def headline(payload: dict[str, Any]) -> str:
    """The subject of a mail, and the first line of everything else."""
    name = f"“{payload['alert']['name']}”"
    if payload["kind"] == "test":
        return f"Test message of {name}"
    firing, resolved = payload["counts"]["new"], payload["counts"]["resolved"]
    groups = [one["group_words"] for one in payload["firing"] or payload["resolved"]]
    what = groups[0] if len(groups) == 1 and firing + resolved == 1 else ""
    if payload["kind"] == "reminder":
        still = payload["counts"]["firing"]
        return f"Still firing: {name}" + (f", {counted(still, 'group')}" if still > 1 else "")
    if firing:
        many = f"{counted(firing, 'group')}" if firing > 1 else what
        return f"Firing: {name}" + (f", {many}" if many else "")
    many = f"{counted(resolved, 'group')}" if resolved > 1 else what
    return f"Recovered: {name}" + (f", {many}" if many else "")


def body(payload: dict[str, Any]) -> str:
    """The text of a mail."""
    alert = payload["alert"]
    lines = [f"{alert['subject']} of “{alert['query']}” ({alert['source']}): {alert['condition']}.", ""]
    if payload["kind"] == "test":
        lines += ["This is a test: nothing has fired.", ""]
    for title, key in (("Firing", "firing"), ("Recovered", "resolved")):
        lines += _listed(title, payload[key], payload["counts"]["new" if key == "firing" else key])
    if payload["counts"]["firing"]:
        lines += [f"{counted(payload['counts']['firing'], 'group')} firing now.", ""]
    return "\n".join([*lines, alert["address"], ""])


def _listed(title: str, entries: list[dict[str, Any]], count: int) -> list[str]:
    if not entries:
        return []
    lines = [f"{title}:"]
    for one in entries:
        name = one["group_words"] or "all"
        lines.append(f"  {name}: {number(one['value'])}, since {one['since']}{_ending(one)}")
    if count > len(entries):
        lines.append(f"  and {count - len(entries):,} more")
    return [*lines, ""]


def _ending(one: dict[str, Any]) -> str:
    if not one["resolved_at"]:
        return ""
    return f", until {one['resolved_at']}" + (f" ({one['reason']})" if one["reason"] else "")
