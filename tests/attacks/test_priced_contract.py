"""The promises of every attack where changes have prices and columns depend on each other."""

from functools import cache

import pytest
import torch
from torch import Tensor

from hammingbox.attacks import ATTACKS, Attack, Auto, Exhaustive
from hammingbox.problem import Problem
from hammingbox.threat.goal import Direction
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.black_box import BlackBox
from hammingbox.victims.victim import Victim
from toys import untargeted
from toys.prices import SCHEMA, SPACES, allowed_rows, priced_rows, priced_victim
from toys.targets import black_box

SMALL = {
    "pcaa_paper": {"samples": 2, "steps": 2, "rounds": 2, "draws": 20}, "sparse_rs": {"steps": 60},
    "genetic_public": {"generations": 1},
}  # fmt: skip
ATTACK_LIST = [pytest.param(make(**SMALL.get(name, {})), id=name) for name, make in ATTACKS.items()]
BUDGETS = {"relations alone": (3,), "prices": (2, 12)}


@cache
def best_margins(space: str, rows: int, budget: int) -> Tensor:
    """The best margin of each row over all rows that the rules allow, by trying them all."""
    victim = priced_victim().eval()
    x, y = priced_rows(victim, rows)
    found = []
    for row, label in zip(x, y, strict=True):
        points = allowed_rows(SPACES[space], row, budget)
        found.append(untargeted(label.expand(len(points))).margin(victim(points)).max())
    return torch.stack(found)


CONTRACTS = [
    pytest.param(attack.values[0], space, id=f"{attack.id}-{space}")
    for attack in ATTACK_LIST
    for space in SPACES
    if space in ("everything", "prices and few changes", "gain")
    or attack.id in ("auto", "pcaa", "swap", "local", "oracle")
]


@pytest.mark.parametrize(("attack", "space"), CONTRACTS)
def test_contract(attack: Attack, space: str) -> None:
    victim = priced_victim()
    x, y = priced_rows(victim, rows=5)
    for budget in BUDGETS.get(space, (12,)):
        threat = ThreatModel(SPACES[space], budget)
        rules = SPACES[space].rules
        result = attack(victim, x, y, threat, seed=3)

        candidates = threat.space.candidates(x)
        assert bool(candidates.contains(result.ids).all()), "inside S(x)"
        assert torch.equal(result.attackable, candidates.changeable), "whatever the budget"
        assert bool(rules.hold(x, result.ids).all()), "relations hold"
        bill = rules.bill(x, result.ids)
        assert bool((bill >= 0).all()), "only changes that are allowed"
        assert torch.equal(bill.sum(1), result.cost), "cost recounted"
        assert bool(threat.space.affords(x, result.ids, budget).all()), "affordable"
        if (worth := rules.allowance(x)) is not None:
            assert bool((result.cost <= worth).all()), "not more than a success is worth"
        margins = untargeted(y).margin(victim.eval()(result.ids))
        assert torch.allclose(result.margin, margins, atol=1e-5)
        best = best_margins(space, len(x), budget)
        assert bool((result.margin <= best + 1e-5).all()), "no attack beats enumeration"
        assert not bool((result.proven & (best > 0)).any()), "a proof is never wrong"
        if attack.exact:
            assert torch.equal(result.success, best > 0)
            assert torch.equal(result.proven, best <= 0)

        passes = attack.passes(Problem.of(victim, candidates, untargeted(y), budget))
        for measured, bound in ((result.forward, passes.forward), (result.backward, passes.backward)):
            assert bool((measured <= bound).all()), "the most that a row may cost"
            assert torch.equal(measured.double(), bound) or not passes.is_exact


@pytest.mark.parametrize("attack", ATTACK_LIST)
def test_a_row_does_not_depend_on_its_batch(attack: Attack) -> None:
    victim = priced_victim()
    x, y = priced_rows(victim, rows=4)
    threat = ThreatModel(SPACES["everything"], 12)
    together = attack(victim, x, y, threat, seed=5)
    alone = [attack(victim, x[i : i + 1], y[i : i + 1], threat, seed=5) for i in range(len(x))]
    starved = attack(victim, x, y, threat, seed=5, memory=1)
    assert torch.equal(together.ids, torch.cat([result.ids for result in alone]))
    assert torch.equal(together.ids, starved.ids), "micro-batches change nothing"
    for name in ("forward", "backward"):
        assert torch.equal(getattr(together, name), torch.cat([getattr(result, name) for result in alone]))


@pytest.mark.parametrize("attack", ATTACK_LIST)
def test_directions(attack: Attack) -> None:
    victim = priced_victim()
    x, y = priced_rows(victim, rows=20)
    goal = Direction("class 0", "class 1") | Direction("class 1", "class 2") | Direction("class 2", "class 0")
    result = attack(victim, x, y, ThreatModel(SPACES["prices"], 14), goal=goal)
    assert bool(result.success.any())
    assert bool((victim.eval()(result.ids).argmax(1) == (y + 1) % 3)[result.success].all())


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("box", ["white", "black"])
def test_auto_finds_what_enumeration_finds(space: str, box: str) -> None:
    victim = priced_victim()
    x, y = priced_rows(victim, rows=16)
    target = victim if box == "white" else black_box(victim)
    for budget in BUDGETS.get(space, (12,)):
        result = Auto()(target, x, y, ThreatModel(SPACES[space], budget))
        assert torch.equal(result.success, best_margins(space, len(x), budget) > 0)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("attack", [Auto(minimum=True), Exhaustive(verdict=True)], ids=["auto", "oracle"])
def test_the_cheapest_evasion(space: str, attack: Attack) -> None:
    """Against the cheapest of all rows that the rules allow."""
    victim = priced_victim()
    x, y = priced_rows(victim, rows=10)
    budget = 3 if space == "relations alone" else 14
    threat = ThreatModel(SPACES[space], budget)
    result = attack(victim, x, y, threat)
    victim.eval()
    for i in range(len(x)):
        rows = allowed_rows(SPACES[space], x[i], budget)
        broken = rows[untargeted(y[i].expand(len(rows))).margin(victim(rows)) > 0]
        assert bool(result.success[i]) == (len(broken) > 0)
        if len(broken):
            cost = threat.space.cost(x[i].expand_as(broken), broken)
            assert int(result.cost[i]) == int(cost.min()), "exactly the cheapest"


class _PriceStep(Victim):
    """Only a city and another number break it. A size helps more per tick, but not together with a city."""

    has_gradient = True

    def __init__(self) -> None:
        super().__init__()
        worth = torch.zeros(len(SCHEMA.features), max(SCHEMA.cardinalities), 1)
        worth[0, 1:], worth[4, 1:], worth[6, 1:] = 4.0, 0.5, 0.6
        self.worth = torch.nn.Parameter(worth)

    def embed(self, ids: Tensor) -> Tensor:
        return self.worth[torch.arange(ids.shape[1]), ids]

    def head(self, embedded: Tensor, ids: Tensor) -> Tensor:
        score = embedded.sum((1, 2)) - 0.5 * embedded[:, 0, 0] * embedded[:, 6, 0] - 4.3
        return torch.stack([-score, score, torch.full_like(score, -50.0)], 1)


@pytest.mark.parametrize("box", ["white", "black"])
def test_a_dear_change_after_cheap_ones(box: str) -> None:
    """The step that a search without exchanges cannot take."""
    net = _PriceStep()
    victim = net if box == "white" else BlackBox(lambda rows: net(torch.from_numpy(rows)).double().softmax(1).detach())
    x, y = torch.zeros(1, len(SCHEMA.features), dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    threat = ThreatModel(SPACES["prices"], 11)
    assert not bool(ATTACKS["best_first"]()(victim, x, y, threat).success), "it spends two ticks first"
    for name in ("auto", "local", "oracle", *(("swap", "pcaa") if box == "white" else ())):
        result = ATTACKS[name]()(victim, x, y, threat)
        assert bool(result.success), name
        assert int(result.cost) == 11


def test_budgets_are_inclusive_and_rows_that_nothing_can_be_done_to_are_left_alone() -> None:
    victim = priced_victim()
    x, y = priced_rows(victim, rows=30)
    worthless = SPACES["gain"].rules.allowance(x)
    assert worthless is not None
    result = Auto()(victim, x, y, ThreatModel(SPACES["gain"], 12))
    assert bool((result.cost[worthless == 0] == 0).all())
    exact = Exhaustive(verdict=True)(victim, x, y, ThreatModel(SPACES["prices"], 14))
    for cost in exact.cost[exact.success & (exact.cost > 0)].unique().tolist():
        at = exact.success & (exact.cost == cost)
        assert bool(Auto()(victim, x[at], y[at], ThreatModel(SPACES["prices"], cost)).success.all())
        assert not bool(Auto()(victim, x[at], y[at], ThreatModel(SPACES["prices"], cost - 1)).success.any())
