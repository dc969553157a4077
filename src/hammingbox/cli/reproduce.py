"""`hammingbox reproduce`: the paper's tables and figures, beside the paper's numbers."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table as Grid
from rich.text import Text

from hammingbox.cli.console import out, plain, progress, say
from hammingbox.cli.options import DataDir
from hammingbox.cli.training import train_victim
from hammingbox.errors import InputError, unknown_name
from hammingbox.experiments import EXPERIMENTS, PRESETS, Experiment, Outcome, Workspace
from hammingbox.experiments.records import Records
from hammingbox.report.cases import Case
from hammingbox.report.outcome import write_outcome
from hammingbox.report.paper_figures import check_matplotlib
from hammingbox.report.table import Table
from hammingbox.store import FILE, Store


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help=f"Which: {', '.join(EXPERIMENTS)}.", metavar="TABLE...")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    preset: Annotated[
        str, typer.Option(help="smoke (a minute), cpu (hours at most on two cores), paper (the paper's sizes).")
    ] = "cpu",
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Results folder; runs/reproduce-PRESET by default. Goes on if stopped.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan: rows, victim passes, time.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Runs, or goes on with, experiments of the paper and prints their tables beside the paper's numbers."""
    if preset not in PRESETS:
        raise unknown_name("preset", preset, PRESETS)
    for name in names or ():
        if name not in EXPERIMENTS:
            raise unknown_name("table or figure", name, EXPERIMENTS)
    chosen = list(EXPERIMENTS) if everything else list(names or ())
    if not chosen:
        raise InputError(f"expected names of tables ({', '.join(EXPERIMENTS)}) or --all, got none.")
    if not dry_run:
        check_matplotlib()
    folder = out_dir or Path("runs") / f"reproduce-{preset}"
    with ExitStack() as stack:
        at = folder
        if dry_run and not (folder / FILE).exists():  # a plan leaves nothing behind
            at = Path(stack.enter_context(TemporaryDirectory()))
        store = stack.enter_context(Store.open(at, create=True))
        workspace = Workspace(folder, store, train_victim, _watch, data_dir)
        for name in chosen:
            experiment = EXPERIMENTS[name]
            out.print(f"[bold]{experiment.title}[/] ({experiment.source} of the paper), preset {preset}")
            if dry_run:
                _show_plan(experiment, workspace, preset)
                continue
            begin = perf_counter()
            workspace.records = records = Records()
            outcome = experiment.run(workspace, experiment.size(preset))
            outcome.notes = (*outcome.notes, _origin(name, preset, records))
            heading = f"{experiment.title} ({experiment.source} of the paper), preset {preset}"
            written = write_outcome(
                folder / name, heading, outcome.tables, outcome.figures, outcome.cases, outcome.skipped, outcome.notes,
                records.to_json() if records.runs else "",
            )  # fmt: skip
            _show(outcome)
            say(f"{perf_counter() - begin:.1f} s; {len(written)} files in {plain(folder / name)}\n")


def _origin(name: str, preset: str, records: Records) -> str:
    command = f"Made by `hammingbox reproduce {name} --preset {preset}`"
    if not records.runs:
        return f"{command}."
    return f"{command}; records.json lists its runs ({len(records.runs)}), sha256 without times `{records.sha256}`."


@contextmanager
def _watch(label: str, rows: int) -> Iterator[Callable[[int, int], None]]:
    with progress() as bars:
        task = bars.add_task(label, total=rows)
        yield lambda done, _fallen: bars.update(task, advance=done)


def _show_plan(experiment: Experiment, workspace: Workspace, preset: str) -> None:
    work = experiment.plan(workspace, experiment.size(preset))
    grid = _grid(("what", "rows", "passes", "about", "note"), 1)
    for step in work:
        grid.add_row(Text(step.what), f"{step.rows:,}", f"{step.passes:,.0f}", _duration(step.seconds), Text(step.note))
    out.print(grid)
    out.print(
        f"together: {sum(step.rows for step in work):,} rows, {sum(step.passes for step in work):,.0f} victim passes, "
        f"about {_duration(sum(step.seconds for step in work))} on this machine\n",
        highlight=False,
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _grid(columns: tuple[str, ...], text_columns: int) -> Grid:
    grid = Grid(box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, show_edge=False)
    for i, column in enumerate(columns):
        grid.add_column(column, justify="left" if i < text_columns else "right")
    return grid


def _show(outcome: Outcome) -> None:
    for table in outcome.tables:
        _show_table(table)
    for case in outcome.cases:
        out.print(_coloured(case))
    for note in outcome.notes:
        out.print(Text(f"- {note}", style="dim"))
    for reason in outcome.skipped:
        out.print(Text(f"skipped: {reason}", style="yellow"))


def _show_table(table: Table) -> None:
    grid = _grid(table.columns, table.text_columns)
    for row in table.rows:
        grid.add_row(*map(Text, row))
    out.print(Text(table.title, style="bold"))
    out.print(grid)
    for note in table.notes:
        out.print(Text(f"- {note}", style="dim"))


def _coloured(case: Case) -> Text:
    text = Text(f"{case.group}; {case.name}; {case.classes}: ", style="bold")
    for piece in case.pieces:
        if piece.original is None:
            text.append(piece.text, style="not bold")
        else:
            text.append(piece.text, style="not bold red")
            text.append(f"({piece.original})", style="not bold blue")
    return text
