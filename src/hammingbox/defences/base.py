"""What every defence has in common: a batch in, a loss to step on out; the training loop is elsewhere."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from hammingbox.errors import VictimError
from hammingbox.settings import check_settings
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, Labels
from hammingbox.victims.victim import Victim


@dataclass(frozen=True, eq=False)
class Batch:
    """Training rows of one step.

    Attributes:
        rows: their numbers in the training set.
        x: clean rows.
        y: true classes.
        seed: of this step; with a row's content it decides the noise of the inner attack.
    """

    rows: Int64[Tensor, "batch"]
    x: Ids
    y: Labels
    seed: int

    def __len__(self) -> int:
        return len(self.y)

    def take(self, part: slice) -> "Batch":
        """Some of the rows."""
        return Batch(self.rows[part], self.x[part], self.y[part], self.seed)


@dataclass(frozen=True, eq=False)
class Step:
    """What a defence says of a batch.

    Attributes:
        loss: to minimise, with gradients to the victim's parameters.
        notes: numbers for the history, such as the accuracy on the rows trained on.
    """

    loss: Float[Tensor, ""]
    notes: dict[str, float] = field(default_factory=dict)


@dataclass(eq=False, kw_only=True)
class Defence(nn.Module, ABC):
    """A bag of hyper-parameters that turns a batch into a loss; `repr` rebuilds it and goes into the record.

    What a defence learns while it trains (PAdvT's penalty, the last distribution of each row) is a buffer, so a
    checkpoint of the training holds it. `forward` is called with the victim in train mode; an inner attack runs in
    eval mode on frozen parameters and gives the victim back as it was.
    """

    def __new__(cls, **_settings: Any) -> "Defence":
        """Prepares the module before the dataclass writes its first field."""
        self = super().__new__(cls)
        nn.Module.__init__(self)
        return self

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            InputError: one of another kind, of no choice, or a number below its least value.
        """
        check_settings(self)

    def begin(self, victim: Victim, rows: int, threat: ThreatModel) -> None:  # noqa: ARG002
        """Called once before the first step.

        Args:
            victim: to be trained.
            rows: of the training set.
            threat: what the attacker may do.

        Raises:
            VictimError: the victim is not one this defence can train.
        """
        if not victim.has_gradient or not any(p.requires_grad for p in victim.parameters()):
            raise VictimError(
                f"expected a victim with parameters to train for {type(self).__name__}, got {type(victim).__name__}. "
                "A black box can be attacked but not trained here."
            )

    @abstractmethod
    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        """The loss of a batch."""


def needs_learned_embedding(victim: Victim, defence: Defence, threat: ThreatModel) -> None:
    """Refuses a victim whose categories have no learned vectors.

    Raises:
        VictimError: it looks its categories up in a fixed table, or not at all.
    """
    row = torch.zeros(1, len(threat.space.schema.features), dtype=torch.int64, device=next(victim.parameters()).device)
    with torch.enable_grad(), torch.random.fork_rng(devices=[]):
        if not victim.embed(row).requires_grad:
            raise VictimError(
                f"expected a victim with a learned embedding for {type(defence).__name__}, which moves embedded rows, "
                f"got {type(victim).__name__} with fixed vectors. Use padvt, swap or hotflip, which change categories."
            )
