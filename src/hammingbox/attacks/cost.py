"""What an attack may cost, known before it runs."""

from dataclasses import dataclass

from hammingbox.errors import TooExpensiveError
from hammingbox.types import RowFloat


@dataclass(frozen=True, eq=False)
class Passes:
    """The most victim passes that each row of a problem may cost.

    Attributes:
        forward: forward passes of each row.
        backward: backward passes of each row.
        is_exact: the attack needs exactly so many; otherwise rows that fall early need fewer.
    """

    forward: RowFloat
    backward: RowFloat
    is_exact: bool = False


def refuse_above(limit: int, passes: int, name: str, parameter: str) -> None:
    """Refuses work whose number of victim passes for a row is above a limit.

    Raises:
        TooExpensiveError: with the estimate and the parameter that raises the limit.
    """
    if passes > limit:
        raise TooExpensiveError(
            f"expected {name} to need at most {limit:,} victim passes per row, got an estimate of {passes:,}. "
            f"Lower the budget, choose a cheaper attack, or raise {parameter} to {passes}."
        )
