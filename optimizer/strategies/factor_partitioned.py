"""Factor windows under “partitioned by”: tumbling ones, right for every aggregate (FACTOR alg. 3 to 5)."""

from optimizer.factor_windows.groups import fed_groups
from optimizer.factor_windows.search import PARTITIONED_BY, with_factor_windows
from optimizer.workload import Group, Workload


def factor_partitioned(workload: Workload) -> list[Group]:
    """Window coverage with tumbling factor windows, whatever the aggregate."""
    return fed_groups(workload, with_factor_windows, lambda family: PARTITIONED_BY)
