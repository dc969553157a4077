"""The judge stands outside: nothing a victim or an attack does to what it is given changes a verdict."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import hammingbox
from hammingbox import (
    ATTACKS,
    AttackError,
    BlackBox,
    Dataset,
    Exhaustive,
    FullSpace,
    InputError,
    MaskedSpace,
    Schema,
    ThreatModel,
    VictimError,
    evaluate,
)
from hammingbox.attacks.judge import _asked_twice, _is_of_this_package
from hammingbox.evaluation.accuracy import accuracy
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.ruled_candidates import RuledCandidates
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.types import Embedded, Ids, Logits
from toys import ToyVictim, same_rows, toy_rows
from toys.hostile import (
    WRONG_ANSWERS,
    Answering,
    Cheat,
    Editor,
    Forger,
    LearningVictim,
    MoodyVictim,
    OneChange,
    Overruling,
    Returning,
    ReusingVictim,
    Unpaid,
    UnpaidGradient,
    WritingVictim,
    cheat,
    writing_proba,
)
from toys.prices import SPACES, priced_rows, priced_victim


@pytest.fixture
def data(schema: Schema, victim: ToyVictim) -> Dataset:
    x, y = toy_rows(schema, victim, rows=24)
    y[:3] = (y[:3] + 1) % 3
    return Dataset(schema, x, y)


@pytest.fixture
def threat(schema: Schema) -> ThreatModel:
    return ThreatModel(MaskedSpace(schema, immutable=["f1"]), 2)


# Victims -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [WritingVictim, ReusingVictim])
@pytest.mark.parametrize("name", ["ga", "gga", "pcaa", "auto"])
def test_a_victim_that_writes_changes_nothing(
    kind: type[ToyVictim], name: str, data: Dataset, victim: ToyVictim, threat: ThreatModel
) -> None:
    before = data.ids.clone()
    found = evaluate(kind(data.schema.cardinalities), data, threat, ATTACKS[name]()).rows
    same_rows(found, evaluate(victim, data, threat, ATTACKS[name]()).rows)
    assert torch.equal(data.ids, before)
    assert torch.equal(found.clean, before)
    assert bool(((found.adversarial != before).sum(1) == found.distance).all())


def test_a_predict_proba_that_writes_changes_nothing(data: Dataset, victim: ToyVictim, threat: ThreatModel) -> None:
    victim.eval()
    before = data.ids.clone()
    found = evaluate(BlackBox(writing_proba(victim)), data, threat, ATTACKS["ga"]()).rows
    plain = BlackBox(lambda rows: victim(torch.from_numpy(rows)).softmax(1).detach().double().numpy())
    same_rows(found, evaluate(plain, data, threat, ATTACKS["ga"]()).rows)
    assert torch.equal(data.ids, before)
    assert accuracy(BlackBox(writing_proba(victim)), data) == accuracy(plain, data)
    assert torch.equal(data.ids, before)


@pytest.mark.parametrize("name", ["ga", "local", "evolution", "auto"])
def test_a_black_box_may_use_gradients_of_its_own(
    name: str, data: Dataset, victim: ToyVictim, threat: ThreatModel
) -> None:
    victim.eval()

    def proba(rows):  # type: ignore[no-untyped-def]
        ids = torch.from_numpy(rows)
        with torch.enable_grad():
            logits = victim(ids).detach().requires_grad_()
            (tenth,) = torch.autograd.grad((0.05 * logits**2).sum(), logits)  # a tenth of the logits
        return (10 * tenth).softmax(1).double().numpy()

    plain = BlackBox(lambda rows: victim(torch.from_numpy(rows)).softmax(1).detach().double().numpy())
    found = evaluate(BlackBox(proba), data, threat, ATTACKS[name]()).rows
    assert torch.equal(found.success, evaluate(plain, data, threat, ATTACKS[name]()).rows.success)
    found.adversarial[0] = 0  # records are ordinary tensors


def test_an_attack_of_somebody_else_may_train_a_model_of_a_black_box(
    data: Dataset, victim: ToyVictim, threat: ThreatModel
) -> None:
    victim.eval()
    trained = []

    class Distilling(OneChange):
        def find(self, problem, random):  # type: ignore[no-untyped-def]
            weight = torch.zeros(3, requires_grad=True)
            (weight * problem.answers_to_clean().float()).sum().backward()
            trained.append(weight.grad is not None)
            return super().find(problem, random)

    plain = BlackBox(lambda rows: victim(torch.from_numpy(rows)).softmax(1).detach().double().numpy())
    evaluate(plain, data, threat, Distilling())
    assert trained == [True]


@pytest.mark.parametrize("step", [5.0, 0.05])
def test_a_victim_that_changes_its_answers_is_refused(step: float, data: Dataset, threat: ThreatModel) -> None:
    victim = MoodyVictim(data.schema.cardinalities)
    victim.step = step
    with pytest.raises(VictimError, match="same answer to the same row"):
        evaluate(victim, data, threat, ATTACKS["swap"]())


def test_the_only_row_of_a_batch_is_asked_twice_too(data: Dataset, threat: ThreatModel) -> None:
    victim = MoodyVictim(data.schema.cardinalities)
    victim.step = 0.05
    with pytest.raises(VictimError, match="same answer to the same row"):
        evaluate(victim, data.take(slice(5, 6)), threat, ATTACKS["swap"]())
    assert _asked_twice(1, torch.device("cpu")).tolist() == [0]
    assert _asked_twice(9, torch.device("cpu")).tolist() == [0, 3, 6]
    for rows in (2, 3, 4):
        assert _asked_twice(rows, torch.device("cpu")).tolist() == list(range(rows))


def test_a_victim_that_changes_its_weights_is_refused(data: Dataset, threat: ThreatModel) -> None:
    with pytest.raises(AttackError, match="same before and after"):
        evaluate(LearningVictim(data.schema.cardinalities), data, threat, ATTACKS["ga"]())


@pytest.mark.parametrize("kind", WRONG_ANSWERS)
def test_an_answer_that_is_no_logits_is_one_sentence(kind: str, data: Dataset, threat: ThreatModel) -> None:
    change, message = WRONG_ANSWERS[kind]
    victim = Answering(data.schema.cardinalities, change)
    with pytest.raises(VictimError, match=message):
        evaluate(victim, data, threat, ATTACKS["ga"]())


@pytest.mark.parametrize("answer", [None, (1, 2), "yes", [[0.5, 0.5], [1.0]], {"a": 1}, [[float("nan")] * 3] * 24])
def test_a_predict_proba_that_returns_anything_is_one_sentence(answer: object, data: Dataset) -> None:
    with pytest.raises(VictimError, match="expected predict_proba to return"):
        accuracy(BlackBox(lambda _: answer), data)


# Attacks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deed", ["valid", "ids", "budget", "goal", "objective"])
def test_editing_the_problem_is_of_no_use(deed: str, data: Dataset, victim: ToyVictim, threat: ThreatModel) -> None:
    with pytest.raises(AttackError, match=r"points of S\(x\)|at most 2 changes"):
        evaluate(victim, data, threat, cheat(deed))
    plain = evaluate(victim, data, threat, ATTACKS["ga"]()).rows
    assert torch.equal(plain.clean, data.ids), "what the batches share is as it was"
    assert int(plain.distance.max()) <= 2


def test_the_layout_that_all_batches_share_is_out_of_reach(
    data: Dataset, victim: ToyVictim, threat: ThreatModel
) -> None:
    plain = evaluate(victim, data, threat, ATTACKS["ga"]()).rows
    assert not evaluate(victim, data, threat, cheat("layout")).rows.success.any()
    same_rows(evaluate(victim, data, threat, ATTACKS["ga"]()).rows, plain)


def test_a_goal_that_the_attack_edits_does_not_count(data: Dataset, victim: ToyVictim, threat: ThreatModel) -> None:
    class Nothing(Cheat):
        deed = "goal"

        def _everything(self, problem):  # type: ignore[no-untyped-def]
            return problem.clean_slots

    assert not evaluate(victim, data, threat, Nothing()).rows.success.any()


def test_direct_queries_are_counted(data: Dataset, victim: ToyVictim, threat: ThreatModel) -> None:
    rows = evaluate(victim, data, threat, Unpaid()).rows
    moves = threat.space.candidates(data.ids).moves.sum(1)
    assert int(rows.forward.sum()) == int(moves[rows.attacked].sum()), "every pass has been charged to some row"
    alone = evaluate(victim, data.take(slice(5, 6)), threat, Unpaid()).rows
    assert int(alone.forward) == int(moves[5])
    assert rows.success.any()
    with pytest.raises(AttackError, match="at most 3 queries per row"):
        evaluate(victim, data, threat, Unpaid(queries=3))
    gradient = evaluate(victim, data, threat, UnpaidGradient()).rows
    assert int(gradient.forward.sum()) == int(gradient.backward.sum()) == int(gradient.attacked.sum())


def test_a_proof_needs_an_enumeration_of_this_package(data: Dataset, victim: ToyVictim) -> None:
    threat = ThreatModel(MaskedSpace(data.schema, immutable=["f2", "f4"]), 1)
    rows = evaluate(victim, data, threat, Forger()).rows
    assert int(rows.forward.max()) == 40
    assert not rows.proven.any()
    disguised = type("Exhaustive", (Forger,), {"__module__": Exhaustive.__module__})
    assert not evaluate(victim, data, threat, disguised()).rows.proven.any()
    derived = type("Mine", (Exhaustive,), {})
    assert not evaluate(victim, data, threat, derived()).rows.proven.any()
    assert _is_of_this_package(Exhaustive)
    assert evaluate(victim, data, threat, Exhaustive()).rows.proven.any()


def test_a_proof_needs_as_many_passes_as_points(
    data: Dataset, victim: ToyVictim, monkeypatch: pytest.MonkeyPatch
) -> None:
    threat = ThreatModel(MaskedSpace(data.schema, immutable=["f2", "f4"]), 1)
    assert evaluate(victim, data, threat, Exhaustive()).rows.proven.any()

    def idle(self, problem, random, best):  # type: ignore[no-untyped-def]
        best.settled |= True

    monkeypatch.setattr(Exhaustive, "search", idle)
    assert not evaluate(victim, data, threat, Exhaustive()).rows.proven.any()


def test_evaluate_does_not_ask_an_attack_to_judge_itself(data: Dataset, victim: ToyVictim, threat: ThreatModel) -> None:
    assert not evaluate(victim, data, threat, Overruling()).rows.success.any()


def test_an_attack_that_edits_the_victim_is_refused(data: Dataset, victim: ToyVictim, threat: ThreatModel) -> None:
    before = {name: tensor.clone() for name, tensor in victim.state_dict().items()}
    with pytest.raises(AttackError, match="same before and after"):
        evaluate(victim, data, threat, Editor(victim=victim))
    assert all(torch.equal(tensor, before[name]) for name, tensor in victim.state_dict().items()), "given back"
    moded = evaluate(victim, data, threat, Editor(victim=victim, mode=True)).rows
    assert torch.equal(moded.logits, moded.clean_logits), "recounted in eval mode"


@pytest.mark.parametrize("kind", ["none", "list", "float", "int32", "bool", "too few rows", "flat"])
def test_anything_but_slots_is_one_sentence(kind: str, data: Dataset, victim: ToyVictim, threat: ThreatModel) -> None:
    with pytest.raises(AttackError, match="expected slots of shape"):
        evaluate(victim, data, threat, Returning(kind=kind))


@pytest.mark.parametrize(("feature", "slot"), [(1, 1), (0, 3), (0, -1)])
def test_one_change_outside_s_x_is_refused(
    feature: int, slot: int, data: Dataset, victim: ToyVictim, threat: ThreatModel
) -> None:
    """Within the budget: an immutable feature, a slot that the feature does not have, and one below 0."""
    with pytest.raises(AttackError, match=r"points of S\(x\)"):
        evaluate(victim, data, threat, OneChange(change=f"{feature}={slot}"))


@pytest.mark.parametrize(("feature", "slot"), [(0, 1), (2, 3)])
def test_a_change_for_the_worse_is_taken_back(
    feature: int, slot: int, data: Dataset, victim: ToyVictim, threat: ThreatModel
) -> None:
    rows = evaluate(victim, data, threat, OneChange(change=f"{feature}={slot}")).rows
    slots = torch.zeros_like(data.ids)
    slots[:, feature] = slot
    changed = threat.space.slots_of(data.ids).select(slots)
    with torch.no_grad():
        clean, after = (victim.eval()(ids) for ids in (data.ids, changed))

    def margin(logits: Logits) -> torch.Tensor:
        own = torch.nn.functional.one_hot(data.labels, 3).bool()
        return logits.masked_fill(own, -torch.inf).amax(1) - logits[own]

    better = margin(after) >= margin(clean)
    kept = rows.attacked & better
    assert torch.equal(rows.distance[rows.attacked] == 1, better[rows.attacked])
    assert kept.any(), "some changes help"
    assert (rows.attacked & ~better).any(), "some do not"
    assert torch.equal(rows.adversarial[~kept], data.ids[~kept])
    assert torch.equal(rows.logits[~kept], rows.clean_logits[~kept])


def test_a_point_that_is_worse_than_no_attack_is_not_returned(
    data: Dataset, victim: ToyVictim, threat: ThreatModel
) -> None:
    rows = evaluate(victim, data, threat, ATTACKS["random"](draws=1)).rows
    goal = ~torch.nn.functional.one_hot(data.labels, 3).bool()
    before = rows.clean_logits.masked_fill(~goal, -torch.inf).amax(1) - rows.clean_logits.masked_fill(
        goal, -torch.inf
    ).amax(1)
    assert bool((rows.margin >= before)[rows.attacked].all())
    assert (rows.distance == 0)[rows.attacked].any(), "some draws were worse"
    assert (rows.distance > 0).any()


class Undecided(ToyVictim):
    """Gives all classes the same logit."""

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        return super().head(embedded, ids) * 0.0


def test_an_exact_tie_counts_for_the_victim(data: Dataset, threat: ThreatModel) -> None:
    rows = evaluate(Undecided(data.schema.cardinalities), data, threat, ATTACKS["ga"]()).rows
    assert rows.correct.all()
    assert rows.attacked.all()
    assert not rows.success.any()
    assert (rows.margin == 0).all()
    alone = ATTACKS["ga"]()(Undecided(data.schema.cardinalities), data.ids, data.labels, threat)
    assert not alone.success.any()


class Shifted(MaskedSpace):
    """Forgets that slot 0 is the row's own value."""

    def slots_of(self, ids: Ids) -> Candidates:
        return super().slots_of((ids + 1) % 2)


def test_a_space_whose_slot_0_is_not_the_clean_row_is_refused(data: Dataset, victim: ToyVictim) -> None:
    with pytest.raises(InputError, match="own values at slot 0"):
        evaluate(victim, data, ThreatModel(Shifted(data.schema), 1), ATTACKS["ga"]())


# Without assertions --------------------------------------------------------------------------------------------

OPTIMISED = """
import sys
assert False, "assertions are off"
from hammingbox import ATTACKS, AttackError, Dataset, FullSpace, ThreatModel, evaluate
from toys import ToyVictim, toy_rows, toy_schema
from toys.hostile import Returning, Unpaid, WritingVictim, cheat
schema = toy_schema((3, 2, 5, 3, 4))
victim = WritingVictim(schema.cardinalities)
data = Dataset(schema, *toy_rows(schema, ToyVictim(schema.cardinalities), rows=12))
threat = ThreatModel(FullSpace(schema), 1)
noticed = 0
for attack in (cheat("budget"), cheat("valid"), cheat("goal"), Returning(kind="float"), Unpaid(queries=2)):
    try:
        evaluate(victim, data, threat, attack)
    except AttackError:
        noticed += 1
rows = evaluate(victim, data, threat, ATTACKS["ga"]()).rows
print(noticed, int(rows.distance.max()), bool((rows.clean == data.ids).all()))
"""


def test_the_checks_hold_under_python_o() -> None:
    done = subprocess.run(
        [sys.executable, "-O", "-c", OPTIMISED],
        capture_output=True, text=True, timeout=300, check=False, cwd=Path(__file__).parents[1],
        env=os.environ | {"PYTHONPATH": str(Path(hammingbox.__file__).parents[1])},
    )  # fmt: skip
    assert done.stdout.split() == ["5", "1", "True"], done.stderr


class Underpriced(RuledSpace):
    """Says in its slots that everything is free."""

    def slots_of(self, ids: Ids) -> RuledCandidates:
        found = super().slots_of(ids)
        assert found.tolls is not None
        return replace(found, tolls=torch.zeros_like(found.tolls))


def test_prices_are_counted_from_the_rules_and_not_from_the_slots() -> None:
    victim = priced_victim()
    x, y = priced_rows(victim)
    honest = SPACES["prices"]
    cheap = Underpriced(FullSpace(honest.schema), honest.rules)
    ga = ATTACKS["ga"]()
    assert ga(victim, x, y, ThreatModel(honest, 5)).success.any()
    with pytest.raises(AttackError, match="rows within the budget"):
        ga(victim, x, y, ThreatModel(cheap, 5))


def test_a_row_that_fell_is_never_proven_however_narrowly_it_fell(data: Dataset, victim: ToyVictim) -> None:
    """Enumeration without a verdict settles the rows that it broke too: the judge tells them apart."""
    for part in victim.body[-1].parameters():
        part.data.mul_(0.05)  # every margin is far below 1
    x, y = toy_rows(data.schema, victim, rows=24)
    threat = ThreatModel(FullSpace(data.schema), 1)
    rows = evaluate(victim, Dataset(data.schema, x, y), threat, Exhaustive()).rows
    assert rows.success.any()
    assert rows.proven.any()
    assert float(rows.margin[rows.success].max()) < 1
    assert torch.equal(rows.proven, rows.attacked & ~rows.success)
