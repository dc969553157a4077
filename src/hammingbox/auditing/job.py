"""An audit as a value, and how it is run: rows of every class, one strong attack, all doubts, a store and a report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hammingbox.attacks import attack_named
from hammingbox.auditing.proofs import how_proven, prove
from hammingbox.auditing.result import Audit
from hammingbox.data.reading import Reading
from hammingbox.data.split_rule import SplitRule
from hammingbox.errors import InputError
from hammingbox.evaluation.diagnose import diagnose_data
from hammingbox.evaluation.drawing import Draw
from hammingbox.problem import DEFAULT_MEMORY
from hammingbox.report.comparison import Comparison, ComparisonJob, OnProgress, compare_attacks
from hammingbox.report.measured_what_if import FOLDER, MeasuredWhatIf, can_freeze, measure_what_if
from hammingbox.report.page.folder import Chosen, plausible_results, write_report
from hammingbox.report.recorded_plausibility import note_plausibility
from hammingbox.running.executor import Executor
from hammingbox.running.reaching import reaching
from hammingbox.running.store import open_store
from hammingbox.running.tasks import SpaceChanges, Task
from hammingbox.seeding import check_seed
from hammingbox.settings import MOST_TABLE_ROWS, whole_number
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.space import Space
from hammingbox.threat.threat_model import LARGEST_BUDGET
from hammingbox.victims.checkpoint import Checkpoint

ATTACKS = ("auto",)
"""The worst case over attacks. Its verdict at budget 1 is exact."""
BUDGETS = (1, 2, 3)
ROWS_PER_CLASS = 200
WHAT_IF = 3
"""Columns that are frozen, one after the other, and attacked again."""
ALL = "all"
"""The split of a table whose rows are all audited."""
_MOST_FROZEN = 1000


@dataclass(frozen=True)
class AuditJob:
    """What is audited, whatever the model.

    Attributes:
        task: the table, with what an attacker may do there by itself.
        split: which rows: "all", or a part of the table.
        rows_per_class: rows of each class, drawn by `rows_seed`; all rows of a class that has fewer. None for all rows.
        budgets: changes allowed, or ticks where the space has prices.
        positive: the class whose rows an attacker wants to be taken for others.
        space: what an attacker may write; the table's own by default.
        changes: what the user adds to the table's own.
        goal: what counts as success; any class but the true one by default.
        attacks: names of the attacks.
        seed: of the attacks.
        rows_seed: of the choice of rows.
        what_if: columns that are frozen, one after the other, to see how far success really falls.
        certify: prove which rows hold, too.
        batch_size: rows attacked together; it changes speed, not results. 256 by default, fewer with workers.
        memory: bytes for a micro-batch.
        executor: who computes the batches; this process by default.
    """

    task: Task
    split: str = ALL
    rows_per_class: int | None = ROWS_PER_CLASS
    budgets: Sequence[int] = BUDGETS
    positive: str | None = None
    space: Space | None = None
    changes: SpaceChanges | None = None
    goal: Goal = field(default_factory=AnyOther)
    attacks: Sequence[str] = ATTACKS
    seed: int = 0
    rows_seed: int = 0
    what_if: int = WHAT_IF
    certify: bool = False
    batch_size: int | None = None
    memory: int = DEFAULT_MEMORY
    executor: Executor | None = None

    def __post_init__(self) -> None:
        """Checks what can be checked before a model is opened.

        Raises:
            InputError: no budgets or attacks, an unknown attack, or a number that is out of range.
        """
        if self.rows_per_class is not None:
            whole_number("rows per class", self.rows_per_class, most=MOST_TABLE_ROWS)
        if not self.budgets or not self.attacks:
            raise InputError("expected at least one budget and one attack, got none.")
        unit = None if self.space is None else self.space.unit
        most = len(self.task.splits.schema.features) if unit is None else LARGEST_BUDGET
        for budget in self.budgets:
            whole_number("budget", budget, most=most)
        for name in self.attacks:
            attack_named(name)
        whole_number("frozen columns", self.what_if, least=0, most=_MOST_FROZEN)
        check_seed(self.seed)

    def reaching(self, model: str | None = None) -> "AuditJob":
        """The same audit under a schema that knows what derived columns become, see `hammingbox.running.reaching`.

        Args:
            model: what a user names with --model.

        Raises:
            InputError: an unknown split, class, feature or category.
        """
        runs = self.comparison()
        task, _, space = reaching(self.task, runs.rows, runs.space, [model])
        return replace(self, task=task, space=space)

    def comparison(self) -> ComparisonJob:
        """The runs of this audit.

        Raises:
            InputError: an unknown split, class, feature or category.
        """
        some = self.rows_per_class
        draw = Draw(how="all") if some is None else Draw(per_class=some, seed=self.rows_seed)
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
            doubts=diagnose_data(self.task.splits, positive=self.positive),
        )


def usual_budgets(features: int) -> list[int]:
    """The budgets of an audit whose user names none, as far as a table has that many columns."""
    return [budget for budget in BUDGETS if budget <= features]


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
    on_column: Callable[[str], None] = lambda _name: None,
) -> Audit:
    """Runs what the folder does not hold yet and writes its report. A killed audit goes on where it was.

    Args:
        job: what is audited.
        checkpoint: the model.
        place: where the model is, for `verify`.
        folder: for the store and the report.
        on_progress: called as rows are done.
        on_column: called with each column before it is frozen.

    Raises:
        InputError, VictimError: table, model and job do not fit each other.
        FileError: the folder cannot be written, or holds a damaged store.
    """
    runs = job.comparison()
    with open_store(folder, create=True) as store:
        found = compare_attacks(runs, checkpoint, place, store, on_progress)
        if job.certify:
            found = prove(runs, checkpoint, place, store, found, on_progress)
        note_plausibility(store, folder, job.task.whole(ALL))
    measured = _what_if(job, runs, checkpoint, place, found, folder, on_column)
    chosen = Chosen.of(runs)  # the folder may hold rows that another audit drew
    write_report(folder, queried={found.weights: found.queried}, chosen=chosen)
    plausible = plausible_results(folder, chosen, found.weights)
    how = how_proven(checkpoint.victim, runs.space) if job.certify else ""
    return Audit(found, folder, measured, plausible, how, chosen)


def _what_if(
    job: AuditJob,
    runs: ComparisonJob,
    checkpoint: Checkpoint,
    place: str,
    found: Comparison,
    folder: Path,
    on_column: Callable[[str], None],
) -> MeasuredWhatIf | None:
    """Attacks the class of the headline again with columns frozen; None where there are no columns, or nothing fell."""
    classes = found.summary.classes
    of = classes[max(classes)].of_headline if classes else None
    if not job.what_if or of is None or not of.broken:
        return None
    if found.summary.results.form != "columns" or not can_freeze(runs.space):
        return None
    with open_store(folder / FOLDER, create=True) as store:
        return measure_what_if(
            runs, checkpoint, place, found.summary, job.what_if, store, of=of.name, on_column=on_column
        )
