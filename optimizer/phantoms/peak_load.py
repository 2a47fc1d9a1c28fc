"""Peak load: smaller tables where emptying all at an epoch's end would take too long (PHANTOM 8.5.2)."""

from collections.abc import Callable

from optimizer.phantoms.configurations import Configuration
from optimizer.phantoms.costs import Setting, Space, end_of_epoch_cost

HALVINGS = 40


def shrunk(configuration: Configuration, space: Space, setting: Setting, most: float) -> Space:
    """All tables made smaller alike, as little as brings the end of an epoch within `most`."""
    return _first_within(lambda kept: tuple(units * kept for units in space), configuration, setting, most)


def shifted(configuration: Configuration, space: Space, setting: Setting, most: float) -> Space:
    """Space moved from queries to phantoms, whose entries are cheaper to move, as little as is needed."""
    asked = [relation in setting.queries for relation in configuration.relations]
    of_queries = sum(units for units, is_query in zip(space, asked) if is_query)
    of_phantoms = sum(space) - of_queries
    if not of_phantoms:
        raise ValueError("Without a phantom there is nothing to shift space to: shrink the tables.")

    def moved(kept: float) -> Space:
        growth = 1 + of_queries * (1 - kept) / of_phantoms
        return tuple(units * (kept if is_query else growth) for units, is_query in zip(space, asked))

    return _first_within(moved, configuration, setting, most)


def _first_within(
    scaled: Callable[[float], Space], configuration: Configuration, setting: Setting, most: float
) -> Space:
    """The least change, halved down to, that keeps the limit."""
    if end_of_epoch_cost(configuration, scaled(1.0), setting) <= most:
        return scaled(1.0)
    within, beyond = 0.0, 1.0
    if end_of_epoch_cost(configuration, scaled(within), setting) > most:
        raise ValueError(f"No allocation of this kind ends an epoch within {most:g}: keep fewer tables.")
    for _ in range(HALVINGS):
        middle = (within + beyond) / 2
        if end_of_epoch_cost(configuration, scaled(middle), setting) <= most:
            within = middle
        else:
            beyond = middle
    return scaled(within)
