"""`evaluate`: one attack on every row of a data set, its result in memory."""

from collections.abc import Callable
from time import perf_counter

import torch

from hammingbox.attacks.base import Attack
from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.evaluation.rows import Rows
from hammingbox.problem import DEFAULT_MEMORY
from hammingbox.running.executor import Executor, Serial
from hammingbox.running.run_spec import RunSpec
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.victim import Victim

OnRows = Callable[[int, int], None]
"""Called after each batch with the number of its rows, and of those that were broken."""


def evaluate(
    victim: Victim,
    data: Dataset,
    threat: ThreatModel,
    attack: Attack,
    *,
    goal: Goal | None = None,
    seed: int = 0,
    batch_size: int = 256,
    memory: int = DEFAULT_MEMORY,
    executor: Executor | None = None,
    on_rows: OnRows = lambda _done, _broken: None,
) -> Evaluation:
    """Attacks every row that the victim gets right and counts what is broken, on the victim's device.

    Outside the attack's own passes, a row goes through the victim at most once, to recount what the attack found.

    Args:
        victim: borrowed.
        data: rows and labels.
        threat: what the attacker may do.
        attack: how.
        goal: what counts as success; any class but the true one by default. A row whose class the goal leaves alone is
            not attacked.
        seed: of the attack.
        batch_size: rows attacked together; it changes speed and memory, not results.
        memory: bytes for a micro-batch.
        executor: who computes the batches; this process by default.
        on_rows: called after each batch with the number of rows done and broken in it.

    Raises:
        InputError: no rows, data and threat that do not fit each other, or a goal with unknown classes.
        VictimError: the victim does not return finite logits.
    """
    spec = RunSpec(victim, data, threat, attack, goal or AnyOther(), seed, batch_size, memory)
    begin = perf_counter()
    done = []
    for batch in (executor or Serial()).run(spec, spec.batches()):
        done.append(batch)
        on_rows(len(batch.rows), int(batch.rows.success.sum()))
    seconds = perf_counter() - begin
    places = torch.cat([batch.places for batch in done])
    rows = Rows.join([batch.rows for batch in done]).take(places.argsort())
    return evaluation_of(spec, rows, seconds)


def evaluation_of(spec: RunSpec, rows: Rows, seconds: float) -> Evaluation:
    """The result of a run whose rows are all there."""
    return Evaluation(
        spec.data, spec.threat, spec.attack, spec.seed, rows, seconds, weights_digest(spec.victim), spec.goal
    )
