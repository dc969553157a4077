"""`evaluate` into a store: only rows that are not recorded yet are attacked, one transaction a batch."""

from collections.abc import Callable
from contextlib import closing
from time import perf_counter, sleep

import torch
from jaxtyping import Shaped
from torch import Tensor

from hammingbox.attacks.base import Attack
from hammingbox.data.schema import Dataset
from hammingbox.errors import InputError, TooExpensiveError
from hammingbox.evaluation.evaluate import Evaluation, check_evaluation, evaluate_batch
from hammingbox.evaluation.rows import Rows
from hammingbox.problem import DEFAULT_MEMORY
from hammingbox.running.store.environment import environment
from hammingbox.running.store.records import RunKey
from hammingbox.running.store.row_locks import Claims
from hammingbox.running.store.store import Store, space_digest
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import Checkpoint, weights_digest
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.victim import Victim

STANDARD = "standard"
_PAUSE = 0.1
"""Seconds between two looks at rows that another process is attacking."""
_ASKED = 8
"""Recorded rows that a victim is asked about again before a run goes on."""
_LEAST = -20.0
"""Log-probabilities below this are noise."""


def evaluate_into(
    store: Store,
    checkpoint: Checkpoint,
    data: Dataset,
    threat: ThreatModel,
    attack: Attack,
    *,
    name: str = "",
    victim: str = "",
    source: str = "",
    split: str = "test",
    seed: int = 0,
    target: int | None = None,
    batch_size: int = 256,
    memory: int = DEFAULT_MEMORY,
    on_rows: Callable[[int, int], None] = lambda _done, _fallen: None,
) -> Evaluation:
    """Attacks the rows that a store does not hold yet and returns all that were asked for, as `evaluate` does.

    Batches are the same whether a run was interrupted or not, and a batch is recorded whole or not at all, so a
    resumed run ends with the records of an uninterrupted one, to the last bit. Several processes may work on one run;
    they share its batches.

    Args:
        store: where records go and come from.
        checkpoint: the victim with its model's name and its training.
        data: rows and labels; a row's number names it in the store.
        threat: what the attacker may do.
        attack: how.
        name: a short name of the attack; its class by default.
        victim: where the checkpoint lies, for `verify`.
        source: how to find the data again: its name, or an own file's path; the data's name by default.
        split: which part of the data the rows are from.
        seed: of the attack.
        target: a class to reach instead of any wrong one.
        batch_size: rows attacked and recorded together.
        memory: bytes for a micro-batch.
        on_rows: called after each batch with the number of rows done and fallen in it, recorded ones included.

    Raises:
        InputError: rows or a target that do not fit, rows that repeat each other or differ from what was recorded
            under their numbers, a victim that answers otherwise than recorded, or a victim or space that nothing
            identifies.
        FileError: the store cannot be written; what was recorded before stays.
        TooExpensiveError: the attack refused; the store notes why.
    """
    check_evaluation(data, threat, batch_size)
    if len(set(data.numbers.tolist())) < len(data):
        raise InputError("expected rows with distinct numbers, got repeats. Records are kept by row number.")
    targets = None if target is None else torch.full((len(data),), target)
    if targets is not None:
        data.schema.check_labels(targets, len(data))
    digest = _identity(checkpoint.victim)
    key = RunKey(
        data=source or data.name,
        split=split,
        schema_sha256=data.schema.digest,
        space_sha256=space_digest(threat.space),
        victim_sha256=digest,
        defence=defence_of(checkpoint),
        attack=repr(attack),
        budget=threat.budget,
        seed=seed,
        target=target,
    )
    run = store.begin(
        key,
        schema=data.schema,
        space=threat.space,
        name=name or type(attack).__name__.lower(),
        victim=victim,
        model=checkpoint.model,
    )
    recorded = store.rows(run)
    _check_recorded(recorded, data)
    _check_answers(recorded, checkpoint.victim)

    def attack_batch(rows: Shaped[Tensor, "some"]) -> Rows:
        goals = None if targets is None else targets[rows]
        return evaluate_batch(checkpoint.victim, data.take(rows), threat, attack, seed, goals, memory)

    try:
        _attack_missing(store, run, data, attack_batch, batch_size, on_rows)
    except TooExpensiveError as error:
        store.refuse(run, str(error))
        raise
    recorded = store.rows(run)
    seconds = store.run(run).seconds * len(data) / len(recorded)
    return Evaluation(data, threat, attack, seed, recorded.take(_places(recorded, data)), seconds, digest, targets)


def defence_of(checkpoint: Checkpoint) -> str:
    """How a victim was trained: the repr of its defence, or "standard"."""
    name = str(checkpoint.training.get("defence") or STANDARD)
    return STANDARD if name == "Standard()" else name


def _identity(victim: Victim) -> str:
    """What tells a victim from others.

    Raises:
        InputError: it has neither weights nor a name.
    """
    if not victim.name and not victim.state_dict():
        raise InputError(
            f"expected a victim that its weights or its name identify, got a {type(victim).__name__} with neither. "
            "Give it a name that no other victim has, such as BlackBox(predict_proba, name='forest, 3 May')."
        )
    return weights_digest(victim)


def _attack_missing(
    store: Store,
    run: int,
    data: Dataset,
    attack_batch: Callable[[Shaped[Tensor, "some"]], Rows],
    batch_size: int,
    on_rows: Callable[[int, int], None],
) -> None:
    session = 0
    waiting = list(torch.arange(len(data)).split(batch_size))
    with closing(Claims(store.path)) as claims:
        while waiting:
            elsewhere = []
            for rows in waiting:
                numbers = data.numbers[rows].tolist()
                with claims.hold(run, numbers) as mine:
                    # Looked up after the claim: whoever had it before may just have recorded the rows.
                    done = store.recorded(run, numbers)
                    missing = rows[torch.tensor([number not in done for number in numbers])]
                    if len(missing) and not mine:
                        elsewhere.append(rows)
                        continue
                    fallen = sum(done.values())
                    if len(missing):
                        session = session or store.begin_session(run, environment())
                        begin = perf_counter()
                        found = attack_batch(missing)
                        store.add(run, session, found, data.schema, perf_counter() - begin)
                        fallen += int(found.success.sum())
                on_rows(len(rows), fallen)
            if len(elsewhere) == len(waiting):
                sleep(_PAUSE)
            waiting = elsewhere


def _places(recorded: Rows, data: Dataset) -> Tensor:
    place = {number: i for i, number in enumerate(recorded.numbers.tolist())}
    return torch.tensor([place[number] for number in data.numbers.tolist()])


def _check_recorded(recorded: Rows, data: Dataset) -> None:
    """Refuses to go on with a run whose rows have changed under their numbers.

    Raises:
        InputError: a row is not the one recorded.
    """
    place = {number: i for i, number in enumerate(recorded.numbers.tolist())}
    both = [(i, place[number]) for i, number in enumerate(data.numbers.tolist()) if number in place]
    if not both:
        return
    here, there = torch.tensor(both).unbind(1)
    x, y = data.batch(here)
    wrong = (x != recorded.clean[there]).any(1) | (y != recorded.labels[there])
    if wrong.any():
        number = int(data.numbers[here][wrong][0])
        raise InputError(
            f"expected row {number} as the store has it, got another row under this number. "
            "The data has changed since: use another results folder."
        )


def _check_answers(recorded: Rows, victim: Victim) -> None:
    """Refuses to go on with a run whose victim answers otherwise than it did, up to noise between machines.

    Raises:
        InputError: it does.
    """
    if not len(recorded):
        return
    few = torch.linspace(0, len(recorded) - 1, min(_ASKED, len(recorded))).long()
    with frozen_eval(victim), torch.no_grad():
        logits = victim(recorded.clean[few])
    now, then = (part.double().log_softmax(1).clamp(min=_LEAST) for part in (logits, recorded.clean_logits[few]))
    wrong = ~torch.isclose(now, then, rtol=1e-2, atol=1e-2).all(1)
    if wrong.any():
        raise InputError(
            f"expected the answer recorded for row {int(recorded.numbers[few][wrong][0])}, got another one: the victim "
            "has changed under its name, or answers at random. Name it anew, or use another results folder."
        )
