"""`hammingbox compare`: several attacks at several budgets on the same rows, as a table and a report."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hammingbox.attacks import attack_named
from hammingbox.cli.comparison_tables import show, show_models
from hammingbox.cli.console import plain, print_json, progress, say
from hammingbox.cli.options import (
    BatchSize,
    DataDir,
    DataName,
    Forbid,
    FullSpaceFlag,
    Immutable,
    Json,
    Label,
    Memory,
    Neighbours,
    Protect,
    Rows,
    SchemaFile,
    Seed,
    Split,
    Task,
    budgets_from,
    changes_from,
)
from hammingbox.data.schema import Dataset
from hammingbox.errors import InputError, TooExpensiveError
from hammingbox.evaluation.diagnose import Finding, diagnose_victim
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.report.comparison import Comparison
from hammingbox.report.page.folder import PAGE, write_report
from hammingbox.running.evaluate import evaluate
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import FILE, Store, open_store
from hammingbox.threat.space import Space
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint, weights_digest

ORACLE = "oracle"
COMPARED = (
    "auto", "pcaa", "sa", "ga", "gsa", "gga", "hotflip", "hotflip_beam", "swap", "genetic", "random", ORACLE,
)  # fmt: skip
"""What is compared unless the user says otherwise: the paper's attacks, the strongest one, and the limit."""


@dataclass(frozen=True)
class Job:
    """What is compared with what."""

    data: str
    rows: Dataset
    space: Space
    checkpoint: Checkpoint
    victim: Path
    attacks: Sequence[str]
    budgets: Sequence[int]
    seed: int
    folder: Path | None
    split: str = "test"
    batch_size: int = 256
    memory: int = 512 * 2**20
    asked: dict[str, Sequence[Finding]] = field(default_factory=dict)
    """What victims showed when they were asked, by the hash of their weights; jobs on one folder share it."""


def compare(
    data: DataName,
    checkpoints: Annotated[
        list[Path] | None, typer.Argument(help="Checkpoint folders, one or several models.", metavar="CHECKPOINT...")
    ] = None,
    victim: Annotated[list[Path] | None, typer.Option("--victim", help="The same as CHECKPOINT (repeatable).")] = None,
    attacks: Annotated[str, typer.Option(help="Attacks, separated by commas.")] = ",".join(COMPARED),
    budgets: Annotated[str, typer.Option(help="Budgets: 1-5 or 1,3,5.")] = "1-5",
    rows: Rows = 100,
    seed: Seed = 0,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Results folder with report.html; a run that was stopped goes on.")
    ] = None,
    oracle: Annotated[
        bool, typer.Option("--oracle", help="Run the exact oracle where it is affordable and show every attack's gap.")
    ] = False,
    split: Split = "test",
    label: Label = None,
    schema_file: SchemaFile = None,
    data_dir: DataDir = None,
    immutable: Immutable = None,
    forbid: Forbid = None,
    full_space: FullSpaceFlag = False,
    protect: Protect = None,
    neighbours: Neighbours = None,
    batch_size: BatchSize = 256,
    memory: Memory = 512,
    json: Json = False,
) -> None:
    """Compares attacks x budgets on the same rows, for one model or several."""
    names = [name.strip() for name in attacks.split(",")]
    if oracle and ORACLE not in names:
        names.append(ORACLE)
    for name in names:
        attack_named(name)
    paths = [*(checkpoints or ()), *(victim or ())]
    if not paths:
        raise InputError("expected at least one checkpoint, got none. Name one with --victim DIR.")
    opened = Task.of(data, label, schema_file, data_dir)
    job = Job(
        data=data,
        rows=opened.part(split, rows),
        space=opened.space(changes_from(immutable, forbid, full_space, protect, neighbours)),
        checkpoint=load_checkpoint(paths[0], schema=opened.splits.schema),
        victim=paths[0],
        attacks=names,
        budgets=budgets_from(budgets),
        seed=seed,
        folder=out_dir,
        split=split,
        batch_size=batch_size,
        memory=memory * 2**20,
    )
    found = [
        run(job)
        if len(paths) == 1
        else run(replace(job, checkpoint=load_checkpoint(path, schema=opened.splits.schema), victim=path))
        for path in paths
    ]
    if out_dir is not None:
        write_report(out_dir, asked=job.asked)
    if json:
        print_json([
            {"budget": cell.budget}
            | (cell.summary or {})
            | {"attack": cell.attack, "victim": str(path), "refused": cell.refused}
            for path, comparison in zip(paths, found, strict=True)
            for cell in comparison.cells
        ])  # fmt: skip
        return
    if len(found) > 1:
        show_models(found)
    for comparison in found:
        show(comparison, gaps=oracle)
    if out_dir is not None:
        say(f"records: {plain(out_dir / FILE)}\nreport: {plain(out_dir / PAGE)}")


def run(job: Job) -> Comparison:
    """Runs every cell that the results folder does not hold yet."""
    threats = [ThreatModel(job.space, budget) for budget in job.budgets]
    comparison = Comparison(
        data=Path(job.data).name,
        victim=f"{job.checkpoint.model} ({job.victim.name})",
        findings=diagnose_victim(job.checkpoint.victim, job.rows, max(threats, key=lambda threat: threat.budget)),
    )
    job.asked[weights_digest(job.checkpoint.victim)] = tuple(comparison.findings)
    with progress() as bars, ExitStack() as stack:
        store = None if job.folder is None else stack.enter_context(open_store(job.folder, create=True))
        task = bars.add_task("compare", total=len(job.attacks) * len(threats) * len(job.rows))
        for name in job.attacks:
            for threat in threats:
                bars.update(task, description=f"{name}, budget {threat.budget}")
                before = bars.tasks[task].completed
                try:
                    result = _cell(job, store, name, threat, lambda done, _fallen: bars.update(task, advance=done))
                except TooExpensiveError as error:
                    comparison.refuse(name, threat.budget, str(error))
                    bars.update(task, completed=before + len(job.rows))
                    continue
                comparison.add(name, threat.budget, result)
    comparison.finish()
    return comparison


def _cell(
    job: Job, store: Store | None, name: str, threat: ThreatModel, on_rows: Callable[[int, int], None]
) -> Evaluation:
    options: dict[str, Any] = {
        "batch_size": job.batch_size, "seed": job.seed, "memory": job.memory, "on_rows": on_rows,
    }  # fmt: skip
    if store is None:
        return evaluate(job.checkpoint.victim, job.rows, threat, attack_named(name), **options)
    return evaluate_into(
        store, job.checkpoint, job.rows, threat, attack_named(name),
        name=name, place=str(job.victim), source=job.data, split=job.split, **options,
    )  # fmt: skip
