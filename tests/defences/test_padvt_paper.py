"""Algorithm 2 as printed: relaxed rows of Eq. 4 at any distance, every draw trained on, and a living lambda."""

from typing import Any

import pytest
import torch
from torch.nn import functional

from hammingbox.data.schema import Schema
from hammingbox.defences import DEFENCES, Batch, PAdvT
from hammingbox.errors import InputError
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.soft_rows import SoftRows
from toys import ToyVictim, toy_rows, untargeted
from toys.defences import SPACES, loss_of, toy_batch


def drawn(defence: PAdvT, victim: ToyVictim, schema: Schema, *, budget: int = 1) -> tuple[Problem, torch.Tensor]:
    """What a defence trains on, and the problem it was found for."""
    x, y = toy_rows(schema, victim.eval(), 24)
    threat = ThreatModel(FullSpace(schema), budget)
    defence.begin(victim, len(x), threat)
    with frozen_eval(victim):
        problem = Problem.of(victim, threat.space.candidates(x), untargeted(y), budget)
        batch = Batch(torch.arange(len(x)), x, y, 0)
        return problem, defence.adversarial(problem, batch, RowRandom.for_rows(0, x))


def test_it_is_penalised_ascent_on_the_loss_without_clean_rows_and_without_a_choice_among_draws() -> None:
    paper = DEFENCES["padvt_paper"]()
    assert isinstance(paper, PAdvT)
    assert (paper.ascent, paper.objective, paper.trained) == ("steepest", "cross_entropy", "relaxed")
    assert (paper.clean_share, paper.draws, paper.n_adv) == (0.0, 1, 1)
    assert paper.penalty_step > 0
    assert PAdvT.paper(n_adv=3).draws == 3


@pytest.mark.parametrize("space", SPACES)
def test_relaxed_rows_are_mixtures_of_valid_options(space: str, schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities).eval()
    x, y = toy_rows(schema, victim, 12)
    defence, candidates = PAdvT.paper(n_adv=2), SPACES[space](schema).candidates(x)
    with frozen_eval(victim):
        problem = Problem.of(victim, candidates, untargeted(y), 2)
        weights = defence.adversarial(problem, Batch(torch.arange(12), x, y, 0), RowRandom.for_rows(0, x))
    assert weights.shape == (12, 2, candidates.layout.options)
    assert (weights.transpose(1, 2)[~candidates.valid] == 0).all()
    for sample in weights.unbind(1):
        sums = candidates.layout.reduce(sample, lambda rectangle: rectangle.sum(-1))
        torch.testing.assert_close(sums, torch.ones_like(sums))


def test_the_loss_is_the_mean_cross_entropy_of_the_relaxed_rows(schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    batch, threat = toy_batch(schema, victim), ThreatModel(FullSpace(schema), 2)
    defence = PAdvT.paper(n_adv=2)
    loss = loss_of(defence, victim, batch, threat)
    defence.begin(victim, len(batch), threat)
    candidates = threat.space.candidates(batch.x)
    with frozen_eval(victim):
        problem = Problem.of(victim, candidates, untargeted(batch.y), 2)
        weights = defence.adversarial(problem, batch, RowRandom.for_rows(batch.seed, batch.x))
    mixed = SoftRows(victim, candidates).mix(weights).flatten(0, 1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # the dropout noise of `loss_of`
        logits = victim.train().head(mixed, batch.x.repeat_interleave(2, 0))
    torch.testing.assert_close(loss, functional.cross_entropy(logits, batch.y.repeat_interleave(2)))


@pytest.mark.parametrize("trained", ["projected", "drawn"])
def test_only_projected_rows_keep_the_budget(trained: str, schema: Schema) -> None:
    settings: dict[str, Any] = {"trained": trained, "draws": 4, "n_adv": 4, "zeta": 50.0, "start": 3.0}
    _, points = drawn(PAdvT(**settings), ToyVictim(schema.cardinalities), schema)
    changes = (points != 0).sum(2)
    assert (int(changes.max()) > 1) == (trained == "drawn")


def test_the_objective_is_the_one_of_the_settings(schema: Schema) -> None:
    found = []
    for objective in ("margin", "cross_entropy"):
        settings: dict[str, Any] = {"objective": objective}
        found.append(drawn(PAdvT.paper(**settings), ToyVictim(schema.cardinalities), schema)[1])
    assert not torch.equal(found[0], found[1])


@pytest.mark.parametrize("trained", ["drawn", "relaxed"])
def test_all_draws_are_trained_on(trained: Any) -> None:
    with pytest.raises(InputError, match="expected as many draws as n_adv"):
        PAdvT(trained=trained)


@pytest.mark.parametrize("zeta", [0.01, 50.0])
def test_lambda_follows_the_constraint(zeta: float, schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities).train()
    batch, threat = toy_batch(schema, victim), ThreatModel(FullSpace(schema), 2)
    defence = PAdvT.paper(zeta=zeta, start=2.0)
    defence.begin(victim, len(batch), threat)
    with torch.random.fork_rng(devices=[]):
        penalties = [defence(victim, batch, threat).notes["penalty"] for _ in range(4)]
    assert (penalties[-1] > penalties[0]) == (zeta < 1), "it rises where pi breaks the constraint, else it falls to 0"
    assert penalties[-1] == 0.0 or zeta < 1
