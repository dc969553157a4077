"""Every defence over every kind of space, the algebra each must satisfy, and one task where robust features exist."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional

from hammingbox.attacks import Exhaustive, HotFlip
from hammingbox.attacks.pcaa import initial_log_pi
from hammingbox.data.schema import Dataset, Schema, Splits
from hammingbox.defences import ASCC, DEFENCES, Batch, Defence, L2Ball, PAdvT, Standard, Trades
from hammingbox.defences.ascc import simplex
from hammingbox.errors import InputError, VictimError
from hammingbox.evaluation.accuracy import robust_accuracy
from hammingbox.problem import Problem, all_points
from hammingbox.seeding import RowRandom
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.types import Ids
from hammingbox.victims.black_box import BlackBox
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.one_hot import OneHot
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.registry import build
from toys import ToySynonyms, ToyVictim, toy_rows, toy_schema, untargeted

SPACES: dict[str, Callable[[Schema], Space]] = {
    "full": FullSpace,
    "masked": lambda schema: MaskedSpace(schema, immutable=["f0"], forbidden={"f2": ["c1"]}),
    "synonyms": ToySynonyms,
}
ROWS = [name for name, make in DEFENCES.items() if name in ("padvt", "hotflip", "swap")]


def batch_of(schema: Schema, victim: Victim, rows: int = 12) -> Batch:
    x, y = toy_rows(schema, victim, rows)
    return Batch(torch.arange(rows), x, y, seed=3)


def step(defence: Defence, victim: Victim, batch: Batch, threat: ThreatModel) -> torch.Tensor:
    """The loss, with dropout drawn the same way every time."""
    defence.begin(victim, len(batch), threat)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return defence(victim.train(), batch, threat).loss


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", DEFENCES)
def test_a_step_trains_and_leaves_the_victim_in_train_mode(name: str, space: str, schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    before = weights_digest(victim)
    loss = step(DEFENCES[name](), victim, batch_of(schema, victim), ThreatModel(SPACES[space](schema), 2))
    assert weights_digest(victim) == before
    assert all(part.training for part in victim.modules())
    assert all(parameter.requires_grad and parameter.grad is None for parameter in victim.parameters())
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in victim.parameters())
    assert any(p.grad is not None and p.grad.abs().max() > 0 for p in victim.parameters())


@pytest.mark.parametrize("name", DEFENCES)
def test_without_a_budget_every_defence_is_standard_training(name: str, schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    batch, threat = batch_of(schema, victim), ThreatModel(FullSpace(schema), 0)
    assert torch.equal(step(DEFENCES[name](), victim, batch, threat), step(Standard(), victim, batch, threat))


@pytest.mark.parametrize("defence", [Trades(weight=0.0), ASCC(weight=0.0), L2Ball(radius=0.0)], ids=repr)
def test_without_weight_or_radius_it_is_standard_training(defence: Defence, schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    batch, threat = batch_of(schema, victim), ThreatModel(FullSpace(schema), 2)
    assert torch.equal(step(defence, victim, batch, threat), step(Standard(), victim, batch, threat))


class NothingMoves(ToySynonyms):
    """No feature has another category."""

    def candidates(self, ids: Ids) -> Candidates:
        found = super().candidates(ids)
        return replace(found, valid=(found.layout.slot_of == 0).expand_as(found.valid))


@pytest.mark.parametrize("defence", [Trades(), Trades(n_adv=3), ASCC()], ids=["trades", "three draws", "ascc"])
def test_dropout_is_not_taken_for_a_change(defence: Defence, schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    batch = batch_of(schema, victim)
    loss = step(defence, victim, batch, ThreatModel(NothingMoves(schema), 2))
    assert torch.allclose(loss, step(Standard(), victim, batch, ThreatModel(FullSpace(schema), 0)))


def test_noise_moves_on_between_steps(schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities).train()
    batch, threat = batch_of(schema, victim), ThreatModel(FullSpace(schema), 2)
    for defence in (Trades(), ASCC()):
        defence.begin(victim, len(batch), threat)
        with torch.random.fork_rng(devices=[]):
            assert defence(victim, batch, threat).loss != defence(victim, batch, threat).loss


@pytest.mark.parametrize("kind", [Trades, ASCC])
def test_the_divergence_counts_by_its_weight(kind: type[Trades] | type[ASCC], schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    batch, threat = batch_of(schema, victim), ThreatModel(FullSpace(schema), 2)
    none, one, two = (step(kind(weight=weight), victim, batch, threat) for weight in (0.0, 1.0, 2.0))
    torch.testing.assert_close(two - none, 2 * (one - none))
    assert one > none + 1e-3


def test_trades_attacks_the_answer_and_not_the_label(schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    batch, threat = batch_of(schema, victim), ThreatModel(FullSpace(schema), 2)
    other = replace(batch, y=(batch.y + 1) % 3)
    apart = [
        step(Trades(weight=1.0), victim, labelled, threat) - step(Standard(), victim, labelled, threat)
        for labelled in (batch, other)
    ]
    torch.testing.assert_close(apart[0], apart[1])


def test_several_draws_a_row_are_averaged(schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    victim.body[1] = nn.Identity()
    batch, threat = batch_of(schema, victim), ThreatModel(FullSpace(schema), 2)
    defence = PAdvT(n_adv=3, clean_share=0.5)
    loss = step(defence, victim, batch, threat)
    half = len(batch) // 2
    part = batch.take(slice(0, half))
    with frozen_eval(victim):
        candidates = threat.space.candidates(part.x)
        problem = Problem.of(victim, candidates, untargeted(part.y), 2)
        points = defence.adversarial(problem, part, RowRandom.for_rows(part.seed, part.x))
        attacked = [functional.cross_entropy(victim(candidates.select(points[:, i])), part.y) for i in range(3)]
        clean = functional.cross_entropy(victim(batch.x[half:]), batch.y[half:])
    torch.testing.assert_close(loss, (torch.stack(attacked).mean() + clean) / 2)


@pytest.mark.parametrize("name", DEFENCES)
def test_repr_rebuilds_a_defence(name: str) -> None:
    defence = DEFENCES[name]()
    again = eval(repr(defence), {type(defence).__name__: type(defence)})
    assert repr(again) == repr(defence)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", [*ROWS, "trades"])
def test_inner_rows_are_in_the_space_within_the_budget_and_raise_the_loss(
    name: str, space: str, schema: Schema
) -> None:
    victim = ToyVictim(schema.cardinalities).eval()
    x, y = toy_rows(schema, victim, 24)
    defence = DEFENCES[name]()
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


def test_the_ball_and_the_hull_raise_the_loss(schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities).eval()
    x, y = toy_rows(schema, victim, 24)
    batch = Batch(torch.arange(24), x, y, 0)
    candidates = FullSpace(schema).candidates(x)
    with frozen_eval(victim):
        embedded = victim.embed(x)
        clean = functional.cross_entropy(victim(x), y)
        ball = L2Ball(radius=0.7)
        shift = ball.worst_shift(victim, batch, (candidates.counts > 1)[:, :, None])
        assert functional.cross_entropy(victim.head(embedded + shift, x), y) > clean
        size = shift.flatten(1).norm(dim=1) / embedded.square().sum(2).mean().sqrt()
        assert size.max() <= 0.7 + 1e-5
        assert size.min() > 0.5

        hull = ASCC(sparsity=0.0)
        before = simplex(candidates, -RowRandom.for_rows(0, x).gumbel(candidates.layout.options))
        after = hull.worst_mixture(victim, batch, candidates)

        def loss_of(weights: torch.Tensor) -> torch.Tensor:
            problem = Problem.of(victim, candidates, untargeted(y), 1, objective="cross_entropy")
            return problem.soft_loss(weights[:, None]).mean()

        assert loss_of(after) > loss_of(before)


@pytest.mark.parametrize("space", SPACES)
def test_hull_weights_lie_in_the_simplex_over_valid_slots(space: str, schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities).eval()
    x, y = toy_rows(schema, victim)
    candidates = SPACES[space](schema).candidates(x)
    with frozen_eval(victim):
        weights = ASCC().worst_mixture(victim, Batch(torch.arange(len(x)), x, y, 0), candidates)
        loose = ASCC(sparsity=0.0).worst_mixture(victim, Batch(torch.arange(len(x)), x, y, 0), candidates)
    assert (weights >= 0).all()
    assert (weights[~candidates.valid] == 0).all()
    sums = candidates.layout.reduce(weights, lambda rectangle: rectangle.sum(-1))
    torch.testing.assert_close(sums, torch.ones_like(sums))
    assert _entropy(weights) < _entropy(loose), "the entropy term must make mixtures sparser"


def _entropy(weights: torch.Tensor) -> float:
    return -torch.xlogy(weights, weights).sum().item()


@pytest.mark.parametrize(("zeta", "grows"), [(0.01, True), (50.0, False)])
def test_the_penalty_follows_line_9(zeta: float, grows: bool, schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    defence = PAdvT(zeta=zeta, penalty=1.0, penalty_step=0.1, start=2.0, ascent="steepest")
    batch, threat = batch_of(schema, victim), ThreatModel(FullSpace(schema), 2)
    step(defence, victim, batch, threat)
    penalty = defence.get_buffer("adapted_penalty").item()
    assert (penalty > 1.0) == grows
    part = batch.take(slice(0, len(batch) // 2))  # half of the batch stays clean
    with frozen_eval(victim):
        problem = Problem.of(victim, threat.space.candidates(part.x), untargeted(part.y), 2)
        attack = replace(defence.attack, penalty=1.0)
        random = RowRandom.for_rows(part.seed, part.x)
        found = attack.algorithm_1(problem, random, zeta, mirror=False, initial=initial_log_pi(problem.candidates, 2.0))
    expected = 1.0 - 0.1 * (2 * zeta - found.cross_entropy.mean().item())
    assert penalty == pytest.approx(max(0.0, expected), rel=1e-4)
    with torch.random.fork_rng(devices=[]):
        for _ in range(20):
            defence(victim.train(), batch, threat)
    assert defence.get_buffer("adapted_penalty").item() >= 0.0


def test_a_warm_start_remembers_what_was_likely(schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities).eval()
    x, y = toy_rows(schema, victim)
    batch, threat = Batch(torch.arange(len(x)), x, y, 0), ThreatModel(FullSpace(schema), 2)
    defence = PAdvT(warm=3)
    defence.begin(victim, len(x), threat)
    assert defence.memory is not None
    with frozen_eval(victim):
        problem = Problem.of(victim, FullSpace(schema).candidates(x), untargeted(y), 2)
        cold = torch.full((len(x), problem.candidates.layout.options), -9.0)
        assert torch.equal(defence.memory.recall(batch.rows, cold), cold)
        defence.adversarial(problem, batch, RowRandom.for_rows(0, x))
    warm = defence.memory.recall(batch.rows, cold)
    raised = warm > cold
    assert (raised.sum(1) >= 1).all()
    assert (raised.sum(1) <= 3).all()
    assert not (raised & ~problem.candidates.moves).any(), "only valid changes may be remembered"
    assert "memory.log_odds" in defence.state_dict()


def test_a_warm_start_is_used(schema: Schema) -> None:
    """One tiny step from a start that holds the remembered changes for likely draws just these."""
    victim = ToyVictim(schema.cardinalities).eval()
    x, y = toy_rows(schema, victim)
    batch, threat = Batch(torch.arange(len(x)), x, y, 0), ThreatModel(FullSpace(schema), 1)
    defence = PAdvT(warm=1, steps=1, learning_rate=1e-6, draws=1, zeta=50.0)
    defence.begin(victim, len(x), threat)
    assert defence.memory is not None
    with frozen_eval(victim):
        candidates = threat.space.candidates(x)
        problem = Problem.of(victim, candidates, untargeted(y), 1)
        option = candidates.layout.starts[2] + 1
        defence.memory.options.fill_(int(option))
        defence.memory.log_odds.fill_(50.0)
        points = defence.adversarial(problem, batch, RowRandom.for_rows(0, x))
    assert (points[:, 0, 2] == 1).all()


def test_a_share_of_clean_rows_stays_clean(schema: Schema) -> None:
    """With all but one row clean, the loss is that of the batch but for one row."""
    victim = ToyVictim(schema.cardinalities)
    victim.body[1] = nn.Identity()  # no dropout: losses of rows can be compared
    batch, threat = batch_of(schema, victim, 10), ThreatModel(FullSpace(schema), 2)
    loss = step(DEFENCES["hotflip"](clean_share=0.9), victim, batch, threat)
    rows = functional.cross_entropy(victim(batch.x), batch.y, reduction="none")
    found = HotFlip()(victim, batch.x[:1], batch.y[:1], threat, seed=3)
    attacked = functional.cross_entropy(victim(found.ids), batch.y[:1])
    torch.testing.assert_close(loss, (rows[1:].sum() + attacked) / 10)


def test_what_a_defence_cannot_train_is_refused_with_the_reason(schema: Schema) -> None:
    box = BlackBox(lambda rows: torch.full((len(rows), 3), 1 / 3).numpy())
    with pytest.raises(VictimError, match="black box can be attacked but not trained"):
        Standard().begin(box, 3, ThreatModel(FullSpace(schema), 1))
    sequence = toy_schema((4, 4, 4))
    fixed = OneHot(nn.Sequential(nn.Flatten(), nn.Linear(12, 3)), categories=4)
    batch = batch_of(sequence, fixed, 4)
    for name in ("l2_ball", "ascc"):
        with pytest.raises(VictimError, match="learned embedding"):
            DEFENCES[name]().begin(fixed, len(batch), ThreatModel(FullSpace(sequence), 1))
    for name in ("padvt", "trades", "swap", "hotflip", "standard"):
        assert step(DEFENCES[name](), fixed, batch, ThreatModel(FullSpace(sequence), 1)).isfinite()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("padvt", {"clean_share": 1.0}), ("padvt", {"n_adv": 9, "draws": 3}), ("trades", {"weight": -1.0}),
        ("l2_ball", {"steps": 0}), ("ascc", {"sparsity": -1.0}), ("swap", {"clean_share": -0.1}),
        ("swap", {"tries": 0}), ("swap", {"tries": -1}), ("swap", {"extra": -1}), ("padvt", {"warm": -1}),
        ("padvt", {"tau": 0.0}), ("padvt", {"start": 0.0}), ("ascc", {"learning_rate": math.nan}),
    ],
)  # fmt: skip
def test_bad_settings_are_refused(name: str, settings: dict[str, object]) -> None:
    with pytest.raises(InputError, match="expected"):
        DEFENCES[name](**settings)


def planted(rows: int, seed: int) -> Dataset:
    """One feature always tells the class, fifteen others two times in three: the many resist, the one does not."""
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
