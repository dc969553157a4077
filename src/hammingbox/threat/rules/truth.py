"""Logic with three values: true, false, and unknown where a cell is empty."""

from dataclasses import dataclass

from jaxtyping import Bool
from torch import Tensor


@dataclass(frozen=True)
class Truth:
    """Three-valued truth of many points: what is known to be false cannot hold; what is unknown can be both."""

    can_hold: Bool[Tensor, "..."]
    can_fail: Bool[Tensor, "..."]

    @staticmethod
    def of(value: Tensor, known: Tensor) -> "Truth":
        """The truth of a comparison that is known in some places."""
        return Truth(value | ~known, ~value | ~known)


def negated(truth: Truth) -> Truth:
    """Not."""
    return Truth(truth.can_fail, truth.can_hold)


def both(parts: list[Truth]) -> Truth:
    """And."""
    holds, fails = parts[0].can_hold, parts[0].can_fail
    for part in parts[1:]:
        holds, fails = holds & part.can_hold, fails | part.can_fail
    return Truth(holds, fails)


def either(parts: list[Truth]) -> Truth:
    """Or."""
    return negated(both([negated(part) for part in parts]))
