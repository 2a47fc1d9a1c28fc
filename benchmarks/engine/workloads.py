"""Many queries of many users, made from their numbers alone."""

from itertools import islice, product

from optimizer.queries import Query, QuerySpec, WindowSpec

RANGES = ("30s", "1m", "2m", "3m", "4m", "5m", "10m")
SLIDES = ("1s", "2s", "5s", "10s", "30s")
AGGREGATES = ("count", "sum", "mean", "min", "max")
GROUP_BYS = (("device",), ("site",))
FILTERS = ("temp > 20", "temp < 30", "status = 'ok'")
LONGEST_SECONDS = 600


def queries(count: int) -> list[Query]:
    """So many different queries: ranges, slides, aggregates, group-bys and filters mixed."""
    kinds = list(product(RANGES, SLIDES, AGGREGATES, GROUP_BYS, FILTERS))
    if count > len(kinds):
        raise ValueError(f"There are {len(kinds)} different queries, not {count}.")
    # A step that is prime to their number goes through all of them, every kind early on.
    mixed = (kinds[number * 389 % len(kinds)] for number in range(len(kinds)))
    return [
        query
        for number, (size, slide, aggregate, group_by, where) in enumerate(islice(mixed, count))
        for query in QuerySpec.single(
            f"q{number}", aggregate, "temp", (WindowSpec(size, slide),), group_by, where
        ).queries()
    ]
