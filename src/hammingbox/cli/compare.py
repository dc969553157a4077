"""`hammingbox compare`: several attacks at several budgets on the same rows, as a table and a report."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hammingbox.attacks import attack_named
from hammingbox.cli.class_tables import show_what_if
from hammingbox.cli.comparison_tables import show_models, show_results
from hammingbox.cli.completion import a_shipped_victim
from hammingbox.cli.console import plain, print_json, progress, say
from hammingbox.cli.findings import exit_if_nothing_attacked, show_findings
from hammingbox.cli.options import (
    AttackNames,
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
    ModelSpecs,
    Neighbours,
    Plausible,
    Protect,
    SchemaFile,
    Seed,
    Split,
    Task,
    ThreatFile,
    To,
    budgets_from,
    changes_from,
    goal_from,
    model_from,
)
from hammingbox.cli.own_file import reads_own_file
from hammingbox.cli.sampling import DrawHow, Positive, Rows, RowsPerClass, RowsSeed, sample_from
from hammingbox.cli.workers import RayAddress, Workers, driver_device, executor_from
from hammingbox.data.reading import Reading
from hammingbox.errors import InputError
from hammingbox.evaluation.diagnose import diagnose_data
from hammingbox.report.comparison import COMPARED, ORACLE, Comparison, ComparisonJob, compare_attacks
from hammingbox.report.measured_what_if import FOLDER, MeasuredWhatIf, measure_what_if
from hammingbox.report.page.folder import PAGE, write_report
from hammingbox.report.recorded_plausibility import note_plausibility
from hammingbox.running.reaching import reaching
from hammingbox.running.store import FILE, MemoryStore, open_store
from hammingbox.victims.checkpoint import Checkpoint


@reads_own_file
def compare(
    data: DataName,
    *,
    reading: Reading,
    checkpoints: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Checkpoint folders or shipped victims, one or several.",
            metavar="CHECKPOINT...",
            autocompletion=a_shipped_victim,
        ),
    ] = None,
    victim: Annotated[
        list[Path] | None,
        typer.Option("--victim", help="The same as CHECKPOINT (repeatable).", autocompletion=a_shipped_victim),
    ] = None,
    models: ModelSpecs = None,
    model_name: ModelName = "",
    attacks: AttackNames = ",".join(COMPARED),
    budgets: Annotated[
        str | None, typer.Option(help="Budgets: 1-5 (the default) or 1,3,5; with --threat, amounts of money.")
    ] = None,
    rows: Rows = None,
    rows_per_class: RowsPerClass = None,
    draw: DrawHow = None,
    rows_seed: RowsSeed = 0,
    positive: Positive = None,
    seed: Seed = 0,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Results folder with report.html; a run that was stopped resumes.")
    ] = None,
    oracle: Annotated[
        bool, typer.Option("--oracle", help="Run the exact oracle where it is affordable and show every attack's gap.")
    ] = False,
    what_if: Annotated[
        int | None,
        typer.Option(
            "--what-if",
            min=1,
            max=1000,
            help="Attack again with each of the N most telling columns frozen, and show how far success falls.",
        ),
    ] = None,
    sources: From = None,
    targets: To = None,
    split: Split = "test",
    label: Label = None,
    schema_file: SchemaFile = None,
    data_dir: DataDir = None,
    immutable: Immutable = None,
    forbid: Forbid = None,
    full_space: FullSpaceFlag = False,
    protect: Protect = None,
    neighbours: Neighbours = None,
    threat: ThreatFile = None,
    function: Functions = None,
    plausible: Plausible = False,
    batch_size: BatchSize = None,
    memory: Memory = 512,
    device: Device = "cpu",
    workers: Workers = None,
    ray: RayAddress = None,
    json: Json = False,
) -> None:
    """Compares attacks x budgets on the same rows, for one model or several."""
    names = [name.strip() for name in attacks.split(",")]
    if oracle and ORACLE not in names:
        names.append(ORACLE)
    for name in names:
        attack_named(name)
    paths = [*(checkpoints or ()), *(victim or ())]
    places = [*map(str, paths), *(models or ())]
    if not places:
        raise InputError("expected at least one checkpoint, got none. Name one with --victim DIR or --model MODEL.")
    if model_name and len(models or ()) != 1:
        raise InputError(f"expected one --model for --model-name, got {len(models or ())}. Compare them one by one.")
    task, where = Task.of(data, label, schema_file, data_dir, reading=reading), driver_device(device, ray)
    part, reference = sample_from(task, split, rows, rows_per_class, draw, rows_seed, positive)
    space = task.space(changes_from(immutable, forbid, full_space, protect, neighbours, threat, function, plausible))
    task, part, space = reaching(task, part, space, models or ())
    job = ComparisonJob(
        data=data,
        rows=part,
        space=space,
        attacks=names,
        budgets=budgets_from(budgets, space, range(1, 6)),
        goal=goal_from(sources, targets),
        seed=seed,
        split=split,
        batch_size=batch_size,
        memory=memory * 2**20,
        source=reference,
        doubts=diagnose_data(task.splits),
    )
    found: list[Comparison] = []
    measured: dict[str, MeasuredWhatIf] = {}
    schema = task.splits.schema
    opened = [model_from(path, None, schema)[0] for path in paths]
    opened += [model_from(None, model, schema, model_name, label=label)[0] for model in models or ()]
    with executor_from(workers, ray, device) as executor:
        job = replace(job, executor=executor)
        for checkpoint, place in zip(opened, places, strict=True):
            checkpoint.victim.to(where)
            found.append(run_comparison(job, checkpoint, place, out_dir))
            if what_if is not None:
                measured[found[-1].weights] = run_what_if(job, checkpoint, place, found[-1], what_if, out_dir)
    if out_dir is not None:
        with open_store(out_dir, readonly=True) as store:
            note_plausibility(store, out_dir, task.whole("all"))
        write_report(out_dir, queried={comparison.weights: comparison.queried for comparison in found})
    if json:
        print_json([
            record
            | {"victim": place, "findings": [finding.to_json() for finding in comparison.findings]}
            | _what_if_record(measured.get(comparison.weights))
            for place, comparison in zip(places, found, strict=True)
            for record in comparison.summary.records()
        ])  # fmt: skip
    else:
        _show(found, measured, out_dir, gaps=oracle)
    exit_if_nothing_attacked([finding for comparison in found for finding in comparison.findings])


def _show(
    found: Sequence[Comparison], measured: Mapping[str, MeasuredWhatIf], folder: Path | None, *, gaps: bool
) -> None:
    """What is doubtful about every model first, then the tables."""
    for comparison in found:
        show_findings(comparison.findings, whose=comparison.summary.name if len(found) > 1 else "")
    if len(found) > 1:
        show_models([comparison.summary for comparison in found])
    for comparison in found:
        show_results(comparison.summary, gaps=gaps)
        if comparison.weights in measured:
            show_what_if(measured[comparison.weights])
    if folder is not None:
        say(f"records: {plain(folder / FILE)}\nreport: {plain(folder / PAGE)}")


def _what_if_record(measured: MeasuredWhatIf | None) -> dict[str, Any]:
    return {} if measured is None else {"what_if": measured.to_json()}


def run_what_if(
    job: ComparisonJob, checkpoint: Checkpoint, place: str, comparison: Comparison, columns: int, folder: Path | None
) -> MeasuredWhatIf:
    """Freezes columns one after the other and attacks again, with a progress bar."""
    with ExitStack() as stack:
        store = MemoryStore() if folder is None else stack.enter_context(open_store(folder / FOLDER, create=True))
        bars = stack.enter_context(progress())
        bar = bars.add_task("what if", total=columns)
        return measure_what_if(
            job, checkpoint, place, comparison.summary, columns, store,
            on_column=lambda name: bars.update(bar, advance=1, description=f"{name} frozen"),
        )  # fmt: skip


def run_comparison(job: ComparisonJob, checkpoint: Checkpoint, place: Path | str, folder: Path | None) -> Comparison:
    """Runs a comparison with a progress bar, into a results folder if there is one."""
    with progress() as bars, ExitStack() as stack:
        store = stack.enter_context(MemoryStore() if folder is None else open_store(folder, create=True))
        bar = bars.add_task("compare", total=job.steps)

        def show_progress(name: str, budget: int, rows: int) -> None:
            bars.update(bar, advance=rows, description=f"{name}, budget {budget}")

        return compare_attacks(job, checkpoint, place, store, show_progress)
