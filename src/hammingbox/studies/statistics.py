"""Intervals over seeds and over rows, and costs per row."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from hammingbox.evaluation.rates import Rate
from hammingbox.studies.run_facts import RunFacts

_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5 % quantiles of Student's t with 1, 2, ... degrees of freedom."""


@dataclass(frozen=True)
class OverSeeds:
    """A rate measured with several seeds on the same rows.

    Attributes:
        mean: the mean over seeds.
        half_width: half the width of the 95 % t-interval over seeds; None with one seed.
        rows: the 95 % Wilson interval over rows, at the mean.
    """

    mean: float
    half_width: float | None
    rows: tuple[float, float]

    def percent(self) -> "OverSeeds":
        """The same in per cent."""
        half_width = None if self.half_width is None else 100 * self.half_width
        return OverSeeds(100 * self.mean, half_width, (100 * self.rows[0], 100 * self.rows[1]))


def over_seeds(rates: Sequence[Rate]) -> OverSeeds:
    """Combines the rates of several seeds."""
    values = [rate.value for rate in rates]
    together = Rate(round(fmean(rate.hits for rate in rates)), rates[0].rows)
    return OverSeeds(fmean(values), half_width(values), together.interval)


def half_width(values: Sequence[float]) -> float | None:
    """Half the width of the 95 % t-interval of a mean; None with one value."""
    if len(values) < 2:
        return None
    return _T[min(len(values) - 2, len(_T) - 1)] * stdev(values) / sqrt(len(values))


def seconds_per_row(runs: Sequence[RunFacts]) -> float:
    """Seconds per attacked row, averaged over seeds."""
    return fmean(run.seconds / max(run.accuracy.hits, 1) for run in runs)


def passes_per_row(runs: Sequence[RunFacts]) -> float:
    """Victim passes per attacked row, forward and backward, averaged over seeds."""
    return fmean((run.forward + run.backward) / max(run.accuracy.hits, 1) for run in runs)
