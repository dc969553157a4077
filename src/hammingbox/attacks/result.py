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
        attackable: rows of which S(x) has another point than the row itself. The others were not handed to the attack.
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
    attackable: RowMask

    def __repr__(self) -> str:
        return f"AttackResult({len(self.ids):,} rows, {int(self.success.sum()):,} broken)"

    @property
    def success(self) -> RowMask:
        """Rows whose goal is met."""
        return self.margin > 0

    @staticmethod
    def of_fixed_rows(x: Ids, slots: Slots, margin: RowFloat, logits: Logits) -> "AttackResult":
        """The result of rows that cannot be attacked: they stay as they are, at no cost."""
        nothing, no = (
            torch.zeros(len(x), dtype=torch.int64, device=x.device),
            torch.zeros_like(margin, dtype=torch.bool),
        )
        counts = {name: nothing.clone() for name in ("distance", "cost", "forward", "backward", "stage")}
        return AttackResult(
            ids=x.clone(), slots=slots, margin=margin, clean_logits=logits, logits=logits.clone(), proven=no,
            attackable=no.clone(), **counts,
        )  # fmt: skip

    def put(self, rows: Int64[Tensor, "some"], found: "AttackResult") -> None:
        """Writes the result of some rows into this one."""
        for part in fields(self):
            getattr(self, part.name)[rows] = getattr(found, part.name)

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
