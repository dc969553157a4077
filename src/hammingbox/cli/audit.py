"""`hammingbox audit`: the main job on a user's own table and model, from the files to the report."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hammingbox.auditing.job import ATTACKS, ROWS_PER_CLASS, WHAT_IF, AuditJob, run_audit, split_of, usual_budgets
from hammingbox.auditing.result import Audit
from hammingbox.cli.class_tables import show_band, show_class_budgets, show_plausible, show_what_if
from hammingbox.cli.console import plain, print_json, progress, say
from hammingbox.cli.findings import exit_if_nothing_attacked, show_findings
from hammingbox.cli.options import (
    AttackNames,
    BatchSize,
    DataDir,
    Device,
    Forbid,
    From,
    Functions,
    Immutable,
    Json,
    Label,
    Memory,
    ModelName,
    OneModel,
    Plausible,
    SchemaFile,
    Seed,
    ThreatFile,
    To,
    VictimPath,
    budget_text,
    budgets_from,
    changes_from,
    goal_from,
    model_from,
    one_model,
)
from hammingbox.cli.own_file import reads_own_file
from hammingbox.cli.sampling import ALL_ROWS, Positive, RowsSeed, rows_or_all
from hammingbox.cli.workers import RayAddress, Workers, driver_device, executor_from
from hammingbox.data.reading import Reading
from hammingbox.report.page.folder import PAGE
from hammingbox.running.store import FILE
from hammingbox.running.tasks import Task


@reads_own_file
def audit(
    data: Annotated[str, typer.Argument(help="Your table: a CSV, Parquet or Excel file.", metavar="TABLE")],
    *,
    reading: Reading,
    out_dir: Annotated[
        Path, typer.Option("--out", help="Folder for the records and report.html; a killed audit goes on from it.")
    ],
    label: Label = None,
    models: OneModel = None,
    victim: VictimPath = None,
    model_name: ModelName = "",
    positive: Positive = None,
    rows_per_class: Annotated[
        int,
        typer.Option(
            parser=rows_or_all, metavar="N|all", help="Rows of each class, or all that it has; all for every row."
        ),
    ] = ROWS_PER_CLASS,
    budgets: Annotated[
        str | None,
        typer.Option(
            help="Budgets, the numbers of columns that may change: 1-3 (the default) or 1,3. With --threat and prices, "
            "amounts of money such as 0.2,1,10."
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            help="Which rows: all, train, validation or test. By default the test rows where --test, --time, --group "
            "or --stratified says which those are, and all rows otherwise."
        ),
    ] = None,
    attacks: AttackNames = ",".join(ATTACKS),
    what_if: Annotated[
        int,
        typer.Option(
            min=0, max=1000, help="Attack again with each of the N most telling columns frozen, to see what that helps."
        ),
    ] = WHAT_IF,
    certify: Annotated[
        bool, typer.Option("--certify", help="Prove which rows hold, too, where a method applies to the model.")
    ] = False,
    immutable: Immutable = None,
    forbid: Forbid = None,
    schema_file: SchemaFile = None,
    threat: ThreatFile = None,
    function: Functions = None,
    plausible: Plausible = False,
    sources: From = None,
    targets: To = None,
    seed: Seed = 0,
    rows_seed: RowsSeed = 0,
    data_dir: DataDir = None,
    batch_size: BatchSize = None,
    memory: Memory = 512,
    device: Device = "cpu",
    workers: Workers = None,
    ray: RayAddress = None,
    json: Json = False,
) -> None:
    """Audits a model on a table: what falls to a few changed columns, per class and direction, with a report."""
    where, model = driver_device(device, ray), one_model(models)
    task = Task.of(data, label, schema_file, data_dir, reading=reading)
    space = task.space(changes_from(immutable, forbid, False, None, None, threat, function, plausible))
    job = AuditJob(
        task=task,
        split=split or split_of(reading),
        rows_per_class=None if rows_per_class == ALL_ROWS else rows_per_class,
        budgets=budgets_from(budgets, space, usual_budgets(len(task.splits.schema.features))),
        positive=positive,
        space=space,
        goal=goal_from(sources, targets),
        attacks=[name.strip() for name in attacks.split(",")],
        seed=seed,
        rows_seed=rows_seed,
        what_if=what_if,
        certify=certify,
        batch_size=batch_size,
        memory=memory * 2**20,
    )
    job = job.reaching(model)  # refuses what does not fit before a model is opened
    runs = job.comparison()
    steps = runs.steps + (len(runs.budgets) * len(runs.rows) if certify else 0)
    checkpoint, place = model_from(victim, model, job.task.splits.schema, model_name, label=label, quiet=True)
    checkpoint.victim.to(where)
    with progress() as bars, executor_from(workers, ray, device) as executor:
        bar = bars.add_task("audit", total=steps)

        def show_progress(name: str, budget: int, rows: int) -> None:
            bars.update(bar, advance=rows, description=f"{name}, {budget_text(budget, space)}")

        def show_column(name: str) -> None:
            bars.update(bar, description=f"{name} frozen")

        found = run_audit(
            replace(job, executor=executor), checkpoint, place, out_dir, show_progress, show_column
        )  # fmt: skip
    if json:
        print_json(_as_json(found))
    else:
        _show(found, out_dir)
    exit_if_nothing_attacked(found.findings)


def _show(found: Audit, folder: Path) -> None:
    """What is doubtful first, then the headline and the tables."""
    show_findings(found.findings)
    say(f"[bold]{plain(found.headline)}[/]")
    show_class_budgets(found.classes)
    for attack, refused, reason in found.comparison.summary.refused:
        say(f"{plain(attack)} at budget {', '.join(map(str, refused))} was refused: {plain(reason)}")
    if found.how_proven:
        show_band(found.band, found.how_proven)
    if found.what_if is not None and found.what_if.lines:
        show_what_if(found.what_if)
    if found.plausible:
        show_plausible(found.plausible)
    say(f"records: {plain(folder / FILE)}\nreport: {plain(folder / PAGE)}")


def _as_json(found: Audit) -> dict[str, object]:
    return {
        "headline": found.headline,
        "budgets": {budget: rates.to_json() for budget, rates in found.classes.items()},
        "what_if": None if found.what_if is None else found.what_if.to_json(),
        "certified": [line.to_json() for line in found.band] if found.how_proven else None,
        "plausible": {str(line.budget): line.to_json() for line in found.plausible},
        "findings": [f"{finding.severity}: {finding.check}: {finding.seen}" for finding in found.findings],
        "records": str(found.folder / FILE),
        "report": str(found.folder / PAGE),
    }
