"""`hammingbox reproduce`: the paper's tables and figures, with our numbers beside the paper's."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from hammingbox.cli.completion import one_of
from hammingbox.cli.console import out, plain, progress, say
from hammingbox.cli.options import DataDir
from hammingbox.cli.tables import empty_grid, show_table
from hammingbox.cli.training_progress import training_progress
from hammingbox.cli.workers import RayAddress, Workers, executor_from
from hammingbox.report.artefacts.cases import Case
from hammingbox.report.artefacts.figures import check_matplotlib
from hammingbox.report.artefacts.table import Column
from hammingbox.reproduction import STUDIES, choose_studies
from hammingbox.studies.plan import Work
from hammingbox.studies.published import Published
from hammingbox.studies.run_studies import plan_studies, run_studies
from hammingbox.studies.study import Outcome, Study


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help=f"Which: {', '.join(STUDIES)}.", metavar="TABLE...", autocompletion=one_of(STUDIES)),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    preset: Annotated[
        str,
        typer.Option(help="smoke (about a minute), cpu (up to some hours on two cores), paper (the paper's sizes)."),
    ] = "cpu",
    out_dir: Annotated[
        Path | None,
        typer.Option("--out", help="Results folder; runs/reproduce-PRESET by default. An interrupted run continues."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan: rows, victim passes, time.")] = False,
    records: Annotated[
        Path | None,
        typer.Option(help="Folder with published records, such as results/cpu: what stands there is not run again."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0, help="Begin nothing new after so many minutes; tables show what is there."),
    ] = None,
    data_dir: DataDir = None,
    workers: Workers = None,
    ray: RayAddress = None,
) -> None:
    """Reproduces tables and figures of the paper and prints them beside the paper's numbers."""
    studies = choose_studies(names or (), everything=everything)
    folder = out_dir or Path("runs") / f"reproduce-{preset}"
    published = None if records is None else Published.read(records)
    if dry_run:
        for study, work in plan_studies(studies, preset, folder, data_dir=data_dir, published=published):
            _show_heading(study, preset)
            _show_plan(work)
        return
    check_matplotlib()
    with executor_from(workers, ray) as executor:
        for finished in run_studies(
            studies,
            preset,
            folder,
            data_dir=data_dir,
            published=published,
            minutes=minutes,
            executor=executor,
            on_start=lambda study: _show_heading(study, preset),
            watch_training=training_progress,
            watch_rows=_watch_rows,
        ):
            _show_outcome(finished.outcome)
            say(f"{finished.seconds:.1f} s; {len(finished.files)} files in {plain(finished.folder)}\n")


@contextmanager
def _watch_rows(label: str, rows: int) -> Iterator[Callable[[int, int], None]]:
    with progress() as bars:
        task = bars.add_task(label, total=rows)
        yield lambda done, _broken: bars.update(task, advance=done)


def _show_heading(study: Study, preset: str) -> None:
    heading = study.heading(preset)
    out.print(Text.assemble((study.title, "bold"), heading.removeprefix(study.title)))


def _show_plan(work: list[Work]) -> None:
    columns = (Column.text("what"), *(Column.number(name) for name in ("rows", "passes", "about")), Column.text("note"))
    grid = empty_grid(columns)
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


def _show_outcome(outcome: Outcome) -> None:
    for table in outcome.tables:
        show_table(table)
    for case in outcome.cases:
        out.print(_coloured(case))
    for note in outcome.notes:
        out.print(Text(f"- {note}", style="dim"))
    for reason in outcome.skipped:
        out.print(Text(f"skipped: {reason}", style="yellow"))


def _coloured(case: Case) -> Text:
    """Replacements in red, each with the original in blue after it."""
    text = Text(f"{case.group}; {case.name}; {case.classes}: ", style="bold")
    for piece in case.pieces:
        if piece.original is None:
            text.append(piece.text, style="not bold")
        else:
            text.append(piece.text, style="not bold red")
            text.append(f"({piece.original})", style="not bold blue")
    return text
