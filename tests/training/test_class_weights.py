"""Class weights, balanced criteria, and models that have given a class up."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.schema import Schema
from hammingbox.defences import DEFENCES
from hammingbox.defences.base import Batch
from hammingbox.errors import InputError
from hammingbox.evaluation.confusion import confusion
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.class_weights import balanced_weights, class_weights_from, is_imbalanced
from hammingbox.training.config import TrainConfig
from hammingbox.training.defence_verdict import defence_verdict
from hammingbox.training.early_stopping import is_best
from hammingbox.training.history import Epoch
from hammingbox.training.loop import fit
from hammingbox.victims.zoo.registry import build

SCHEMA = Schema.sequence(4, "abc", ("ok", "fraud"))


def rare(rows: int, every: int, seed: int) -> Dataset:
    """One row in `every` is fraud and begins with 'b', as one in three of the others does."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, 3, (rows, 4), generator=generator)
    labels = (torch.arange(rows) % every == 0).long()
    ids[labels == 1, 0] = 1
    return Dataset(SCHEMA, ids, labels)


SPLITS = Splits(rare(400, 10, 0), rare(200, 10, 1), rare(200, 10, 2))


def test_balanced_weights_give_every_class_the_same_sum() -> None:
    weights = balanced_weights(SPLITS.train)
    assert weights == pytest.approx((400 / 720, 5.0))
    assert sum(weights[label] for label in SPLITS.train.labels.tolist()) == pytest.approx(400)
    assert is_imbalanced(SPLITS.train)
    assert not is_imbalanced(SPLITS.train.take(SPLITS.train.labels == 1)), "one class has nothing to be compared with"


@pytest.mark.parametrize(
    ("words", "own", "expected"),
    [
        ((), True, "balanced"), ((), False, None), (("auto",), True, "balanced"), (("none",), True, None),
        (("balanced",), False, "balanced"), (("fraud=7",), False, (1.0, 7.0)), (("ok=2", "fraud=.5"), True, (2.0, 0.5)),
    ],
)  # fmt: skip
def test_words_become_weights(words: tuple[str, ...], own: bool, expected: object) -> None:
    found = class_weights_from(words, SPLITS.train, own=own)
    assert found == (balanced_weights(SPLITS.train) if expected == "balanced" else expected)


@pytest.mark.parametrize("word", ["heavy", "frod=2", "fraud=", "fraud=-1", "fraud=0", "fraud=nan", "fraud=inf"])
def test_words_that_mean_nothing(word: str) -> None:
    with pytest.raises(InputError, match="expected"):
        class_weights_from((word,), SPLITS.train, own=True)


def test_weights_of_one_change_nothing_and_others_do() -> None:
    def trained(weights: tuple[float, ...] | None) -> torch.Tensor:
        victim = build("mlp", SCHEMA, seed=0)
        fit(victim, SPLITS, TrainConfig(epochs=1, class_weights=weights))
        return torch.cat([p.detach().flatten() for p in victim.parameters()])

    plain, ones, heavy = trained(None), trained((1.0, 1.0)), trained((1.0, 9.0))
    torch.testing.assert_close(plain, ones)
    assert not torch.allclose(plain, heavy)
    with pytest.raises(InputError, match="expected 2 class weights, got 3"):
        trained((1.0, 1.0, 1.0))


@pytest.mark.parametrize("name", sorted(DEFENCES))
def test_every_defence_uses_the_weights(name: str) -> None:
    """Rows of weight 0 leave no gradient: what remains is the gradient of the other rows."""
    threat = ThreatModel(FullSpace(SCHEMA), 1)
    x, y = SPLITS.train.batch(torch.arange(16))
    victim = build("mlp", SCHEMA, seed=0)
    victim.eval()
    losses = []
    for weights in (None, torch.ones(16), torch.full((16,), 2.0)):
        defence = DEFENCES[name]()
        defence.begin(victim, 16, threat)
        losses.append(defence(victim, Batch(torch.arange(16), x, y, seed=1, weights=weights), threat).loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert losses[2] == pytest.approx(2 * losses[0], rel=1e-5)


def test_the_cross_entropy_of_a_batch_is_weighted_row_by_row() -> None:
    logits, y = torch.randn(6, 2, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 0, 1, 1, 0])
    batch = Batch(torch.arange(6), torch.zeros(6, 4, dtype=torch.int64), y, seed=0, weights=torch.arange(6.0))
    expected = (functional.cross_entropy(logits, y, reduction="none") * torch.arange(6.0)).mean()
    assert batch.cross_entropy(logits).item() == pytest.approx(expected.item())
    half = batch.take(slice(3, 6))
    assert half.weights is not None
    assert half.weights.tolist() == [3, 4, 5]


def test_a_model_that_always_answers_one_class_is_found_out() -> None:
    plain, weighted = (build("mlp", SCHEMA, seed=0) for _ in range(2))
    settings = TrainConfig(epochs=6)
    fit(plain, SPLITS, settings)
    fit(weighted, SPLITS, replace(settings, criterion="balanced", class_weights=balanced_weights(SPLITS.train)))
    before, after = confusion(plain, SPLITS.test), confusion(weighted, SPLITS.test)
    assert before.accuracy == pytest.approx(0.9, abs=0.03)
    assert before.given_up == ("fraud",)
    assert after.balanced_accuracy > before.balanced_accuracy + 0.1
    assert after.given_up == ()


def epoch(balanced: float, attacked: float, worst: float) -> Epoch:
    return Epoch(
        1, 9, 1.0, 0.9, 0.9, 0.0, True, 1, balanced_accuracy=balanced, balanced_robust_accuracy=attacked,
        worst_robust_recall=worst,
    )  # fmt: skip


def test_balanced_criteria_compare_classes() -> None:
    history = [epoch(0.6, 0.4, 0.1)]
    assert is_best(0.7, None, history, TrainConfig(criterion="balanced"))
    assert not is_best(0.5, None, history, TrainConfig(criterion="balanced"))
    assert is_best(0.6, 0.5, history, TrainConfig(criterion="balanced_mean", robust_rows=1))
    assert is_best(0.1, 0.5, history, TrainConfig(criterion="balanced_robust", robust_rows=1))
    assert is_best(0.6, 0.2, history, TrainConfig(criterion="worst_class", robust_rows=1)), "0.2 against 0.1"
    assert not is_best(0.5, 0.15, history, TrainConfig(criterion="worst_class", robust_rows=1))


def test_the_loop_keeps_the_best_epoch_of_the_worst_class() -> None:
    config = TrainConfig(epochs=4, criterion="worst_class", robust_rows=60, learning_rate=1e-2,
                         class_weights=balanced_weights(SPLITS.train))  # fmt: skip
    history = fit(build("mlp", SCHEMA, seed=0), SPLITS, config, threat=ThreatModel(FullSpace(SCHEMA), 1))
    scores = [(e.balanced_accuracy or 0.0) + (e.worst_robust_recall or 0.0) for e in history]
    best = [number for number, e in enumerate(history) if e.best][-1]
    assert scores[best] == max(scores)
    assert all(
        e.worst_robust_recall is not None and e.worst_robust_recall <= (e.balanced_robust_accuracy or 0)
        for e in history
    )


def test_a_record_without_weights_is_as_it_was() -> None:
    assert "class_weights" not in TrainConfig().record()
    assert TrainConfig(class_weights=(1.0, 2.5)).record()["class_weights"] == [1.0, 2.5]


def test_a_collapsed_defence_has_not_helped() -> None:
    threat = ThreatModel(FullSpace(SCHEMA), 1)
    start, collapsed = (build("mlp", SCHEMA, seed=0) for _ in range(2))
    weights = balanced_weights(SPLITS.train)
    fit(start, SPLITS, TrainConfig(epochs=6, criterion="balanced", class_weights=weights))
    fit(collapsed, SPLITS, TrainConfig(epochs=2))
    verdict = defence_verdict(start, collapsed, SPLITS.test, threat)
    assert not verdict.helped
    assert "it hardly ever gets fraud right, or only guesses" in verdict.reasons
    assert verdict.defended.worst == ("fraud", 1.0)
    same = defence_verdict(start, start, SPLITS.test, threat)
    assert same.keeps_accuracy
    assert not same.lowers_error
    assert verdict.to_json()["defended"]["given_up"] == ["fraud"]
