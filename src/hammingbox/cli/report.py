"""`hammingbox report`: the page of a results folder, built from its store at any time."""

from pathlib import Path
from typing import Annotated

import typer

from hammingbox.cli.console import err, plain, say
from hammingbox.cli.options import DataDir, ModelSpec
from hammingbox.report.page.folder import write_report
from hammingbox.report.page.query_victims import query_victims
from hammingbox.report.recorded_plausibility import note_all
from hammingbox.running.store import FILE, open_store


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder, or its results.sqlite.")],
    diagnose: Annotated[
        bool,
        typer.Option("--diagnose", help="Also query the victims and check their gradients; needs their checkpoints."),
    ] = False,
    plausibility: Annotated[
        bool,
        typer.Option(
            "--plausibility", help="Also note how plausible broken rows are; reads the data again, where it was."
        ),
    ] = False,
    model: ModelSpec = None,
    data_dir: DataDir = None,
) -> None:
    """Builds DIR/report.html from DIR/results.sqlite alone, of a finished run or of one that is still running."""
    if folder.name == FILE:  # as `results` and `verify` take it
        folder = folder.parent
    if plausibility:
        with open_store(folder, readonly=True) as store:
            for lost in note_all(store, folder, data_dir):
                err.print(f"plausibility: {plain(lost)}", highlight=False, soft_wrap=True)
    wanted = diagnose or model is not None
    page = write_report(folder, queried=query_victims(folder, _warn, model=model) if wanted else None)
    say(f"report: {plain(page)}")


def _warn(victim: str) -> None:
    text = f"{victim} was trained again since and says nothing about these results: it is not queried."
    err.print(text, markup=False, highlight=False, soft_wrap=True)
