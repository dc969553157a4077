"""Intervals over seeds and over rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.evaluation.rates import Rate

_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5 % quantiles of Student's t with 1, 2, ... degrees of freedom."""


@dataclass(frozen=True)
class OverSeeds:
    """A rate measured with several seeds on the same rows.

    Attributes:
        mean: over seeds.
        half_width: of the 95 % t-interval over seeds; None with one seed.
        rows: Wilson's 95 % interval over rows, at the mean.
    """

    mean: float
    half_width: float | None
    rows: tuple[float, float]


def over_seeds(rates: Sequence[Rate]) -> OverSeeds:
    """Joins the rates of several seeds."""
    values = [rate.value for rate in rates]
    mean = fmean(values)
    half = None
    if len(values) > 1:
        half = _T[min(len(values) - 2, len(_T) - 1)] * stdev(values) / sqrt(len(values))
    together = Rate(round(fmean(rate.hits for rate in rates)), rates[0].rows)
    return OverSeeds(mean, half, together.interval)


def seconds_a_row(evaluations: Sequence[Evaluation]) -> float:
    """Seconds for each row that was attacked, averaged over seeds."""
    return fmean(e.seconds / max(e.accuracy.hits, 1) for e in evaluations)


def passes(evaluations: Sequence[Evaluation]) -> float:
    """Victim passes, forward and backward, for each row that was attacked, averaged over seeds."""
    return fmean(int(e.rows.forward.sum() + e.rows.backward.sum()) / max(e.accuracy.hits, 1) for e in evaluations)
