"""How a training runs: its length, its speed, and which epoch is kept."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from hammingbox.errors import InputError
from hammingbox.settings import check_settings

Criterion = Literal["clean", "robust", "mean", "balanced", "balanced_robust", "balanced_mean", "worst_class", "last"]


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How long and how fast to train, and which epoch is the best.

    Attributes:
        epochs: maximum number of passes over the training rows.
        batch_size: rows per step.
        learning_rate: of AdamW.
        schedule: the learning rate falls to zero along a cosine, or stays constant.
        weight_decay: of AdamW.
        clip: maximum norm of the gradient.
        patience: stop after this many epochs at the full budget without a better score.
        criterion: keep the epoch with the best validation accuracy on clean rows, on attacked rows, or their
            mean; or of the same with the mean recall of the classes in place of the accuracy;
            or of the mean of balanced accuracy and the attacked recall of the class that suffers most; or keep the
            last epoch, for losses that validation accuracy does not judge (certified and ablation training).
        robust_rows: validation rows attacked after each epoch; required unless the criterion is "clean",
            "balanced" or "last".
        ramp: the budget rises from 1 to the threat's over this many epochs. Epochs below the full budget are never
            the best, and patience does not count them.
        seed: of the order of rows, dropout and inner attacks.
        class_weights: of the loss of each class's rows, in the order of the schema; None weighs all rows alike.
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
    class_weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.criterion not in ("clean", "balanced", "last") and not self.robust_rows:
            raise InputError(f"expected robust_rows above 0 for the criterion {self.criterion!r}, got 0.")
        if self.ramp > self.epochs:
            raise InputError(
                f"expected a ramp of at most the {self.epochs} epochs, got {self.ramp}: the budget would never be "
                "reached. Shorten the ramp, or train for more epochs."
            )

    @property
    def is_balanced(self) -> bool:
        """Whether the criterion counts classes, not rows."""
        return self.criterion.startswith("balanced") or self.criterion == "worst_class"

    def record(self) -> dict[str, Any]:
        """The settings as JSON; without class weights where there are none, as records were before these existed."""
        values = asdict(self)
        weights = values.pop("class_weights")
        return values if weights is None else values | {"class_weights": list(weights)}
