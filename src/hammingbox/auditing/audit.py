"""`hb.audit`: from a model and a table to an audit, in one line."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

from hammingbox.auditing.job import ATTACKS, ROWS_PER_CLASS, WHAT_IF, AuditJob, run_audit, split_of, usual_budgets
from hammingbox.auditing.result import Audit
from hammingbox.data.read_columns import Frame, cell_text, source_name
from hammingbox.data.reading import Reading
from hammingbox.data.registry import table_source
from hammingbox.data.schema import Schema
from hammingbox.data.table import load_table
from hammingbox.data.table_schema import TableSchema
from hammingbox.errors import InputError, MissingColumnsError
from hammingbox.report.comparison import OnProgress
from hammingbox.running.executor import Executor
from hammingbox.running.tasks import SpaceChanges, Task
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.space import Space
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import Checkpoint
from hammingbox.victims.of_model import victim
from hammingbox.victims.open_model import open_model
from hammingbox.victims.victim import Victim


def audit(
    model: Any,
    table: Path | str | Frame,
    *,
    label: str | None = None,
    positive: Any = None,
    threat: ThreatModel | Space | Path | str | None = None,
    budgets: Sequence[int | float | str] | None = None,
    immutable: Sequence[str] = (),
    forbidden: Mapping[str, Sequence[str]] | None = None,
    plausible: bool = False,
    rows_per_class: int | None = ROWS_PER_CLASS,
    schema: TableSchema | Path | None = None,
    test: Path | str | Frame | None = None,
    like: Any = None,
    name: str = "",
    goal: Goal | None = None,
    attacks: Sequence[str] = ATTACKS,
    folder: Path | str | None = None,
    seed: int = 0,
    rows_seed: int = 0,
    what_if: int = WHAT_IF,
    certify: bool = False,
    executor: Executor | None = None,
    on_progress: OnProgress = lambda _name, _budget, _rows: None,
) -> Audit:
    """Attacks rows of every class of a table, and says what falls, in which direction, and what is doubtful about it.

    Args:
        model: a fitted classifier (scikit-learn, XGBoost, LightGBM, CatBoost), a torch module, a function of a frame,
            a `Victim`, a `Checkpoint`, or what ``--model`` takes: a file, a folder, a URL, ``package.module:object``.
        table: a file, or a pandas or polars frame. All its rows may be drawn, so pass rows that the model was not
            trained on, or name them with `test`.
        label: the column to predict; a schema names it too.
        positive: the class whose rows an attacker wants to be taken for others, such as fraud; it comes first.
        threat: what an attacker may do: a threat.toml, a threat model, whose budget is then the largest, or a space. By
            default what the schema allows: a number may become one of the column's quantiles, a category any other one.
        budgets: changes allowed, or amounts of money where the threat has prices. By default those that a threat.toml
            names; else 1 to 3, or 1 to the budget of `threat`.
        immutable: columns an attacker cannot change.
        forbidden: for a column (or "*"), values an attacker cannot write.
        plausible: forbid two values, one of them written, that no row of the table has together.
        rows_per_class: rows of each class, drawn by `rows_seed`; all rows of a class that has fewer. None for every
            row of the table.
        schema: a schema.toml, or what it contains; inferred by default.
        test: the rows to audit, where `table` only says which values columns have.
        like: a frame with the types the model was trained on. By default what the model says, or the columns file next
            to its file, and for columns about which they say nothing the types of `table`, if it is a pandas frame.
        name: identifies a model that has neither weights nor a file, for a store that is used again.
        goal: what counts as success; any class but the true one by default.
        attacks: names of the attacks; the worst case over them counts.
        folder: for the store and the report; a killed audit goes on from it. A temporary one by default.
        seed: of the attacks.
        rows_seed: of the choice of rows.
        what_if: columns that are frozen, one after the other, and attacked again; 0 for none.
        certify: prove which rows hold, too, by the cheapest methods that apply to the model: `Audit.band` and the
            report then have certified beside attacked accuracy.
        executor: who computes the batches, such as ``hb.Processes(4)``; this process by default.
        on_progress: called as rows are done, with the attack, the budget and the number of rows.

    Raises:
        InputError, VictimError: table, model and threat do not fit each other.
        FileError: a file is missing or damaged, or the folder cannot be written.
    """
    reading = Reading() if test is None else Reading(test=Path(test)) if isinstance(test, str | Path) else None
    task = _task(table, label, schema, test, reading)
    changes = SpaceChanges(tuple(immutable), forbidden, plausible=plausible)
    if isinstance(threat, str | Path):
        threat, changes = task.space(replace(changes, threat=Path(threat))), SpaceChanges()
    elif threat is not None and (immutable or forbidden or plausible):
        raise InputError(
            "expected `immutable`, `forbidden` and `plausible`, or a `threat`, got both. Put them into the threat."
        )
    space, largest = _space(threat)
    job = AuditJob(
        task=task,
        split="test" if test is not None else split_of(reading),
        rows_per_class=rows_per_class,
        budgets=_budgets(budgets, space, largest, len(task.splits.schema.features)),
        positive=None if positive is None else _class_named(positive, task.splits.schema),
        space=space,
        changes=changes,
        goal=goal or AnyOther(),
        attacks=attacks,
        seed=seed,
        rows_seed=rows_seed,
        executor=executor,
        what_if=what_if,
        certify=certify,
    )
    if not isinstance(model, Checkpoint | Victim):  # these were built for the ids of the table
        job = job.reaching(str(model) if isinstance(model, str | Path) else None)
    hint = table if hasattr(getattr(table, "dtypes", None), "items") else None  # pandas; polars has other types
    types = {"like": like, "hint": hint}
    try:
        checkpoint, place = _opened(model, job.task.splits.schema, types, name, is_kept=folder is not None)
    except MissingColumnsError as error:
        raise error.with_label(label) from None
    if folder is not None:
        return run_audit(job, checkpoint, place, Path(folder), on_progress)
    temporary = mkdtemp(prefix="hammingbox-audit-")
    try:
        found = run_audit(job, checkpoint, place, Path(temporary), on_progress)
    except BaseException:
        rmtree(temporary, ignore_errors=True)
        raise
    finalize(found, rmtree, temporary, ignore_errors=True)  # it lives as long as the audit
    return found


def _task(
    table: Path | str | Frame,
    label: str | None,
    schema: TableSchema | Path | None,
    test: Path | str | Frame | None,
    reading: Reading | None,
) -> Task:
    """The table with its rows. A file is noted by its path, so that `verify` finds it again."""
    loaded = load_table(table, label=label, schema=schema, test=test)
    is_file = isinstance(table, str | Path)
    name = str(table) if is_file else source_name(table)
    file = schema if isinstance(schema, Path) else None
    return Task(name, table_source(loaded, name), loaded.splits, label, file, reading if is_file else None)


def _class_named(value: Any, schema: Schema) -> str:
    """The class that a value of the label column is: 1.0 is the class "1" of a frame, and "1.0" of a file."""
    return str(value) if str(value) in schema.classes else cell_text(value)


def _space(threat: ThreatModel | Space | None) -> tuple[Space | None, int | None]:
    if isinstance(threat, ThreatModel):
        return threat.space, threat.budget
    if threat is None or isinstance(threat, Space):
        return threat, None
    raise InputError(f"expected a threat model or a space for `threat`, got {type(threat).__name__}.")


def _budgets(
    budgets: Sequence[int | float | str] | None, space: Space | None, largest: int | None, features: int
) -> Sequence[int]:
    """Budgets in changes, or in ticks where the space has prices.

    Raises:
        InputError: prices without a budget, or budgets that are no amounts.
    """
    unit = None if space is None else space.unit
    if budgets is not None:
        found: list[Any] = [amount if unit is None else unit.ticks(amount) for amount in budgets]
        return found  # the job checks that they are whole numbers
    if isinstance(space, RuledSpace) and space.budgets:
        return space.budgets
    if unit is not None:
        if largest is None:
            raise InputError("expected budgets where changes have prices, got none. Pass budgets=[1, 10].")
        return [largest]
    return usual_budgets(features) if largest is None else range(1, largest + 1)


def _opened(model: Any, schema: Schema, types: dict[str, Any], name: str, *, is_kept: bool) -> tuple[Checkpoint, str]:
    """The model as a checkpoint, and its place for `verify`."""
    if isinstance(model, Checkpoint):
        return model, ""
    if isinstance(model, str | Path):
        return open_model(str(model), schema, name=name, **types), str(model)
    kind = type(model).__name__
    found = victim(model, schema, name=name, **types)
    if not (found.name or found.identity or found.state_dict()):
        if is_kept and not isinstance(model, Victim):
            raise InputError(
                f"expected a name for a {kind}, which has neither weights nor a file, to keep its runs, got none. "
                'Pass name=... to hb.audit, a name that no other model has, such as name="forest, 3 May".'
            )
        if not is_kept:
            found.name = kind  # nobody continues a temporary folder
    return Checkpoint(found.eval(), kind, {}, schema), ""
