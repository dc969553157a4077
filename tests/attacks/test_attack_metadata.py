"""What classes say about their attacks, compared with what the attacks do."""

from collections import Counter
from collections.abc import Callable
from dataclasses import fields

import pytest
import torch
from torch import Tensor

from hammingbox.attacks import ATTACKS, PCAA, Attack, Auto, Exhaustive, TwoStage
from hammingbox.data.schema import Schema
from hammingbox.seeding import RowRandom
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from toys import ToyVictim, toy_rows, toy_schema
from toys.targets import Recorder

RANDOMISED = {
    "auto", "pcaa", "pcaa_paper", "swap", "guided", "local", "evolution", "sparse_rs", "pcaa_blackbox", "genetic",
    "genetic_public", "random",
}  # fmt: skip
NEEDS_GRADIENT = {
    "pcaa", "pcaa_paper", "gsa", "gga", "gsa_released", "gga_released", "hotflip", "hotflip_beam", "swap", "guided",
}  # fmt: skip
SMALL = {
    "pcaa_paper": {"samples": 4, "steps": 5, "rounds": 4}, "sparse_rs": {"steps": 20}, "pcaa": {"steps": 3},
    "genetic_public": {"generations": 2},
}  # fmt: skip


def test_metadata_of_the_table() -> None:
    attacks = {name: make() for name, make in ATTACKS.items()}
    assert {name for name, attack in attacks.items() if attack.randomised} == RANDOMISED
    assert {name for name, attack in attacks.items() if attack.needs_gradient} == NEEDS_GRADIENT
    assert {name for name, attack in attacks.items() if attack.uses_gradient} == NEEDS_GRADIENT | {"auto", "oracle"}
    assert {name for name, attack in attacks.items() if attack.exact} == {"exhaustive", "oracle"}


@pytest.mark.parametrize("name", ATTACKS)
def test_metadata_are_no_settings(name: str) -> None:
    attack = ATTACKS[name]()
    assert not {"randomised", "needs_gradient", "uses_gradient", "exact"} & {field.name for field in fields(attack)}


@pytest.mark.parametrize(
    ("attack", "uses_gradient", "exact"),
    [
        (Auto(queries=50), False, False),
        (Exhaustive(skip=True), False, False),
        (Exhaustive(queries=50), False, False),
        (Exhaustive(verdict=True, queries=50), False, False),
        (Exhaustive(verdict=True, skip=True), True, False),
        (TwoStage(guide="loss", search="greedy"), False, False),
        (PCAA(), True, False),
    ],
)
def test_metadata_follow_the_settings(attack: Attack, uses_gradient: bool, exact: bool) -> None:
    assert (attack.uses_gradient, attack.exact) == (uses_gradient, exact)


@pytest.mark.parametrize("name", ATTACKS)
def test_the_metadata_are_true(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attack = ATTACKS[name](**SMALL.get(name, {}))
    schema = toy_schema((4,) * 6)
    victim = Recorder(schema.cardinalities, bias=100.0)  # no row is broken, so every search runs to its end
    x, y = toy_rows(schema, victim, rows=4)
    draws = Counter[str]()
    for noise in ("uniform", "exponential"):
        original = getattr(RowRandom, noise)

        def counted(random: RowRandom, *shape: int, draw: Callable[..., Tensor] = original) -> Tensor:
            draws.update(["draw"])
            return draw(random, *shape)

        monkeypatch.setattr(RowRandom, noise, counted)
    result = attack(victim, x, y, ThreatModel(FullSpace(schema), 2))
    # Swap search, which the oracle begins with, draws; the verdict does not depend on it.
    assert bool(draws) == (attack.randomised or name == "oracle")
    assert bool(result.backward.any()) == attack.uses_gradient
    assert bool(result.proven.all()) == attack.exact


def test_verdicts_of_the_oracle_do_not_depend_on_the_seed(schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim, rows=40)
    threat = ThreatModel(FullSpace(schema), 2)
    first, second = (Exhaustive(verdict=True)(victim, x, y, threat, seed=seed) for seed in (0, 1))
    assert torch.equal(first.success, second.success)
    assert bool((first.success | first.proven).all())
