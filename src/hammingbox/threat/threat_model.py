"""What the attacker may do."""

import operator
from dataclasses import dataclass

from hammingbox.errors import InputError
from hammingbox.threat.space import Space

LARGEST_BUDGET = 2**53
"""Ticks of a budget: sums of prices stay exact."""


@dataclass(frozen=True)
class ThreatModel:
    """What the attacker may do: S(x), and what may be spent on changes (epsilon of Eq. 1).

    The budget is a number of changed features, as in the paper, or of ticks where the space has prices.
    """

    space: Space
    budget: int

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise InputError(f"expected a space such as FullSpace(schema), got {type(self.space).__name__}.")
        unit = self.space.unit
        most = len(self.space.schema.features) if unit is None else LARGEST_BUDGET
        try:
            budget = -1 if isinstance(self.budget, bool) else operator.index(self.budget)
        except TypeError:
            budget = -1
        if not 0 <= budget <= most:
            what = "changed features" if unit is None else f"ticks of {unit.text(1)}"
            raise InputError(f"expected a budget of 0..{most} {what}, got {self.budget!r}.")
        object.__setattr__(self, "budget", budget)

    @property
    def forbids_all(self) -> bool:
        """Whether the budget alone leaves every row as it is. Where changes have prices, some may be free."""
        return self.budget == 0 and self.space.unit is None
