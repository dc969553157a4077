"""Prices, gains and computed columns as an attack meets them in its problem."""

import pytest
import torch

from hammingbox.errors import InputError
from hammingbox.problem import Problem
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.gain import Gain
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.space import FullSpace
from toys import untargeted
from toys.prices import CHEAP_AND_DEAR, EURO, SCHEMA, SPACES, priced_rows, priced_victim


def problem(name: str, budget: int = 6) -> Problem:
    victim = priced_victim().eval()
    x, y = priced_rows(victim)
    return Problem.of(victim, SPACES[name].slots_of(x), untargeted(y), budget)


def test_a_budget_counts_ticks_only_where_there_are_prices() -> None:
    x, _ = priced_rows(priced_victim())
    assert SPACES["prices"].slots_of(x).priced
    assert not SPACES["relations alone"].slots_of(x).priced
    assert not FullSpace(SCHEMA).slots_of(x).priced


@pytest.mark.parametrize("name", ["sum", "everything", "relations alone"])
def test_the_gradient_at_a_point_is_taken_with_its_computed_columns(name: str) -> None:
    own = problem(name)
    slots = own.clean_slots
    widths = own.candidates.layout.widths
    for feature in range(slots.shape[1]):
        slots[feature :: slots.shape[1] // 2, feature] = int(widths[feature]) - 1
    written = own.candidates.select(slots)
    assert (written[:, 5] != own.candidates.clean[:, 5]).any(), "some totals change"
    with torch.no_grad():
        wanted = own.judge(torch.arange(len(own)), own.victim(written)).loss
    assert torch.allclose(own.gradient(slots)[0], wanted, atol=1e-5)


def test_what_points_cost_is_the_bill_of_the_rows_they_write() -> None:
    generator = torch.Generator().manual_seed(3)
    for name, space in SPACES.items():
        own = problem(name)
        rows = torch.arange(len(own)).repeat(30)
        layout, valid = own.candidates.layout, own.candidates.valid[rows]
        drawn = torch.rand(valid.shape, generator=generator).masked_fill(~valid, -1.0)
        parts = [
            drawn[:, int(s) : int(s) + int(w)].argmax(1) for s, w in zip(layout.starts, layout.widths, strict=True)
        ]
        slots = torch.stack(parts, 1) * (torch.rand(len(rows), layout.features, generator=generator) < 0.4)
        written, clean = own.candidates.select_points(rows, slots), own.candidates.clean[rows]
        bill = space.rules.bill(clean, written)
        spent = own.spent(rows, slots)
        assert torch.equal(spent[:, 0], space.distance(clean, written)), name
        if space.unit is not None:
            assert torch.equal(spent[:, 1], bill.sum(1)), name
        exists = space.rules.complete(written, clean)[1] & space.rules.hold(clean, written)
        assert torch.equal(own.affordable(rows, slots), exists & space.affords(clean, written, 6)), name


def test_what_a_success_is_worth_is_the_gain_without_the_margin() -> None:
    x, _ = priced_rows(priced_victim())
    rules = SPACES["gain"].rules
    worth, allowance = rules.worth(x), rules.allowance(x)
    assert worth is not None
    assert allowance is not None
    by_category = torch.tensor([0, 3, 10, 20])  # 0, 0.3, 1 and 2 EUR in ticks of 0.1
    assert torch.equal(worth, by_category[x[:, 7]])
    assert torch.equal(allowance, (worth - 2).clamp(min=0))
    fixed = Rules(SCHEMA, unit=EURO, columns=tuple(CHEAP_AND_DEAR.values()), gain=Gain(value=7, margin=5)).worth(x)
    assert fixed is not None
    assert fixed.tolist() == [7] * len(x)
    assert SPACES["prices"].rules.worth(x) is None


class Unidentified(FullSpace):
    """A space whose document does not say what is in it."""

    def check_identity(self) -> None:
        raise InputError("expected a space that its document identifies")


def test_rules_do_not_hide_a_space_that_nothing_identifies() -> None:
    SPACES["prices"].check_identity()
    with pytest.raises(InputError, match="that its document identifies"):
        RuledSpace(Unidentified(SCHEMA), SPACES["prices"].rules).check_identity()
