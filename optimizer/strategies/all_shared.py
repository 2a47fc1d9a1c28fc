"""All shared: every family is one tree, whatever its edges cost (“Shared” in SAVINGS 2.4)."""

from optimizer.weaving import families
from optimizer.workload import Group, Workload


def all_shared(workload: Workload) -> list[Group]:
    """One group for each family."""
    return [Group.of(family) for family in families(workload.queries)]
