"""What tells one run of the store from another: the parts of its key, and victims and rules that only have names."""

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hammingbox import ATTACKS, BlackBox, Checkpoint, Dataset, InputError, MaskedSpace, Target, ThreatModel
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import open_store, space_digest
from toys import Case, ToyVictim, same_rows


@pytest.mark.parametrize("part", ["budget", "seed", "attack", "space", "victim", "defence", "goal", "split"])
def test_every_part_of_the_key_makes_another_run(case: Case, part: str, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    other, space = checkpoint, threat
    options: dict[str, Any] = {}
    attack = ATTACKS["ga"]()
    if part == "budget":
        space = ThreatModel(threat.space, 1)
    elif part == "attack":
        attack = ATTACKS["gga"]()
    elif part == "space":
        space = ThreatModel(MaskedSpace(data.schema, forbidden={"f2": ["c4"]}), 2)
    elif part == "victim":
        other = Checkpoint(ToyVictim(data.schema.cardinalities, seed=1), "toy", {}, data.schema)
    elif part == "defence":
        other = Checkpoint(checkpoint.victim, "toy", {}, data.schema, {"defence": "PAdvT()"})
    else:
        options = {part: {"seed": 1, "goal": Target("class 0"), "split": "train"}[part]}
    with open_store(tmp_path, create=True) as store:
        evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"]())
        evaluate_into(store, other, data, space, attack, **options)
        first, second = store.runs()
        assert first.rows == second.rows == 30
        assert first.key != second.key


def test_rows_that_changed_under_their_numbers_are_refused(case: Case, tmp_path: Path) -> None:
    checkpoint, data, threat = case
    with open_store(tmp_path, create=True) as store:
        evaluate_into(store, checkpoint, data, threat, ATTACKS["ga"]())
        other = Dataset(data.schema, data.ids.flip(0), data.labels.flip(0), "toy", data.numbers)
        with pytest.raises(InputError, match="expected row 100 as the store has it"):
            evaluate_into(store, checkpoint, other, threat, ATTACKS["ga"]())
        relabelled = Dataset(data.schema, data.ids, (data.labels + 1) % 3, "toy", data.numbers)
        rewritten = Dataset(
            data.schema, (data.ids + 1) % torch.tensor([3, 2, 5, 3, 4]), data.labels, "toy", data.numbers
        )
        for changed in (relabelled, rewritten):
            with pytest.raises(InputError, match="expected row 100 as the store has it"):
                evaluate_into(store, checkpoint, changed, threat, ATTACKS["ga"]())
        twice = data.take(torch.tensor([0, 0]))
        with pytest.raises(InputError, match="distinct numbers"):
            evaluate_into(store, checkpoint, twice, threat, ATTACKS["ga"]())


def box(answer: tuple[float, float, float], name: str = "") -> BlackBox:
    return BlackBox(lambda rows: np.tile(answer, (len(rows), 1)), name=name)


def test_a_victim_without_weights_is_recorded_by_its_name(case: Case, tmp_path: Path) -> None:
    _, data, threat = case
    attack = ATTACKS["random"]()
    one, other = box((0.7, 0.2, 0.1), "one"), box((0.1, 0.2, 0.7), "other")
    with open_store(tmp_path, create=True) as store:
        with pytest.raises(InputError, match="got a BlackBox with neither"):
            evaluate_into(store, Checkpoint(box((1.0, 0.0, 0.0)), "box", {}, data.schema), data, threat, attack)
        assert store.runs() == []
        for victim in (one, other):
            found = evaluate_into(store, Checkpoint(victim, "box", {}, data.schema), data, threat, attack)
            same_rows(found.rows.take(torch.arange(30)), store.rows(len(store.runs())))
            assert torch.equal(found.rows.clean_logits, victim(data.ids).float())
        assert len(store.runs()) == 2


def test_a_victim_that_answers_otherwise_than_recorded_is_refused(case: Case, tmp_path: Path) -> None:
    _, data, threat = case
    with open_store(tmp_path, create=True) as store:
        for answer, refused in (((0.7, 0.2, 0.1), False), ((0.7, 0.2001, 0.0999), False), ((0.6, 0.3, 0.1), True)):
            checkpoint = Checkpoint(box(answer, "the box"), "box", {}, data.schema)
            with (
                pytest.raises(InputError, match="recorded for row 100, got another one")
                if refused
                else contextlib.nullcontext()
            ):
                evaluate_into(store, checkpoint, data, threat, ATTACKS["random"]())


def limited(categories: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A factory of rules: what they share is their name."""
    return lambda ids: torch.arange(5).expand(*ids.shape, 5) < categories


def anything(ids: torch.Tensor) -> torch.Tensor:
    return torch.ones(*ids.shape, 5, dtype=torch.bool)


def test_rules_are_recorded_by_names_of_their_own(case: Case, tmp_path: Path) -> None:
    checkpoint, data, _ = case
    rules: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "two": limited(2),
        "three": limited(3),
        "part": partial(anything),
    }
    with open_store(tmp_path, create=True) as store:
        for name, rule in rules.items():
            nameless = ThreatModel(MaskedSpace(data.schema, rule=rule), 2)
            with pytest.raises(InputError, match=r"Pass rule_name="):
                evaluate_into(store, checkpoint, data, nameless, ATTACKS["ga"]())
            space = MaskedSpace(data.schema, rule=rule, rule_name=name)
            found = evaluate_into(store, checkpoint, data, ThreatModel(space, 2), ATTACKS["ga"]())
            assert space.candidates(data.ids).contains(found.rows.adversarial).all()
        assert [store.space(run)["rule"] for run in store.runs()] == ["two", "three", "part"]
    named = space_digest(MaskedSpace(data.schema, rule=anything))
    assert named == "cdf5c046bc698c9046d5e0b3f700e8558a4c63ef6da6697ea79699eb9d00fb1f", (
        "the identity of a function of a module stays what it was"
    )
