"""The contract of every certificate, on tiny spaces: nothing proven falls, and what is broken falls, by enumeration."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from hammingbox.attacks import Exhaustive
from hammingbox.certificates import CERTIFICATES, Certificate
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.threat.candidates import hamming
from hammingbox.threat.goal import AnyOther, Direction, Goal, Target
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.ablated import Ablated
from hammingbox.victims.one_hot import OneHot
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.registry import build
from toys import ToySynonyms, ToyVictim, toy_schema
from toys.random_trees import random_victim

SCHEMA = toy_schema((3, 2, 4, 3, 4, 2))
ALIKE = toy_schema((2,) * 12)


def _shaken(victim: Victim, seed: int, scale: float = 0.5) -> Victim:
    """Weights that make many rows breakable and some not."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in victim.parameters():
            parameter.add_(scale * torch.randn(parameter.shape, generator=generator))
    return victim.eval()


def _one_hot(seed: int) -> Victim:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = nn.Sequential(nn.Flatten(), nn.Linear(24, 5), nn.ReLU(), nn.Linear(5, 3))
    return OneHot(module, categories=4).eval()


def _cnn(seed: int) -> Victim:
    return _shaken(build("cnn", ALIKE, seed=seed, dim=4, channels=4, kernel=3), seed, 0.3)


VICTIMS: dict[str, Callable[[int], Victim]] = {
    "linear": lambda seed: _shaken(build("linear", SCHEMA), seed),
    "windows": lambda seed: _shaken(build("windows", SCHEMA), seed),
    "windows_1": lambda seed: _shaken(build("windows", SCHEMA, width=1), seed),
    "windows_2": lambda seed: _shaken(build("windows", SCHEMA, width=2), seed),
    "smooth_windows": lambda seed: _shaken(build("smooth_windows", ALIKE), seed),
    "shallow": lambda seed: _shaken(build("shallow", SCHEMA, seed=seed, hidden=6), seed),
    "one_hot": _one_hot,
    "mlp": lambda seed: _shaken(build("mlp", SCHEMA, seed=seed, dim=3, hidden=6), seed, 0.2),
    "toy": lambda seed: ToyVictim(SCHEMA.cardinalities, seed=seed).eval(),
    "trees": lambda seed: random_victim(SCHEMA, seed).eval(),
    "stumps": lambda seed: random_victim(SCHEMA, seed, trees=12, depth=1).eval(),
    "cnn": _cnn,
    "ablated": lambda seed: Ablated(ToyVictim(SCHEMA.cardinalities, seed=seed).eval(), 1),
    "ablated_2": lambda seed: Ablated(_shaken(build("linear", SCHEMA), seed), 2),
    "ablated_drawn": lambda seed: Ablated(_shaken(build("linear", SCHEMA), seed), 2, votes=9),
    "ablated_unbalanced": lambda seed: Ablated(_shaken(build("linear", SCHEMA), seed), 1, votes=5, balanced=False),
}
SPACES: dict[str, Callable[[Schema], Space]] = {
    "full": FullSpace,
    "masked": lambda schema: MaskedSpace(schema, immutable=["f1"], forbidden={"*": ["c1"]}),
    "synonyms": ToySynonyms,
}
GOALS: tuple[Goal, ...] = (AnyOther(), Target("class 1"), Direction("class 0", "class 2") | Target("class 1"))


def _schema(name: str) -> Schema:
    return ALIKE if name in ("cnn", "smooth_windows") else SCHEMA


def _rows(schema: Schema, rows: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.stack([torch.randint(size, (rows,), generator=generator) for size in schema.cardinalities], 1)
    return x, torch.randint(3, (rows,), generator=generator)


def _applies(method: str, victim: str) -> bool:
    space = FullSpace(_schema(victim))
    return CERTIFICATES[method]().applies_to(VICTIMS[victim](0), space) is None


PAIRS = [(method, victim) for method in CERTIFICATES for victim in VICTIMS if _applies(method, victim)]


def _truth(victim: Victim, x: torch.Tensor, y: torch.Tensor, space: Space, budget: int, goal: Goal) -> torch.Tensor:
    """The smallest number of changes that breaks each row; budget + 1 if there is none."""
    least = torch.full((len(x),), budget + 1)
    for changes in range(budget, 0, -1):
        found = Exhaustive(max_passes=10**6)(victim, x, y, ThreatModel(space, changes), goal=goal)
        least[found.success] = changes
    least[goal.of(y, space.schema).margin(victim(x)) > 0] = 0
    return least


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(("method", "victim"), PAIRS)
def test_nothing_proven_falls_and_every_witness_breaks(method: str, victim: str, space: str) -> None:
    schema = _schema(victim)
    model, place = VICTIMS[victim](3), SPACES[space](schema)
    slow = victim == "cnn" or victim.startswith("ablated")
    x, y = _rows(schema, 3 if slow else 12, seed=5)
    budget = 2 if slow else 3
    certificate: Certificate = CERTIFICATES[method]()
    for goal in GOALS[:1] if slow else GOALS:
        possible = goal.of(y, schema).possible
        rows, labels = x[possible], y[possible]
        least = _truth(model, rows, labels, place, budget, goal)
        found = certificate(model, rows, labels, ThreatModel(place, budget), goal=goal)
        assert bool((found.radius < least).all()), "a row was proven that falls"
        goals = goal.of(labels, schema)
        assert bool((goals.margin(model(found.ids))[found.broken] > 0).all())
        assert bool(place.candidates(rows).contains(found.ids).all())
        assert torch.equal(hamming(found.ids, rows), found.distance)
        assert bool((found.distance <= budget).all())
        assert not bool((found.proven & found.broken).any())
        if certificate.exact and (goal == AnyOther() or method == "exact"):
            assert torch.equal(found.radius, least - 1)
            assert not bool(found.unknown.any())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("victim", ["shallow", "one_hot"])
def test_one_hidden_layer_is_decided_for_every_goal(victim: str, seed: int) -> None:
    model, space = VICTIMS[victim](seed), FullSpace(SCHEMA)
    x, y = _rows(SCHEMA, 8, seed)
    for goal in GOALS:
        possible = goal.of(y, SCHEMA).possible
        least = _truth(model, x[possible], y[possible], space, 4, goal)
        found = CERTIFICATES["relaxation"]()(model, x[possible], y[possible], ThreatModel(space, 4), goal=goal)
        assert torch.equal(found.radius, least - 1)
        assert not bool(found.unknown.any())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("victim", ["linear", "windows", "windows_1", "windows_2", "smooth_windows"])
def test_the_bound_of_an_additive_model_is_its_worst_margin(victim: str, seed: int) -> None:
    schema = _schema(victim)
    model, space = VICTIMS[victim](seed), FullSpace(schema)
    x, _ = _rows(schema, 12, seed)
    y = model(x).argmax(1)
    worst = Exhaustive(max_passes=10**6)(model, x, y, ThreatModel(space, 2))
    found = CERTIFICATES["additive"]()(model, x, y, ThreatModel(space, 2))
    torch.testing.assert_close(found.bound, worst.margin.double(), atol=1e-4, rtol=0)


@pytest.mark.parametrize(("method", "victim"), [("relaxation", "shallow"), ("exact", "toy"), ("auto", "cnn")])
def test_batches_do_not_change_what_is_proven(method: str, victim: str) -> None:
    schema = _schema(victim)
    model, threat = VICTIMS[victim](1), ThreatModel(FullSpace(schema), 2)
    x, _ = _rows(schema, 6, 2)
    y = model(x).argmax(1)
    together = CERTIFICATES[method]()(model, x, y, threat)
    alone = [CERTIFICATES[method]()(model, x[i : i + 1], y[i : i + 1], threat) for i in range(len(x))]
    assert torch.equal(together.radius, torch.cat([one.radius for one in alone]))
    assert torch.equal(together.broken, torch.cat([one.broken for one in alone]))


@pytest.mark.parametrize("settings", [{"nodes": 1}, {"max_passes": 8}])
def test_a_limit_leaves_rows_unknown_with_what_was_proven_before(settings: dict[str, Any]) -> None:
    method, victim = ("relaxation", "shallow") if "nodes" in settings else ("exact", "toy")
    model, threat = VICTIMS[victim](2), ThreatModel(FullSpace(SCHEMA), 3)
    x, _ = _rows(SCHEMA, 24, 3)
    y = model(x).argmax(1)
    least = _truth(model, x, y, threat.space, 3, AnyOther())
    found = CERTIFICATES[method](**settings)(model, x, y, threat)
    assert bool(found.unknown.any())
    assert bool((found.radius < least).all())
    assert bool((found.bound[found.unknown] > 0).all())


def test_a_method_that_does_not_apply_says_which_does() -> None:
    threat, (x, y) = ThreatModel(FullSpace(SCHEMA), 1), _rows(SCHEMA, 2, 0)
    with pytest.raises(InputError, match="Use relaxation"):
        CERTIFICATES["additive"]()(VICTIMS["shallow"](0), x, y, threat)
    with pytest.raises(InputError, match=r"Use additive\."):
        CERTIFICATES["relaxation"]()(VICTIMS["linear"](0), x, y, threat)
    with pytest.raises(InputError, match=r"hb\.Ablated"):
        CERTIFICATES["ablation"]()(VICTIMS["toy"](0), x, y, threat)
    votes = Ablated(VICTIMS["toy"](0), 3, votes=5)
    with pytest.raises(InputError, match="Use ablation"):
        CERTIFICATES["exact"]()(votes, x, y, threat)


def test_the_victim_is_given_back_as_it_came() -> None:
    model = VICTIMS["shallow"](0).train()
    x, y = _rows(SCHEMA, 4, 0)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    CERTIFICATES["relaxation"]()(model, x, y, ThreatModel(FullSpace(SCHEMA), 2))
    assert model.training
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_a_tie_proves_nothing_for_weights_and_auto_asks_the_victim() -> None:
    """All logits are 0 wherever the hidden layer is dead: a tie counts for the victim, but rounding could undo it."""
    module = nn.Sequential(nn.Flatten(), nn.Linear(24, 2), nn.ReLU(), nn.Linear(2, 3, bias=False))
    with torch.no_grad():
        module[1].bias.fill_(-50.0)
    model, threat = OneHot(module, categories=4).eval(), ThreatModel(FullSpace(SCHEMA), 2)
    x, y = _rows(SCHEMA, 4, 0)
    assert bool(CERTIFICATES["relaxation"]()(model, x, y, threat).unknown.all())
    assert bool(CERTIFICATES["auto"]()(model, x, y, threat).proven.all())
