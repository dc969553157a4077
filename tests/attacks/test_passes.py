"""The bounds on victim passes, compared with formulas and with measured passes.

The contract in test_attack_contract.py checks them for every attack of the table.
"""

from math import comb
from typing import Literal

import pytest
import torch

from hammingbox.attacks import (
    ATTACKS,
    PCAA,
    Attack,
    AttackResult,
    Auto,
    Exhaustive,
    Genetic,
    Greedy,
    HotFlip,
    Local,
    Passes,
    Random,
    ScorePCAA,
    SparseRS,
    Swap,
    TwoStage,
)
from hammingbox.attacks._search.combinations import points_within
from hammingbox.attacks.cost import refuse_above
from hammingbox.data.schema import Schema
from hammingbox.errors import TooExpensiveError
from hammingbox.problem import Problem
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, Labels
from hammingbox.victims.victim import Victim
from toys import ToyVictim, toy_rows, toy_schema, untargeted
from toys.targets import Recorder, black_box


def passes_of(attack: Attack, victim: Victim, x: Ids, y: Labels, space: Space, budget: int) -> Passes:
    return attack.passes(Problem.of(victim, space.candidates(x), untargeted(y), budget))


def within(result: AttackResult, passes: Passes) -> bool:
    return bool((result.forward <= passes.forward).all() and (result.backward <= passes.backward).all())


def equal(result: AttackResult, passes: Passes) -> bool:
    return bool((result.forward == passes.forward).all() and (result.backward == passes.backward).all())


N, D, BUDGET = 6, 4, 3
M = N * (D - 1)

# Attack, forward and backward passes, exact: on N features of D categories at budget 3, as the docstrings say.
FORMULAS = [
    ("exhaustive", sum(comb(N, k) * (D - 1) ** k for k in range(BUDGET + 1)), 0, True),
    ("sa", 1 + M + D**BUDGET, 0, True),
    ("ga", 1 + M + BUDGET * (D - 1), 0, True),
    ("gsa", 2 + D**BUDGET, 1, True),
    ("gga", 2 + BUDGET * (D - 1), 1, True),
    ("gsa_released", 2 + D**BUDGET, 1, True),
    ("gga_released", 2 + BUDGET * (D - 1), 1, True),
    ("pcaa", 1 + 40 * (1 + 20), 40, False),
    ("pcaa_paper", 1 + 22 * (50_000 + 100), 22 * 50_000, False),
    ("hotflip", 1 + 2 * BUDGET, BUDGET, False),
    ("hotflip_beam", 2 + 8 * (2 * BUDGET - 1), 1 + 8 * (BUDGET - 1), False),
    ("swap", 1 + 12 * (1 + 16) + 8, 12, False),
    ("guided", 1 + 40 + M + (BUDGET - 1) * 4 * M, 40, False),
    ("greedy", 1 + BUDGET * M, 0, False),
    ("beam", 1 + (1 + 4 * (BUDGET - 1)) * M, 0, False),
    ("best_first", 1 + BUDGET * M, 0, False),
    ("sparse_rs", 1_000, 0, False),
    ("pcaa_blackbox", 1_001, 0, False),
    ("genetic", 1 + 11 * 20 * min(4, D - 1), 0, False),
    ("genetic_public", 1 + 41 * 60 * min(8, D - 1), 0, False),
    ("random", 301, 0, False),
]


@pytest.mark.parametrize(("name", "forward", "backward", "exact"), FORMULAS, ids=[line[0] for line in FORMULAS])
def test_bounds_are_the_formulas(name: str, forward: int, backward: int, exact: bool) -> None:
    schema = toy_schema((D,) * N)
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim)
    passes = passes_of(ATTACKS[name](), victim, x, y, FullSpace(schema), BUDGET)
    assert passes.forward.tolist() == [forward] * len(x)
    assert passes.backward.tolist() == [backward] * len(x)
    assert passes.is_exact is exact


def test_bounds_of_searches_that_try_no_point_twice() -> None:
    schema = toy_schema((30,) * 20)
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=2)
    bounds = [passes_of(ATTACKS[name](), victim, x, y, FullSpace(schema), 2) for name in ("local", "evolution")]
    assert bounds[0].forward.tolist() == [1 + 256 + 100 * 8 + 16 * 8] * 2
    assert bounds[1].forward.tolist() == [1_001] * 2
    small = MaskedSpace(schema, immutable=[f"f{i}" for i in range(18)])
    for name in ("local", "evolution"):
        bound = passes_of(ATTACKS[name](), victim, x, y, small, 2).forward
        assert bound.tolist() == [1 + 2 * 29 + 29 * 29] * 2


NO_EARLY_END: list[Attack] = [
    PCAA(steps=3, samples=2, draws=7),
    HotFlip(),
    HotFlip(beam=8),
    Random(draws=70),
    SparseRS(steps=20),
    ScorePCAA(steps=4),
    Genetic(generations=2),
]


@pytest.mark.parametrize("attack", NO_EARLY_END, ids=lambda attack: type(attack).__name__)
def test_rows_that_cannot_be_broken_cost_the_bound(attack: Attack) -> None:
    schema = toy_schema((6,) * 8)
    victim = Recorder(schema.cardinalities, bias=100.0)
    x, y = toy_rows(schema, victim, rows=3)
    space = FullSpace(schema)
    result = attack(victim, x, y, ThreatModel(space, 3))
    assert not result.success.any()
    assert equal(result, passes_of(attack, victim, x, y, space, 3)), "the bound is not only a bound"


@pytest.mark.parametrize("name", ["sa", "ga", "gsa", "gga", "exhaustive"])
@pytest.mark.parametrize("budget", [1, 2, 3])
def test_attacks_that_stop_for_nothing_cost_the_formula(name: str, budget: int) -> None:
    schema = toy_schema((4,) * 6)
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim)
    y[0] = (y[0] + 1) % 3  # a row that is wrong before the attack
    # f0 and f1 cannot change: they are chosen only where there are not enough others.
    for space in (FullSpace(schema), MaskedSpace(schema, immutable=["f0", "f1"])):
        passes = passes_of(ATTACKS[name](), victim, x, y, space, budget)
        assert passes.is_exact
        assert equal(ATTACKS[name]()(victim, x, y, ThreatModel(space, budget)), passes)


def test_two_stages_are_exact_only_if_the_choice_of_features_does_not_matter(schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    sizes = schema.cardinalities
    products = {sizes[i] * sizes[j] for i in range(5) for j in range(i)}
    for name, stage_one in (("sa", 1 + sum(sizes) - 5), ("gsa", 2)):
        passes = passes_of(ATTACKS[name](), victim, x, y, FullSpace(schema), 2)
        assert not passes.is_exact
        assert passes.forward.tolist() == [stage_one + max(products)] * len(x)
        result = ATTACKS[name]()(victim, x, y, ThreatModel(FullSpace(schema), 2))
        assert set((result.forward - stage_one).tolist()) <= products
    assert passes_of(TwoStage(guide="loss", search="brute"), victim, x, y, FullSpace(schema), 5).is_exact


@pytest.mark.parametrize("ascent", ["turns", "adam", "sign"])
def test_pcaa_is_exact_where_no_row_leaves_and_no_draw_is_dropped(
    ascent: Literal["turns", "adam", "sign"], schema: Schema, victim: ToyVictim
) -> None:
    x, y = toy_rows(schema, victim)
    attack = PCAA(leave=False, rounds=2, steps=7, samples=3, draws=11, ascent=ascent)
    passes = passes_of(attack, victim, x, y, FullSpace(schema), 2)
    assert passes.is_exact
    assert passes.backward.tolist() == [2 * 7 * 3] * len(x)
    assert passes.forward.tolist() == [1 + 2 * 7 * 3 + 2 * 11] * len(x)
    assert equal(attack(victim, x, y, ThreatModel(FullSpace(schema), 2)), passes)
    dropping = PCAA.paper(leave=False, rounds=3, steps=3, samples=2)
    passes = passes_of(dropping, victim, x, y, FullSpace(schema), 2)
    assert not passes.is_exact
    assert within(dropping(victim, x, y, ThreatModel(FullSpace(schema), 2)), passes)


@pytest.mark.parametrize("name", [name for name, make in ATTACKS.items() if not make().needs_gradient])
@pytest.mark.parametrize("queries", [1, 5, 40, 5_000])
def test_a_query_limit_bounds_every_attack(name: str, queries: int, schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    attack, space = ATTACKS[name](queries=queries), FullSpace(schema)
    for asked in (victim, black_box(victim)):
        passes = passes_of(attack, asked, x, y, space, 2)
        assert float(passes.forward.max()) <= queries
        result = attack(asked, x, y, ThreatModel(space, 2))
        assert within(result, passes)
        assert equal(result, passes) or not passes.is_exact


@pytest.mark.parametrize(
    "attack",
    [
        Swap(fresh=True, steps=10, patience=3),
        Swap(steps=12, tries=2, starts=9, patience=1),
        Swap(steps=1, fresh=True),
        Local(steps=15, tries=1, starts=7, patience=2, sweep=3),
        Local(steps=0),
        HotFlip(beam=100),
        Greedy(beam=3),
        Exhaustive(skip=True, max_passes=60),
        Exhaustive(skip=True, verdict=True, max_passes=60),
        Exhaustive(skip=True, max_passes=3),
    ],
)
@pytest.mark.parametrize("bias", [0.0, 100.0])
def test_bounds_hold_for_unusual_settings(attack: Attack, bias: float) -> None:
    schema = toy_schema((3, 2, 5, 1, 4))
    victim = Recorder(schema.cardinalities, bias=bias)
    x, y = toy_rows(schema, victim, rows=6)
    space = MaskedSpace(schema, forbidden={"f2": ["c4", "c1"]})  # rows have different numbers of points
    for budget in (1, 2, 3):
        passes = passes_of(attack, victim, x, y, space, budget)
        result = attack(victim, x, y, ThreatModel(space, budget))
        assert within(result, passes)
        assert equal(result, passes) or not passes.is_exact


@pytest.mark.parametrize("minimum", [False, True])
def test_the_bound_of_the_ensemble_is_the_sum_of_its_stages(minimum: bool, schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    attack, space, budgets = Auto(minimum=minimum), FullSpace(schema), (1, 2) if minimum else (2,)
    passes = passes_of(attack, victim, x, y, space, 2)
    forward, backward = torch.ones(len(x)), torch.zeros(len(x))
    for budget in budgets:
        problem = Problem.of(victim, space.candidates(x), untargeted(y), budget)
        for stage in attack.stages(problem):
            alone = stage.passes(problem)
            forward, backward = forward + alone.forward - 1, backward + alone.backward
    assert torch.equal(passes.forward, forward)
    assert torch.equal(passes.backward, backward)
    assert within(attack(victim, x, y, ThreatModel(space, 2)), passes)


def test_asking_for_the_bound_costs_nothing(schema: Schema, victim: ToyVictim) -> None:
    recorder = Recorder(schema.cardinalities)
    x, y = toy_rows(schema, victim)
    problem = Problem.of(recorder, FullSpace(schema).candidates(x), untargeted(y), 2)
    for make in ATTACKS.values():
        make().passes(problem)
    assert recorder.queried == []
    assert not problem.meter.forward.any()


@pytest.mark.parametrize("name", ["sa", "gsa", "exhaustive", "oracle"])
def test_refusals_say_the_estimate_before_anything_is_paid(name: str) -> None:
    schema = toy_schema((50, 50, 50))
    victim = Recorder(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=2)
    attack, space = ATTACKS[name](max_passes=1000), FullSpace(schema)
    message = r"at most 1,000 victim passes per row, got an estimate of 125,000\. .* raise max_passes to 125000"
    with pytest.raises(TooExpensiveError, match=message):
        passes_of(attack, victim, x, y, space, 3)
    victim.queried.clear()
    with pytest.raises(TooExpensiveError, match=message):
        attack(victim, x, y, ThreatModel(space, 3))
    assert len(victim.queried) == 1, "the check of the clean rows alone"
    enough = ATTACKS[name](max_passes=int(1e6))
    assert torch.isfinite(passes_of(enough, victim, x, y, space, 3).forward).all()


def test_a_number_of_points_beyond_floating_point_is_refused_too() -> None:
    counts = torch.full((1, 600), 1000)
    counts[0, -1] = 1  # a feature without a change: infinity times 0
    assert points_within(counts, 200).tolist() == [torch.inf]
    with pytest.raises(TooExpensiveError, match="more than 1e308"):
        refuse_above(20_000, float(points_within(counts, 200).max()), "the search", "max_passes")


def test_points_within_the_budget_are_counted() -> None:
    counts = torch.tensor([[2, 3, 4], [1, 1, 5]])
    assert [points_within(counts, budget).tolist() for budget in (0, 1, 2, 3)] == [
        [1, 1],
        [7, 5],
        [18, 5],
        [24, 5],
    ]


def test_as_many_passes_as_the_limit_are_not_refused() -> None:
    refuse_above(100, 100.0, "the search", "max_passes")
    with pytest.raises(TooExpensiveError, match="101"):
        refuse_above(100, 101.0, "the search", "max_passes")
