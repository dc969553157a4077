"""TRADES and ASCC compare predictions: dropout is not taken for a change, and the divergence counts by its weight."""

from dataclasses import replace

import pytest
import torch

from hammingbox.data.schema import Schema
from hammingbox.defences import ASCC, Defence, Standard, Trades
from hammingbox.threat.candidates import Candidates
from hammingbox.threat.goal import Direction, Target
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids
from toys import ToySynonyms, ToyVictim
from toys.defences import loss_of, toy_batch


class NothingMoves(ToySynonyms):
    """No feature has another category."""

    def slots_of(self, ids: Ids) -> Candidates:
        found = super().slots_of(ids)
        return replace(found, valid=(found.layout.slot_of == 0).expand_as(found.valid))


@pytest.mark.parametrize("defence", [Trades(), Trades(n_adv=3), ASCC()], ids=["trades", "three draws", "ascc"])
def test_dropout_is_not_taken_for_a_change(defence: Defence, schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    batch = toy_batch(schema, victim)
    loss = loss_of(defence, victim, batch, ThreatModel(NothingMoves(schema), 2))
    assert torch.allclose(loss, loss_of(Standard(), victim, batch, ThreatModel(FullSpace(schema), 0)))


@pytest.mark.parametrize("defence", [Trades(one_noise=False), ASCC(one_noise=False)], ids=["trades", "ascc"])
def test_with_separate_noise_dropout_is_a_change(defence: Defence, schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    batch = toy_batch(schema, victim)
    loss = loss_of(defence, victim, batch, ThreatModel(NothingMoves(schema), 2))
    assert loss > loss_of(Standard(), victim, batch, ThreatModel(FullSpace(schema), 0)) + 1e-3


def test_noise_changes_between_steps(schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities).train()
    batch, threat = toy_batch(schema, victim), ThreatModel(FullSpace(schema), 2)
    for defence in (Trades(), ASCC()):
        defence.begin(victim, len(batch), threat)
        with torch.random.fork_rng(devices=[]):
            assert defence(victim, batch, threat).loss != defence(victim, batch, threat).loss


@pytest.mark.parametrize("kind", [Trades, ASCC])
def test_the_divergence_counts_by_its_weight(kind: type[Trades] | type[ASCC], schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    batch, threat = toy_batch(schema, victim), ThreatModel(FullSpace(schema), 2)
    none, one, two = (loss_of(kind(weight=weight), victim, batch, threat) for weight in (0.0, 1.0, 2.0))
    torch.testing.assert_close(two - none, 2 * (one - none))
    assert one > none + 1e-3


def test_trades_attacks_the_prediction_and_not_the_label(schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities)
    batch, threat = toy_batch(schema, victim), ThreatModel(FullSpace(schema), 2)
    other = replace(batch, y=(batch.y + 1) % 3)
    apart = [
        loss_of(Trades(weight=1.0), victim, labelled, threat) - loss_of(Standard(), victim, labelled, threat)
        for labelled in (batch, other)
    ]
    torch.testing.assert_close(apart[0], apart[1])


def test_trades_moves_predictions_towards_the_goal(schema: Schema) -> None:
    victim = ToyVictim(schema.cardinalities).eval()
    batch, threat = toy_batch(schema, victim, 40), ThreatModel(FullSpace(schema), 2)
    reached = []
    for goal in (Target("class 1"), Target("class 2"), Direction("class 0", "class 1")):
        defence = Trades()
        aimed = replace(batch, goal=goal)
        defence.begin(victim, len(batch), threat)
        attacked, (changed,) = defence._changed_rows(victim, aimed, threat)
        assert torch.equal(attacked, goal.of(batch.y, schema).possible)
        assert torch.equal(changed[~attacked], batch.x[~attacked])
        reached.append(goal.of(batch.y, schema).take(attacked).margin(victim(changed[attacked])) > 0)
    assert all(part.float().mean() > 0.3 for part in reached)
