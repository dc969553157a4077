"""Budgets along the ramp, the best epoch by each criterion, and when a training stops."""

import pytest

from hammingbox.data.dataset import Splits
from hammingbox.defences import DEFENCES
from hammingbox.training.config import Criterion, TrainConfig
from hammingbox.training.early_stopping import budget_of_epoch, is_best, is_over
from hammingbox.training.history import Epoch
from hammingbox.training.loop import fit
from hammingbox.victims.zoo.registry import build
from toys.training import splice_threat, train_cnn


def epoch(number: int, clean: float = 0.5, robust: float | None = 0.5, best: bool = False, budget: int = 2) -> Epoch:
    return Epoch(number, 9, 1.0, clean, robust, 0.0, best, budget)


@pytest.mark.parametrize(
    ("ramp", "budget", "budgets"),
    [(1, 4, [4, 4, 4]), (4, 4, [1, 2, 3, 4, 4]), (2, 5, [3, 5, 5]), (3, 1, [1, 1, 1]), (2, 0, [0, 0])],
)
def test_the_budget_rises_along_the_ramp(ramp: int, budget: int, budgets: list[int]) -> None:
    config = TrainConfig(epochs=9, ramp=ramp)
    assert [budget_of_epoch(number, budget, config) for number in range(1, len(budgets) + 1)] == budgets


@pytest.mark.parametrize(
    ("criterion", "clean", "robust", "expected"),
    [
        ("clean", 0.7, 0.1, True), ("clean", 0.6, 0.9, False), ("robust", 0.1, 0.5, True),
        ("robust", 0.9, 0.4, False), ("mean", 0.7, 0.4, True), ("mean", 0.5, 0.5, False),
    ],
)  # fmt: skip
def test_the_criterion_decides_which_epoch_is_better(
    criterion: Criterion, clean: float, robust: float, expected: bool
) -> None:
    config = TrainConfig(criterion=criterion, robust_rows=1)
    history = [epoch(1, 0.6, 0.4, best=True), epoch(2, 0.9, 0.9, best=False)]  # the second does not count
    assert is_best(clean, robust, history, config) == expected


def test_without_attacked_rows_the_clean_accuracy_counts() -> None:
    config = TrainConfig(criterion="robust", robust_rows=1)
    assert is_best(0.7, None, [epoch(1, 0.6, None, best=True)], config)
    assert not is_best(0.5, None, [epoch(1, 0.6, None, best=True)], config)


def test_the_last_epoch_is_the_best_if_the_criterion_says_so() -> None:
    config = TrainConfig(criterion="last", patience=1)
    assert is_best(0.1, None, [epoch(1, 0.9, None, best=True)], config)
    assert not is_over([epoch(number, best=True) for number in range(1, 5)], 2, config)


def test_patience_counts_from_the_best_epoch_and_not_during_the_ramp() -> None:
    config = TrainConfig(epochs=9, patience=2, ramp=2)
    ramp = [epoch(1, budget=1)]
    assert not is_over([], 2, config)
    assert not is_over([*ramp, epoch(2)], 2, config)
    assert is_over([*ramp, epoch(2), epoch(3)], 2, config)
    assert not is_over([*ramp, epoch(2), epoch(3, best=True), epoch(4)], 2, config)
    assert is_over([*ramp, epoch(2, best=True), epoch(3), epoch(4)], 2, config)
    assert is_over([epoch(number, best=True) for number in range(1, 10)], 2, config)


def test_the_loop_uses_ramp_and_patience(small: Splits) -> None:
    def budgets(ramp: int) -> list[int]:
        victim = build("cnn", small.schema, seed=0)
        # The rate is too small for any later epoch to be better.
        config = TrainConfig(learning_rate=1e-9, epochs=9, patience=2, ramp=ramp)
        history = fit(victim, small, config, defence=DEFENCES["hotflip"](), threat=splice_threat(small, 4))
        return [epoch.budget for epoch in history]

    assert budgets(ramp=4) == [1, 2, 3, 4, 4, 4]
    assert budgets(ramp=1) == [4, 4, 4]


def test_no_epoch_of_the_ramp_is_the_best(small: Splits) -> None:
    _, history = train_cnn(small, DEFENCES["hotflip"](), TrainConfig(epochs=3, ramp=2))
    assert [epoch.budget for epoch in history] == [1, 2, 2]
    assert [epoch.best for epoch in history][:2] == [False, True]


@pytest.mark.parametrize("criterion", ["clean", "robust", "mean"])
def test_the_loop_uses_the_criterion(criterion: Criterion, small: Splits) -> None:
    config = TrainConfig(epochs=4, robust_rows=40, criterion=criterion, learning_rate=2e-2)
    _, history = train_cnn(small, DEFENCES["standard"](), config)
    clean, robust = ([e.validation_accuracy for e in history], [e.robust_accuracy or 0.0 for e in history])
    scores = {"clean": clean, "robust": robust, "mean": [(a + b) / 2 for a, b in zip(clean, robust, strict=True)]}
    best = [number for number, epoch in enumerate(history) if epoch.best][-1]
    assert scores[criterion][best] == max(scores[criterion])
