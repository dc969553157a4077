"""`hammingbox attack`: one attack at one budget."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from hammingbox.attacks import ATTACKS
from hammingbox.cli.class_tables import interval, show_classes, shown_rate
from hammingbox.cli.completion import one_of
from hammingbox.cli.console import out, plain, print_json, progress, say
from hammingbox.cli.findings import exit_if_nothing_attacked, show_findings
from hammingbox.cli.options import (
    BatchSize,
    DataDir,
    DataName,
    Device,
    Forbid,
    From,
    FullSpaceFlag,
    Functions,
    Immutable,
    Json,
    Label,
    Memory,
    ModelName,
    ModelSpec,
    Neighbours,
    Plausible,
    Protect,
    SchemaFile,
    Seed,
    Split,
    Task,
    ThreatFile,
    To,
    VictimPath,
    attack_from,
    budget_from,
    budget_text,
    changes_from,
    goal_from,
    model_from,
)
from hammingbox.cli.own_file import reads_own_file
from hammingbox.cli.sampling import DrawHow, Positive, Rows, RowsPerClass, RowsSeed, sample_from
from hammingbox.cli.workers import RayAddress, Workers, driver_device, executor_from
from hammingbox.data.reading import Reading
from hammingbox.evaluation.class_rates import ClassRates
from hammingbox.evaluation.diagnose import by_severity, diagnose_data, diagnose_totals
from hammingbox.evaluation.rates import Rate
from hammingbox.running.reaching import reaching
from hammingbox.running.record import record_into
from hammingbox.running.store import MemoryStore, open_store
from hammingbox.threat.threat_model import ThreatModel


@reads_own_file
def attack(
    data: DataName,
    *,
    reading: Reading,
    victim: VictimPath = None,
    model: ModelSpec = None,
    model_name: ModelName = "",
    name: Annotated[
        str, typer.Option("--attack", help=f"Attack: {', '.join(ATTACKS)}.", autocompletion=one_of(ATTACKS))
    ] = "auto",
    budget: Annotated[
        str | None, typer.Option(help="At most this many changed features (3); with --threat, an amount of money.")
    ] = None,
    rows: Rows = None,
    rows_per_class: RowsPerClass = None,
    draw: DrawHow = None,
    rows_seed: RowsSeed = 0,
    positive: Positive = None,
    seed: Seed = 0,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Results folder; a run that was stopped resumes.")
    ] = None,
    sources: From = None,
    targets: To = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, a setting of the attack (repeatable).")
    ] = None,
    split: Split = "test",
    label: Label = None,
    schema_file: SchemaFile = None,
    data_dir: DataDir = None,
    immutable: Immutable = None,
    forbid: Forbid = None,
    full_space: FullSpaceFlag = False,
    protect: Protect = None,
    neighbours: Neighbours = None,
    threat_file: ThreatFile = None,
    function: Functions = None,
    plausible: Plausible = False,
    batch_size: BatchSize = None,
    memory: Memory = 512,
    device: Device = "cpu",
    workers: Workers = None,
    ray: RayAddress = None,
    json: Json = False,
) -> None:
    """Attacks rows of a data set and counts what is broken."""
    chosen = attack_from(name, settings or ())
    task = Task.of(data, label, schema_file, data_dir, reading=reading)
    where = driver_device(device, ray)
    part, reference = sample_from(task, split, rows, rows_per_class, draw, rows_seed, positive)
    space = task.space(
        changes_from(immutable, forbid, full_space, protect, neighbours, threat_file, function, plausible)
    )
    task, part, space = reaching(task, part, space, [model])
    checkpoint, place = model_from(victim, model, task.splits.schema, model_name, label=label)
    checkpoint.victim.to(where)
    threat = ThreatModel(space, budget_from(budget, space, 3))
    goal = goal_from(sources, targets)
    with progress() as bars, executor_from(workers, ray, device) as executor, ExitStack() as stack:
        store = stack.enter_context(MemoryStore() if out_dir is None else open_store(out_dir, create=True))
        bar = bars.add_task(f"{name}, {budget_text(threat.budget, space)}", total=len(part))
        result = record_into(
            store, checkpoint, part, threat, chosen, goal=goal, name=name, place=place, source=reference,
            split=split, seed=seed, batch_size=batch_size, memory=memory * 2**20, executor=executor,
            on_rows=lambda done, _broken: bars.update(bar, advance=done),
        )  # fmt: skip
    sample = reference.sample
    schema, totals = task.splits.schema, result.totals
    classes = totals.classes(
        schema.classes, population=None if sample is None else sample.population, positive=positive
    )
    doubts = diagnose_totals(totals, schema, goal=goal, failed=result.failed)
    findings = by_severity([*doubts, *diagnose_data(task.splits)])
    facts: dict[str, Any] = result.summary() | {"attack": name, "settings": repr(chosen)} | classes.to_json()
    if store.path is not None:
        facts["file"] = str(store.path)
    if json:
        print_json(facts | {"findings": [finding.to_json() for finding in findings]})
    else:
        show_findings(findings)
        _show(facts, totals.success_rate, classes)
    exit_if_nothing_attacked(findings)


def _show(facts: dict[str, Any], rate: Rate, classes: ClassRates) -> None:
    attacked, fixed = facts["attacked"], facts["not_attackable"]
    about = "can be attacked" if fixed else "the goal is about"
    whom = "those" if attacked == facts["correct"] else f"the {attacked} of those that {about}"
    table = Table(show_header=False, box=None)
    table.add_row("rows", f"{facts['rows']}, {facts['correct']} right before")
    table.add_row("success rate", f"[bold]{shown_rate(rate)}[/] of {whom}{interval(rate)}")
    if facts["proven"]:
        table.add_row("proven", f"{facts['proven']} rows cannot be broken within the budget")
    if fixed:
        table.add_row("not attackable", f"{fixed} rows have no change that the threat allows")
    table.add_row("robust error", f"{100 * facts['robust_error']:.1f} % of all rows")
    if rate.hits:  # the mean over no rows is no number
        table.add_row("mean distance", f"{facts['mean_distance']:.2f} changes per broken row")
    table.add_row("passes", f"{facts['forward']:,} forward, {facts['backward']:,} backward")
    table.add_row("time", f"{facts['seconds']:.2f} s")
    out.print(table)
    show_classes(classes)
    if "file" in facts:
        say(f"written to {plain(facts['file'])}")
