"""The cost of an attack in victim passes, known before it runs."""

from dataclasses import dataclass
from math import isinf

import torch

from hammingbox.errors import TooExpensiveError
from hammingbox.problem import Problem
from hammingbox.types import RowFloat, RowInt

PerRow = int | float | RowInt | RowFloat
"""One number for all rows, or one per row."""


@dataclass(frozen=True, eq=False)
class Passes:
    """The most victim passes that each row of a problem may cost.

    Attributes:
        forward: forward passes of each row.
        backward: backward passes of each row.
        is_exact: every row costs exactly this much. Otherwise it is a bound: a row that is broken early costs less.
    """

    forward: RowFloat
    backward: RowFloat
    is_exact: bool = False

    @staticmethod
    def of(
        problem: Problem,
        forward: PerRow,
        backward: PerRow = 0,
        *,
        is_exact: bool = False,
    ) -> "Passes":
        """Passes of the rows of a problem."""
        zero = torch.zeros(len(problem), dtype=torch.float64, device=problem.rows.device)
        return Passes(zero + forward, zero + backward, is_exact)

    @staticmethod
    def unknown(problem: Problem) -> "Passes":
        """The bound of an attack that does not know its cost: infinity."""
        return Passes.of(problem, torch.inf, torch.inf)

    def __add__(self, other: "Passes") -> "Passes":
        """The passes of two searches, one after the other."""
        is_exact = self.is_exact and other.is_exact
        return Passes(self.forward + other.forward, self.backward + other.backward, is_exact)

    def within(self, queries: int | None) -> "Passes":
        """The same under a limit of forward passes, which no attack exceeds."""
        return self if queries is None else Passes(self.forward.clamp(max=queries), self.backward, self.is_exact)


def refuse_above(limit: int, passes: float, name: str, parameter: str) -> None:
    """Refuses work whose number of victim passes per row is above a limit.

    Args:
        limit: the largest number that is accepted.
        passes: what the dearest row needs; infinity where the number overflows.
        name: of the work, for the message.
        parameter: the setting that raises the limit.

    Raises:
        TooExpensiveError: with the estimate and the remedy.
    """
    if passes <= limit:
        return
    estimate, remedy = (
        f"{passes:,.0f}",
        f"Lower the budget, choose a cheaper attack, or raise {parameter} to {passes:.0f}.",
    )
    if isinf(passes):
        estimate, remedy = "more than 1e308", "Lower the budget or choose a cheaper attack."
    raise TooExpensiveError(
        f"expected {name} to need at most {limit:,} victim passes per row, got an estimate of {estimate}. {remedy}"
    )
