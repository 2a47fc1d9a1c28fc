"""No share: every query has a tree of its own; the baseline that sharing is measured against."""

from optimizer.workload import Group, Workload


def no_share(workload: Workload) -> list[Group]:
    """One group for each query, whatever it costs."""
    return [Group.of([query]) for query in workload.queries]
