"""What the attacker may do."""

import operator
from dataclasses import dataclass

from hammingbox.errors import InputError
from hammingbox.threat.space import Space


@dataclass(frozen=True)
class ThreatModel:
    """What the attacker may do: S(x), and at most `budget` changed features (epsilon of Eq. 1)."""

    space: Space
    budget: int

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise InputError(f"expected a space such as FullSpace(schema), got {type(self.space).__name__}.")
        n = len(self.space.schema.features)
        try:
            budget = -1 if isinstance(self.budget, bool) else operator.index(self.budget)
        except TypeError:
            budget = -1
        if not 0 <= budget <= n:
            raise InputError(f"expected a budget of 0..{n} changed features, got {self.budget!r}.")
        object.__setattr__(self, "budget", budget)
