"""An attack, a space and a goal of a user's own: they work without touching the package.

Everything is written with the public names, as in the guide on adding an attack.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from jaxtyping import Bool
from torch import Tensor

import hammingbox as hb
from hammingbox.attacks import attack_named
from hammingbox.cli.options import attack_from
from hammingbox.types import Ids, Slots
from toys import ToyVictim, same_rows, toy_rows, toy_schema

CLASSES = ("low", "medium", "high")


@dataclass(frozen=True, kw_only=True)
class FirstFit(hb.Attack):
    """Tries single changes in order, from the first or from the last, and takes the first that meets the goal.

    Cost: at most sum (d_i - 1) forward passes per row.
    """

    backwards: bool = False

    def run(self, problem: hb.Problem, random: hb.RowRandom) -> Slots:
        layout, slots = problem.candidates.layout, problem.clean_slots
        options = range(layout.options)
        for option in reversed(options) if self.backwards else options:
            rows = (problem.candidates.moves[:, option] & (slots == 0).all(1)).nonzero()[:, 0]
            if len(rows):
                points = torch.zeros_like(slots[rows])
                points[:, layout.feature_of[option]] = layout.slot_of[option]
                met = problem.score(rows, points).fooled
                slots[rows[met]] = points[met]
        return slots

    def run_passes(self, problem: hb.Problem) -> hb.Passes:
        return hb.Passes.of(problem, problem.candidates.moves.sum(1))


@dataclass(frozen=True, kw_only=True)
class Coin(hb.Attack):
    """Returns a random single change and does not say what it costs."""

    randomised: ClassVar[bool] = True

    def run(self, problem: hb.Problem, random: hb.RowRandom) -> Slots:
        option = (
            random.uniform(problem.candidates.layout.options).masked_fill(~problem.candidates.moves, -1.0).argmax(1)
        )
        layout, slots = problem.candidates.layout, problem.clean_slots
        able = problem.candidates.moves.any(1)
        return slots.scatter(1, layout.feature_of[option][:, None], (layout.slot_of[option] * able)[:, None])


class NextCategory(hb.Space):
    """A feature may only take the category after its own, as a dial that turns one way."""

    def __init__(self, schema: hb.Schema) -> None:
        self.schema = schema

    def slots_of(self, ids: Ids) -> hb.Candidates:
        layout = hb.Layout.of((2,) * ids.shape[1], ids.device)
        sizes = torch.tensor(self.schema.cardinalities, device=ids.device)
        valid = torch.stack([torch.ones_like(ids, dtype=torch.bool), ids + 1 < sizes], 2)
        both = torch.stack([ids, (ids + 1).minimum(sizes - 1)], 2)
        return hb.Candidates(layout, both.flatten(1), valid.flatten(1))

    def to_json(self) -> dict[str, Any]:
        return {"kind": "next category"}


@dataclass(frozen=True)
class Lower(hb.Goal):
    """Any class below the true one; rows of the lowest class are not attacked."""

    def winning(self, schema: hb.Schema) -> Bool[Tensor, "classes classes"]:
        count = len(schema.classes)
        return torch.ones(count, count, dtype=torch.bool).tril(-1)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "lower"}


Case = tuple[ToyVictim, hb.Dataset, hb.ThreatModel]


@pytest.fixture
def case() -> Case:
    plain = toy_schema((4,) * 8)
    schema = hb.Schema(plain.features, CLASSES)
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=60)
    return victim, hb.Dataset(schema, x, y, "toy", torch.arange(60)), hb.ThreatModel(NextCategory(schema), 2)


def test_evaluate_with_own_attack_space_and_goal(case: Case) -> None:
    victim, data, threat = case
    result = hb.evaluate(victim, data, threat, FirstFit(), goal=Lower())
    rows = result.rows
    assert torch.equal(rows.attacked, data.labels > 0), "the lowest class is not attacked"
    assert bool(rows.success.any())
    assert bool((rows.logits.argmax(1) < data.labels)[rows.success].all())
    changed = rows.adversarial != rows.clean
    assert bool((rows.adversarial == rows.clean + 1)[changed].all()), "inside the own space"
    exact = hb.evaluate(victim, data, hb.ThreatModel(threat.space, 1), hb.Exhaustive(), goal=Lower())
    assert torch.equal(rows.success, exact.rows.success), "it tries all single changes"
    assert torch.equal(exact.rows.proven, rows.attacked & ~rows.success)


def test_goals_of_ones_own_combine_with_those_of_the_package(case: Case) -> None:
    victim, data, threat = case
    result = hb.evaluate(victim, data, threat, FirstFit(), goal=Lower() & hb.Target("low"))
    broken = result.rows.success
    assert bool(broken.any())
    assert bool((result.rows.logits.argmax(1) == 0)[broken].all())


def test_the_package_attacks_an_own_space_for_an_own_goal(case: Case) -> None:
    victim, data, threat = case
    limit = hb.evaluate(victim, data, threat, hb.Exhaustive(), goal=Lower()).rows
    for attack in (hb.Swap(steps=4), hb.ATTACKS["ga"]()):
        found = hb.evaluate(victim, data, threat, attack, goal=Lower()).rows
        assert not bool((found.success & ~limit.success).any())
    assert bool(limit.success.any())


def test_recorded_runs_continue(case: Case, tmp_path: Path) -> None:
    victim, data, threat = case
    with hb.open_store(tmp_path, create=True) as store:
        first = hb.evaluate_into(store, victim, data.take(slice(0, 20)), threat, FirstFit(), goal=Lower())
        whole = hb.evaluate_into(store, victim, data, threat, FirstFit(), goal=Lower())
        other = hb.evaluate_into(store, victim, data, threat, FirstFit(backwards=True), goal=Lower())
    assert len(first.rows) == 20
    same_rows(whole.rows, hb.evaluate(victim, data, threat, FirstFit(), goal=Lower()).rows)
    assert torch.equal(whole.rows.success, other.rows.success)
    assert not torch.equal(whole.rows.adversarial, other.rows.adversarial), "another setting is another run"


def test_one_line_in_the_table_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(hb.ATTACKS, "first_fit", FirstFit)
    assert attack_named("first_fit") == FirstFit()
    assert attack_from("first_fit", ["backwards=true"]) == FirstFit(backwards=True)
    with pytest.raises(hb.InputError, match="backwards"):
        attack_from("first_fit", ["backward=true"])


def test_metadata_and_bounds_of_own_attacks(case: Case) -> None:
    victim, data, threat = case
    x, y = data.batch(slice(None))
    problem = hb.Problem.of(victim, threat.space.candidates(x), hb.AnyOther().of(y, data.schema), threat.budget)
    attack = FirstFit()
    assert (attack.randomised, attack.needs_gradient, attack.uses_gradient, attack.exact) == (False,) * 4
    result = attack(victim, x, y, threat)
    assert bool((result.forward <= attack.passes(problem).forward).all())
    assert torch.equal(result.forward[~result.success].double(), attack.passes(problem).forward[~result.success])
    assert Coin().randomised
    assert bool(Coin().passes(problem).forward.isinf().all()), "an attack that does not say may need any number"
    assert FirstFit(queries=3).passes(problem).forward.max() == 3
    assert int(FirstFit(queries=3)(victim, x, y, threat).forward.max()) == 3


def test_an_attack_that_breaks_the_rules_is_stopped(case: Case) -> None:
    victim, data, threat = case
    x, y = data.batch(slice(None))

    @dataclass(frozen=True, kw_only=True)
    class Greedy(Coin):
        def run(self, problem: hb.Problem, random: hb.RowRandom) -> Slots:
            return problem.candidates.counts - 1  # every feature changes

    with pytest.raises(hb.AttackError, match="at most 2 changes"):
        Greedy()(victim, x, y, threat)

    @dataclass(frozen=True, kw_only=True)
    class Outside(Coin):
        def run(self, problem: hb.Problem, random: hb.RowRandom) -> Slots:
            slots = problem.clean_slots
            slots[:, 0] = 7
            return slots

    with pytest.raises(hb.AttackError, match=r"points of S\(x\)"):
        Outside()(victim, x, y, threat)
