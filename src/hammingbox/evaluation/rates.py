"""Shares of rows, each with its denominator and its interval."""

from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True)
class Rate:
    """A share of rows with its denominator and its Wilson 95 % interval."""

    hits: int
    rows: int

    @property
    def value(self) -> float:
        """Hits over rows; 0 of no rows is 0."""
        return self.hits / self.rows if self.rows else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval: it stays inside [0, 1] and has a width even at 0 and 1."""
        if self.rows == 0:
            return 0.0, 1.0
        z, n, p = 1.959963984540054, self.rows, self.value
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))
