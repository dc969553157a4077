"""`hammingbox compare`: several attacks at several budgets on the same rows, as a table and a report."""

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from hammingbox.attacks import attack_named
from hammingbox.cli.console import out, print_json, progress
from hammingbox.cli.findings import show_findings
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
    Opened,
    Protect,
    Rows,
    SchemaFile,
    Seed,
    Split,
    VictimPath,
    budgets_from,
)
from hammingbox.data.schema import Dataset
from hammingbox.diagnose import diagnose_victim
from hammingbox.errors import TooExpensiveError
from hammingbox.evaluate import evaluate
from hammingbox.models.checkpoint import Checkpoint, load_checkpoint
from hammingbox.report.comparison import Comparison, is_alphabet
from hammingbox.report.html import write_report
from hammingbox.results import write_results
from hammingbox.space import Space, ThreatModel

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
    batch_size: int = 256
    memory: int = 512 * 2**20
    command: str = ""


def compare(
    data: DataName,
    victim: VictimPath,
    attacks: Annotated[str, typer.Option(help="Attacks, separated by commas.")] = ",".join(COMPARED),
    budgets: Annotated[str, typer.Option(help="Budgets: 1-5 or 1,3,5.")] = "1-5",
    rows: Rows = 100,
    seed: Seed = 0,
    out_dir: Annotated[Path | None, typer.Option("--out", help="Folder for result files and report.html.")] = None,
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
    """Compares attacks x budgets on the same rows."""
    names = [name.strip() for name in attacks.split(",")]
    if oracle and ORACLE not in names:
        names.append(ORACLE)
    for name in names:
        attack_named(name)
    opened = Opened.of(data, label, schema_file, data_dir)
    job = Job(
        data=data,
        rows=opened.part(split, rows),
        space=opened.space(immutable=immutable, forbid=forbid, full=full_space, protect=protect, neighbours=neighbours),
        checkpoint=load_checkpoint(victim, schema=opened.splits.schema),
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
        return
    show(comparison, gaps=oracle)
    if out_dir is not None:
        out.print(f"report: {out_dir / 'report.html'}", highlight=False)


def run(job: Job) -> Comparison:
    """Runs every cell, writes result files and the report."""
    schema = job.rows.schema
    threats = [ThreatModel(job.space, budget) for budget in job.budgets]
    comparison = Comparison(
        data=Path(job.data).name,
        victim=f"{job.checkpoint.model} ({job.victim.name})",
        accuracy=0.0,
        classes=schema.classes,
        alphabet=is_alphabet(schema),
        command=job.command,
        findings=diagnose_victim(job.checkpoint.victim, job.rows, threats[0]),
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
    comparison.finish()
    if job.folder is not None:
        write_report(comparison, job.folder / "report.html")
    return comparison


def show(comparison: Comparison, *, gaps: bool = False) -> None:
    """Prints the table of success and time, the gaps to the oracle when asked, and what is doubtful."""
    out.print(f"[bold]{comparison.data}, {comparison.victim}[/]: success in %, and seconds a row")
    out.print(_table(comparison, _success))
    if gaps:
        out.print("[bold]optimality gap[/]: points of success that the oracle has and the attack has not")
        out.print(_table(comparison, _gap))
    show_findings(comparison.findings)


def _table(comparison: Comparison, cell: Callable[[Comparison, str, int], str]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, show_edge=False)  # 80 columns are enough
    table.add_column("budget", no_wrap=True)
    for budget in comparison.budgets:
        table.add_column(str(budget), justify="right", no_wrap=True)
    for attack in comparison.attacks:
        table.add_row(attack, *(cell(comparison, attack, budget) for budget in comparison.budgets))
    return table


def _success(comparison: Comparison, attack: str, budget: int) -> str:
    """As in the paper's attack table; the best success of a budget is bold."""
    cell = comparison.cell(attack, budget)
    if cell is None or cell.summary is None:
        return "-"
    rate, seconds = cell.summary["success_rate"], cell.summary["seconds"] / max(cell.summary["correct"], 1)
    shown = f"{100 * rate:.1f}"
    return f"{f'[bold]{shown}[/]' if rate == comparison.best(budget) else shown} [dim]{seconds:5.3f}[/]"


def _gap(comparison: Comparison, attack: str, budget: int) -> str:
    cell = comparison.cell(attack, budget)
    gap = cell.summary.get("optimality_gap") if cell is not None and cell.summary is not None else None
    return "-" if gap is None else f"{100 * gap:.1f}"
