"""Defences and a victim for tests of trainings in several processes, which import them by this name."""

import threading
import time
from dataclasses import dataclass

from torch import Tensor

from hammingbox.data.schema import Schema
from hammingbox.defences import PAdvT, Standard
from hammingbox.defences.base import Batch, Step
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import ManySlots, Weights
from hammingbox.victims.victim import Victim
from toys import ToyVictim


@dataclass(eq=False, kw_only=True, repr=False)
class WatchedPAdvT(PAdvT):
    """Keeps the adversarial rows of every step, those of other processes too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.steps_seen: list[Tensor] = []

    def adversarial(self, problem: Problem, batch: Batch, random: RowRandom) -> ManySlots | Weights:
        points = super().adversarial(problem, batch, random)
        self.steps_seen.append(batch.gathered({"points": points})["points"])
        return points


def is_helper(batch: Batch) -> bool:
    """Whether this is not the first process of several."""
    return batch.share is not None and int(batch.share.places[0]) == 1


@dataclass(eq=False, kw_only=True)
class RaisingElsewhere(Standard):
    """Raises an error, but not in the first process."""

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        if is_helper(batch):
            raise ArithmeticError("cursed rows")
        return super().forward(victim, batch, threat)


@dataclass(eq=False, kw_only=True)
class SleepingElsewhere(Standard):
    """Takes for ever, but not in the first process."""

    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        if is_helper(batch):
            time.sleep(1000)
        return super().forward(victim, batch, threat)


class HeldVictim(ToyVictim):
    """Holds something that no other process can have."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema.cardinalities)
        self.lock = threading.Lock()

    def __deepcopy__(self, memo: dict[int, object]) -> "HeldVictim":
        return self
