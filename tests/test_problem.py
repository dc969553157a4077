"""A problem as an attack sees it: what is counted, what is refused, and how much goes through the victim at once."""

from collections.abc import Callable
from dataclasses import replace
from inspect import unwrap

import pytest
import torch

from hammingbox.errors import AttackError, InputError
from hammingbox.problem import Problem, all_points, place_in_row
from hammingbox.threat.space import FullSpace
from hammingbox.victims.metered import Meter, MeteredVictim
from toys import ToyVictim, toy_rows, toy_schema, untargeted

SIZES = (3, 2, 4)


class Blind(ToyVictim):
    """Answers without gradients."""

    has_gradient = False


def problem(victim: ToyVictim | None = None, rows: int = 6, budget: int = 2, **settings: object) -> Problem:
    schema = toy_schema(SIZES)
    own = (victim or ToyVictim(SIZES)).eval()
    x, y = toy_rows(schema, own, rows=rows)
    return Problem.of(own, FullSpace(schema).slots_of(x), untargeted(y), budget, **settings)  # type: ignore[arg-type]


def test_how_many_rows_go_through_the_victim_at_once() -> None:
    """An embedded row has 3 features x 4 numbers x 4 bytes; activations take 16 times that, a graph 32 times."""
    for memory, wanted in ((768 * 5, 5), (768 * 5 + 767, 5), (1, 1), (768 * 512, 512), (2**40, 512)):
        sizes = [part.stop - part.start for part in problem(memory=memory).micro_batches(wanted)]
        assert sizes == [wanted]
    assert [(part.start, part.stop) for part in problem(memory=768 * 5).micro_batches(11)] == [
        (0, 5),
        (5, 10),
        (10, 15),
    ]
    assert len(list(problem().micro_batches(0))) == 1, "an empty list is one call"
    assert problem().memory == 512 * 1024**2, "half a gibibyte unless it is said"
    blind = [next(iter(problem(Blind(SIZES), memory=m).micro_batches(1))).stop for m in (16 * 64 * 3 * 7, 2**40)]
    assert blind == [7, 4096]
    per_row = 12 * 4 * 9 + 32 * 48
    assert [problem(memory=m).soft_rows_at_once for m in (1, per_row * 3, per_row * 3 - 1)] == [1, 3, 2]


def test_small_memory_changes_no_answer() -> None:
    whole, small = problem(rows=7), problem(rows=7, memory=768 * 2)
    rows, slots = torch.arange(7).repeat_interleave(2), torch.tensor([[1, 0, 3], [0, 1, 0]]).repeat(7, 1)
    assert torch.allclose(whole.logits(rows, slots), small.logits(rows, slots), atol=1e-6)
    for one, other in zip(whole.gradient(slots[::2]), small.gradient(slots[::2]), strict=True):
        assert torch.allclose(one, other, atol=1e-6)
    assert small.meter.forward.tolist() == [3] * 7
    assert small.meter.backward.tolist() == [1] * 7


def test_the_gradient_is_that_of_the_weights() -> None:
    own = problem(rows=2)
    slots = torch.tensor([[1, 0, 2], [0, 1, 3]])
    loss, gradient = own.gradient(slots)
    assert torch.allclose(loss, own.loss(slots), atol=1e-6)
    step = 1e-2
    hot = own.candidates.layout.one_hot(slots)
    for option in range(9):
        moved = [hot.clone(), hot.clone()]
        for part, sign in zip(moved, (1, -1), strict=True):
            part[:, option] += sign * step
        up, down = (own.soft_loss(part[:, None])[:, 0] for part in moved)
        assert torch.allclose((up - down) / (2 * step), gradient[:, option], atol=5e-3)


def test_a_query_limit_is_kept_in_the_order_of_the_points() -> None:
    own = problem(queries=2)
    rows, slots = torch.tensor([0, 1, 0, 0, 1, 2]), torch.zeros(6, 3, dtype=torch.int64)
    slots[:, 0] = 1
    assert own.may_query(rows).tolist() == [True, True, True, False, True, True]
    found = own.score(rows, slots)
    assert found.loss.isinf().tolist() == [False, False, False, True, False, False]
    assert not found.fooled[3]
    assert own.meter.forward[:3].tolist() == [2, 2, 1]
    assert own.remaining[:3].tolist() == [0, 0, 1]
    assert own.score(rows[:2], slots[:2]).loss.isinf().all(), "nothing is left, and nothing is asked"
    with pytest.raises(AttackError, match="at most 2 queries"):
        own.logits(rows[:1], slots[:1])
    assert problem().may_query(rows).all()
    assert int(problem().remaining.min()) > 2**60


def test_copies_of_a_row_share_its_limit() -> None:
    beam = problem(queries=3).take(torch.tensor([4, 4, 1]))
    assert beam.may_query(torch.tensor([0, 1, 0, 1, 2])).tolist() == [True, True, True, False, True]


def test_places_in_a_row() -> None:
    rows = torch.tensor([3, 1, 3, 3, 0, 1])
    assert place_in_row(rows).tolist() == [rows[:i].tolist().count(int(row)) for i, row in enumerate(rows)]
    points, slots = all_points(torch.arange(12).view(2, 3, 2))
    assert points.tolist() == [0, 0, 0, 1, 1, 1]
    assert slots[:, 0].tolist() == [0, 2, 4, 6, 8, 10]


def test_success_is_a_margin_above_zero_whatever_the_loss_is() -> None:
    own, logits = problem(rows=3), torch.tensor([[1.0, 1.0, 0.0], [3.0, 2.0, 1.0], [0.0, 0.0, 0.5]])
    goal = untargeted(torch.tensor([0, 1, 2]))
    margin = replace(own, goal=goal).judge(torch.arange(3), logits)
    entropy = replace(own, goal=goal, objective="cross_entropy").judge(torch.arange(3), logits)
    assert margin.loss.tolist() == [0.0, 1.0, -0.5]
    wanted = -logits.log_softmax(1)[range(3), range(3)]
    assert torch.allclose(entropy.loss, wanted)
    assert margin.fooled.tolist() == entropy.fooled.tolist() == [False, True, False], "a tie counts for the victim"
    for kind, losses in (("margin", margin.loss), ("cross_entropy", entropy.loss)):
        predicted = replace(own, goal=goal, objective=kind).predicted_loss(torch.stack([logits, logits], 1))  # type: ignore[arg-type]
        assert torch.allclose(predicted, losses[:, None].expand(3, 2))


def test_known_answers_cost_a_pass_like_others() -> None:
    plain = problem(rows=4)
    plain_answers = plain.answers_to_clean()
    assert plain.meter.forward.tolist() == [1] * 4
    ledger = Meter(4, torch.device("cpu"))
    known = torch.arange(12.0).view(4, 3)
    metered = replace(problem(rows=4), victim=MeteredVictim(plain.victim, plain.candidates.clean, ledger, known))
    assert torch.equal(metered.take(torch.tensor([2, 0])).answers_to_clean(), known[[2, 0]])
    assert ledger.forward.tolist() == metered.meter.forward.tolist() == [1, 0, 1, 0]
    unknown = replace(plain, victim=MeteredVictim(plain.victim, plain.candidates.clean, ledger))
    assert torch.allclose(unknown.answers_to_clean(), plain_answers)
    assert ledger.forward.tolist() == [2, 1, 2, 1]


def test_a_check_of_ones_own_is_not_charged_to_the_attack() -> None:
    own = problem(queries=1)
    other = own.unmetered()
    other.loss(own.clean_slots)
    other.loss(own.clean_slots)
    assert own.meter.forward.sum() == 0
    assert other.meter.forward.tolist() == [2] * 6


def test_what_points_cost_without_prices() -> None:
    own = problem(budget=1)
    slots = torch.tensor([[0, 0, 0], [0, 1, 0], [1, 1, 0]])
    assert own.affordable(torch.arange(3), slots).tolist() == [True, True, False]
    assert own.within(2).affordable(torch.arange(3), slots).all()
    assert own.may_ask(torch.arange(3), slots).all(), "a budget is the attack's business, a purse is not"
    calls: list[Callable[[], object]] = [lambda: own.known_purse, lambda: own.spent(torch.arange(3), slots)]
    for call in calls:
        with pytest.raises(InputError, match="a problem with prices"):
            call()


def test_whoever_calls_the_victim_directly_is_charged_for_the_nearest_row() -> None:
    own = problem(rows=4)
    clean = own.candidates.clean
    ledger = Meter(4, torch.device("cpu"))
    metered = MeteredVictim(own.victim, clean, ledger)
    near = clean[[2, 2, 0]].clone()
    assert torch.allclose(metered(near), own.victim(near))
    assert ledger.forward.tolist() == [1, 0, 2, 0]
    weights = metered.embed(near).detach().requires_grad_()
    metered.head(weights, near).sum().backward()
    assert ledger.forward.tolist() == [2, 0, 4, 0]
    assert ledger.backward.tolist() == [1, 0, 2, 0]
    for wrong in (clean[0], clean[:, :2], clean[None]):
        with pytest.raises(AttackError, match="expected rows of 3 features to query"):
            unwrap(MeteredVictim._nearest)(metered, wrong)  # without the checks of shapes that tests install
    assert len(metered._nearest(clean[:0])) == 0
    with pytest.raises(AttackError, match="expected 3 soft rows to be charged, got 4"):
        metered.soft_answer(weights, near, torch.arange(2), 2)
    assert ledger.forward.tolist() == [2, 0, 4, 0], "what is refused is not charged"
