"""A run as a value: what is attacked, by what, under which threat, with which goal and seed."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.data.dataset import Dataset
from hammingbox.errors import InputError
from hammingbox.evaluation.method import Method, apply_to_rows
from hammingbox.evaluation.rows import Rows
from hammingbox.problem import DEFAULT_MEMORY
from hammingbox.seeding import check_seed
from hammingbox.settings import LARGEST_MEMORY, MOST_ROWS, whole_number
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.victim import Victim

Places = Int64[Tensor, "_"]
"""Places of rows in a data set; batches of one run may differ in length."""


@dataclass(frozen=True, eq=False)
class RunSpec:
    """Everything that decides the records of a run, whoever executes it.

    A row's randomness belongs to the row and the seed, so batches may be computed in any order, in any process.

    Attributes:
        victim: what is attacked; it is borrowed.
        data: the rows and their true classes.
        threat: what the attacker may do.
        attack: the method: an attack, or a certificate.
        goal: what counts as success.
        seed: of the attack.
        batch_size: rows attacked and recorded together; it changes speed and memory, not results.
        memory: bytes for a micro-batch.
    """

    victim: Victim
    data: Dataset
    threat: ThreatModel
    attack: Method
    goal: Goal = field(default_factory=AnyOther)
    seed: int = 0
    batch_size: int = 256
    memory: int = DEFAULT_MEMORY

    def __post_init__(self) -> None:
        """Checks that the parts fit together.

        Raises:
            InputError: no rows, data and threat of two schemas, a goal with unknown classes, a batch size or memory
                below 1, or a seed below 0.
        """
        if len(self.data) == 0:
            raise InputError("expected rows to evaluate, got an empty data set.")
        if self.data.schema.digest != self.threat.space.schema.digest:
            raise InputError(
                "expected data and threat model of one schema, got two. Build the space from the data's schema."
            )
        whole_number("batch size", self.batch_size, most=MOST_ROWS)
        whole_number("memory", self.memory, most=LARGEST_MEMORY)
        check_seed(self.seed)
        self.goal.of(self.data.labels[:1].long(), self.data.schema)

    def batches(self) -> tuple[Places, ...]:
        """Places of rows in the data that are attacked together."""
        return torch.arange(len(self.data)).split(self.batch_size)

    def compute(self, places: Places) -> Rows:
        """Attacks the rows at these places of the data."""
        return self.compute_rows(self.data.take(places))

    def compute_rows(self, rows: Dataset) -> Rows:
        """Attacks rows of the data."""
        return apply_to_rows(
            self.attack,
            self.victim,
            rows,
            self.threat,
            self.goal,
            seed=self.seed,
            memory=self.memory,
        )
