"""What happened to each row, and the rates that follow from it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from jaxtyping import Shaped
from torch import Tensor

from hammingbox.evaluation.rates import Rate
from hammingbox.types import Ids, Labels, Logits, RowFloat, RowInt, RowMask


@dataclass(frozen=True, eq=False)
class Rows:
    """What happened to each row, on the CPU.

    Rows that the victim got wrong before, rows for which the goal is impossible, and rows that the threat leaves no
    change are not attacked: their distance and cost are 0.

    Attributes:
        numbers: number of each row in its source.
        labels: true classes.
        clean: rows before.
        adversarial: rows after.
        clean_logits: the victim's answers before.
        logits: the victim's answers after.
        correct: the victim was right before.
        attacked: the row was attacked.
        success: the attack met its goal (the row is *broken*).
        distance: changed features.
        margin: above 0 exactly when the goal is met.
        forward: forward passes the attack took.
        backward: backward passes the attack took.
        stage: which stage of an ensemble broke the row or came last; 0 for an attack of one stage.
        proven: no point within the budget meets the goal: every one was tried (the row is *proven*), or there is none
            but the row itself (it is *not attackable*, and not attacked).
    """

    numbers: RowInt
    labels: Labels
    clean: Ids
    adversarial: Ids
    clean_logits: Logits
    logits: Logits
    correct: RowMask
    attacked: RowMask
    success: RowMask
    distance: RowInt
    margin: RowFloat
    forward: RowInt
    backward: RowInt
    stage: RowInt
    proven: RowMask

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        broken = self.success_rate
        return (
            f"Rows({len(self):,} rows, {self.accuracy.hits:,} right before, {broken.hits:,} of {broken.rows:,} broken)"
        )

    def take(self, rows: Shaped[Tensor, "some"]) -> "Rows":
        """Some rows, in the given order."""
        return Rows(*(getattr(self, field.name)[rows] for field in fields(self)))

    @staticmethod
    def join(parts: "Sequence[Rows]") -> "Rows":
        """The rows of several batches."""
        return Rows(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(Rows)))

    def as_recorded(self) -> "Rows":
        """The same rows on the CPU and in the precision of records."""
        parts = (getattr(self, field.name).cpu() for field in fields(self))
        return Rows(*(part.float() if part.is_floating_point() else part for part in parts))

    @property
    def unknown(self) -> RowMask:
        """Attacked rows that are neither broken nor proven."""
        return self.attacked & ~self.success & ~self.proven

    @property
    def not_attackable(self) -> RowMask:
        """Rows that were right before and whose goal is possible, but which the threat leaves no change at all."""
        return self.proven & ~self.attacked

    @property
    def accuracy(self) -> Rate:
        """Rows the victim got right before, over all rows."""
        return Rate(int(self.correct.sum()), len(self))

    @property
    def success_rate(self) -> Rate:
        """Rows that were broken, over rows that were attacked: right before, and with a goal and a change to try."""
        return Rate(int(self.success.sum()), int(self.attacked.sum()))

    @property
    def robust_error(self) -> Rate:
        """Rows that are wrong with or without the attack, over all rows."""
        return Rate(int((~self.correct | self.success).sum()), len(self))

    def summary(self) -> dict[str, Any]:
        """Rates with their intervals, mean distance of successes, and passes; None for a rate of no rows."""
        broken = self.distance[self.success].double()
        return {
            "rows": len(self),
            "correct": self.accuracy.hits,
            "attacked": self.success_rate.rows,
            "success": self.success_rate.hits,
            "proven": int((self.proven & self.attacked).sum()),
            "not_attackable": int(self.not_attackable.sum()),
            "success_rate": self.success_rate.known,
            "success_interval": self.success_rate.known_interval,
            "robust_error": self.robust_error.known,
            "robust_error_interval": self.robust_error.known_interval,
            "mean_distance": broken.mean().item() if len(broken) else 0.0,
            "forward": int(self.forward.sum()),
            "backward": int(self.backward.sum()),
        }
