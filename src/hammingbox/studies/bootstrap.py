"""95 % intervals over rows and trainings together, for differences and ratios of errors.

Rows are resampled. Trainings are few: resampling three of them covers the true value in at most three of four cases,
because no replicate lies outside their range. Their mean varies by Student's t instead, which is exact for normal
errors and any number of trainings from two on. A replicate is the sum of both parts.
"""

from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int64, UInt8
from numpy import ndarray

from hammingbox.report.artefacts.table import Interval
from hammingbox.studies.line_errors import LineErrors

_REPLICATES = 5000
_SEED = 0
_LEVELS = (0.025, 0.975)


def difference_interval(first: LineErrors, second: LineErrors) -> Interval:
    """The interval of the first error minus the second.

    Args:
        first: a line.
        second: another one, on the same rows and training seeds (see `paired`).
    """
    difference = first.shares - second.shares
    by_rows = _resampled(first.numbers, difference.mean(0))
    return _interval(by_rows + _of_trainings(difference.mean(1)))


def ratio_interval(first: LineErrors, second: LineErrors) -> Interval | None:
    """The interval of the first error over the second; None if the second is 0.

    The part of trainings is linear: training k moves the ratio r by (first_k - r second_k) / mean second.
    """
    above, below = first.shares.mean(0), second.shares.mean(0)
    if not below.any():
        return None
    by_rows = _resampled(first.numbers, above) / np.maximum(_resampled(first.numbers, below), 1e-12)
    ratio = above.mean() / below.mean()
    moves = (first.shares.mean(1) - ratio * second.shares.mean(1)) / below.mean()
    return _interval(np.maximum(by_rows + _of_trainings(moves), 0.0))


def _interval(replicates: Float[ndarray, "replicates"]) -> Interval:
    low, high = np.quantile(replicates, _LEVELS).tolist()
    return Interval(low, high)


def _resampled(numbers: Int64[ndarray, "rows"], values: Float[ndarray, "rows"]) -> Float[ndarray, "replicates"]:
    """The mean of the values in each resampling of the rows."""
    weights = row_weights(tuple(numbers.tolist()))
    mean: Float[ndarray, "replicates"] = values @ weights / np.maximum(weights.sum(0), 1)
    return mean


def _of_trainings(values: Float[ndarray, "trainings"]) -> Float[ndarray, "replicates"]:
    """How the mean of the trainings varies; not at all with one training, whose variation is unknown."""
    if len(values) < 2:
        return np.zeros(_REPLICATES)
    noise = np.random.Generator(np.random.SFC64(np.random.SeedSequence([_SEED + 1]))).standard_t(
        len(values) - 1, _REPLICATES
    )
    varied: Float[ndarray, "replicates"] = noise * values.std(ddof=1) / np.sqrt(len(values))
    return varied


@lru_cache(maxsize=4)
def row_weights(numbers: tuple[int, ...]) -> UInt8[ndarray, "rows replicates"]:
    """How often each row occurs in each replicate: independent Poisson numbers with mean 1.

    They depend on the row's number alone, so that a row has the same weights in every table and every order of rows.
    """
    streams = (np.random.Generator(np.random.SFC64(np.random.SeedSequence([_SEED, n]))) for n in numbers)
    return np.stack([stream.poisson(1.0, _REPLICATES).astype(np.uint8) for stream in streams])
