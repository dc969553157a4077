"""How a training runs: its length, its speed, and the epoch that is kept."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from hammingbox.errors import InputError
from hammingbox.settings import check_settings

Criterion = Literal["clean", "robust", "mean"]

_SEEDS = 2**63


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How long, how fast, and which epoch is the best.

    Attributes:
        epochs: at most this many passes over the training rows.
        batch_size: rows a step.
        learning_rate: of AdamW.
        schedule: the learning rate falls to zero along a cosine, or stays.
        weight_decay: of AdamW.
        clip: largest norm of the gradient.
        patience: stop when the criterion has not risen for so many epochs at the full budget.
        criterion: the epoch kept has the best validation accuracy on clean rows, on attacked rows, or their mean.
        robust_rows: validation rows attacked after each epoch; needed unless the criterion is "clean".
        ramp: the budget rises from 1 to the threat's over so many epochs; only then an epoch can be the best, and
            only then patience counts.
        seed: order of rows, dropout and inner attacks.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("weight_decay", "robust_rows", "seed")

    epochs: int = 25
    batch_size: int = 64
    learning_rate: float = 3e-3
    schedule: Literal["cosine", "constant"] = "cosine"
    weight_decay: float = 1e-4
    clip: float = 1.0
    patience: int = 8
    criterion: Criterion = "clean"
    robust_rows: int = 0
    ramp: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self)
        if self.seed >= _SEEDS:
            raise InputError(f"expected a seed below 2**63, got {self.seed}.")
        if self.criterion != "clean" and not self.robust_rows:
            raise InputError(f"expected robust_rows above 0 for the criterion {self.criterion!r}, got 0.")
        if self.ramp > self.epochs:
            raise InputError(
                f"expected a ramp of at most the {self.epochs} epochs, got {self.ramp}: the budget would never be "
                "reached. Shorten the ramp, or train for more epochs."
            )
