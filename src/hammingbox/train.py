"""Training: one loop, early stopping on the validation set."""

import copy
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter

import torch
from torch.nn import functional

from hammingbox.data.schema import Dataset, Splits
from hammingbox.errors import InputError, VictimError
from hammingbox.models.victim import Victim
from hammingbox.seeding import torch_generator


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How long and how fast.

    Attributes:
        epochs: at most this many passes over the training rows.
        batch_size: rows a step.
        learning_rate: of Adam, falling to zero along a cosine.
        weight_decay: of Adam.
        clip: largest norm of the gradient.
        patience: stop when the validation accuracy has not risen for so many epochs.
        seed: order of rows and dropout.
    """

    epochs: int = 25
    batch_size: int = 64
    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    clip: float = 1.0
    patience: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if name != "seed" and value <= 0 and not (name == "weight_decay" and value == 0):
                raise InputError(f"expected {name} above 0, got {value}.")


@dataclass(frozen=True)
class Epoch:
    """One line of a training history."""

    epoch: int
    epochs: int
    loss: float
    validation_accuracy: float
    seconds: float
    best: bool


def fit(
    victim: Victim, splits: Splits, config: TrainConfig, *, on_epoch: Callable[[Epoch], None] = lambda _: None
) -> list[Epoch]:
    """Trains a victim in place by cross entropy and leaves it, in eval mode, at its best validation epoch.

    Args:
        victim: its parameters are changed.
        splits: training and validation rows.
        config: how long and how fast.
        on_epoch: called after each epoch.

    Raises:
        InputError: there is nothing to train on.
        VictimError: the loss is not finite.
    """
    if not len(splits.train) or not len(splits.validation):
        raise InputError(
            f"expected training and validation rows in {splits.test.name}, got {len(splits.train)} and "
            f"{len(splits.validation)}. Where only test rows are public, attack a released model instead."
        )
    order = torch_generator(config.seed)
    optimiser = torch.optim.AdamW(victim.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    steps = -(-len(splits.train) // config.batch_size)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, config.epochs * steps)
    history: list[Epoch] = []
    best_accuracy, best_state, best_epoch = -1.0, copy.deepcopy(victim.state_dict()), 0
    # Dropout draws from the global generator: borrow it, seeded, and give it back.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(config.seed)
        for epoch in range(1, config.epochs + 1):
            begin, total = perf_counter(), 0.0
            victim.train()
            for rows in torch.randperm(len(splits.train), generator=order).split(config.batch_size):
                x, y = splits.train.batch(rows)
                loss = functional.cross_entropy(victim(x), y)
                if not loss.isfinite():
                    raise VictimError("expected a finite training loss, got NaN or infinity. Lower the learning rate.")
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(victim.parameters(), config.clip)
                optimiser.step()
                schedule.step()
                total += loss.item() * len(rows)
            score = accuracy(victim, splits.validation)
            improved = score > best_accuracy
            if improved:
                best_accuracy, best_state, best_epoch = score, copy.deepcopy(victim.state_dict()), epoch
            history.append(
                Epoch(epoch, config.epochs, total / len(splits.train), score, perf_counter() - begin, improved)
            )
            on_epoch(history[-1])
            if epoch - best_epoch >= config.patience:
                break
    victim.load_state_dict(best_state)
    victim.eval()
    return history


def accuracy(victim: Victim, data: Dataset, *, batch_size: int = 1024) -> float:
    """Share of rows whose class has the largest logit."""
    right = 0
    victim.eval()
    with torch.no_grad():
        for rows in torch.arange(len(data)).split(batch_size):
            x, y = data.batch(rows)
            right += int((victim(x).argmax(1) == y).sum())
    return right / len(data)
