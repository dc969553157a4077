"""Which budget an epoch trains against, which epoch is the best, and when the training stops."""

from collections.abc import Sequence

from hammingbox.training.config import TrainConfig
from hammingbox.training.history import Epoch


def budget_of_epoch(epoch: int, budget: int, config: TrainConfig) -> int:
    """The budget of an epoch's inner attacks: it rises from 1 to the threat's along the ramp."""
    return min(budget, max(1, -(-budget * epoch // config.ramp))) if budget else 0


def is_best(clean: float, robust: float | None, history: Sequence[Epoch], config: TrainConfig) -> bool:
    """Whether an epoch with these accuracies is better than all earlier ones that were the best."""
    score = _score(clean, robust, config)
    return all(score > _score(e.validation_accuracy, e.robust_accuracy, config) for e in history if e.best)


def is_over(history: Sequence[Epoch], budget: int, config: TrainConfig) -> bool:
    """Whether all epochs are done or patience is exhausted. Patience does not count epochs of the ramp."""
    best = max((epoch.epoch for epoch in history if epoch.best), default=0)
    ramp = sum(epoch.budget < budget for epoch in history)
    done = len(history)
    return done >= config.epochs or done - max(best, ramp) >= config.patience


def _score(clean: float, robust: float | None, config: TrainConfig) -> float:
    if config.criterion == "clean" or robust is None:
        return clean
    return robust if config.criterion == "robust" else (clean + robust) / 2
