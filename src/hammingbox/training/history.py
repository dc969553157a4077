"""What a training reports while it runs: one line per epoch, and the step it is at."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Epoch:
    """One line of a training history.

    Attributes:
        epoch: counted from 1.
        epochs: how many there may be.
        loss: average over the training rows.
        validation_accuracy: on clean validation rows.
        robust_accuracy: on attacked validation rows; None when none were attacked.
        seconds: of training, without validation.
        best: no epoch before was better by the criterion.
        budget: of this epoch's inner attacks.
        notes: the defence's own numbers, averaged over the epoch.
        elapsed: seconds from the start of the training to the end of this epoch, with validation, over all sittings.
    """

    epoch: int
    epochs: int
    loss: float
    validation_accuracy: float
    robust_accuracy: float | None
    seconds: float
    best: bool
    budget: int
    notes: dict[str, float] = field(default_factory=dict)
    elapsed: float = 0.0


@dataclass(frozen=True)
class Progress:
    """Where within an epoch the training is."""

    epoch: int
    step: int
    steps: int
    loss: float
