"""The promises of every attack, over all attacks, budgets and spaces."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hammingbox.attacks import ATTACKS, Attack, Exhaustive
from hammingbox.data.schema import Schema
from hammingbox.problem import Problem
from hammingbox.threat.candidates import hamming
from hammingbox.threat.goal import Direction
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.threat_model import ThreatModel
from toys import ToySynonyms, ToyVictim, mixed_schema, mixed_space, mixed_victim, toy_rows, toy_schema, untargeted

# The paper's 50,000 passes per zeta are for the benchmark: the same code runs here with fewer samples and steps.
SMALL = {
    "pcaa_paper": {"samples": 4, "steps": 5, "rounds": 4}, "sparse_rs": {"steps": 198},
    "genetic_public": {"generations": 3},
}  # fmt: skip
ATTACK_LIST = [pytest.param(make(**SMALL.get(name, {})), id=name) for name, make in ATTACKS.items()]


def spaces(schema: Schema) -> dict[str, Space]:
    def no_first_category_for_even_rows(ids: torch.Tensor) -> torch.Tensor:
        allowed = torch.ones(*ids.shape, max(schema.cardinalities), dtype=torch.bool, device=ids.device)
        allowed[ids[:, 0] % 2 == 0, :, 0] = False
        return allowed

    return {
        "full": FullSpace(schema),
        "immutable": MaskedSpace(schema, immutable=["f2"]),
        "forbidden": MaskedSpace(schema, forbidden={"*": ["c1"], "f2": ["c4"]}, kept={"f0": ["c2"]}),
        "rule": MaskedSpace(schema, rule=no_first_category_for_even_rows),
        "synonyms": ToySynonyms(schema),
    }


@pytest.mark.parametrize("attack", ATTACK_LIST)
@pytest.mark.parametrize("space", ["full", "immutable", "forbidden", "rule", "synonyms", "mixed"])
@pytest.mark.parametrize("budget", [0, 1, 2, 5])
def test_contract(attack: Attack, space: str, budget: int, schema: Schema, victim: ToyVictim) -> None:
    if space == "mixed":
        schema, budget = mixed_schema(), min(budget, 4)
        victim = mixed_victim(schema)
    x, y = toy_rows(schema, victim)
    threat = ThreatModel(mixed_space(schema) if space == "mixed" else spaces(schema)[space], budget)
    before = {name: tensor.clone() for name, tensor in victim.state_dict().items()}
    victim.train()
    state = torch.get_rng_state()

    result = attack(victim, x, y, threat, seed=3)

    candidates = threat.space.candidates(x)
    assert bool(candidates.contains(result.ids).all()), "inside S(x)"
    assert torch.equal(candidates.select(result.slots), result.ids)
    assert torch.equal(result.distance, hamming(x, result.ids)), "distance recounted on ids"
    assert int(result.distance.max()) <= budget
    assert victim.training, "the victim is given back in the mode it came in"
    assert all(p.requires_grad and p.grad is None for p in victim.parameters())
    assert all(torch.equal(before[name], tensor) for name, tensor in victim.state_dict().items())
    assert torch.equal(state, torch.get_rng_state()), "the global generator is not touched"
    victim.eval()
    # Of three classes, a larger cross entropy may go with a smaller margin: an attack is judged by its own objective.
    objective = untargeted(y).margin if attack.objective == "margin" else untargeted(y).cross_entropy
    assert bool((objective(victim(result.ids)) >= objective(victim(x)) - 1e-5).all()), "never worse than no attack"
    assert torch.allclose(result.margin, untargeted(y).margin(victim(result.ids)), atol=1e-5)
    if budget == 0:
        assert torch.equal(result.ids, x)
        assert int(result.forward.sum() + result.backward.sum()) == 0

    passes = attack.passes(Problem.of(victim, candidates, untargeted(y), budget))
    for measured, bound in ((result.forward, passes.forward), (result.backward, passes.backward)):
        assert bool(bound.isfinite().all())
        assert bool((measured <= bound).all()), "the most that a row may cost"
        assert torch.equal(measured.double(), bound) or not passes.is_exact

    again = attack(victim, x, y, threat, seed=3)
    assert torch.equal(result.ids, again.ids), "same seed, same rows"

    oracle = Exhaustive()(victim, x, y, threat)
    assert bool((result.margin <= oracle.margin + 1e-5).all()), "no attack beats enumeration"
    assert not bool((result.proven & oracle.success).any()), "a proof is never wrong"
    if attack.exact and budget:
        assert torch.equal(result.success, oracle.success)
        assert torch.equal(result.proven, ~oracle.success)


@pytest.mark.parametrize("attack", ATTACK_LIST)
def test_a_row_does_not_depend_on_its_batch(attack: Attack, schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    threat = ThreatModel(FullSpace(schema), 2)
    together = attack(victim, x, y, threat, seed=5)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    shuffled = attack(victim, x[order], y[order], threat, seed=5)
    alone = [attack(victim, x[i : i + 1], y[i : i + 1], threat, seed=5) for i in range(len(x))]
    starved = attack(victim, x, y, threat, seed=5, memory=1)
    assert torch.equal(together.ids[order], shuffled.ids)
    assert torch.equal(together.ids, torch.cat([result.ids for result in alone]))
    assert torch.equal(together.ids, starved.ids), "micro-batches change nothing"
    for name in ("forward", "backward"):
        assert torch.equal(getattr(together, name), torch.cat([getattr(result, name) for result in alone]))


@pytest.mark.parametrize("attack", ATTACK_LIST)
def test_directions(attack: Attack, schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    goal = Direction("class 0", "class 1") | Direction("class 1", "class 2") | Direction("class 2", "class 0")
    result = attack(victim, x, y, ThreatModel(FullSpace(schema), 3), goal=goal)
    assert bool(result.success.any())
    assert bool((victim.eval()(result.ids).argmax(1) == (y + 1) % 3)[result.success].all())


@pytest.mark.parametrize("name", ["sa", "ga", "greedy", "beam", "auto", "exhaustive", "oracle"])
def test_searches_of_all_single_changes_are_exact_at_budget_1(name: str, schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim, rows=40)
    threat = ThreatModel(spaces(schema)["forbidden"], 1)
    result, oracle = ATTACKS[name]()(victim, x, y, threat), Exhaustive()(victim, x, y, threat)
    assert torch.equal(result.success, oracle.success)
    if name not in ("auto", "oracle"):  # these stop at the first success
        assert torch.allclose(result.margin, oracle.margin)


@given(
    cardinalities=st.lists(st.integers(1, 5), min_size=1, max_size=5).filter(lambda d: max(d) > 1),
    budget=st.integers(0, 3),
    seed=st.integers(0, 10**6),
    name=st.sampled_from([name for name in ATTACKS if name != "pcaa_paper"]),
)
def test_contract_on_random_spaces(cardinalities: list[int], budget: int, seed: int, name: str) -> None:
    schema = toy_schema(tuple(cardinalities))
    victim = ToyVictim(schema.cardinalities, seed=seed)
    x, y = toy_rows(schema, victim, rows=4, seed=seed)
    threat = ThreatModel(FullSpace(schema), min(budget, len(cardinalities)))
    result = ATTACKS[name]()(victim, x, y, threat, seed=seed)
    oracle = Exhaustive()(victim, x, y, threat)
    assert bool((result.margin <= oracle.margin + 1e-5).all())
    assert bool(threat.space.candidates(x).contains(result.ids).all())


def test_one_hot_weights_equal_the_discrete_forward(schema: Schema, victim: ToyVictim) -> None:
    x, y = toy_rows(schema, victim)
    victim.eval()
    mixed = mixed_schema()
    for space in (*spaces(schema).values(), mixed_space(mixed)):
        if space.schema is mixed:
            victim = mixed_victim(mixed).eval()
            x, y = toy_rows(mixed, victim)
        candidates = space.candidates(x)
        problem = Problem.of(victim, candidates, untargeted(y), 5)
        generator = torch.Generator().manual_seed(0)
        digit = (torch.rand(x.shape, generator=generator) * candidates.counts).long()
        rows = torch.arange(len(x))[:, None].expand_as(x)
        slots = candidates.nth_valid(rows, torch.arange(x.shape[1]).expand_as(x), digit)
        soft = problem.soft_loss(candidates.layout.one_hot(slots)[:, None])[:, 0]
        assert torch.allclose(soft, problem.loss(slots), atol=1e-5)


def test_gradients_reach_numbers() -> None:
    schema = mixed_schema()
    victim, space = mixed_victim(schema).eval(), mixed_space(schema)
    x, y = toy_rows(schema, victim)
    candidates = space.candidates(x)
    _, gradient = Problem.of(victim, candidates, untargeted(y), 2).gradient(torch.zeros_like(x))
    is_number = candidates.layout.feature_of == 0
    assert bool((gradient[:, is_number] != 0).any(1).all())
    # The gradient in an option's weight is that of the loss along the option's vector: it differs between values.
    assert bool((gradient[:, is_number].std(1) > 0).all())
