"""What a study needs to know about a run: the outcome of every row, and what it cost. No table needs the rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64
from numpy import ndarray

from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.rows import Rows

WRONG, BROKEN, UNBROKEN, PROVEN = "wxop"
"""What happened to a row: wrong before, broken, right and not broken, proven."""


@dataclass(frozen=True, eq=False)
class RunFacts:
    """A run as its record describes it.

    Attributes:
        numbers: number of each row in its source.
        outcomes: one letter per row.
        forward: forward passes of all rows together.
        backward: backward passes of all rows together.
        seconds: of the whole run.
    """

    numbers: Int64[ndarray, "rows"]
    outcomes: str
    forward: int
    backward: int
    seconds: float

    def __len__(self) -> int:
        return len(self.outcomes)

    @classmethod
    def of(cls, evaluation: Evaluation) -> "RunFacts":
        """The facts of a run that has just ended."""
        rows = evaluation.rows
        passes = int(rows.forward.sum()), int(rows.backward.sum())
        return cls(rows.numbers.numpy(), outcome_letters(rows), *passes, evaluation.seconds)

    @classmethod
    def of_record(cls, record: Mapping[str, Any], numbers: Int64[ndarray, "rows"]) -> "RunFacts":
        """The facts of a run that `Records` has written."""
        return cls(numbers, record["outcomes"], record["forward"], record["backward"], record["seconds"])

    @property
    def wrong_before(self) -> Bool[ndarray, "rows"]:
        """Rows that were wrong before the attack."""
        return self._letters == WRONG

    @property
    def wrong_after(self) -> Bool[ndarray, "rows"]:
        """Rows that are wrong with or without the attack."""
        return self.wrong_before | (self._letters == BROKEN)

    @property
    def accuracy(self) -> Rate:
        """Rows the victim got right before, over all rows."""
        return Rate(len(self) - int(self.wrong_before.sum()), len(self))

    @property
    def success_rate(self) -> Rate:
        """Rows that were broken, over rows that were right before."""
        return Rate(self.outcomes.count(BROKEN), self.accuracy.hits)

    @property
    def robust_error(self) -> Rate:
        """Rows that are wrong with or without the attack, over all rows."""
        return Rate(int(self.wrong_after.sum()), len(self))

    @property
    def _letters(self) -> Any:
        return np.array(list(self.outcomes))


def outcome_letters(rows: Rows) -> str:
    """One letter per row."""
    return "".join(
        WRONG if not correct else BROKEN if broken else PROVEN if proven else UNBROKEN
        for correct, broken, proven in zip(
            rows.correct.tolist(), rows.success.tolist(), rows.proven.tolist(), strict=True
        )
    )
