"""What one experiment adds to the kernels' document."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.figures import Figure
from benchmarks.report import Chart, Table


@dataclass(frozen=True)
class Section:
    sentences: Sequence[str]  # for the summary
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    figures: Sequence[Figure] = ()
