"""An audit as a value, and how it is run: rows of every class, one strong attack, all doubts, a store and a report."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hammingbox.attacks import attack_named
from hammingbox.auditing.result import Audit
from hammingbox.data.reading import Reading
from hammingbox.data.split_rule import SplitRule
from hammingbox.errors import InputError
from hammingbox.evaluation.drawing import Draw
from hammingbox.problem import DEFAULT_MEMORY
from hammingbox.report.comparison import ComparisonJob, OnProgress, compare_attacks
from hammingbox.report.page.folder import write_report
from hammingbox.running.executor import Executor
from hammingbox.running.store import open_store
from hammingbox.running.tasks import SpaceChanges, Task
from hammingbox.seeding import check_seed
from hammingbox.settings import MOST_ROWS, whole_number
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.space import Space
from hammingbox.victims.checkpoint import Checkpoint

ATTACKS = ("auto",)
"""The worst case over attacks. Its verdict at budget 1 is exact."""
BUDGETS = (1, 2, 3)
ROWS_PER_CLASS = 200
ALL = "all"
"""The split of a table whose rows are all audited."""


@dataclass(frozen=True)
class AuditJob:
    """What is audited, whatever the model.

    Attributes:
        task: the table, with what an attacker may do there by itself.
        split: which rows: "all", or a part of the table.
        rows_per_class: rows of each class, drawn by `rows_seed`; all rows of a class that has fewer.
        budgets: changes allowed.
        positive: the class whose rows an attacker wants to be taken for others.
        space: what an attacker may write; the table's own by default.
        changes: what the user adds to the table's own.
        goal: what counts as success; any class but the true one by default.
        attacks: names of the attacks.
        seed: of the attacks.
        rows_seed: of the choice of rows.
        batch_size: rows attacked together; it changes speed, not results. 256 by default, fewer with workers.
        memory: bytes for a micro-batch.
        executor: who computes the batches; this process by default.
    """

    task: Task
    split: str = ALL
    rows_per_class: int = ROWS_PER_CLASS
    budgets: Sequence[int] = BUDGETS
    positive: str | None = None
    space: Space | None = None
    changes: SpaceChanges | None = None
    goal: Goal = field(default_factory=AnyOther)
    attacks: Sequence[str] = ATTACKS
    seed: int = 0
    rows_seed: int = 0
    batch_size: int | None = None
    memory: int = DEFAULT_MEMORY
    executor: Executor | None = None

    def __post_init__(self) -> None:
        """Checks what can be checked before a model is opened.

        Raises:
            InputError: no budgets or attacks, an unknown attack, or a number that is out of range.
        """
        whole_number("rows per class", self.rows_per_class, most=MOST_ROWS)
        if not self.budgets or not self.attacks:
            raise InputError("expected at least one budget and one attack, got none.")
        features = len(self.task.splits.schema.features)
        for budget in self.budgets:
            whole_number("budget", budget, most=features)
        for name in self.attacks:
            attack_named(name)
        check_seed(self.seed)

    def comparison(self) -> ComparisonJob:
        """The runs of this audit.

        Raises:
            InputError: an unknown split, class, feature or category.
        """
        draw = Draw(per_class=self.rows_per_class, seed=self.rows_seed)
        rows, reference = self.task.sample(self.split, draw, positive=self.positive)
        return ComparisonJob(
            data=self.task.name,
            rows=rows,
            space=self.task.space(self.changes) if self.space is None else self.space,
            attacks=self.attacks,
            budgets=sorted(set(self.budgets)),
            goal=self.goal,
            seed=self.seed,
            split=self.split,
            batch_size=self.batch_size,
            memory=self.memory,
            executor=self.executor,
            source=reference,
        )


def split_of(reading: Reading | None) -> str:
    """Which rows are audited: the test rows where the user says which those are, or else all rows.

    A model that was trained elsewhere does not know a split of ours, so none is made for it.
    """
    chosen = reading is not None and (reading.test is not None or reading.rule != SplitRule())
    return "test" if chosen else ALL


def run_audit(
    job: AuditJob,
    checkpoint: Checkpoint,
    place: str,
    folder: Path,
    on_progress: OnProgress = lambda _name, _budget, _rows: None,
) -> Audit:
    """Runs what the folder does not hold yet and writes its report. A killed audit goes on where it was.

    Args:
        job: what is audited.
        checkpoint: the model.
        place: where the model is, for `verify`.
        folder: for the store and the report.
        on_progress: called as rows are done.

    Raises:
        InputError, VictimError: table, model and job do not fit each other.
        FileError: the folder cannot be written, or holds a damaged store.
    """
    runs = job.comparison()
    with open_store(folder, create=True) as store:
        found = compare_attacks(runs, checkpoint, place, store, on_progress)
    write_report(folder, queried={found.weights: found.queried})
    return Audit(found, folder)
