"""The inner PCAA: built once, its penalty follows line 9 of Algorithm 2, and a warm start remembers and is used."""

import pytest
import torch

from hammingbox.attacks.distribution import initial_log_pi
from hammingbox.attacks.pcaa import PCAA
from hammingbox.data.schema import Schema
from hammingbox.defences import Batch, PAdvT, Trades
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.frozen import frozen_eval
from toys import ToyVictim, toy_rows, untargeted
from toys.defences import loss_of, toy_batch


@pytest.mark.parametrize("ascent", ["mirror", "steepest"])
@pytest.mark.parametrize("kind", [PAdvT, Trades])
def test_the_attack_is_built_once_and_not_per_step(
    kind: type[PAdvT] | type[Trades], ascent: str, schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, check = 0, PCAA.__post_init__

    def counting(self: PCAA) -> None:
        nonlocal built
        built += 1
        check(self)

    monkeypatch.setattr(PCAA, "__post_init__", counting)
    victim = ToyVictim(schema.cardinalities).train()
    batch, threat = toy_batch(schema, victim), ThreatModel(FullSpace(schema), 2)
    defence = kind(ascent=ascent, penalty_step=0.1)  # type: ignore[arg-type]
    defence.begin(victim, len(batch), threat)
    with torch.random.fork_rng(devices=[]):
        penalties = {defence(victim, batch, threat).notes["penalty"] for _ in range(4)}
    assert len(penalties) > 1, "the penalty changes"
    assert built == 1


@pytest.mark.parametrize(("zeta", "grows"), [(0.01, True), (50.0, False)])
def test_the_penalty_follows_line_9(zeta: float, grows: bool, schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    defence = PAdvT(zeta=zeta, penalty=1.0, penalty_step=0.1, start=2.0, ascent="steepest")
    batch, threat = toy_batch(schema, victim), ThreatModel(FullSpace(schema), 2)
    loss_of(defence, victim, batch, threat)
    penalty = defence.get_buffer("adapted_penalty").item()
    assert (penalty > 1.0) == grows
    part = batch.take(slice(0, len(batch) // 2))  # half of the batch stays clean
    with frozen_eval(victim):
        problem = Problem.of(victim, threat.space.candidates(part.x), untargeted(part.y), 2)
        random, initial = RowRandom.for_rows(part.seed, part.x), initial_log_pi(problem.candidates, 2.0)
        found = defence.attack.algorithm_1(problem, random, zeta, mirror=False, initial=initial)
    expected = 1.0 - 0.1 * (2 * zeta - found.cross_entropy.mean().item())
    assert penalty == pytest.approx(max(0.0, expected), rel=1e-4)
    with torch.random.fork_rng(devices=[]):
        for _ in range(20):
            defence(victim.train(), batch, threat)
    assert defence.get_buffer("adapted_penalty").item() >= 0.0


def test_the_adapted_penalty_is_the_one_that_is_used(schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities).eval()
    x, y = toy_rows(schema, victim)
    batch, threat = Batch(torch.arange(len(x)), x, y, 0), ThreatModel(FullSpace(schema), 2)
    defences = [PAdvT(penalty=p, ascent="steepest", zeta=0.01, start=2.0, warm=3) for p in (0.5, 0.5, 9.0)]
    for defence in defences:
        defence.begin(victim, len(x), threat)
    defences[1].get_buffer("adapted_penalty").fill_(9.0)
    with frozen_eval(victim):
        problem = Problem.of(victim, FullSpace(schema).candidates(x), untargeted(y), 2)
        for defence in defences:
            defence.adversarial(problem, batch, RowRandom.for_rows(0, x))
            defence.learn(batch)
    low, adapted, high = (defence.state_dict()["memory.log_odds"] for defence in defences)
    assert torch.equal(adapted, high)
    assert not torch.equal(adapted, low)


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
        defence.learn(batch)
    warm = defence.memory.recall(batch.rows, cold)
    raised = warm > cold
    assert (raised.sum(1) >= 1).all()
    assert (raised.sum(1) <= 3).all()
    assert not (raised & ~problem.candidates.moves).any(), "only valid changes are remembered"
    assert "memory.log_odds" in defence.state_dict()


def test_a_warm_start_is_used(schema: Schema) -> None:
    """One tiny step from a start in which the remembered changes are likely draws exactly these."""
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
