"""Every defence over every kind of space, what each must satisfy, and one task where robust features exist."""

import math
import pickle
from typing import Any

import pytest
import torch
from torch import nn

from hammingbox.attacks import Exhaustive
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.schema import Schema
from hammingbox.defences import ASCC, DEFENCES, Batch, Defence, L2Ball, Standard, Trades
from hammingbox.errors import InputError, VictimError
from hammingbox.evaluation.accuracy import robust_accuracy
from hammingbox.problem import Problem, all_points
from hammingbox.seeding import RowRandom
from hammingbox.threat.goal import Direction
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.victims.black_box import BlackBox
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.one_hot import OneHot
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.registry import build
from toys import ToyVictim, toy_rows, toy_schema, untargeted
from toys.defences import SPACES, loss_of, toy_batch

REPRS = {
    "standard": "Standard()",
    "padvt": "PAdvT(clean_share=0.5, zeta=1.5, zeta_unit='budget', steps=5, samples=1, tau=2.0, ascent='mirror', "
    "learning_rate=0.5, start=0.1, n_adv=1, draws=8, penalty=0.5, penalty_step=0.005, warm=0)",
    "padvt_paper": "PAdvT(clean_share=0.0, zeta=0.2, zeta_unit='feature', steps=5, samples=1, tau=1.0, "
    "ascent='steepest', learning_rate=0.5, start=0.1, n_adv=1, draws=1, penalty=0.5, penalty_step=0.1, warm=0, "
    "objective='cross_entropy', trained='relaxed')",
    "trades": "Trades(zeta=1.5, zeta_unit='budget', steps=5, samples=1, tau=2.0, ascent='mirror', learning_rate=0.5, "
    "start=0.1, n_adv=1, draws=8, penalty=0.5, penalty_step=0.005, warm=0, weight=5.0, one_noise=True)",
    "hotflip": "HotFlipTraining(clean_share=0.5)",
    "swap": "SwapTraining(clean_share=0.5, extra=0, tries=4)",
    "exhaustive": "ExhaustiveTraining(clean_share=0.0, most=20000)",
    "l2_ball": "L2Ball(radius=0.5, steps=3)",
    "ascc": "ASCC(weight=4.0, sparsity=10.0, steps=5, learning_rate=1.0, one_noise=True)",
    "ascc_public": "ASCC(weight=4.0, sparsity=0.234375, steps=10, learning_rate=10.0, one_noise=True)",
    "certified": "CertifiedTraining(clean_share=0.0)",
    "ablation": "AblationTraining(keep=10, draws=1, mask=None)",
}
"""Keys of stores and checkpoints: they must not change."""


def victim_for(name: str, schema: Schema) -> Victim:
    """A victim that a defence can train: one with bounds for certified training."""
    return build("shallow", schema, hidden=6) if name == "certified" else ToyVictim(schema.cardinalities)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", DEFENCES)
def test_a_step_trains_and_leaves_the_victim_in_train_mode(name: str, space: str, schema: Schema) -> None:
    victim = victim_for(name, schema)
    before = weights_digest(victim)
    loss = loss_of(DEFENCES[name](), victim, toy_batch(schema, victim), ThreatModel(SPACES[space](schema), 2))
    assert weights_digest(victim) == before
    assert all(part.training for part in victim.modules())
    assert all(parameter.requires_grad and parameter.grad is None for parameter in victim.parameters())
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in victim.parameters())
    assert any(p.grad is not None and p.grad.abs().max() > 0 for p in victim.parameters())


@pytest.mark.parametrize("name", DEFENCES)
def test_without_a_budget_every_defence_is_standard_training(name: str, schema: Schema) -> None:
    victim = victim_for(name, schema)
    batch, threat = toy_batch(schema, victim), ThreatModel(FullSpace(schema), 0)
    # Sums in another order have other last bits on some machines.
    found, standard = (loss_of(each, victim, batch, threat) for each in (DEFENCES[name](), Standard()))
    torch.testing.assert_close(found, standard, rtol=1e-6, atol=0)


@pytest.mark.parametrize("defence", [Trades(weight=0.0), ASCC(weight=0.0), L2Ball(radius=0.0)], ids=repr)
def test_without_weight_or_radius_it_is_standard_training(defence: Defence, schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    batch, threat = toy_batch(schema, victim), ThreatModel(FullSpace(schema), 2)
    assert torch.equal(loss_of(defence, victim, batch, threat), loss_of(Standard(), victim, batch, threat))


@pytest.mark.parametrize("name", DEFENCES)
def test_rows_that_the_goal_leaves_alone_are_trained_clean(name: str, schema: Schema) -> None:
    victim = victim_for(name, schema)
    goal, threat = Direction("class 0", "class 1"), ThreatModel(FullSpace(schema), 2)
    batch = toy_batch(schema, victim, 40, goal=goal)
    settings: dict[str, Any] = {"clean_share": 0.0} if name in ("padvt", "hotflip", "swap") else {}
    others = batch.take(batch.y != 0)
    clean = loss_of(Standard(), victim, others, threat)
    torch.testing.assert_close(loss_of(DEFENCES[name](**settings), victim, others, threat), clean, rtol=1e-6, atol=0)
    if name not in ("standard", "ablation"):  # ablation training sees no budget and no goal
        assert 0 < len(others) < len(batch)
        attacked = loss_of(DEFENCES[name](**settings), victim, batch, threat)
        assert attacked > loss_of(Standard(), victim, batch, threat), "rows of class 0 are attacked"


@pytest.mark.parametrize("name", DEFENCES)
def test_repr_is_a_key_and_rebuilds_a_defence(name: str) -> None:
    defence = DEFENCES[name]()
    assert repr(defence) == REPRS[name]
    again = eval(repr(defence), {type(defence).__name__: type(defence)})
    assert repr(again) == repr(defence)


@pytest.mark.parametrize("name", DEFENCES)
def test_a_defence_can_be_sent_to_another_process(name: str, schema: Schema) -> None:
    victim = victim_for(name, schema)
    batch, threat = toy_batch(schema, victim), ThreatModel(FullSpace(schema), 2)
    again = pickle.loads(pickle.dumps(DEFENCES[name]()))
    assert repr(again) == REPRS[name]
    assert torch.equal(loss_of(again, victim, batch, threat), loss_of(DEFENCES[name](), victim, batch, threat))


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", ["padvt", "trades", "hotflip", "swap", "exhaustive"])
def test_inner_rows_are_in_the_space_within_the_budget_and_raise_the_loss(
    name: str, space: str, schema: Schema
) -> None:
    victim = ToyVictim(schema.cardinalities).eval()
    x, y = toy_rows(schema, victim, 24)
    defence: Any = DEFENCES[name]()
    candidates = SPACES[space](schema).candidates(x)
    defence.begin(victim, len(x), ThreatModel(SPACES[space](schema), 2))
    with frozen_eval(victim):
        problem = Problem.of(victim, candidates, untargeted(y), 2)
        points = defence.adversarial(problem, Batch(torch.arange(24), x, y, 0), RowRandom.for_rows(0, x))
        owner, slots = all_points(points)
        loss = problem.score(owner, slots).loss.view(len(x), -1).mean(1)
        clean = problem.loss(problem.clean_slots)
    assert all(bool(candidates.allows(points[:, i]).all()) for i in range(points.shape[1]))
    assert int((points != 0).sum(2).max()) <= 2
    assert loss.mean() > clean.mean()
    assert (loss > clean).float().mean() > 0.5


def test_what_a_defence_cannot_train_is_refused_with_the_reason(schema: Schema) -> None:
    box = BlackBox(lambda rows: torch.full((len(rows), 3), 1 / 3).numpy())
    with pytest.raises(VictimError, match="black box can be attacked but not trained"):
        Standard().begin(box, 3, ThreatModel(FullSpace(schema), 1))
    sequence = toy_schema((4, 4, 4))
    fixed = OneHot(nn.Sequential(nn.Flatten(), nn.Linear(12, 3)), categories=4)
    batch = toy_batch(sequence, fixed, 4)
    for name in ("l2_ball", "ascc"):
        with pytest.raises(VictimError, match="learned embedding"):
            DEFENCES[name]().begin(fixed, len(batch), ThreatModel(FullSpace(sequence), 1))
    for name in ("padvt", "trades", "swap", "hotflip", "standard"):
        assert loss_of(DEFENCES[name](), fixed, batch, ThreatModel(FullSpace(sequence), 1)).isfinite()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("padvt", {"clean_share": 1.0}), ("padvt", {"n_adv": 9, "draws": 3}), ("trades", {"weight": -1.0}),
        ("l2_ball", {"steps": 0}), ("ascc", {"sparsity": -1.0}), ("swap", {"clean_share": -0.1}),
        ("swap", {"tries": 0}), ("swap", {"tries": -1}), ("swap", {"extra": -1}), ("padvt", {"warm": -1}),
        ("padvt", {"tau": 0.0}), ("padvt", {"start": 0.0}), ("ascc", {"learning_rate": math.nan}),
    ],
)  # fmt: skip
def test_bad_settings_are_refused(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="expected"):
        DEFENCES[name](**settings)


def planted(rows: int, seed: int) -> Dataset:
    """One feature always gives the class, fifteen others in two of three rows: only the many are robust."""
    schema = toy_schema((2,) * 16, classes=2)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(2, (rows,), generator=generator)
    right = torch.rand(rows, 16, generator=generator) < torch.tensor([1.0] + [0.65] * 15)
    ids = torch.where(right, labels[:, None], 1 - labels[:, None])
    return Dataset(schema, ids, labels, name="planted")


@pytest.mark.parametrize("name", ["padvt", "swap"])
def test_robust_features_are_found_by_adversarial_training_and_not_by_standard_training(name: str) -> None:
    splits = Splits(planted(600, 0), planted(200, 1), planted(200, 2))
    threat, oracle = ThreatModel(FullSpace(splits.schema), 1), Exhaustive(verdict=True)
    scores = {}
    for defence in (Standard(), DEFENCES[name](clean_share=0.0)):
        victim = build("mlp", splits.schema, seed=0)
        fit(victim, splits, TrainConfig(epochs=8, learning_rate=1e-2), defence=defence, threat=threat)
        scores[type(defence).__name__] = robust_accuracy(victim, splits.test, threat, oracle)
    standard, robust = scores.values()
    assert standard < 0.2
    assert robust > 0.7
