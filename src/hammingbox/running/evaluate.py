"""`evaluate`: one attack on every row of a data set, its result in memory."""

from collections.abc import Callable, Sequence
from time import perf_counter

import torch

from hammingbox.attacks.base import Attack
from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.evaluation.rows import Rows
from hammingbox.problem import DEFAULT_MEMORY
from hammingbox.running.attempts import RowFailure
from hammingbox.running.executor import BatchResult, Executor, Serial, largest_batch
from hammingbox.running.losses import Losses
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
    batch_size: int | None = None,
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
        batch_size: rows attacked together; it changes speed and memory, not results; 256 by default (1,024 of a black
            box), fewer with workers.
        memory: bytes for a micro-batch.
        executor: who computes the batches: `Serial()`, which is the default, `Processes(4)`, `RayCluster("auto")`.
        on_rows: called after each batch with the number of rows done and broken in it.

    Raises:
        InputError: no rows, data and threat that do not fit each other, or a goal with unknown classes.
        VictimError: the victim does not return finite logits.
        WorkerError: no worker can be started or reached.
    """
    who = executor or Serial()
    size = who.batch_size(len(data), largest_batch(victim)) if batch_size is None else batch_size
    spec = RunSpec(victim, data, threat, attack, goal or AnyOther(), seed, size, memory)
    begin = perf_counter()
    done: list[BatchResult] = []
    losses = Losses()
    for outcome in who.run(spec, spec.batches()):
        if isinstance(outcome, RowFailure):
            losses.add(outcome)
            on_rows(1, 0)
            continue
        losses.is_hopeful = True
        done.append(outcome)
        on_rows(len(outcome.rows), int(outcome.rows.success.sum()))
    losses.check()
    seconds = perf_counter() - begin
    places = torch.cat([batch.places for batch in done])
    rows = Rows.join([batch.rows for batch in done]).take(places.argsort())
    return evaluation_of(spec, rows, seconds, losses.rows_of(data))


def evaluation_of(spec: RunSpec, rows: Rows, seconds: float, failed: Sequence[FailedRow] = ()) -> Evaluation:
    """The result of a run whose rows are all there, but for those that nobody could compute."""
    data = spec.data
    if failed:
        data = data.take(~torch.isin(data.numbers, torch.tensor([row.number for row in failed])))
    return Evaluation(
        data, spec.threat, spec.attack, spec.seed, rows, seconds, weights_digest(spec.victim), spec.goal, tuple(failed)
    )
