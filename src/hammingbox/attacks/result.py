"""What an attack ends with, and what the judge makes of it."""

from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.types import Ids, Logits, RowFloat, RowInt, RowMask, Slots


@dataclass(frozen=True, eq=False)
class AttackResult:
    """The rows an attack found, recounted on discrete rows outside the attack.

    Attributes:
        ids: adversarial rows; the clean row where nothing better was found.
        slots: the same rows as slots; columns that relations tie together are one choice.
        distance: changed features, counted on ids.
        cost: what they take from the budget: ticks where the space has prices, else the distance.
        margin: above 0 exactly when the goal is met.
        clean_logits: the victim's answer before.
        logits: the victim's answer after.
        forward: forward passes each row cost the attack (the recount is not part of it).
        backward: backward passes each row cost the attack.
        stage: for an ensemble, the number of the stage that broke the row, or the last one it went through; else 0.
        proven: rows for which every point within the budget was tried and none meets the goal.
    """

    ids: Ids
    slots: Int64[Tensor, "batch choices"]
    distance: RowInt
    cost: RowInt
    margin: RowFloat
    clean_logits: Logits
    logits: Logits
    forward: RowInt
    backward: RowInt
    stage: RowInt
    proven: RowMask

    def __repr__(self) -> str:
        return f"AttackResult({len(self.ids):,} rows, {int(self.success.sum()):,} broken)"

    @property
    def success(self) -> RowMask:
        """Rows whose goal is met."""
        return self.margin > 0

    @staticmethod
    def join(parts: list["AttackResult"]) -> "AttackResult":
        """One result of the results of parts of a batch."""
        return AttackResult(*(torch.cat([getattr(part, f.name) for part in parts]) for f in fields(AttackResult)))


class Found(NamedTuple):
    """What an attack ends with: a point of each row, and the rows it has searched in full.

    The second is a claim that counts only for attacks of this package, see `judged`.
    """

    slots: Slots
    settled: RowMask
