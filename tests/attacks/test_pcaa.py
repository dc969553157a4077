"""Algorithm 1 and its distribution."""

import pytest
import torch

from hammingbox import ATTACKS, PCAA, FullSpace, MaskedSpace, ThreatModel, TooExpensiveError
from hammingbox.attacks.distribution import Distribution
from hammingbox.seeding import RowRandom
from toys import ToyVictim, toy_rows, toy_schema


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


def test_relaxed_samples_lie_on_the_simplex_of_valid_slots() -> None:
    distribution, x = some_distribution()
    layout = distribution.candidates.layout
    soft = distribution.soft_samples(RowRandom.for_rows(0, x).gumbel(7, layout.options), 0.5)
    assert torch.allclose(layout.reduce(soft, lambda r: r.sum(-1)), torch.ones(2, 7, 4))
    assert soft[(~distribution.candidates.valid)[:, None].expand_as(soft)].eq(0).all()
    cold = distribution.soft_samples(RowRandom.for_rows(0, x).gumbel(7, layout.options), 1e-3)
    assert torch.allclose(cold.amax(-1), torch.ones(2, 7), atol=1e-3)


@pytest.mark.parametrize("ascent", ["adam", "mirror"])
def test_distribution_concentrates_on_damage_and_respects_zeta(ascent: str, schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    threat = ThreatModel(FullSpace(schema), 2)
    attack = PCAA(steps=60, samples=8, ascent=ascent)
    tight = attack.distribution(victim, x, y, threat, zeta=0.5)
    loose = attack.distribution(victim, x, y, threat, zeta=3.0)
    assert tight.cross_entropy.mean() < loose.cross_entropy.mean()
    if ascent == "adam":
        assert tight.cross_entropy.max() < 2 * 0.5 + 1.0, "the penalty holds sum CE near zeta"
    else:
        assert tight.cross_entropy.max() < 2 * 0.5 + 1e-4, "mirror ascent projects: sum CE is at most zeta"
        assert tight.cross_entropy.max() > 2 * 0.5 - 1e-2, "and a row that wants more gets all of it"
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
    pi = PCAA(steps=1, samples=64, ascent="mirror").distribution(victim, x, y, threat, zeta=50.0)
    layout = pi.candidates.layout
    rise = (pi.log_pi - PCAA()._initial(pi.candidates))[:, layout.slot_of != 0]
    assert torch.allclose(rise.amax(1), 0.25 * torch.full((10,), 8 * 49.0).log(), atol=1e-4), (
        "the best moves a whole step"
    )
    assert bool((rise.quantile(0.9, dim=1) < 0.8 * rise.amax(1)).all()), "and most of the others by less"
    assert bool((rise.amin(1) < 0).all()), "changes that would lower the loss become less likely"


def test_paper_form_clips_pi_into_its_range(schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    attack = PCAA.paper(samples=4, steps=30)
    pi = attack.distribution(victim, x, y, ThreatModel(FullSpace(schema), 2)).pi
    assert pi.min() >= 1e-3 - 1e-6
    assert pi.max() <= 15 + 1e-4
    assert (attack.tau, attack.penalty, attack.learning_rate, attack.draws) == (0.1, 10.0, 0.1, 100)


def test_cost_does_not_grow_with_the_budget(schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    attack = PCAA(leave=False)
    totals = set()
    for budget in (1, 2, 3, 4, 5):
        result = attack(victim, x, y, ThreatModel(FullSpace(schema), budget))
        totals.add(int(result.forward.sum() + result.backward.sum()))
    assert len(totals) == 1


@pytest.mark.parametrize("name", ["sa", "gsa", "exhaustive"])
def test_brute_searches_refuse_with_the_estimate(name: str) -> None:
    schema = toy_schema((50, 50, 50))
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=2)
    attack = ATTACKS[name](max_passes=1000)
    with pytest.raises(TooExpensiveError, match=r"at most 1,000 victim passes per row, got an estimate of \d+,\d+"):
        attack(victim, x, y, ThreatModel(FullSpace(schema), 3))
