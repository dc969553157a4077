"""`hammingbox compare`: several attacks at several budgets on the same rows, as a table and a report."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from hammingbox.attacks import ATTACKS, attack_named
from hammingbox.cli.console import out, print_json, progress
from hammingbox.cli.options import (
    BatchSize,
    DataName,
    Forbid,
    FullSpaceFlag,
    Immutable,
    Json,
    Memory,
    Rows,
    Seed,
    Split,
    VictimPath,
    budgets_from,
    first_rows,
    part_of,
    space_for,
)
from hammingbox.data.registry import source_named
from hammingbox.data.schema import Dataset
from hammingbox.errors import TooExpensiveError
from hammingbox.evaluate import evaluate
from hammingbox.models.checkpoint import Checkpoint, load_checkpoint
from hammingbox.report.comparison import Comparison, is_alphabet
from hammingbox.report.html import write_report
from hammingbox.results import write_results
from hammingbox.space import Space, ThreatModel

AFFORDABLE = [name for name in ATTACKS if name != "pcaa_paper"]
"""What is compared unless the user says otherwise: the paper's own setting needs 200,000 passes a row."""


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
    batch_size: int = 256
    memory: int = 512 * 2**20
    command: str = ""


def compare(
    data: DataName,
    victim: VictimPath,
    attacks: Annotated[str, typer.Option(help="Attacks, separated by commas.")] = ",".join(AFFORDABLE),
    budgets: Annotated[str, typer.Option(help="Budgets: 1-5 or 1,3,5.")] = "1-5",
    rows: Rows = 100,
    seed: Seed = 0,
    out_dir: Annotated[Path | None, typer.Option("--out", help="Folder for result files and report.html.")] = None,
    split: Split = "test",
    immutable: Immutable = [],  # noqa: B006
    forbid: Forbid = [],  # noqa: B006
    full_space: FullSpaceFlag = False,
    batch_size: BatchSize = 256,
    memory: Memory = 512,
    json: Json = False,
) -> None:
    """Compares attacks x budgets on the same rows."""
    names = [name.strip() for name in attacks.split(",")]
    for name in names:
        attack_named(name)
    splits = source_named(data).load()
    job = Job(
        data=data,
        rows=first_rows(part_of(splits, split), rows),
        space=space_for(data, splits.schema, immutable, forbid, full_space),
        checkpoint=load_checkpoint(victim, schema=splits.schema),
        victim=victim,
        attacks=names,
        budgets=budgets_from(budgets),
        seed=seed,
        folder=out_dir,
        batch_size=batch_size,
        memory=memory * 2**20,
        command=shlex.join(["hammingbox", *sys.argv[1:]]),
    )
    comparison = run(job)
    if json:
        print_json([cell.summary | {"attack": cell.attack} for cell in comparison.cells if cell.summary is not None])
    else:
        out.print(table_of(comparison))
        if out_dir is not None:
            out.print(f"report: {out_dir / 'report.html'}", highlight=False)


def run(job: Job) -> Comparison:
    """Runs every cell, writes result files and the report."""
    schema = job.rows.schema
    threats = [ThreatModel(job.space, budget) for budget in job.budgets]
    comparison = Comparison(
        data=job.data,
        victim=f"{job.checkpoint.model} ({job.victim.name})",
        accuracy=0.0,
        classes=schema.classes,
        alphabet=is_alphabet(schema),
        command=job.command,
    )
    with progress() as bars:
        task = bars.add_task("compare", total=len(job.attacks) * len(threats) * len(job.rows))
        for name in job.attacks:
            for threat in threats:
                bars.update(task, description=f"{name}, budget {threat.budget}")
                before = bars.tasks[task].completed
                try:
                    result = evaluate(
                        job.checkpoint.victim, job.rows, threat, attack_named(name),
                        batch_size=job.batch_size, seed=job.seed, memory=job.memory,
                        on_rows=lambda done, _fallen: bars.update(task, advance=done),
                    )  # fmt: skip
                except TooExpensiveError as error:
                    comparison.refuse(name, threat.budget, str(error))
                    bars.update(task, completed=before + len(job.rows))
                    continue
                comparison.accuracy = result.accuracy.value
                comparison.add(name, threat.budget, result)
                if job.folder is not None:
                    path = job.folder / f"{name}-budget{threat.budget}-seed{job.seed}"
                    write_results(result, path, victim=str(job.victim), data=job.data)
    if job.folder is not None:
        write_report(comparison, job.folder / "report.html")
    return comparison


def table_of(comparison: Comparison) -> Table:
    """Success rate and seconds a row, as in the paper's attack table; the best success of a budget is bold."""
    title = f"{comparison.data}, {comparison.victim}: success in %, seconds a row"
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1))
    table.add_column("budget", no_wrap=True)
    for budget in comparison.budgets:
        table.add_column(str(budget), justify="right", no_wrap=True)
    best = {b: max((_rate(comparison, a, b) for a in comparison.attacks), default=0.0) for b in comparison.budgets}
    for attack in comparison.attacks:
        cells = []
        for budget in comparison.budgets:
            cell = comparison.cell(attack, budget)
            if cell is None or cell.summary is None:
                cells.append("-")
                continue
            rate, seconds = cell.summary["success_rate"], cell.summary["seconds"] / max(cell.summary["correct"], 1)
            shown = f"{100 * rate:.1f}"
            cells.append(f"{f'[bold]{shown}[/]' if rate == best[budget] else shown} [dim]{seconds:6.3f}[/]")
        table.add_row(attack, *cells)
    return table


def _rate(comparison: Comparison, attack: str, budget: int) -> float:
    cell = comparison.cell(attack, budget)
    summary: dict[str, Any] | None = cell.summary if cell else None
    return summary["success_rate"] if summary else -1.0
