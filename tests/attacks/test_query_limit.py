"""Query limits, black boxes, and what is counted as a query."""

import pytest
import torch

from hammingbox.attacks import ATTACKS, Attack, Evolution, Greedy, Local, Swap
from hammingbox.errors import AttackError, InputError, VictimError
from hammingbox.problem import Problem, place_in_row
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from toys import untargeted
from toys.targets import Recorder, Target, black_box

BLACK_BOX = [name for name, make in ATTACKS.items() if not make().needs_gradient]


@pytest.mark.parametrize("name", BLACK_BOX)
@pytest.mark.parametrize("queries", [1, 2, 7, 30])
def test_the_query_limit_is_never_exceeded_and_used(name: str, queries: int, wide: Target) -> None:
    schema, victim, x, y = wide
    result = ATTACKS[name](queries=queries)(victim, x, y, ThreatModel(FullSpace(schema), 2))
    assert not result.backward.any()
    assert int(result.forward.max()) == queries, "some row is unbroken and queries to the limit"
    assert bool((result.forward[~result.success] == queries).all()), "an unbroken row has used all its queries"


def test_all_partial_rows_of_a_beam_share_the_limit_of_their_row(hard: Target) -> None:
    schema, victim, x, y = hard
    result = Greedy(beam=4, queries=50)(victim, x, y, ThreatModel(FullSpace(schema), 3))
    assert bool((result.forward[~result.success] == 50).all())


@pytest.mark.parametrize("name", ["local", "evolution", "sparse_rs", "auto", "greedy", "exhaustive"])
def test_queries_counted_by_the_victim_equal_the_meter(name: str, wide: Target) -> None:
    schema, toy, x, y = wide
    victim = Recorder(schema.cardinalities)
    victim.load_state_dict(toy.state_dict())
    victim.has_gradient = False  # calls with recorded answers of other victims are filled up to one size
    result = ATTACKS[name](queries=50)(victim, x, y, ThreatModel(FullSpace(schema), 2))
    # The clean rows are queried once, at the attack's cost. Rows that were changed are recounted outside of it, and
    # four clean rows are asked about again.
    recounted = int((result.distance > 0).sum()) + 4
    assert sum(len(ids) for ids in victim.queried) == int(result.forward.sum()) + recounted


@pytest.mark.parametrize("name", ["swap", "pcaa", "hotflip"])
def test_a_query_limit_on_a_gradient_attack_is_refused(name: str, wide: Target) -> None:
    schema, victim, x, y = wide
    with pytest.raises(InputError, match="needs losses only"):
        ATTACKS[name](queries=10)(victim, x, y, ThreatModel(FullSpace(schema), 1))


def test_a_problem_refuses_queries_beyond_the_limit(wide: Target) -> None:
    schema, victim, x, y = wide
    problem = Problem.of(victim, FullSpace(schema).candidates(x), untargeted(y), 1, queries=2)
    rows = torch.zeros(3, dtype=torch.int64)
    slots = torch.zeros(3, 12, dtype=torch.int64)
    assert problem.may_query(rows).tolist() == [True, True, False]
    with pytest.raises(AttackError, match="at most 2 queries per row"):
        problem.logits(rows, slots)


@pytest.mark.parametrize("name", BLACK_BOX)
def test_attacks_without_gradients_work_on_black_boxes(name: str, wide: Target) -> None:
    schema, victim, x, y = wide
    attack = ATTACKS[name](queries=200)
    threat = ThreatModel(FullSpace(schema), 1)
    seen, hidden = attack(victim, x, y, threat), attack(black_box(victim), x, y, threat)
    assert bool(hidden.success.any())
    # Log-probabilities have the same margins as logits, so the same search finds the same rows.
    assert float((seen.ids == hidden.ids).all(1).float().mean()) > 0.9


def test_gradient_attacks_name_the_attacks_that_a_black_box_allows(wide: Target) -> None:
    schema, victim, x, y = wide
    with pytest.raises(VictimError, match="evolution"):
        Swap()(black_box(victim), x, y, ThreatModel(FullSpace(schema), 1))


@pytest.mark.parametrize("attack", [Swap(steps=30, patience=99), Local(steps=60, patience=4), Evolution()])
def test_no_row_is_queried_twice(attack: Attack, wide: Target) -> None:
    schema, x = wide.schema, wide.x[:1]
    victim = Recorder(schema.cardinalities, seed=4, bias=100.0)  # no row is broken, so every search runs to its end
    result = attack(victim, x, torch.zeros_like(x[:, 0]), ThreatModel(FullSpace(schema), 2))
    tried = torch.cat(victim.queried[:-1])  # without the recount
    assert len(tried) > 100
    assert len(tried) == int(result.forward - result.backward)
    assert len(torch.unique(tried, dim=0)) == len(tried)


def test_place_in_row() -> None:
    assert place_in_row(torch.tensor([2, 0, 2, 2, 0])).tolist() == [0, 0, 1, 2, 1]
