"""Shares of rows, each with its denominator and its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt


@dataclass(frozen=True)
class Rate:
    """A share of rows with its denominator and its Wilson 95 % interval. A share of no rows is not 0: it is unknown."""

    hits: int
    rows: int

    @property
    def value(self) -> float:
        """Hits over rows; NaN where there are no rows."""
        return self.hits / self.rows if self.rows else nan

    @property
    def known(self) -> float | None:
        """The same for JSON and tables: None where there are no rows."""
        return self.value if self.rows else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval: it stays inside [0, 1] and has a width even at 0 and 1; (0, 1) of no rows."""
        if self.rows == 0:
            return 0.0, 1.0
        z, n, p = 1.959963984540054, self.rows, self.value
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))

    @property
    def known_interval(self) -> list[float] | None:
        """The interval for JSON: None where there are no rows."""
        return list(self.interval) if self.rows else None


@dataclass(frozen=True)
class WeightedRate:
    """A share of a population, from the shares of its strata.

    Attributes:
        value: sum of weight times share.
        interval: 95 %. Each stratum's Wilson interval contributes the square of its weighted distance to the share;
            the weights count as known.
    """

    value: float
    interval: tuple[float, float]

    @staticmethod
    def of(strata: Sequence[tuple[float, Rate]]) -> "WeightedRate | None":
        """Combines (weight, rate) pairs; None where a stratum with weight has no rows, or nothing has weight."""
        total = sum(weight for weight, _ in strata)
        parts = [(weight / total, rate) for weight, rate in strata if weight > 0] if total > 0 else []
        if not parts or any(not rate.rows for _, rate in parts):
            return None
        value = sum(weight * rate.value for weight, rate in parts)
        below, above = (
            sqrt(sum((weight * (rate.interval[end] - rate.value)) ** 2 for weight, rate in parts)) for end in (0, 1)
        )
        return WeightedRate(value, (max(0.0, value - below), min(1.0, value + above)))
