"""`verify_claims` on rows that nearly tie, with every kind of claim about them, against plain Python row by row."""

import random
from typing import Any

import pytest
import torch

from hammingbox import AnyOther, FullSpace, Target
from hammingbox.evaluation.verify import ELSEWHERE, TIE, Claims, verify_claims
from hammingbox.threat.goal import Goal
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.victim import Victim
from toys import toy_schema

ROWS = 1_100
"""More than two batches."""
STEPS = (-3.0, -1.5, -0.5, 0.0, 0.5, 1.5, 3.0, 2_000.0)
"""Differences of logits, in units of the noise."""


class Listed(Victim):
    """Answers from a list: by row, before and after."""

    has_gradient = False

    def __init__(self, answers: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("answers", answers)

    def forward(self, ids: Ids) -> Logits:
        return self.get_buffer("answers")[ids[:, 0], ids[:, 1]]

    def embed(self, ids: Ids) -> Embedded:
        raise NotImplementedError

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        raise NotImplementedError


def nearly_tied(chance: random.Random, tolerance: float) -> list[float]:
    """Logits of three classes, each a few units of noise from another one, in any order."""
    size = chance.choice((0.0, 0.3, 0.9, 40.0))
    noise = tolerance * max(1.0, size)
    if size == 0.0:  # exactly as far apart as the noise, or twice as far
        return [chance.choice((-1, 0, 1)) * noise for _ in range(3)]
    first = size - chance.choice(STEPS) * noise
    second = chance.choice((first, size)) - chance.choice(STEPS) * noise
    logits = [size, first, second] if chance.random() < 0.8 else [size, first, -size]
    chance.shuffle(logits)
    return logits


def said_of(row: dict[str, Any], tolerance: float) -> tuple[set[str], bool, bool]:
    """The sentences about one row, whether it is confirmed, and whether it ties."""
    before, after, label, wins = row["before"], row["after"], row["label"], row["wins"]
    noise_before, noise_after = (tolerance * max(1.0, *map(abs, part)) for part in (before, after))
    attacked, moved = row["correct"] and bool(wins), row["moved"]
    right = before[label] == max(before)
    near = max(before) - before[label] <= noise_before
    best, second, _ = sorted(before, reverse=True)
    margin = max((after[k] for k in wins), default=-torch.inf) - max(after[k] for k in range(3) if k not in wins)
    ties = abs(margin) <= noise_after
    success, proven = row["success"], row["proven"]
    sentences = {
        "claimed as broken but was not attacked": success and not attacked,
        "changed but was not attacked": moved and not attacked,
        "has passes but was not attacked": row["forward"] + row["backward"] > 0 and not attacked,
        "claimed as proven but is broken or was not attacked": proven and (success or not attacked),
        "claimed as proven by an attack that proves nothing": proven and attacked,
        "claimed as proven with fewer passes than points": proven and attacked and row["forward"] < ROWS,
        "claimed as broken but wrong without an attack": success and not (right or near),
        "recorded as right but wrong, or the other way round": right != row["correct"]
        and not (near and best - second <= noise_before),
        "claimed as broken but does not meet the goal": success and margin <= 0 and not ties,
        "recorded as not broken but meets the goal": attacked and not success and margin > 0 and not ties,
        "another margin than recorded": attacked and abs(row["margin_off"]) > 2,
        "other answers before than recorded": abs(row["before_off"]) > 1,
        "other answers after than recorded": abs(row["after_off"]) > 1,
    }
    confirmed = success and (right or near) and (margin > 0 or ties)
    return {sentence for sentence, wrong in sentences.items() if wrong}, confirmed, ties


def a_row(chance: random.Random, goal: Goal, tolerance: float) -> dict[str, Any]:
    """Answers to a row, and claims about it that may be true or not."""
    before, label, moved = nearly_tied(chance, tolerance), chance.randrange(3), chance.random() < 0.8
    wins = [k for k in range(3) if k != label] if isinstance(goal, AnyOther) else [1] if label != 1 else []
    return {
        "before": before, "after": nearly_tied(chance, tolerance) if moved else before, "label": label,
        "wins": wins, "moved": moved, "forward": chance.choice((0, 1, ROWS - 1, ROWS)),
        "backward": chance.choice((0, 0, 1)), "margin_off": chance.choice((0.0, -1.8, 1.8, 2.2, -2.2)),
        **{name: chance.random() < 0.6 for name in ("correct", "success")}, "proven": chance.random() < 0.2,
        **{name: chance.choice((0.0, 0.0, -0.9, 0.9, 1.1, -1.1)) for name in ("before_off", "after_off")},
    }  # fmt: skip


@pytest.mark.parametrize("tolerance", [TIE, ELSEWHERE])
@pytest.mark.parametrize("goal", [AnyOther(), Target("class 1")], ids=["any other", "target"])
def test_what_is_said_of_every_row(goal: Goal, tolerance: float) -> None:
    chance = random.Random(tolerance)
    rows = [a_row(chance, goal, tolerance) for _ in range(ROWS)]
    names = [name for name in rows[0] if name != "wins"]
    columns = {name: torch.tensor([row[name] for row in rows]) for name in names}
    before, after, label = columns["before"], columns["after"], columns["label"]
    schema = toy_schema((ROWS, 2))
    victim = Listed(torch.stack([before, after], 1))
    clean = torch.stack([torch.arange(ROWS), torch.zeros(ROWS, dtype=torch.int64)], 1)
    noise_before, noise_after = (tolerance * part.abs().amax(1).clamp(min=1.0) for part in (before, after))
    margin = goal.of(label, schema).margin(after)
    claims = Claims(
        victim_sha256=weights_digest(victim), space=FullSpace(schema), goal=goal, budget=1, numbers=torch.arange(ROWS),
        labels=label, clean=clean, adversarial=torch.stack([clean[:, 0], columns["moved"].long()], 1),
        correct=columns["correct"], success=columns["success"], proven=columns["proven"],
        distance=columns["moved"].long(), margin=margin + columns["margin_off"] * noise_after,
        forward=columns["forward"], backward=columns["backward"],
        clean_logits=before + (columns["before_off"] * noise_before)[:, None] * torch.tensor([0.0, 1.0, 0.0]),
        logits=after + (columns["after_off"] * noise_after)[:, None] * torch.tensor([1.0, 0.0, 0.0]),
        tolerance=tolerance,
    )  # fmt: skip
    found = verify_claims(claims, victim)
    by_row: dict[int, set[str]] = {number: set() for number in range(ROWS)}
    for problem in found.problems:
        place, _, sentence = problem.removeprefix("row ").partition(": ")
        by_row[int(place)].add(sentence)
    confirmed = ties = 0
    for number, row in enumerate(rows):
        row["before"], row["after"] = before[number].double().tolist(), after[number].double().tolist()
        wanted, is_confirmed, is_tie = said_of(row, tolerance)
        assert by_row[number] == wanted, row
        confirmed, ties = confirmed + is_confirmed, ties + (is_tie and row["success"])
    assert (found.confirmed, found.ties, found.claimed) == (confirmed, ties, int(columns["success"].sum()))
    assert 0 < ties < ROWS
