"""Rates, defined once: every row is attacked, recounted and reported with its denominator and its cost."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from jaxtyping import Shaped
from torch import Tensor

from hammingbox.attacks.base import Attack, AttackResult
from hammingbox.data.schema import Dataset
from hammingbox.errors import InputError
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.rows import Rows
from hammingbox.problem import DEFAULT_MEMORY, Targeted, Untargeted
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, Labels, Logits, RowMask
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim, check_logits


@dataclass(frozen=True, eq=False)
class Evaluation:
    """An attack's result on a data set: rows, and the summary that follows from them."""

    data: Dataset
    threat: ThreatModel
    attack: Attack
    seed: int
    rows: Rows
    seconds: float
    victim_digest: str
    targets: Labels | None = None

    @property
    def accuracy(self) -> Rate:
        """Rows the victim got right before, over all rows."""
        return self.rows.accuracy

    @property
    def success_rate(self) -> Rate:
        """Rows that fell, over rows that were attacked: right before, and not of the target's class."""
        return self.rows.success_rate

    @property
    def robust_error(self) -> Rate:
        """Rows that are wrong with or without the attack, over all rows."""
        return self.rows.robust_error

    @property
    def clean_error(self) -> Rate:
        """Rows that are wrong without an attack, over all rows."""
        return Rate(len(self.rows) - self.accuracy.hits, len(self.rows))

    def summary(self) -> dict[str, Any]:
        """One flat JSON object: rates with their intervals, mean distance of successes, passes and seconds."""
        return {
            "attack": repr(self.attack),
            "data": self.data.name,
            "budget": self.threat.budget,
            "seed": self.seed,
            **self.rows.summary(),
            "seconds": self.seconds,
        }


def evaluate(
    victim: Victim,
    data: Dataset,
    threat: ThreatModel,
    attack: Attack,
    *,
    batch_size: int = 256,
    seed: int = 0,
    targets: Labels | None = None,
    memory: int = DEFAULT_MEMORY,
    on_rows: Callable[[int, int], None] = lambda _done, _fallen: None,
) -> Evaluation:
    """Attacks every row that the victim gets right and counts what falls.

    Args:
        victim: borrowed.
        data: rows and labels.
        threat: what the attacker may do.
        attack: how.
        batch_size: rows attacked together; it changes speed and memory, not results.
        seed: of the attack.
        targets: a class to reach for every row; a row whose target is its label counts as not attackable.
        memory: bytes for a micro-batch.
        on_rows: called after each batch with the number of rows done and fallen in it.

    Raises:
        InputError: no rows, or labels and targets that do not fit.
        VictimError: the victim does not return finite logits.
    """
    check_evaluation(data, threat, batch_size)
    begin = perf_counter()
    parts = []
    for rows in torch.arange(len(data)).split(batch_size):
        part = evaluate_batch(
            victim, data.take(rows), threat, attack, seed, None if targets is None else targets[rows], memory
        )
        parts.append(part)
        on_rows(len(part), int(part.success.sum()))
    seconds = perf_counter() - begin
    return Evaluation(data, threat, attack, seed, Rows.join(parts), seconds, weights_digest(victim), targets)


def check_evaluation(data: Dataset, threat: ThreatModel, batch_size: int) -> None:
    """Checks what every evaluation needs.

    Raises:
        InputError: no rows, data and threat of two schemas, or a batch size below 1.
    """
    if len(data) == 0:
        raise InputError("expected rows to evaluate, got an empty data set.")
    if data.schema.digest != threat.space.schema.digest:
        raise InputError(
            "expected data and threat model of one schema, got two. Build the space from the data's schema."
        )
    if batch_size < 1:
        raise InputError(f"expected a batch size of at least 1, got {batch_size}.")


def evaluate_batch(
    victim: Victim,
    data: Dataset,
    threat: ThreatModel,
    attack: Attack,
    seed: int,
    targets: Labels | None,
    memory: int,
) -> Rows:
    """Attacks the rows of one batch that the victim gets right; see `evaluate`."""
    x, y = data.batch(slice(None))
    logits = _predict(victim, x)
    correct = Untargeted(y).margin(logits) <= 0
    attacked = attackable(correct, y, targets)
    chosen = attacked.nonzero()[:, 0]
    zeros = torch.zeros_like(y)
    rows = Rows(
        numbers=data.numbers,
        labels=y,
        clean=x,
        adversarial=x.clone(),
        clean_logits=logits,
        logits=logits.clone(),
        correct=correct,
        attacked=attacked,
        success=torch.zeros_like(correct),
        distance=zeros.clone(),
        margin=(Untargeted(y) if targets is None else Targeted(targets)).margin(logits),
        forward=zeros.clone(),
        backward=zeros.clone(),
        stage=zeros.clone(),
        proven=torch.zeros_like(correct),
    )
    if len(chosen):
        goals = None if targets is None else targets[chosen]
        found = attack(victim, x[chosen], y[chosen], threat, seed=seed, targets=goals, memory=memory)
        _put(rows, chosen, found)
    return rows


def attackable(correct: RowMask, labels: Labels, targets: Labels | None) -> RowMask:
    """Rows that are attacked: right before, and not of the class they are to reach."""
    return correct.clone() if targets is None else correct & (targets != labels)


def _put(rows: Rows, chosen: Shaped[Tensor, "some"], found: AttackResult) -> None:
    rows.adversarial[chosen], rows.logits[chosen] = found.ids, found.logits
    rows.success[chosen], rows.distance[chosen], rows.margin[chosen] = (
        found.success,
        found.distance,
        found.margin,
    )
    rows.forward[chosen], rows.backward[chosen], rows.stage[chosen] = found.forward, found.backward, found.stage


def _predict(victim: Victim, x: Ids) -> Logits:
    with frozen_eval(victim), torch.no_grad():
        logits = victim(x)
    check_logits(logits, len(x))
    return logits


def correctly_classified(victim: Victim, data: Dataset, rows: int) -> Dataset:
    """The first `rows` rows of a data set that the victim gets right.

    Raises:
        InputError: there are fewer.
    """

    def right() -> Iterator[Tensor]:
        for numbers in torch.arange(len(data)).split(1024):
            x, y = data.batch(numbers)
            yield numbers[Untargeted(y).margin(_predict(victim, x)) <= 0]

    chosen = torch.cat(list(right()))[:rows]
    if len(chosen) < rows:
        raise InputError(f"expected {rows} correctly classified rows, got {len(chosen)}. Ask for fewer.")
    return data.take(chosen)
