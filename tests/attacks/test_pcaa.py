"""Algorithm 1 and its distribution."""

from dataclasses import asdict
from typing import Any, ClassVar, Literal

import pytest
import torch

from hammingbox.attacks import PCAA
from hammingbox.attacks.distribution import Distribution
from hammingbox.attacks.guided import likeliest
from hammingbox.data.schema import Schema
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from toys import ToyVictim, toy_rows, toy_schema, untargeted


def some_distribution(seed: int = 0) -> tuple[Distribution, torch.Tensor]:
    schema = toy_schema((3, 2, 5, 3))
    x = torch.tensor([[0, 1, 4, 2], [2, 0, 0, 1]])
    candidates = MaskedSpace(schema, forbidden={"f2": ["c1"]}).candidates(x)
    log_pi = torch.randn(2, candidates.layout.options, generator=torch.Generator().manual_seed(seed))
    return Distribution(candidates, log_pi), x


def test_draws_follow_pi() -> None:
    distribution, x = some_distribution()
    draws = distribution.draw(RowRandom.for_rows(0, x), 40_000)
    frequency = distribution.candidates.layout.one_hot(draws).mean(1)
    assert (frequency - distribution.log_probabilities.exp()).abs().max() < 0.012
    expected_changes = (draws != 0).sum(2).double().mean(1)
    assert bool((expected_changes <= distribution.cross_entropy + 0.02).all()), "sum CE bounds the expected changes"


def test_projected_draws_keep_the_budget_and_the_marginal_order() -> None:
    distribution, x = some_distribution()
    draws = distribution.draw(RowRandom.for_rows(0, x), 500, budget=1)
    assert int((draws != 0).sum(2).max()) == 1
    free = distribution.draw(RowRandom.for_rows(0, x), 500)
    assert bool(((draws == 0) | (draws == free)).all()), "a projected draw only gives changes back"


def test_draws_that_spend_the_budget_keep_what_a_projected_draw_keeps() -> None:
    distribution, x = some_distribution()
    spent = distribution.draw(RowRandom.for_rows(0, x), 500, budget=2, spend=True)
    projected = distribution.draw(RowRandom.for_rows(0, x), 500, budget=2)
    assert bool(((spent != 0).sum(2) == 2).all())
    assert bool(((projected == 0) | (projected == spent)).all())
    assert not torch.equal(projected, spent)


def test_relaxed_samples_lie_on_the_simplex_of_valid_slots() -> None:
    distribution, x = some_distribution()
    layout = distribution.candidates.layout
    soft = distribution.soft_samples(RowRandom.for_rows(0, x).gumbel(7, layout.options), 0.5)
    assert torch.allclose(layout.reduce(soft, lambda r: r.sum(-1)), torch.ones(2, 7, 4))
    assert soft[(~distribution.candidates.valid)[:, None].expand_as(soft)].eq(0).all()
    cold = distribution.soft_samples(RowRandom.for_rows(0, x).gumbel(7, layout.options), 1e-3)
    assert torch.allclose(cold.amax(-1), torch.ones(2, 7), atol=1e-3)


@pytest.mark.parametrize("ascent", ["adam", "mirror"])
def test_distribution_concentrates_on_damage_and_respects_zeta(
    ascent: Literal["adam", "mirror"], schema: Schema, victim: ToyVictim
) -> None:
    x, y = toy_rows(schema, victim)
    threat = ThreatModel(FullSpace(schema), 2)
    attack = PCAA(steps=60, samples=8, learning_rate=0.25, start=1.0, ascent=ascent)
    tight = attack.distribution(victim, x, y, threat, zeta=0.5)
    loose = attack.distribution(victim, x, y, threat, zeta=3.0)
    assert tight.cross_entropy.mean() < loose.cross_entropy.mean()
    if ascent == "adam":
        assert tight.cross_entropy.max() < 2 * 0.5 + 1.0, "the penalty holds sum CE near zeta"
    else:
        assert tight.cross_entropy.max() < 2 * 0.5 + 1e-4, "mirror ascent projects: sum CE is at most zeta"
        assert tight.cross_entropy.max() > 2 * 0.5 - 1e-2, "and a row that would exceed it reaches it"
    victim.eval()
    draws = loose.draw(RowRandom.for_rows(1, x), 200)
    rows = torch.arange(len(x)).repeat_interleave(200)
    ids = loose.candidates.select_points(rows, draws.flatten(0, 1))
    drawn_wrong = (victim(ids).argmax(1) != y[rows]).double().mean()
    assert drawn_wrong > 0.5, "most draws break their row"
    assert torch.allclose(loose.pi.log()[loose.candidates.valid], loose.log_pi[loose.candidates.valid], atol=1e-4)


def test_mirror_ascent_lifts_the_options_of_the_largest_gain() -> None:
    schema = toy_schema((50,) * 8)
    victim = ToyVictim(schema.cardinalities, seed=2)
    x, y = toy_rows(schema, victim, rows=10)
    threat = ThreatModel(FullSpace(schema), 1)
    pi = PCAA(steps=1, samples=64, learning_rate=0.25, start=1.0).distribution(victim, x, y, threat, zeta=50.0)
    layout = pi.candidates.layout
    rise = (pi.log_pi - PCAA(start=1.0)._initial(pi.candidates))[:, layout.slot_of != 0]
    assert torch.allclose(rise.amax(1), 0.25 * torch.full((10,), 8 * 49.0).log(), atol=1e-4), (
        "the best option moves by a whole step"
    )
    assert bool((rise.quantile(0.9, dim=1) < 0.8 * rise.amax(1)).all()), "and most others by less"
    assert bool((rise.amin(1) < 0).all()), "changes that would lower the loss become less likely"


def test_paper_form_clips_pi_into_its_range(schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    attack = PCAA.paper(samples=4, steps=30)
    pi = attack.distribution(victim, x, y, ThreatModel(FullSpace(schema), 2)).pi
    assert pi.min() >= 1e-3 - 1e-6
    assert pi.max() <= 15 + 1e-4
    assert (attack.tau, attack.penalty, attack.learning_rate, attack.draws) == (0.1, 10.0, 0.1, 100)


def test_paper_form_has_the_released_sweep() -> None:
    attack = PCAA.paper()
    assert attack.zetas == (
        0.13, 0.14, 0.15, 0.16, 0.17, 0.18, 0.19, 0.20, 0.21, 0.22, 0.23, 0.24, 0.25, 0.26, 0.27, 0.28, 0.29, 0.30,
        0.31, 0.32, 0.33, 0.34,
    )  # fmt: skip
    assert (attack.rounds, attack.steps, attack.samples) == (22, 100, 500)
    assert (attack.carry, attack.recentre, attack.hard, attack.drawing) == (True, None, False, "dropped")


class Rounds(PCAA):
    """Notes where each round starts and where it ends."""

    starts: ClassVar[list[torch.Tensor]] = []
    ends: ClassVar[list[torch.Tensor]] = []

    def algorithm_1(self, *problem: Any, **settings: Any) -> Distribution:
        self.starts.append(settings["initial"].clone())
        found = super().algorithm_1(*problem, **settings)
        self.ends.append(found.log_pi.clone())
        return found


@pytest.mark.parametrize("carry", [True, False])
def test_pi_is_carried_on_from_zeta_to_zeta(carry: bool, schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    Rounds.starts.clear()
    Rounds.ends.clear()
    attack = Rounds(**(asdict(PCAA.paper(rounds=3, steps=2, samples=2, leave=False, carry=carry))))
    attack(victim, x, y, ThreatModel(FullSpace(schema), 2))
    assert len(Rounds.starts) == 3
    for start, end in zip(Rounds.starts[1:], Rounds.ends, strict=False):
        assert torch.equal(start, end if carry else Rounds.starts[0])
        assert not torch.equal(end, Rounds.starts[0])


def test_a_round_starts_from_the_best_draw_of_the_last_one(schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    Rounds.starts.clear()
    attack = Rounds(rounds=2, leave=False, recentre=1.5, drawing="spent")
    attack(victim, x, y, ThreatModel(FullSpace(schema), 2))
    first, second = Rounds.starts
    raised = second != first
    assert bool((raised.sum(1) == 2).all()), "the two changes of a row"
    assert bool((second[raised] == 1.5).all())
    assert torch.equal(first, PCAA()._initial(FullSpace(schema).candidates(x)))


def test_cost_does_not_grow_with_the_budget(schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    attack = PCAA(leave=False)
    totals = set()
    for budget in (1, 2, 3, 4, 5):
        result = attack(victim, x, y, ThreatModel(FullSpace(schema), budget))
        totals.add(int(result.forward.sum() + result.backward.sum()))
    assert len(totals) == 1


def test_log_odds_of_options_rank_changes() -> None:
    distribution, _ = some_distribution()
    layout, candidates = distribution.candidates.layout, distribution.candidates
    odds, p = distribution.option_log_odds, distribution.log_probabilities.exp()
    assert torch.equal(odds.isinf(), ~candidates.moves)
    assert torch.allclose(odds.exp(), (p / layout.spread(layout.first(p))).masked_fill(~candidates.moves, 0.0))
    # Together the changes of a feature have the odds of changing it.
    together = layout.reduce(odds, lambda rectangle: rectangle.logsumexp(-1))
    assert torch.allclose(together, distribution.change_log_odds, atol=1e-5)
    top = likeliest(distribution, 3)
    assert top.sum(1).tolist() == [3, 3]
    assert bool((odds[top].view(2, 3).amin(1) >= odds.masked_fill(top, -torch.inf).amax(1)).all())
    changed = distribution.mode(2) != 0
    best = layout.reduce(odds, lambda rectangle: rectangle.amax(-1))
    assert torch.equal(best.masked_fill(~changed, -torch.inf).topk(2).indices, best.topk(2).indices)


def test_the_penalty_of_a_call_takes_the_place_of_that_of_the_settings(schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    problem = Problem.of(victim.eval().requires_grad_(False), FullSpace(schema).candidates(x), untargeted(y), 2)

    def run(attack: PCAA, penalty: float | torch.Tensor | None = None) -> torch.Tensor:
        return attack.algorithm_1(problem, RowRandom.for_rows(0, x), 0.5, penalty=penalty).log_pi

    one, other = (PCAA(ascent="steepest", penalty=penalty, steps=6) for penalty in (0.3, 7.0))
    assert torch.equal(run(one), run(other, penalty=0.3))
    assert torch.equal(run(one), run(other, penalty=torch.tensor(0.3))), "a buffer needs no transfer to a number"
    assert not torch.equal(run(one), run(other))


def test_turns_are_mirror_ascent_then_steepest_ascent(schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    problem = Problem.of(victim.eval().requires_grad_(False), FullSpace(schema).candidates(x), untargeted(y), 2)

    def run(ascent: Literal["turns", "mirror", "steepest"], turn: int) -> torch.Tensor:
        attack = PCAA(ascent=ascent, steps=4)
        return attack.algorithm_1(problem, RowRandom.for_rows(0, x), 1.5, mirror=attack.mirrors(turn)).log_pi

    assert torch.equal(run("turns", 0), run("mirror", 0))
    assert torch.equal(run("turns", 1), run("steepest", 1))
    assert not torch.equal(run("turns", 0), run("turns", 1))
