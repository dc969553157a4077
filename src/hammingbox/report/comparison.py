"""A comparison: several attacks at several budgets on the same rows of one victim, run and summarised."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hammingbox.attacks import attack_named
from hammingbox.data.dataset import Dataset
from hammingbox.errors import TooExpensiveError
from hammingbox.evaluation.diagnose import Finding, diagnose_codes, diagnose_victim
from hammingbox.evaluation.diagnose.run_findings import failed_rows
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.run_totals import RunTotals
from hammingbox.notebook import Axes, Frame
from hammingbox.problem import DEFAULT_MEMORY
from hammingbox.report.comparison_shown import curves_of, frame_of, html_of
from hammingbox.report.labels import goal_in_words
from hammingbox.report.large_results import LARGE, StoredRun, add_large
from hammingbox.report.recorded_checks import findings_of
from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunFacts
from hammingbox.report.summary import VictimSummary
from hammingbox.running.data_reference import DataReference
from hammingbox.running.executor import Executor
from hammingbox.running.record import RecordedRun, record_into, refuse_into, rows_in_order
from hammingbox.running.store import Store
from hammingbox.threat.amount import amount_of
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.space import Space
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import Checkpoint, weights_digest

ORACLE = "oracle"
COMPARED = (
    "auto", "pcaa", "sa", "ga", "gsa", "gga", "hotflip", "hotflip_beam", "swap", "genetic", "random", ORACLE,
)  # fmt: skip
"""What is compared unless the user says otherwise: the paper's attacks, the strongest one, and the limit."""

OnProgress = Callable[[str, int, int], None]
"""Called with the attack's name, its budget, and the number of rows done since the last call."""


@dataclass(frozen=True)
class ComparisonJob:
    """What is compared, whatever the victim.

    Attributes:
        data: the data set's name, or the path of an own file.
        rows: the rows to attack.
        space: what the attacker may write.
        attacks: names of the attacks.
        budgets: changes allowed, or ticks where the space has prices.
        goal: what counts as success.
        seed: of the attacks.
        split: which part of the data the rows are from.
        batch_size: rows attacked together; 256 by default, fewer with workers.
        memory: bytes for a micro-batch.
        executor: who computes the batches; this process by default.
        source: how to find the data again; from its name by default.
        doubts: what is doubtful about the data, see `diagnose_data`.
    """

    data: str
    rows: Dataset
    space: Space
    attacks: Sequence[str] = COMPARED
    budgets: Sequence[int] = range(1, 6)
    goal: Goal = field(default_factory=AnyOther)
    seed: int = 0
    split: str = "test"
    batch_size: int | None = None
    memory: int = DEFAULT_MEMORY
    executor: Executor | None = None
    source: DataReference | None = None
    doubts: Sequence[Finding] = ()

    @property
    def steps(self) -> int:
        """Rows to attack, over all attacks and budgets."""
        return len(self.attacks) * len(self.budgets) * len(self.rows)


@dataclass(frozen=True)
class Comparison:
    """The results of one victim, and what is doubtful about them.

    Attributes:
        summary: what was broken, by attack and budget.
        findings: all doubts.
        weights: hash of the victim's weights.
        queried: the findings that came from querying the victim or reading the data; a store does not hold them.
    """

    summary: VictimSummary
    findings: Sequence[Finding]
    weights: str
    queried: Sequence[Finding]

    def __repr__(self) -> str:
        found = ", ".join(f"{100 * line.success.value:.1f} % at budget {line.budget}" for line in self.summary.worst)
        return f"Comparison({self.summary.results.data}, {self.summary.name}: worst case {found or 'unknown'})"

    def to_frame(self) -> Frame:
        """A pandas data frame with one line per attack, budget and seed.

        Raises:
            InputError: pandas is not installed.
        """
        return frame_of(self.summary)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws success by budget, on new axes by default, and returns the axes.

        Raises:
            InputError: matplotlib is not installed.
        """
        return curves_of(self.summary, ax)

    def _repr_html_(self) -> str:
        """How a notebook shows it: one line per attack."""
        return html_of(self.summary)


def compare_attacks(
    job: ComparisonJob,
    checkpoint: Checkpoint,
    place: Path | str,
    store: Store,
    on_progress: OnProgress = lambda _name, _budget, _rows: None,
) -> Comparison:
    """Runs every attack at every budget that the store does not hold yet.

    Args:
        job: what is compared.
        checkpoint: the victim.
        place: where the checkpoint or the model is.
        store: for the records.
        on_progress: called as rows are done.

    Raises:
        InputError, FileError, VictimError: as `evaluate_into`. An attack that is too expensive is noted as refused.
    """
    threats = [ThreatModel(job.space, budget) for budget in job.budgets]
    where = Path(place).name
    victim, digest = f"{checkpoint.model} ({where})" if where else checkpoint.model, weights_digest(checkpoint.victim)
    strongest = max(threats, key=lambda threat: threat.budget)
    queried = [*job.doubts, *diagnose_victim(checkpoint.victim, job.rows, strongest, goal=job.goal)]
    results = ResultSet(
        (job.source or DataReference(job.data)).rows_of(job.split),
        job.rows.schema,
        goal=goal_in_words(job.goal.to_json()),
        sample=None if job.source is None else job.source.sample,
        aim=job.goal,
        rules=job.space.rules if isinstance(job.space, RuledSpace) else None,
    )
    failed: dict[int, FailedRow] = {}
    # Rows of a store on disk can be read again, so those of a large comparison are not held.
    is_large = job.steps > LARGE and store.path is not None
    stored: list[StoredRun] = []
    for name in job.attacks:
        for threat in threats:
            held: list[Rows] = []
            keep = (lambda _rows: None) if is_large else held.append
            facts, run = _cell(job, checkpoint, place, store, name, threat, on_progress, victim, keep)
            failed |= {row.number: row for row in (() if run is None else run.failed)}
            if is_large:
                totals = RunTotals(len(job.rows.schema.classes)) if run is None else run.totals
                stored.append(StoredRun(facts, None if run is None else run.id, totals))
            else:
                results.add(facts, None if run is None else rows_in_order(held, job.rows))
    if is_large:
        add_large(results, store, stored, job.rows.numbers.sort().values)
    if failed:
        queried.append(failed_rows([failed[number] for number in sorted(failed)], len(job.rows)))
    queried += diagnose_codes(job.rows, job.space, None if is_large else _written(results))
    return Comparison(VictimSummary(results, victim), findings_of(results, victim, queried), digest, queried)


def _written(results: ResultSet) -> dict[tuple[int, int], int]:
    """By column and id: rows that some attack broke and wrote it in."""
    rows: dict[tuple[int, int], set[int]] = {}
    for run in results.runs:
        changes = run.changes.take(run.broken)
        places = np.repeat(run.place[run.broken], changes.counts)
        for place, column, value in zip(places.tolist(), changes.keys.tolist(), changes.values.tolist(), strict=True):
            rows.setdefault((column, value), set()).add(place)
    return {key: len(found) for key, found in rows.items()}


def _cell(
    job: ComparisonJob,
    checkpoint: Checkpoint,
    place: Path | str,
    store: Store,
    name: str,
    threat: ThreatModel,
    on_progress: OnProgress,
    victim: str,
    on_records: Callable[[Rows], None],
) -> tuple[RunFacts, RecordedRun | None]:
    """One attack at one budget: its facts, and the run unless it refused."""
    attack, done = attack_named(name), 0

    def on_rows(rows: int, _broken: int) -> None:
        nonlocal done
        done += rows
        on_progress(name, threat.budget, rows)

    on_progress(name, threat.budget, 0)
    facts = RunFacts(
        victim=victim, attack=name, name=name, settings=repr(attack), budget=amount_of(threat.budget, job.space.unit),
        seed=job.seed,
        planned=len(job.rows), weights=weights_digest(checkpoint.victim),
    )  # fmt: skip
    noted: dict[str, Any] = {
        "goal": job.goal, "name": name, "place": str(place), "source": job.source or job.data, "split": job.split,
        "seed": job.seed,
    }  # fmt: skip
    if attack.needs_gradient and not checkpoint.victim.has_gradient:
        reason = f"{name} needs gradients, and this model has none."
        refuse_into(store, checkpoint, job.rows, threat, attack, reason, **noted)
        on_progress(name, threat.budget, len(job.rows))
        return replace(facts, refused=reason), None
    try:
        found = record_into(
            store, checkpoint, job.rows, threat, attack, batch_size=job.batch_size, memory=job.memory,
            executor=job.executor, on_rows=on_rows, on_records=on_records, **noted,
        )  # fmt: skip
    except TooExpensiveError as error:
        on_progress(name, threat.budget, len(job.rows) - done)
        return replace(facts, refused=str(error)), None
    return replace(facts, seconds=found.seconds), found
