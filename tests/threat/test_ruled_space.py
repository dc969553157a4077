"""Spaces with rules: the options are exactly the rows that keep them, at the price of the bill."""

from decimal import Decimal
from itertools import product

import pytest
import torch
from torch import Tensor

from hammingbox.attacks._search.affordable_points import affordable_points
from hammingbox.data.schema import Feature, Schema
from hammingbox.errors import InputError
from hammingbox.problem import Problem
from hammingbox.threat.goal import AnyOther
from hammingbox.threat.ruled_candidates import RuledCandidates
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.combinations import Combinations
from hammingbox.threat.rules.derived import Derived
from hammingbox.threat.rules.determines import Determines
from hammingbox.threat.rules.formula import Formula
from hammingbox.threat.rules.prices import ColumnRule
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.seen_together import SeenTogether
from hammingbox.threat.rules.unit import Unit
from hammingbox.threat.space import FullSpace
from hammingbox.threat.space_json import space_from_json
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.victim import Victim

SCHEMA = Schema(
    (
        Feature("city", ("Paris", "Lyon", "Rome", "Milan")),
        Feature("colour", ("red", "green", "blue")),
        Feature("country", ("France", "Italy")),
        Feature("first", ("0", "1", "2"), "number"),
        Feature("second", ("0", "1", "2"), "number"),
        Feature("total", ("0", "1", "2", "3", "4"), "number"),
    ),
    ("a", "b"),
)
EURO = Unit(Decimal("0.1"), "EUR")
CITIES = [["Paris", "France"], ["Lyon", "France"], ["Rome", "Italy"], ["Milan", "Italy"]]
RELATIONS = (Determines(SCHEMA, ["city"], "country", CITIES), Formula(SCHEMA, "first <= second"))
TOTAL = (Derived(SCHEMA, "total", formula="first + second"),)
PRICES = (
    ColumnRule("city", price=3),
    ColumnRule("colour", write={"red": 1, "green": 20, "blue": 0}),
    ColumnRule("country", price=2),
    ColumnRule("first", up=5, down=1, step=Decimal(1)),
    ColumnRule("second", price=4),
)
ROWS = torch.tensor([[0, 0, 0, 0, 1, 1], [2, 1, 1, 1, 1, 2], [3, 2, 1, 2, 1, 3], [1, 1, 1, 0, 2, 2]])


def ruled(**rules: object) -> RuledSpace:
    return RuledSpace(FullSpace(SCHEMA), Rules(SCHEMA, **rules))  # type: ignore[arg-type]


SPACES = {
    "prices": ruled(unit=EURO, columns=(*PRICES, ColumnRule("total", frozen=True))),
    "relations": ruled(relations=RELATIONS),
    "derived": ruled(derived=TOTAL),
    "both": ruled(unit=EURO, columns=PRICES, relations=RELATIONS, derived=TOTAL),
    "both, at most 2 changes": ruled(unit=EURO, columns=PRICES, relations=RELATIONS, derived=TOTAL, changes=2),
    "a relation of a derived column": ruled(
        derived=TOTAL, relations=(Formula(SCHEMA, "total <= 2"), Combinations(SCHEMA, ["colour", "city"], [
            ["red", "Paris"], ["blue", "Rome"], ["green", "Rome"], ["green", "Milan"]]))),
}  # fmt: skip


SPACES["what the data shows"] = ruled(
    unit=EURO, columns=(*PRICES, ColumnRule("total", frozen=True)),
    relations=(RELATIONS[1], SeenTogether.of_rows(SCHEMA, ["city", "colour", "second"], torch.tensor(
        [[0, 0, 0, 0, 1, 1], [0, 1, 0, 0, 2, 1], [2, 1, 1, 1, 1, 2], [3, 1, 1, 2, 2, 3], [2, 2, 1, 1, 0, 2]]))),
)  # fmt: skip


class Sum(Victim):
    """Logits that depend on every column."""

    has_gradient = True

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.arange(30.0).sin().view(6, 5, 1))

    def embed(self, ids: Tensor) -> Tensor:
        return self.table[torch.arange(6), ids]

    def head(self, embedded: Tensor, ids: Tensor) -> Tensor:
        score = embedded.sum((1, 2))
        return torch.stack([score, -score], 1)


def every_row() -> Tensor:
    return torch.tensor(list(product(*(range(size) for size in SCHEMA.cardinalities))))


def rows_by_the_rules(space: RuledSpace, x: Tensor, budget: int) -> set[tuple[int, ...]]:
    """All rows of the schema that the rules let a row become: no slots, no options."""
    rows = every_row()
    x = x.expand_as(rows)
    keeps = space.rules.hold(x, rows) & space.affords(x, rows, budget)
    return {tuple(row) for row in rows[keeps].tolist()}


def rows_by_options(space: RuledSpace, x: Tensor, budget: int) -> list[tuple[int, ...]]:
    problem = problem_of(space, x[None], budget)
    widths = problem.candidates.layout.widths.tolist()
    slots = torch.tensor(list(product(*(range(width) for width in widths))))
    valid = problem.candidates.valid[0][problem.candidates.layout.starts + slots].all(1)
    able = valid & problem.affordable(torch.zeros(len(slots), dtype=torch.int64), slots)
    rows = torch.zeros(int(able.sum()), dtype=torch.int64)
    return [tuple(row) for row in problem.candidates.select_points(rows, slots[able]).tolist()]


def problem_of(space: RuledSpace, x: Tensor, budget: int) -> Problem:
    goals = AnyOther().of(torch.zeros(len(x), dtype=torch.int64), SCHEMA)
    return Problem.of(Sum(), space.candidates(x), goals, budget)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("budget", [0, 1, 2, 5, 30])
def test_options_are_exactly_the_rows_that_keep_the_rules(name: str, budget: int) -> None:
    space = SPACES[name]
    for x in ROWS:
        found = rows_by_options(space, x, budget)
        assert len(found) == len(set(found)), "a row has two names"
        assert set(found) == rows_by_the_rules(space, x, budget)
        assert tuple(x.tolist()) in found


FROZEN = tuple(ColumnRule(name, frozen=True) for name in ("city", "colour", "country"))
TIGHT = {
    # Few rows can become another one, and some only by two changes at once.
    "two at once": ruled(
        unit=EURO, columns=(*FROZEN, *PRICES[3:], ColumnRule("total", frozen=True)),
        relations=(SeenTogether.of_rows(SCHEMA, ["first", "second"], torch.zeros(1, 6).long()),)),
    "a total that hardly anything has": ruled(
        unit=EURO, columns=(*FROZEN, *PRICES[3:]), derived=TOTAL, relations=(Formula(SCHEMA, "total == 4"),)),
    "one change of two": ruled(
        columns=FROZEN, relations=(*RELATIONS, Formula(SCHEMA, "first + second == total")), changes=1),
}  # fmt: skip


@pytest.mark.parametrize("name", [*SPACES, *TIGHT])
def test_rows_that_can_become_something_else(name: str) -> None:
    space = (SPACES | TIGHT)[name]
    x = every_row()[:: 7 if name in TIGHT else 97]
    budget = 10_000 if space.unit is not None else len(SCHEMA.features)
    known = [len(rows_by_the_rules(space, row, budget) - {tuple(row.tolist())}) > 0 for row in x]
    found = space.candidates(x).changeable
    assert found.tolist() == known
    if name in TIGHT:
        assert 0 < sum(known) < len(known), "both kinds of rows are there"
    some = torch.tensor([1, 0, 2])
    assert space.candidates(x).take(some).changeable.tolist() == found[some].tolist()


def test_rows_of_which_not_everything_was_tried_count_as_changeable(monkeypatch: pytest.MonkeyPatch) -> None:
    x = every_row()[::7]
    before = TIGHT["two at once"].candidates(x).changeable
    monkeypatch.setattr("hammingbox.threat.ruled_candidates._COMBINATIONS", 2)
    after = TIGHT["two at once"].candidates(x).changeable
    assert bool((after >= before).all())
    assert bool((after & ~before).any())


@pytest.mark.parametrize("name", SPACES)
def test_affordable_points_are_counted(name: str) -> None:
    for budget in (1, 4, 7):
        problem = problem_of(SPACES[name], ROWS, budget)
        counted = affordable_points(problem, torch.arange(len(ROWS)))
        known = [len(rows_by_the_rules(SPACES[name], x, budget)) for x in ROWS]
        rules = SPACES[name].rules
        if not rules.derived and not any(relation.pointwise for relation in rules.relations):  # these make fewer
            assert counted.tolist() == known
        assert (counted >= torch.tensor(known)).all()


@pytest.mark.parametrize("name", SPACES)
def test_contains_judges_whole_rows(name: str) -> None:
    space, rows = SPACES[name], every_row()
    for x in ROWS:
        candidates = space.candidates(x[None].repeat(len(rows), 1))
        inside = candidates.contains(rows)
        assert (
            inside
            == space.rules.hold(x.expand_as(rows), rows) & (space.rules.bill(x.expand_as(rows), rows) >= 0).all(1)
        ).all()


def test_a_city_takes_its_country_along() -> None:
    candidates = SPACES["relations"].candidates(ROWS[:1])
    assert isinstance(candidates, RuledCandidates)
    assert candidates.layout.features == 4  # city and country, colour, first and second, total
    joint = candidates.tolls is not None and candidates.tolls[0, candidates.moves[0], 0]
    assert set(joint.tolist()) == {1, 2}  # Lyon alone; Rome with Italy


def test_soft_rows_weigh_columns() -> None:
    """A weight of one on a joint option is the row that the option writes."""
    problem = problem_of(SPACES["relations"], ROWS, 2)
    layout = problem.candidates.layout
    slots = torch.stack([layout.widths - 1 - (torch.arange(layout.features) % 2)] * len(ROWS))
    slots = torch.where(problem.candidates.valid.gather(1, layout.starts + slots), slots, 0)
    soft = problem.soft_loss(layout.one_hot(slots)[:, None])[:, 0]
    hard = problem.judge(torch.arange(len(ROWS)), Sum()(problem.candidates.select(slots))).loss
    torch.testing.assert_close(soft, hard)


def test_the_document_gives_the_same_space() -> None:
    for space in SPACES.values():
        again = space_from_json(space.to_json(), SCHEMA)
        assert again.to_json() == space.to_json()
        one, two = space.candidates(ROWS), again.candidates(ROWS)
        assert torch.equal(one.valid, two.valid)
        assert one.tolls is not None
        assert two.tolls is not None
        assert torch.equal(one.tolls, two.tolls)


def test_the_budget_is_in_ticks() -> None:
    assert ThreatModel(SPACES["both"], 1000).budget == 1000
    with pytest.raises(InputError, match=r"ticks of 0\.1 EUR"):
        ThreatModel(SPACES["both"], -1)
    with pytest.raises(InputError, match=r"0\.\.6 changed features"):
        ThreatModel(SPACES["relations"], 7)
    with pytest.raises(InputError, match="got one that has some"):
        RuledSpace(SPACES["both"], SPACES["both"].rules)
