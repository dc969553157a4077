"""Which budget an epoch trains against, which epoch is the best, and when the training stops."""

from collections.abc import Sequence

from hammingbox.training.config import TrainConfig
from hammingbox.training.history import Epoch


def budget_of_epoch(epoch: int, budget: int, config: TrainConfig) -> int:
    """The budget of an epoch's inner attacks: it rises from 1 to the threat's along the ramp."""
    return min(budget, max(1, -(-budget * epoch // config.ramp))) if budget else 0


def is_best(clean: float, robust: float | None, history: Sequence[Epoch], config: TrainConfig) -> bool:
    """Whether an epoch is better than all earlier ones that were the best.

    Args:
        clean: its accuracy on clean rows, or its balanced accuracy where the criterion counts classes.
        robust: the same on attacked rows, or the smallest attacked recall of a class, as the criterion has it.
        history: earlier epochs.
        config: has the criterion.
    """
    if config.criterion == "last":
        return True
    score = _score(clean, robust, config)
    return all(score > _score(*_of_epoch(e, config), config) for e in history if e.best)


def is_over(history: Sequence[Epoch], budget: int, config: TrainConfig) -> bool:
    """Whether all epochs are done or patience is exhausted. Patience does not count epochs of the ramp."""
    best = max((epoch.epoch for epoch in history if epoch.best), default=0)
    ramp = sum(epoch.budget < budget for epoch in history)
    done = len(history)
    return done >= config.epochs or done - max(best, ramp) >= config.patience


def _of_epoch(epoch: Epoch, config: TrainConfig) -> tuple[float, float | None]:
    if config.is_balanced and epoch.balanced_accuracy is not None:
        worst = config.criterion == "worst_class"
        return epoch.balanced_accuracy, epoch.worst_robust_recall if worst else epoch.balanced_robust_accuracy
    return epoch.validation_accuracy, epoch.robust_accuracy


def _score(clean: float, robust: float | None, config: TrainConfig) -> float:
    if config.criterion in ("clean", "balanced") or robust is None:
        return clean
    return robust if config.criterion in ("robust", "balanced_robust") else (clean + robust) / 2
