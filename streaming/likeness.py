"""How like each other two answers are: equal, within what the aggregate promises, or different.

An answer of nothing is null in both; 0, false and the like are answers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

from optimizer.aggregates import plain
from streaming.aggregates import AGGREGATES
from streaming.aggregates.approx_distinct_count import LG_K
from streaming.aggregates.percentile import K
from streaming.results import plain_number

RANK_ERROR = 0.014  # twice what percentiles state with 99 % certainty: there may be thousands of them
DISTINCT_ERROR = 5 * math.log(2) / math.sqrt(2**LG_K)  # five standard deviations
COUNTS = (
    "count",
    "distinct_count",
    "approx_distinct_count",
    "min_count",
    "max_count",
)  # of nothing: none or 0
PERCENTILES = ("percentile", "p50", "p95", "p99")
# How far rounding may take sums that are added up in another order: relative, and absolute near zero.
TOLERANCES = {
    **dict.fromkeys(("sum", "mean", "product", "geometric_mean", "sum_of_squares", *PERCENTILES), 1e-9),
    **dict.fromkeys(("variance", "variance_population", "stddev", "stddev_population"), 1e-6),
}


class Likeness(Enum):
    EQUAL = "equal"
    WITHIN = "within"  # not equal, and no further apart than the aggregate's error or rounding explains
    DIFFERENT = "different"


@dataclass(frozen=True)
class Judgement:
    likeness: Likeness
    difference: float | None = None  # of two numbers; None where they are none


def judged(aggregate: str, ours: Any, theirs: Any) -> Judgement:
    """What two answers of an aggregate are to each other; `theirs` is what the SQL of `verify` gives."""
    aggregate = plain(aggregate)
    if ours is None or _is_nothing(theirs):
        is_none = _is_none(aggregate, ours) and _is_none(aggregate, theirs)
        return Judgement(Likeness.EQUAL if is_none else Likeness.DIFFERENT)
    other = comparable(aggregate, theirs)
    if aggregate == "exact_sum":  # a text where no float would hold it
        ours, other = Decimal(str(ours)), Decimal(str(other))
    difference = _difference(ours, other)
    if _is_equal(aggregate, ours, other):
        return Judgement(Likeness.EQUAL, difference)
    is_within = _WITHIN.get(aggregate, _never)(aggregate, ours, theirs)
    return Judgement(Likeness.WITHIN if is_within else Likeness.DIFFERENT, difference)


def alike(aggregate: str, ours: Any, theirs: Any) -> bool:
    """Equal, or as near as the aggregate promises."""
    return judged(aggregate, ours, theirs).likeness is not Likeness.DIFFERENT


def comparable(aggregate: str, theirs: Any) -> Any:
    """The exact answer as results have it: of a percentile SQL tells besides how many values and bounds."""
    answer = theirs[1] if plain(aggregate) in PERCENTILES and theirs is not None else theirs
    if isinstance(answer, list | tuple):
        return [plain_number(one) if isinstance(one, Decimal) else one for one in answer]
    return plain_number(answer) if isinstance(answer, Decimal) else answer


def error_words(aggregate: str) -> str:
    """How far apart two answers that are right may be, in words; empty where they are to be equal."""
    if error := AGGREGATES[aggregate].error:
        return f"approximate: {error}"
    tolerance = TOLERANCES.get(plain(aggregate))
    return f"rounded: sums in another order differ by up to {tolerance:g} of themselves" if tolerance else ""


def _is_nothing(answer: Any) -> bool:
    """No answer, or no number, as of ∞ - ∞: results tell both in one way."""
    return answer is None or (isinstance(answer, float) and math.isnan(answer))


def _is_none(aggregate: str, answer: Any) -> bool:
    """Counts of nothing are none or 0, and texts and lists none or empty."""
    if aggregate in COUNTS or not isinstance(answer, int | float | Decimal):
        return not answer
    return _is_nothing(answer)


def _is_equal(aggregate: str, ours: Any, theirs: Any) -> bool:
    if aggregate in _CUT:
        return _CUT[aggregate](ours, theirs)
    return bool(ours == theirs)


def _difference(ours: Any, theirs: Any) -> float | None:
    if not _is_number(ours) or not _is_number(theirs):
        return None
    return 0.0 if ours == theirs else float(abs(ours - theirs))  # ∞ - ∞ is no number


def _is_number(answer: Any) -> bool:
    return isinstance(answer, int | float | Decimal) and not isinstance(answer, bool)


def _within_rounding(aggregate: str, ours: Any, theirs: Any) -> bool:
    if not _is_number(ours):
        return False
    tolerance = TOLERANCES[aggregate]
    return math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=tolerance)


def _within_rank(aggregate: str, ours: Any, theirs: Any) -> bool:
    values, exact, least, greatest = theirs
    if values <= K:
        return _within_rounding(aggregate, ours, exact)
    return bool(least <= ours <= greatest)


def _within_distinct(aggregate: str, ours: Any, theirs: Any) -> bool:
    return bool(abs(ours - theirs) <= DISTINCT_ERROR * theirs)


def _never(aggregate: str, ours: Any, theirs: Any) -> bool:
    return False


_WITHIN: dict[str, Callable[[str, Any, Any], bool]] = {
    **dict.fromkeys(TOLERANCES, _within_rounding),
    **dict.fromkeys(PERCENTILES, _within_rank),
    "approx_distinct_count": _within_distinct,
}


def _equal_cut(aggregate: str) -> Callable[[Any, Any], bool]:
    """For answers that are cut at a limit and say so."""
    limit = getattr(AGGREGATES[aggregate].parts[0], "limit")  # noqa: B009 (of this algebra, not of all)

    def equal_cut(ours: Any, theirs: Any) -> bool:
        whole = list(dict.fromkeys(theirs)) if aggregate == "collect_distinct" else theirs
        return bool(ours == {"items": whole[:limit], "cut": len(whole) > limit})

    return equal_cut


_CUT = {name: _equal_cut(name) for name in ("collect", "collect_distinct", "concat")}
