"""What freezing a column really does: the strongest attack again, with the column frozen.

Recorded rows bound the fall of success from above, see `hammingbox.report.breakdown.what_if`. Here it is measured. The
runs have another S(x) than those of the comparison, so they have a store of their own in the same folder: it resumes,
and `verify` reads it like any other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hammingbox.attacks import ATTACKS, attack_named
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.run_totals import RunTotals
from hammingbox.notebook import Frame, data_frame
from hammingbox.report.breakdown import by_feature, what_if
from hammingbox.report.class_budgets import classes_of_run
from hammingbox.report.comparison import ComparisonJob
from hammingbox.report.large_results import rows_among, totals_among
from hammingbox.report.summary import VictimSummary
from hammingbox.running.record import record_into
from hammingbox.running.store import FILE, Run, Store, open_store
from hammingbox.threat.rules.function import Function
from hammingbox.threat.space import Space
from hammingbox.threat.space_json import space_from_json
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import RowInt
from hammingbox.victims.checkpoint import Checkpoint

FOLDER = "what-if"
"""Where the runs with frozen columns are, in a results folder."""


@dataclass(frozen=True)
class MeasuredWhatIf:
    """Success with one column frozen, measured.

    Attributes:
        of: the class whose rows were attacked; "" for several.
        attacks: the attack at each budget.
        now: its success on the same rows without freezing, at each budget.
        lines: its success with a column frozen, by column and budget.
    """

    of: str
    attacks: Mapping[int, str]
    now: Mapping[int, Rate]
    lines: Mapping[str, Mapping[int, Rate]]

    def to_json(self) -> dict[str, Any]:
        """As it is printed."""
        return {
            "class": self.of,
            "attacks": dict(self.attacks),
            "now": {budget: [rate.hits, rate.rows] for budget, rate in self.now.items()},
            "frozen": {
                name: {budget: [rate.hits, rate.rows] for budget, rate in line.items()}
                for name, line in self.lines.items()
            },
        }

    def to_frame(self) -> Frame:
        """A pandas data frame with one line per frozen column and budget, the column that helps most first.

        Raises:
            InputError: pandas is not installed.
        """
        budget = min(self.now, default=0)
        ranked = sorted(self.lines, key=lambda name: self.lines[name][budget].hits)
        lines = [(name, budget, self.lines[name][budget], self.now[budget]) for name in ranked for budget in self.now]
        return data_frame(
            {
                "frozen": [name for name, *_ in lines],
                "budget": [budget for _, budget, *_ in lines],
                "attacked": [line.rows for *_, line, _ in lines],
                "broken": [line.hits for *_, line, _ in lines],
                "broken_without_freezing": [now.hits for *_, now in lines],
            }
        )


def measure_what_if(
    job: ComparisonJob,
    checkpoint: Checkpoint,
    place: Path | str,
    summary: VictimSummary,
    columns: int,
    store: Store,
    *,
    of: str = "",
    on_column: Callable[[str], None] = lambda _: None,
) -> MeasuredWhatIf:
    """Attacks the rows of a comparison again, with one of its most telling columns frozen at a time.

    Args:
        job: what was compared.
        checkpoint: the victim.
        place: where it is, for `verify`.
        summary: its results.
        columns: how many columns are frozen, one after the other: those whose freezing may help most first.
        store: for the new runs; what it holds already is not attacked again.
        of: attack rows of this class only; of the positive one by default, or of all where none is named.
        on_column: called with each column before it is frozen.

    Raises:
        InputError: the rows have no columns, or S(x) cannot be rebuilt with a frozen column.
    """
    results, schema = summary.results, job.rows.schema
    if results.form != "columns":
        raise InputError("expected a table for --what-if, got texts or sequences. Their positions are no columns.")
    if not can_freeze(job.space):
        raise InputError(f"expected a space with columns for --what-if, got {job.space!r:.80}.")
    of = of or results.positive or ""
    rows = job.rows
    if of:
        rows = rows.take(rows.labels.cpu() == schema.classes.index(of))
    attacks = {line.budget: line.strongest for line in summary.worst if line.strongest in ATTACKS}
    bound, changed = what_if(results, summary.name, of=of), by_feature(results, summary.name, of=of)
    computed = {schema.features[column].name for column in results.derived_columns}
    ranked = [
        *(line.name for line in bound.useful),
        *(line.name for line in changed.lines if line.name not in computed),
    ]
    lines: dict[str, dict[int, Rate]] = {}
    for name in list(dict.fromkeys(ranked))[:columns]:
        on_column(name)
        try:
            space = frozen(job.space, name)
        except InputError:  # it is the last column that may change: frozen, nothing is left to attack
            continue
        lines[name] = {
            budget: record_into(
                store, checkpoint, rows, ThreatModel(space, budget), attack_named(attack), goal=job.goal, name=attack,
                place=str(place), source=job.source or job.data, split=job.split, seed=job.seed,
                batch_size=job.batch_size, memory=job.memory, executor=job.executor,
            ).totals.success_rate
            for budget, attack in attacks.items()
        }  # fmt: skip
    now = {budget: _rate_on(summary, budget, attack, of) for budget, attack in attacks.items()} if lines else {}
    return MeasuredWhatIf(of, attacks, now, lines)


def can_freeze(space: Space) -> bool:
    """Whether a column can be frozen: S(x) of a user's own, or with a Python rule, cannot be written again."""
    document = space.to_json()
    if document.get("kind") == "ruled":
        if any(part["kind"] == Function.kind for part in document["rules"]["relations"]):
            return False
        document = document["base"]
    return document.get("kind") == "full" or ("immutable" in document and "rule" not in document)


def frozen(space: Space, column: str) -> Space:
    """The same S(x), with the same rules, in which a column keeps its value.

    Raises:
        InputError: nothing else may change, or a rule needs the column to change.
    """
    return space_from_json(_frozen_document(space.to_json(), column), space.schema)


def _frozen_document(document: Mapping[str, Any], column: str) -> dict[str, Any]:
    if document.get("kind") == "ruled":
        return {**document, "base": _frozen_document(document["base"], column)}
    if document.get("kind") == "full":
        return {"kind": "masked", "immutable": [column], "forbidden": {}, "kept": {}}
    return {**document, "immutable": [*(document["immutable"] or ()), column]}


def read_measured(
    folder: Path, store: Store, runs: Sequence[Run], among: RowInt | None = None
) -> dict[str, MeasuredWhatIf]:
    """What was measured for runs of one comparison, by the hash of the victim's weights.

    Args:
        folder: of the results.
        store: theirs.
        runs: on the same data, with the same S(x) and goal.
        among: count only rows with these numbers, in rising order; all rows by default.

    Raises:
        FileError: a store is damaged.
    """
    if not (folder / FOLDER / FILE).is_file():
        return {}
    base, schema = store.space(runs[0]), store.schema(runs[0])
    found = {}
    with open_store(folder / FOLDER, readonly=True) as own, own.snapshot():
        again = [(run, column) for run in own.runs() if (column := _frozen_column(base, own.space(run))) and run.rows]
        for weights in dict.fromkeys(run.key.victim_sha256 for run in runs):
            mine = [run for run in runs if run.key.victim_sha256 == weights and run.rows]
            pairs = [(first, run, column) for run, column in again for first in mine if _is_again(run, first)]
            counted = [(*pair, totals_among(own, pair[1], among)) for pair in pairs]
            if any(totals["rows"] for *_, totals in counted):
                found[weights] = _measured(store, own, counted, schema, among)
    return found


def _measured(
    store: Store,
    own: Store,
    pairs: Sequence[tuple[Run, Run, str, RunTotals]],
    schema: Schema,
    among: RowInt | None,
) -> MeasuredWhatIf:
    """From pairs of a run without and a run with a frozen column. Runs that were killed early are left out."""
    most = max(totals["rows"] for *_, totals in pairs)
    attacks: dict[int, str] = {}
    now: dict[int, Rate] = {}
    lines: dict[str, dict[int, Rate]] = {}
    labels: set[int] = set()
    for first, run, column, totals in pairs:
        if totals["rows"] < most:
            continue
        budget = run.key.budget
        attacks[budget] = run.name
        lines.setdefault(column, {})[budget] = totals.success_rate
        if budget not in now:
            blocks = (rows if among is None else rows_among(rows, among) for rows in own.blocks(run.id))
            before = [store.rows(first.id, rows.numbers.tolist()).success_rate for rows in blocks]
            now[budget] = Rate(sum(rate.hits for rate in before), sum(rate.rows for rate in before))
        labels.update(totals.column("rows").nonzero()[0].tolist())
    of = schema.classes[labels.pop()] if len(labels) == 1 else ""
    return MeasuredWhatIf(of, attacks, now, {name: line for name, line in lines.items() if set(line) == set(now)})


def _is_again(run: Run, first: Run) -> bool:
    """Whether a run repeats another one in all but S(x)."""
    mine, theirs = run.key, first.key
    same = ("data", "split", "schema_sha256", "goal_sha256", "victim_sha256", "attack", "budget", "seed")
    return all(getattr(mine, part) == getattr(theirs, part) for part in same)


def _frozen_column(base: Mapping[str, Any], document: Mapping[str, Any]) -> str | None:
    """The column that one space freezes beyond another; None if they differ in anything else."""
    if base.get("kind") == "ruled":
        inner: list[Any] = [one.get("base") for one in (base, document)]
        same = document.get("rules") == base.get("rules") and all(isinstance(one, Mapping) for one in inner)
        return _frozen_column(*inner) if same and document.get("kind") == "ruled" else None
    immutable = document.get("immutable")
    if not isinstance(immutable, list) or not immutable or (base.get("kind") != "full" and "immutable" not in base):
        return None
    return str(immutable[-1]) if dict(document) == _frozen_document(base, immutable[-1]) else None


def _rate_on(summary: VictimSummary, budget: int, attack: str, of: str) -> Rate:
    """Success of an attack of the comparison on the rows of a class."""
    results = summary.results
    run = next(results.select(victim=summary.name, attack=attack, budget=budget))
    rates = [line.success for line in classes_of_run(results, run).lines if of in ("", line.name)]
    return Rate(sum(rate.hits for rate in rates), sum(rate.rows for rate in rates))
