"""`evaluate` into a store: only rows that are not recorded yet are attacked, and each batch is one transaction.

Locking, computing, writing and waiting are separate: a `Recorder` locks, writes and waits, an `Executor` computes.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import torch

from hammingbox.data.dataset import Dataset
from hammingbox.errors import InputError, TooExpensiveError
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.evaluation.method import Method
from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.run_totals import RunTotals
from hammingbox.problem import DEFAULT_MEMORY
from hammingbox.running.data_reference import DataReference
from hammingbox.running.evaluate import OnRows, evaluation_of
from hammingbox.running.executor import Executor, Serial, largest_batch
from hammingbox.running.losses import Losses
from hammingbox.running.recorder import Recorder
from hammingbox.running.resume_checks import check_answers, check_rows, recorded_rows
from hammingbox.running.run_spec import RunSpec
from hammingbox.running.store import RunKey, Store, goal_digest, space_digest
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import Checkpoint, weights_digest
from hammingbox.victims.victim import Victim

STANDARD = "standard"


def evaluate_into(
    store: Store,
    victim: Checkpoint | Victim,
    data: Dataset,
    threat: ThreatModel,
    attack: Method,
    *,
    goal: Goal | None = None,
    name: str = "",
    place: str = "",
    source: str | DataReference = "",
    split: str = "test",
    seed: int = 0,
    batch_size: int | None = None,
    memory: int = DEFAULT_MEMORY,
    executor: Executor | None = None,
    on_rows: OnRows = lambda _done, _broken: None,
) -> Evaluation:
    """Attacks the rows that a store does not hold yet and returns all rows of the data, as `evaluate` does.

    Batches are the same whether a run was interrupted or not, and a batch is recorded whole or not at all, so a
    resumed run ends with the records of an uninterrupted one, to the last bit. Several processes may work on one run;
    they share its batches. A row that nobody can compute, because the victim raises or its worker dies, is noted with
    the reason and tried again by the next call; the rest of the run goes on.

    Args:
        store: where records go and come from.
        victim: the victim, or its checkpoint with the model's name and its training.
        data: rows and labels; a row's number names it in the store.
        threat: what the attacker may do.
        attack: how; an attack, or a certificate, whose rows may also be proven.
        goal: what counts as success; any class but the true one by default.
        name: a short name of the attack; its class by default.
        place: where the checkpoint is, for `verify`.
        source: how to find the data again: its name, or the path of an own file; the data's name by default. With a
            `DataReference` the label column of an own file is noted too, which `verify` needs.
        split: which part of the data the rows are from.
        seed: of the attack.
        batch_size: rows attacked and recorded together; 256 by default (1,024 of a black box), fewer with workers.
        memory: bytes for a micro-batch.
        executor: who computes the batches; this process by default.
        on_rows: called after each batch with the number of rows done and broken in it, recorded ones included.

    Raises:
        InputError: data, threat or goal that do not fit, rows that repeat each other or differ from what was recorded
            under their numbers, a victim that answers otherwise than recorded, or a victim or space that nothing
            identifies.
        FileError: the store cannot be written, or was deleted meanwhile; what was recorded before stays.
        TooExpensiveError: the attack refused; the store notes why.
    """
    found: list[Rows] = []
    run = record_into(
        store, victim, data, threat, attack, goal=goal, name=name, place=place, source=source, split=split, seed=seed,
        batch_size=batch_size, memory=memory, executor=executor, on_rows=on_rows, on_records=found.append,
    )  # fmt: skip
    return evaluation_of(run.spec, rows_in_order(found, data), run.seconds, run.failed)


def rows_in_order(found: Sequence[Rows], data: Dataset) -> Rows:
    """Records of rows of a data set, in the order of the data."""
    rows = Rows.join(found)
    return rows.take(data.places_of(rows.numbers).argsort())


@dataclass(frozen=True, eq=False)
class RecordedRun:
    """A run whose rows are in a store.

    Attributes:
        id: its number there.
        spec: what was run.
        totals: what the rows of its data add up to.
        seconds: spent on them.
        failed: rows that nobody could compute.
    """

    id: int
    spec: RunSpec
    totals: RunTotals
    seconds: float
    failed: Sequence[FailedRow]

    def summary(self) -> dict[str, Any]:
        """As `Evaluation.summary`."""
        spec = self.spec
        facts = {
            "attack": repr(spec.attack), "data": spec.data.name, "budget": spec.threat.budget,
            "goal": spec.goal.to_json(), "seed": spec.seed,
        }  # fmt: skip
        return facts | self.totals.summary() | {"seconds": self.seconds}


def record_into(
    store: Store,
    victim: Checkpoint | Victim,
    data: Dataset,
    threat: ThreatModel,
    attack: Method,
    *,
    goal: Goal | None = None,
    name: str = "",
    place: str = "",
    source: str | DataReference = "",
    split: str = "test",
    seed: int = 0,
    batch_size: int | None = None,
    memory: int = DEFAULT_MEMORY,
    executor: Executor | None = None,
    on_rows: OnRows = lambda _done, _broken: None,
    on_records: Callable[[Rows], None] = lambda _rows: None,
) -> RecordedRun:
    """The same as `evaluate_into`, but records are counted and not held: for runs of millions of rows.

    Args:
        store: where records go and come from.
        victim: the victim, or its checkpoint.
        data: rows and labels.
        threat: what the attacker may do.
        attack: how.
        goal: what counts as success.
        name: a short name of the attack.
        place: where the checkpoint is.
        source: how to find the data again.
        split: which part of the data the rows are from.
        seed: of the attack.
        batch_size: rows attacked and recorded together.
        memory: bytes for a micro-batch.
        executor: who computes the batches.
        on_rows: called after each batch with the number of rows done and broken in it.
        on_records: called with every record of the data's rows, in any order: those that the store had already, those
            of this process, and those that others have recorded meanwhile.

    Raises:
        InputError, FileError, TooExpensiveError: as `evaluate_into`.
    """
    checkpoint = victim if isinstance(victim, Checkpoint) else Checkpoint(victim, _kind_of(victim), {}, data.schema)
    who = executor or Serial()
    size = who.batch_size(len(data), largest_batch(checkpoint.victim)) if batch_size is None else batch_size
    spec = RunSpec(checkpoint.victim, data, threat, attack, goal or AnyOther(), seed, size, memory)
    if len(data.numbers.unique()) < len(data):
        raise InputError("expected rows with distinct numbers, got repeats. Records are kept by row number.")
    who.check(spec)
    run = _begin(store, spec, checkpoint, name, place, source, split)
    totals, seen = RunTotals(len(data.schema.classes)), torch.zeros(len(data), dtype=torch.bool, device="cpu")

    def count(rows: Rows) -> None:
        seen[data.places_of(rows.numbers)] = True
        totals.add(rows)
        on_records(rows)

    is_begun = store.run(run).rows > 0
    for recorded in recorded_rows(store, run, data, torch.arange(len(data), device="cpu")) if is_begun else ():
        check_rows(recorded, data)
        if not bool(seen.any()):
            check_answers(recorded, checkpoint.victim)
        count(recorded)
    with closing(store.row_locks()) as locks:
        recorder = Recorder(store, run, spec, locks, on_rows, Losses(is_hopeful=bool(seen.any())), count)
        try:
            recorder.finish(who)
        except TooExpensiveError as error:
            store.refuse(run, str(error))
            raise
    # What other processes recorded meanwhile is read now, the rest is counted already.
    for rows in recorded_rows(store, run, data, (~seen).nonzero()[:, 0]):
        count(rows)
    store.check_there()
    lost = set(data.numbers[~seen].tolist())
    failed = [row for row in store.failures(run) if row.number in lost] if lost else []
    facts = store.run(run)
    return RecordedRun(run, spec, totals, facts.seconds * len(data) / facts.rows, failed)


def refuse_into(
    store: Store,
    victim: Checkpoint,
    data: Dataset,
    threat: ThreatModel,
    attack: Method,
    reason: str,
    *,
    goal: Goal | None = None,
    name: str = "",
    place: str = "",
    source: str | DataReference = "",
    split: str = "test",
    seed: int = 0,
) -> None:
    """Notes that an attack was not run at all, and why, so that a report from the store says so too.

    Args:
        store: where the note goes.
        victim: the victim's checkpoint.
        data: the rows that would have been attacked.
        threat: what the attacker might have done.
        attack: how.
        reason: one sentence.
        goal: what counts as success; any class but the true one by default.
        name: a short name of the attack.
        place: where the checkpoint is.
        source: how to find the data again.
        split: which part of the data the rows are from.
        seed: of the attack.
    """
    spec = RunSpec(victim.victim, data, threat, attack, goal or AnyOther(), seed)
    run = _begin(store, spec, victim, name, place, source, split)
    if store.run(run).refused != reason:
        store.refuse(run, reason)


def _begin(
    store: Store,
    spec: RunSpec,
    checkpoint: Checkpoint,
    name: str,
    place: str,
    source: str | DataReference,
    split: str,
) -> int:
    """The number of a run in its store; a new one where the store does not hold it yet."""
    reference = source if isinstance(source, DataReference) else DataReference.of(source or spec.data.name)
    # Where the hash of a victim is that of its name, `verify` opens it under it; a service has its URL by default.
    if spec.victim.name not in ("", place) and not spec.victim.state_dict():
        reference = replace(reference, model_name=spec.victim.name)
    key = _key_of(spec, checkpoint, reference.name, split)
    return store.begin(
        key,
        documents={
            key.schema_sha256: spec.data.schema.to_json(),
            key.space_sha256: spec.threat.space.to_json(),
            key.goal_sha256: spec.goal.to_json(),
        },
        name=name or type(spec.attack).__name__.lower(),
        victim=place,
        model=checkpoint.model,
        data_sha256=reference.sha256,
        source=reference.to_text(),
    )


def defence_of(checkpoint: Checkpoint) -> str:
    """How a victim was trained: the repr of its defence, or "standard"."""
    name = str(checkpoint.training.get("defence") or STANDARD)
    return STANDARD if name == "Standard()" else name


def _kind_of(victim: Victim) -> str:
    return type(victim).__name__.lower()


def _key_of(spec: RunSpec, checkpoint: Checkpoint, source: str, split: str) -> RunKey:
    """What identifies a run.

    Raises:
        InputError: nothing identifies the victim or the space.
    """
    if not spec.victim.name and not spec.victim.identity and not spec.victim.state_dict():
        raise InputError(
            "expected a victim that its weights or its name identify, "
            f"got a {type(spec.victim).__name__} with neither. "
            "Give it a name that no other victim has, such as BlackBox(predict_proba, name='forest, 3 May')."
        )
    return RunKey(
        data=source,
        split=split,
        schema_sha256=spec.data.schema.digest,
        space_sha256=space_digest(spec.threat.space),
        goal_sha256=goal_digest(spec.goal),
        victim_sha256=weights_digest(spec.victim),
        defence=defence_of(checkpoint),
        attack=repr(spec.attack),
        budget=spec.threat.budget,
        seed=spec.seed,
    )
