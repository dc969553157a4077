"""Clean and robust accuracy as plain shares, and the rows that a victim gets right."""

from collections.abc import Iterator

import torch

from hammingbox.attacks.base import Attack
from hammingbox.data.dataset import Dataset
from hammingbox.errors import InputError
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Labels, Logits, RowInt, RowMask
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim, ask


def is_right(logits: Logits, labels: Labels) -> RowMask:
    """Rows whose true class has the largest logit; as in every rate, an exact tie counts for the victim."""
    return logits.gather(1, labels[:, None])[:, 0] >= logits.amax(1)


def accuracy(victim: Victim, data: Dataset, *, batch_size: int = 1024) -> float:
    """Share of rows that the victim gets right.

    Raises:
        InputError: there is no row.
    """
    if len(data) == 0:
        raise InputError("expected at least one row to be right or wrong about, got none.")
    return right_share(clean_answers(victim, data, batch_size=batch_size), data)


def clean_answers(victim: Victim, data: Dataset, *, batch_size: int = 1024) -> Logits:
    """A victim's answers to all rows of a data set, on the CPU."""
    return torch.cat([logits.cpu() for _, logits, _ in _answers(victim, data, batch_size)])


def right_share(answers: Logits, data: Dataset) -> float:
    """Share of rows that these answers get right."""
    _, labels = data.batch(slice(None), "cpu")
    return int(is_right(answers, labels).sum()) / len(data)


def robust_accuracy(
    victim: Victim, data: Dataset, threat: ThreatModel, attack: Attack, *, goal: Goal | None = None, seed: int = 0
) -> float:
    """Share of rows that are right and stay right under an attack.

    Rows of classes that the goal does not attack count by their clean prediction.
    """
    stays = rows_that_stay_right(victim, data, threat, attack, goal=goal, seed=seed)
    return 1.0 - (~stays).float().mean().item()


def rows_that_stay_right(
    victim: Victim, data: Dataset, threat: ThreatModel, attack: Attack, *, goal: Goal | None = None, seed: int = 0
) -> RowMask:
    """Rows that are right and stay right under an attack; those that the goal does not attack need only be right."""
    goal = goal or AnyOther()
    x, y = (part.to(victim.device) for part in data.batch(slice(None)))
    attacked = goal.of(y, data.schema).possible
    lost = torch.ones_like(attacked)
    if bool(attacked.any()):
        found = attack(victim, x[attacked], y[attacked], threat, goal=goal, seed=seed)
        lost[attacked] = found.success | ~is_right(found.clean_logits, y[attacked])
    if not bool(attacked.all()):
        with frozen_eval(victim):
            lost[~attacked] = ~is_right(ask(victim, x[~attacked]), y[~attacked])
    return ~lost


def correctly_classified(victim: Victim, data: Dataset, rows: int) -> Dataset:
    """The first `rows` rows of a data set that the victim gets right.

    Raises:
        InputError: there are fewer.
    """
    right = [numbers[is_right(logits, y).cpu()] for numbers, logits, y in _answers(victim, data, 1024)]
    chosen = torch.cat(right)[:rows]
    if len(chosen) < rows:
        raise InputError(f"expected {rows} correctly classified rows, got {len(chosen)}. Ask for fewer.")
    return data.take(chosen)


def _answers(victim: Victim, data: Dataset, batch_size: int) -> Iterator[tuple[RowInt, Logits, Labels]]:
    """Places of rows, batch by batch, with the victim's answers and the true classes."""
    with frozen_eval(victim):
        for rows in torch.arange(len(data), device="cpu").split(batch_size):
            x, y = (part.to(victim.device) for part in data.batch(rows))
            yield rows, ask(victim, x), y
