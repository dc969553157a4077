"""What every defence has in common: it turns a batch into a loss. The training loop is in ``training/``."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor, nn
from torch.nn import functional

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError, VictimError
from hammingbox.seeding import borrowed_generators
from hammingbox.settings import check_settings
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, Labels, Logits, RowFloat, RowMask
from hammingbox.victims.victim import Victim


@dataclass(frozen=True, eq=False)
class Batch:
    """Training rows of one step, on the victim's device.

    Attributes:
        rows: their numbers in the training set.
        x: clean rows.
        y: true classes.
        seed: of this step; with a row's content it determines the noise of the inner attack.
        goal: what inner attacks aim at; any class but the true one by default.
        weights: of each row in the loss; None weighs all alike.
        share: where several processes share the rows of a step, which of them these are.
    """

    rows: Int64[Tensor, "batch"]
    x: Ids
    y: Labels
    seed: int
    goal: Goal = field(default_factory=AnyOther)
    weights: RowFloat | None = None
    share: "Share | None" = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, part: slice | Shaped[Tensor, "some"]) -> "Batch":
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[part]
        share = None if self.share is None else replace(self.share, places=self.share.places[part])
        return Batch(self.rows[part], self.x[part], self.y[part], self.seed, self.goal, weights, share)

    @property
    def whole(self) -> "Batch":
        """All rows of the step, those of other processes too. What depends on a batch as a whole depends on these."""
        return self if self.share is None else self.share.whole

    def own(self, of_whole: Bool[Tensor, "whole"]) -> RowMask:
        """What a mask over the rows of `whole` says of the rows of this process."""
        return of_whole if self.share is None else of_whole[self.share.places]

    def gathered(self, values: Mapping[str, Shaped[Tensor, "batch ..."]]) -> dict[str, Shaped[Tensor, "whole ..."]]:
        """Values of the rows of all processes, in the order of `whole`. Every process has to call it equally often.

        Args:
            values: one per row of this batch; nothing for a batch without rows.
        """
        if self.share is None:
            return dict(values)
        told = self.share.exchange((self.share.places.cpu(), {name: value.cpu() for name, value in values.items()}))
        told = [part for part in told if part[1]]
        if not told:
            return {}
        places = torch.cat([own for own, _ in told])
        # A process without a row of its own computes the first one again, see `training/shared_steps.py`.
        first = torch.tensor([places.tolist().index(place) for place in places.unique().tolist()], device="cpu")
        device = self.x.device
        return {name: torch.cat([part[name] for _, part in told])[first].to(device) for name in told[0][1]}

    def weighted(self, losses: Float[Tensor, "*draws batch"]) -> Float[Tensor, "*draws batch"]:
        """Losses of the rows times their weights."""
        return losses if self.weights is None else losses * self.weights

    def cross_entropy(self, logits: Logits) -> Float[Tensor, ""]:
        """The mean loss of the rows, each with its weight."""
        if self.weights is None:
            return functional.cross_entropy(logits, self.y)
        return self.weighted(functional.cross_entropy(logits, self.y, reduction="none")).mean()

    def attacked(self, schema: Schema) -> RowMask:
        """Rows whose class the goal attacks. The others are trained clean."""
        return self.goal.of(self.y, schema).possible


@dataclass(frozen=True, eq=False)
class Share:
    """The rows of a step that this process computes.

    Attributes:
        whole: all rows of the step.
        places: of the own rows in `whole`.
        exchange: tells all processes a value, and returns what each of them told.
    """

    whole: Batch
    places: Int64[Tensor, "batch"]
    exchange: Callable[[Any], list[Any]]


@dataclass(frozen=True, eq=False)
class Step:
    """A defence's result for a batch.

    Attributes:
        loss: to minimise, with gradients for the victim's parameters.
        notes: numbers for the history, such as the accuracy on adversarial rows.
    """

    loss: Float[Tensor, ""]
    notes: dict[str, float] = field(default_factory=dict)


@dataclass(eq=False, kw_only=True)
class Defence(nn.Module, ABC):
    """A set of hyper-parameters that turns a batch into a loss; `repr` rebuilds it and goes into records.

    What a defence learns during training (PAdvT's penalty, the last distribution of each row) is a buffer, so the
    state of a training contains it. `forward` is called with the victim in train mode. An inner attack runs in eval
    mode on frozen parameters and restores the victim afterwards.
    """

    def __new__(cls, **_settings: Any) -> "Defence":
        """Prepares the module before the dataclass writes its first field."""
        self = super().__new__(cls)
        nn.Module.__init__(self)
        return self

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            InputError: a setting of the wrong type, a string outside the allowed choices, or a number out of range.
        """
        check_settings(self)

    def settings_repr(self, *added_later: str) -> str:
        """The `repr` of a dataclass, without settings that were added later and have their default.

        A `repr` is a key of stores and checkpoints: that of unchanged behaviour must not change.

        Args:
            added_later: names of these settings.
        """
        shown = [
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)
            if f.name not in added_later or getattr(self, f.name) != f.default
        ]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    @property
    def keeps_rules(self) -> bool:
        """Whether it trains on rows that an attacker can pay for, and that keep the relations between columns."""
        return False

    def begin(self, victim: Victim, rows: int, threat: ThreatModel) -> None:  # noqa: ARG002
        """Called once before the first step. Moves the defence to the victim's device.

        Args:
            victim: to be trained.
            rows: size of the training set.
            threat: what the attacker may do.

        Raises:
            VictimError: this defence cannot train the victim.
            InputError: it trains on rows that an attacker could not pay for, or that break relations.
        """
        if isinstance(threat.space, RuledSpace) and threat.budget and not self.keeps_rules:
            raise InputError(
                f"expected a defence that trains on rows within prices and relations, got {type(self).__name__}. "
                "Use padvt, swap, trades, hotflip or exhaustive."
            )
        if not victim.has_gradient or not any(p.requires_grad for p in victim.parameters()):
            raise VictimError(
                f"expected a victim with parameters to train for {type(self).__name__}, got {type(victim).__name__}. "
                "A black box can be attacked but not trained here."
            )
        self.to(victim.device)

    @abstractmethod
    def forward(self, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
        """The loss of a batch."""


def check_embedding_is_learned(victim: Victim, defence: Defence, threat: ThreatModel) -> None:
    """Refuses a victim whose category vectors are not learned.

    Raises:
        VictimError: it uses a fixed table, or none.
    """
    row = torch.zeros(1, len(threat.space.schema.features), dtype=torch.int64, device=victim.device)
    with torch.enable_grad(), borrowed_generators(victim.device):
        learned = victim.embed(row).requires_grad
    if not learned:
        raise VictimError(
            f"expected a victim with a learned embedding for {type(defence).__name__}, which moves embedded rows, "
            f"got {type(victim).__name__} with fixed vectors. Use padvt, swap or hotflip, which change categories."
        )
