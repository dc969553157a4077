"""What the attacker may do."""

from dataclasses import dataclass

from hammingbox.errors import InputError
from hammingbox.threat.space import Space


@dataclass(frozen=True)
class ThreatModel:
    """What the attacker may do: S(x), and at most `budget` changed features (epsilon of Eq. 1)."""

    space: Space
    budget: int

    def __post_init__(self) -> None:
        n = len(self.space.schema.features)
        if isinstance(self.budget, bool) or not isinstance(self.budget, int) or not 0 <= self.budget <= n:
            raise InputError(f"expected a budget of 0..{n} changed features, got {self.budget!r}.")
