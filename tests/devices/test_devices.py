"""Attacks, defences and evaluations follow the victim's device and give what they give on the CPU.

The device is the one of `devices.ghost`: an operation on tensors of two devices raises.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import hammingbox as hb
from devices.ghost import GHOST, GhostTensor, MixedDevicesError, ghost_device
from hammingbox.training.cost import relative_cost
from hammingbox.victims.soft_rows import SoftRows
from toys import ToySynonyms, ToyVictim, same_rows, toy_rows, toy_schema, untargeted
from toys.texts import small_splits

SCHEMA = toy_schema((3, 2, 5, 3, 4))
LETTERS = hb.Schema.sequence(4, "ACGT", ["x", "y", "z"])
# Every operation costs Python time on the ghost device: short searches run the same code.
SMALL: dict[str, dict[str, Any]] = {
    "pcaa": {"rounds": 2, "steps": 2, "samples": 2, "draws": 4},
    "pcaa_paper": {"rounds": 1, "steps": 2, "samples": 2, "draws": 4},
    "guided": {"steps": 2},
    "swap": {"steps": 4, "patience": 1},
    "local": {"steps": 3, "patience": 1},
    "evolution": {"generations": 2},
    "sparse_rs": {"steps": 4},
    "pcaa_blackbox": {"steps": 2},
    "genetic": {"generations": 2},
}


@pytest.fixture
def ghost() -> Iterator[torch.device]:
    with ghost_device() as device:
        yield device


@pytest.fixture
def toy() -> ToyVictim:
    return ToyVictim(SCHEMA.cardinalities, len(SCHEMA.classes))


def attack_named(name: str) -> hb.Attack:
    return hb.ATTACKS[name](**SMALL.get(name, {}))


def toy_data(victim: hb.Victim, rows: int = 16, wrong: int = 3) -> hb.Dataset:
    """Rows of which the victim gets a few wrong."""
    x, y = toy_rows(SCHEMA, victim, rows=rows)
    y[:wrong] = (y[:wrong] + 1) % 3
    return hb.Dataset(SCHEMA, x, y, "toy", torch.arange(100, 100 + rows))


def toy_splits(victim: hb.Victim) -> hb.Splits:
    data = toy_data(victim)
    return hb.Splits(data.take(slice(0, 8)), data.take(slice(8, 12)), data.take(slice(12, 16)))


def full(budget: int = 2, schema: hb.Schema = SCHEMA) -> hb.ThreatModel:
    return hb.ThreatModel(hb.FullSpace(schema), budget)


def assert_same_result(result: hb.AttackResult, expected: hb.AttackResult) -> None:
    for field in fields(expected):
        value, wanted = getattr(result, field.name), getattr(expected, field.name)
        assert value.device == GHOST, field.name
        assert torch.allclose(value.cpu(), wanted, rtol=1e-4, atol=1e-5), field.name


# The device itself -------------------------------------------------------------------------------------------------


MIXTURES: dict[str, Callable[[Tensor], object]] = {
    "addition": lambda x: x + torch.ones(3),
    "index": lambda x: x[torch.tensor([0, 1])],
    "mask": lambda x: x[torch.tensor([True, False])],
    "indexed": lambda x: torch.zeros(3)[x[0].long()],
    "assignment": lambda x: x.__setitem__(torch.tensor([0]), 1.0),
    "copy": lambda x: x.copy_(torch.ones(2, 3)),
    "copy to the CPU": lambda x: torch.zeros(2, 3).copy_(x),
    "scalars in a list": lambda x: torch.stack([x[0, 0], torch.tensor(1.0)]),
    "generator": lambda x: torch.rand(2, device=x.device, generator=torch.Generator()),
}


@pytest.mark.parametrize("mix", [pytest.param(mix, id=name) for name, mix in MIXTURES.items()])
def test_ghost_tensors_do_not_mix_with_others(mix: Callable[[Tensor], object], ghost: torch.device) -> None:
    with pytest.raises(MixedDevicesError, match="aten::"):
        mix(torch.zeros(2, 3, device=ghost))


def test_ghost_tensors_compute_as_cpu_tensors(ghost: torch.device) -> None:
    x = torch.arange(6.0, device=ghost).view(2, 3).requires_grad_()
    assert isinstance(x, GhostTensor)
    assert x.device == torch.tensor([1], device=ghost).device == x.new_tensor([1]).device == x.long().device == ghost
    ((x * torch.tensor(2.0))[:, [0, 2]] ** 2).sum().backward()  # a number on the CPU may take part
    assert x.grad is not None
    assert x.grad.tolist() == [[0, 0, 16], [24, 0, 40]]
    assert x.detach().cpu().numpy().shape == (2, 3)
    assert bool((x > 4).any())
    assert f"{x[0, 1]:.1f}" == "1.0"
    with pytest.raises(TypeError, match="numpy"):
        x.detach().numpy()


def test_the_ghost_device_has_a_generator_of_its_own(ghost: torch.device) -> None:
    cpu, own = torch.get_rng_state(), torch.get_device_module(ghost).get_rng_state()
    nn.Dropout(0.5)(torch.ones(9, device=ghost))
    assert torch.equal(cpu, torch.get_rng_state())
    assert not torch.equal(own, torch.get_device_module(ghost).get_rng_state())


class CarelessAttack(hb.Attack):
    """Makes its noise on the CPU and leaves it there."""

    def run(self, problem: hb.Problem, random: Any) -> Tensor:
        return problem.clean_slots * torch.ones(len(problem), 1, dtype=torch.int64)


class CarelessVictim(ToyVictim):
    """Adds a tensor that is neither a parameter nor a buffer, so that `to` leaves it behind."""

    def head(self, embedded: Tensor, ids: Tensor) -> Tensor:
        return super().head(embedded, ids) + torch.zeros(3)


def test_a_careless_attack_is_caught(toy: ToyVictim, ghost: torch.device) -> None:
    x, y = toy_rows(SCHEMA, toy)
    CarelessAttack()(toy, x, y, full())
    with pytest.raises(MixedDevicesError, match=r"aten::mul: .*privateuseone:0 \(12, 5\), cpu \(12, 1\)"):
        CarelessAttack()(toy.to(ghost), x.to(ghost), y.to(ghost), full())


def test_a_careless_victim_is_caught(ghost: torch.device) -> None:
    victim = CarelessVictim(SCHEMA.cardinalities)
    data = toy_data(victim)
    hb.evaluate(victim, data, full(), attack_named("greedy"))
    with pytest.raises(MixedDevicesError, match="aten::add"):
        hb.evaluate(victim.to(ghost), data, full(), attack_named("greedy"))


# Attacks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "budget"), [*((name, 2) for name in hb.ATTACKS), ("auto", 1), ("oracle", 1)])
def test_attacks(name: str, budget: int, toy: ToyVictim, ghost: torch.device) -> None:
    x, y = toy_rows(SCHEMA, toy, rows=6)
    expected = attack_named(name)(toy, x, y, full(budget), seed=3)
    states = torch.get_rng_state(), torch.get_device_module(ghost).get_rng_state()
    result = attack_named(name)(toy.to(ghost), x.to(ghost), y.to(ghost), full(budget), seed=3)
    assert_same_result(result, expected)
    assert torch.equal(states[0], torch.get_rng_state())
    assert torch.equal(states[1], torch.get_device_module(ghost).get_rng_state())


def spaces() -> dict[str, hb.Space]:
    def no_first_category_for_even_rows(ids: Tensor) -> Tensor:
        allowed = torch.ones(*ids.shape, max(SCHEMA.cardinalities), dtype=torch.bool, device=ids.device)
        allowed[ids[:, 0] % 2 == 0, :, 0] = False
        return allowed

    return {
        "masked": hb.MaskedSpace(SCHEMA, immutable=["f2"], forbidden={"*": ["c1"]}, kept={"f0": ["c2"]}),
        "rule": hb.MaskedSpace(SCHEMA, rule=no_first_category_for_even_rows),
        "synonyms": ToySynonyms(SCHEMA),
    }


@pytest.mark.parametrize("space", ["masked", "rule", "synonyms"])
@pytest.mark.parametrize("name", ["pcaa", "swap", "exhaustive"])
def test_spaces(space: str, name: str, toy: ToyVictim, ghost: torch.device) -> None:
    x, y = toy_rows(SCHEMA, toy, rows=6)
    threat = hb.ThreatModel(spaces()[space], 2)
    expected = attack_named(name)(toy, x, y, threat)
    assert_same_result(attack_named(name)(toy.to(ghost), x.to(ghost), y.to(ghost), threat), expected)


GOALS: dict[str, hb.Goal] = {
    "target": hb.Target("class 1"),
    "direction": hb.Direction("class 0", "class 2"),
    "either": hb.Target("class 0") | hb.Direction("class 0", "class 1"),
    "both": hb.AnyOther() & hb.Target("class 2"),
}


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("objective", ["margin", "cross_entropy"])
def test_goals(goal: str, objective: str, toy: ToyVictim, ghost: torch.device) -> None:
    data, attack = toy_data(toy), hb.ATTACKS["gga"](objective=objective)
    expected = hb.evaluate(toy, data, full(), attack, goal=GOALS[goal])
    same_rows(hb.evaluate(toy.to(ghost), data, full(), attack, goal=GOALS[goal]).rows, expected.rows)


def test_a_synonym_space(ghost: torch.device) -> None:
    splits = small_splits()
    space, (x, _) = hb.SynonymSpace(splits.schema), splits.test.batch(slice(0, 4))
    expected, found = space.candidates(x), space.candidates(x.to(ghost))
    assert found.ids.device == found.valid.device == ghost
    assert torch.equal(found.ids.cpu(), expected.ids)
    assert torch.equal(found.moves.cpu(), expected.moves)


def test_an_attack_takes_rows_from_the_cpu(toy: ToyVictim, ghost: torch.device) -> None:
    x, y = toy_rows(SCHEMA, toy)
    expected = attack_named("swap")(toy, x, y, full())
    assert_same_result(attack_named("swap")(toy.to(ghost), x, y, full()), expected)


@pytest.mark.parametrize(
    ("name", "queries"), [("auto", 5), ("auto", 40), ("ga", 9), ("beam", 9), ("evolution", 9), ("genetic", 9)]
)
def test_a_query_limit(name: str, queries: int, toy: ToyVictim, ghost: torch.device) -> None:
    x, y = toy_rows(SCHEMA, toy, rows=6)
    attack = hb.ATTACKS[name](**SMALL.get(name, {}), queries=queries)
    expected = attack(toy, x, y, full())
    assert_same_result(attack(toy.to(ghost), x.to(ghost), y.to(ghost), full()), expected)


@pytest.mark.parametrize("name", hb.ATTACKS)
def test_bounds_of_passes(name: str, toy: ToyVictim, ghost: torch.device) -> None:
    def passes(x: Tensor, y: Tensor) -> Tensor:
        found = attack_named(name).passes(hb.Problem.of(toy, space.candidates(x), untargeted(y), 2))
        assert found.forward.device == found.backward.device == x.device
        return torch.stack([found.forward, found.backward]).cpu()

    space = spaces()["masked"]
    x, y = toy_rows(SCHEMA, toy, rows=4)
    expected = passes(x, y)
    toy.to(ghost)
    assert torch.equal(passes(x.to(ghost), y.to(ghost)), expected)


def test_the_smallest_budget(toy: ToyVictim, ghost: torch.device) -> None:
    x, y = toy_rows(SCHEMA, toy, rows=4)
    expected = hb.Auto(minimum=True, queries=30)(toy, x, y, full())
    assert_same_result(hb.Auto(minimum=True, queries=30)(toy.to(ghost), x.to(ghost), y.to(ghost), full()), expected)


def test_a_small_memory(toy: ToyVictim, ghost: torch.device) -> None:
    x, y = toy_rows(SCHEMA, toy, rows=2)
    expected = attack_named("pcaa")(toy, x, y, full(), memory=1)
    assert_same_result(attack_named("pcaa")(toy.to(ghost), x.to(ghost), y.to(ghost), full(), memory=1), expected)


def test_the_distribution_of_pcaa(toy: ToyVictim, ghost: torch.device) -> None:
    x, y = toy_rows(SCHEMA, toy)
    expected = attack_named("pcaa").distribution(toy, x, y, full()).pi  # type: ignore[attr-defined]
    pi = attack_named("pcaa").distribution(toy.to(ghost), x.to(ghost), y.to(ghost), full()).pi  # type: ignore[attr-defined]
    torch.testing.assert_close(pi.cpu(), expected)


# Victims -----------------------------------------------------------------------------------------------------------


class Plain(nn.Module):
    """A module that knows nothing of victims."""

    def __init__(self) -> None:
        super().__init__()
        self.lookup = nn.Embedding(4, 6)
        self.out = nn.Linear(6, 3)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.lookup(ids).tanh().sum(1))


def one_hot() -> hb.Victim:
    return hb.OneHot(nn.Sequential(nn.Flatten(), nn.Linear(4 * 4, 3)), categories=4, blank=0)


def wrapped() -> hb.Victim:
    module = Plain()
    return hb.wrap(module, embedding=module.lookup)


VICTIMS: dict[str, Callable[[], hb.Victim]] = {
    "lstm": lambda: hb.build("lstm", LETTERS, dim=4, hidden=4),
    "cnn": lambda: hb.build("cnn", LETTERS, dim=4, channels=4),
    "mlp": lambda: hb.build("mlp", LETTERS),
    "linear": lambda: hb.build("linear", LETTERS),
    "windows": lambda: hb.build("windows", LETTERS),
    "smooth_windows": lambda: hb.build("smooth_windows", LETTERS),
    "shallow": lambda: hb.build("shallow", LETTERS, hidden=4),
    "word_cnn": lambda: hb.build("word_cnn", LETTERS, dim=4, channels=4),
    "bilstm": lambda: hb.build("bilstm", LETTERS, dim=4, hidden=4),
    "char_cnn": lambda: hb.build("char_cnn", hb.Schema.sequence(24, "ACGT", ["x", "y", "z"]), channels=4, hidden=4),
    "one_hot": one_hot,
    "wrapped": wrapped,
}


def made(name: str) -> tuple[hb.Victim, hb.Schema]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        victim = VICTIMS[name]().eval()
    return victim, LETTERS if name != "char_cnn" else hb.Schema.sequence(24, "ACGT", ["x", "y", "z"])


def test_all_victims_of_the_package_are_here() -> None:
    assert set(hb.VICTIMS) - set(VICTIMS) == {"char_cnn_paper"}, "a larger char_cnn"


@pytest.mark.parametrize("name", VICTIMS)
def test_victims(name: str, ghost: torch.device) -> None:
    victim, schema = made(name)
    x, y = toy_rows(schema, victim, rows=4)
    attack = attack_named("gga")
    result = attack(victim.to(ghost), x.to(ghost), y.to(ghost), full(2, schema))
    # On the CPU an LSTM runs other kernels, whose last bits differ: the answers are compared, not the searches.
    torch.testing.assert_close(result.logits.cpu(), victim.cpu()(result.ids.cpu()))


@pytest.mark.parametrize("victim_name", ["lstm", "cnn"])
@pytest.mark.parametrize("name", hb.ATTACKS)
def test_attacks_on_networks(name: str, victim_name: str, ghost: torch.device) -> None:
    victim, _ = made(victim_name)
    x, y = toy_rows(LETTERS, victim, rows=2)
    result = attack_named(name)(victim.to(ghost), x.to(ghost), y.to(ghost), full(1, LETTERS))
    assert all(getattr(result, field.name).device == ghost for field in fields(result))
    torch.testing.assert_close(result.logits.cpu(), victim.cpu()(result.ids.cpu()))


def test_a_black_box_answers_rows_of_any_device(ghost: torch.device) -> None:
    def predict_proba(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        scores = np.exp(rows[:, :3].astype(float))
        return scores / scores.sum(1, keepdims=True)

    victim = hb.BlackBox(predict_proba)
    x, y = toy_rows(SCHEMA, victim)
    expected = attack_named("local")(victim, x, y, full())
    result = attack_named("local")(victim, x.to(ghost), y.to(ghost), full())
    assert torch.equal(result.ids.cpu(), expected.ids)


@pytest.mark.parametrize("space", ["masked", "synonyms"])
def test_soft_rows(space: str, toy: ToyVictim, ghost: torch.device) -> None:
    def mixed(x: Tensor) -> Tensor:
        candidates = spaces()[space].candidates(x)
        weights = candidates.layout.one_hot(torch.zeros_like(x))[:, None]
        return SoftRows(toy, candidates).mix(weights)

    x, _ = toy_rows(SCHEMA, toy)
    expected = mixed(x)
    toy.to(ghost)
    torch.testing.assert_close(mixed(x.to(ghost)).cpu(), expected)


def test_a_checkpoint(tmp_path: Path, ghost: torch.device) -> None:
    victim = hb.build("mlp", SCHEMA)
    x, _ = toy_rows(SCHEMA, victim)
    expected = victim.eval()(x)
    hb.Checkpoint(victim.to(ghost), "mlp", {}, SCHEMA).save(tmp_path)
    assert torch.equal(hb.load_checkpoint(tmp_path).victim(x), expected)
    torch.testing.assert_close(hb.load_checkpoint(tmp_path).victim.to(ghost)(x.to(ghost)).cpu(), expected)


# Evaluation --------------------------------------------------------------------------------------------------------


def data_on(data: hb.Dataset, device: torch.device) -> hb.Dataset:
    return hb.Dataset(data.schema, data.ids.to(device), data.labels.to(device), data.name, data.numbers.to(device))


@pytest.mark.parametrize("where", ["cpu", "ghost"])
def test_evaluate(where: str, toy: ToyVictim, ghost: torch.device) -> None:
    data = toy_data(toy)
    expected = hb.evaluate(toy, data, full(1), attack_named("swap"), batch_size=7)
    given = data if where == "cpu" else data_on(data, ghost)
    result = hb.evaluate(toy.to(ghost), given, full(1), attack_named("swap"), batch_size=7)
    assert result.rows.logits.device == torch.device("cpu"), "records are kept in main memory"
    same_rows(result.rows, expected.rows)
    assert result.victim_digest == expected.victim_digest
    assert {**result.summary(), "seconds": 0} == {**expected.summary(), "seconds": 0}


def test_results_are_verified_on_the_device(tmp_path: Path, toy: ToyVictim, ghost: torch.device) -> None:
    data = toy_data(toy)
    toy.to(ghost)
    hb.write_results(hb.evaluate(toy, data, full(), attack_named("greedy")), tmp_path / "result")
    found = hb.verify(tmp_path / "result", toy, data=data)
    assert found.ok
    assert found.confirmed == found.claimed > 0


def test_a_store_goes_on_on_another_device(tmp_path: Path, toy: ToyVictim, ghost: torch.device) -> None:
    data, attack = toy_data(toy), attack_named("swap")
    expected = hb.evaluate(toy, data, full(), attack, batch_size=6)
    checkpoint = hb.Checkpoint(toy, "toy", {}, SCHEMA)
    with hb.open_store(tmp_path, create=True) as store:
        hb.evaluate_into(store, checkpoint, data.take(slice(0, 6)), full(), attack, batch_size=6)
        toy.to(ghost)
        found = hb.evaluate_into(store, checkpoint, data, full(), attack, batch_size=6)
    assert torch.equal(found.rows.adversarial, expected.rows.adversarial)
    assert torch.equal(found.rows.forward, expected.rows.forward)


def test_accuracy_and_chosen_rows(toy: ToyVictim, ghost: torch.device) -> None:
    data = toy_data(toy)
    accuracy, chosen = hb.accuracy(toy, data), hb.correctly_classified(toy, data, 10)
    toy.to(ghost)
    assert hb.accuracy(toy, data) == accuracy
    assert torch.equal(hb.correctly_classified(toy, data, 10).numbers, chosen.numbers)


def test_diagnosis(toy: ToyVictim, ghost: torch.device) -> None:
    data = toy_data(toy)
    toy.train()  # a victim in train mode is a finding
    expected = {finding.check for finding in hb.diagnose_victim(toy, data, full())}
    assert expected == {"train mode"}
    assert {finding.check for finding in hb.diagnose_victim(toy.to(ghost), data, full())} == expected


# Defences ----------------------------------------------------------------------------------------------------------


SHORT: dict[str, dict[str, Any]] = {"padvt": {"steps": 2}, "trades": {"steps": 2}, "ascc": {"steps": 2}}
TRAININGS = [
    *(pytest.param(name, SHORT.get(name, {}), id=name) for name in hb.DEFENCES if name != "certified"),
    pytest.param("padvt", {"steps": 2, "warm": 2, "draws": 1}, id="padvt, warm"),
    pytest.param("trades", {"steps": 2, "ascent": "steepest", "one_noise": False}, id="trades, steepest"),
    pytest.param("swap", {"extra": 1}, id="swap, extra"),
]


def test_fit_certified(ghost: torch.device) -> None:
    """Certified training needs a model with bounds, which the toy is not."""
    schema = hb.Schema.sequence(6, "ACGT", ["x", "y"])
    victim = hb.build("shallow", schema, hidden=4)
    rows = hb.Dataset(schema, torch.arange(72).view(12, 6) * 7 % 4, torch.arange(12) % 2)
    splits, threat = hb.Splits(rows, rows, rows), hb.ThreatModel(hb.FullSpace(schema), 1)
    moved = deepcopy(victim).to(ghost)
    config = hb.TrainConfig(epochs=1, batch_size=4)
    (expected,) = hb.fit(victim, splits, config, defence=hb.DEFENCES["certified"](), threat=threat)
    (epoch,) = hb.fit(moved, splits, config, defence=hb.DEFENCES["certified"](), threat=threat)
    assert epoch.loss == pytest.approx(expected.loss, rel=1e-4)


@pytest.mark.parametrize(("name", "settings"), TRAININGS)
def test_fit(name: str, settings: dict[str, Any], toy: ToyVictim, ghost: torch.device) -> None:
    splits, threat, config = toy_splits(toy), full(), hb.TrainConfig(epochs=1, batch_size=4)
    moved = deepcopy(toy).to(ghost)
    (expected,) = hb.fit(toy, splits, config, defence=hb.DEFENCES[name](**settings), threat=threat)
    states = torch.get_rng_state(), torch.get_device_module(ghost).get_rng_state()
    (epoch,) = hb.fit(moved, splits, config, defence=hb.DEFENCES[name](**settings), threat=threat)
    # The toy has dropout, and the ghost device a generator of its own: equal weights show that it was seeded.
    assert epoch.loss == pytest.approx(expected.loss, rel=1e-4)
    assert epoch.validation_accuracy == expected.validation_accuracy
    assert epoch.notes == pytest.approx(expected.notes, rel=1e-4)
    for key, weights in moved.state_dict().items():
        assert weights.device == ghost
        torch.testing.assert_close(weights.cpu(), toy.state_dict()[key], rtol=1e-3, atol=1e-5)
    assert torch.equal(states[0], torch.get_rng_state()), "the CPU's generator is given back"
    assert torch.equal(states[1], torch.get_device_module(ghost).get_rng_state()), "and so is the device's"


class StoppedError(Exception):
    """Ends a training after its first epoch."""


@pytest.mark.parametrize("name", ["standard", "padvt"])
def test_a_killed_training_goes_on_to_the_same_weights(
    name: str, tmp_path: Path, toy: ToyVictim, ghost: torch.device
) -> None:
    def fit(victim: hb.Victim, folder: Path, on_epoch: Callable[[Any], None] = lambda _: None) -> None:
        defence = hb.DEFENCES[name](**SHORT.get(name, {}) | ({"warm": 2} if name == "padvt" else {}))
        config = hb.TrainConfig(epochs=2, batch_size=4)
        hb.fit(victim, splits, config, defence=defence, threat=full(), folder=folder, on_epoch=on_epoch)

    def stop(_epoch: Any) -> None:
        raise StoppedError

    splits = toy_splits(toy)
    toy.to(ghost)
    killed, resumed = deepcopy(toy), deepcopy(toy)
    fit(toy, tmp_path / "whole")
    with pytest.raises(StoppedError):
        fit(killed, tmp_path / "parts", stop)
    torch.get_device_module(ghost).manual_seed(1)  # another process
    fit(resumed, tmp_path / "parts")
    for key, weights in resumed.state_dict().items():
        assert torch.equal(weights, toy.state_dict()[key]), key


def test_the_best_epoch_is_chosen_on_attacked_rows(toy: ToyVictim, ghost: torch.device) -> None:
    splits, config = toy_splits(toy), hb.TrainConfig(epochs=1, batch_size=4, robust_rows=2, criterion="robust")
    moved = deepcopy(toy).to(ghost)
    (expected,) = hb.fit(toy, splits, config, threat=full(1))
    (epoch,) = hb.fit(moved, splits, config, threat=full(1))
    assert epoch.robust_accuracy == expected.robust_accuracy


def test_the_cost_of_a_defence(toy: ToyVictim, ghost: torch.device) -> None:
    splits = toy_splits(toy)
    assert relative_cost(toy.to(ghost), splits, hb.PAdvT(steps=2, warm=2), full(), batch_size=4, steps=1) > 0


@pytest.mark.parametrize("name", ["lstm", "cnn"])
def test_networks_are_trained(name: str, ghost: torch.device) -> None:
    victim, _ = made(name)
    x, y = toy_rows(LETTERS, victim, rows=12)
    data = hb.Dataset(LETTERS, x, y)
    splits = hb.Splits(data.take(slice(0, 8)), data.take(slice(8, 10)), data.take(slice(10, 12)))
    moved = deepcopy(victim).to(ghost)
    config = hb.TrainConfig(epochs=1, batch_size=4)
    (expected,) = hb.fit(victim, splits, config, defence=hb.HotFlipTraining(), threat=full(1, LETTERS))
    (epoch,) = hb.fit(moved, splits, config, defence=hb.HotFlipTraining(), threat=full(1, LETTERS))
    assert epoch.loss == pytest.approx(expected.loss, rel=1e-3)
