"""Factor windows under “covered by”: answers may overlap where the aggregate allows (FACTOR alg. 2, 3)."""

from optimizer.factor_windows.groups import fed_groups
from optimizer.factor_windows.search import with_factor_windows
from optimizer.workload import Group, Workload


def factor_covered(workload: Workload) -> list[Group]:
    """Window coverage with factor windows; aggregates that would count twice are kept to “partitioned by”."""
    return fed_groups(workload, with_factor_windows)
