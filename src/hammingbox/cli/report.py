"""`hammingbox report`: the page of a results folder, built from its store at any time."""

from pathlib import Path
from typing import Annotated

import typer

from hammingbox.cli.console import err, plain, say
from hammingbox.cli.options import ModelSpec
from hammingbox.report.page.folder import write_report
from hammingbox.report.page.query_victims import query_victims
from hammingbox.running.store import FILE


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder, or its results.sqlite.")],
    diagnose: Annotated[
        bool,
        typer.Option("--diagnose", help="Also query the victims and check their gradients; needs their checkpoints."),
    ] = False,
    model: ModelSpec = None,
) -> None:
    """Builds DIR/report.html from DIR/results.sqlite alone, of a finished run or of one that is still running."""
    if folder.name == FILE:  # as `results` and `verify` take it
        folder = folder.parent
    wanted = diagnose or model is not None
    page = write_report(folder, queried=query_victims(folder, _warn, model=model) if wanted else None)
    say(f"report: {plain(page)}")


def _warn(victim: str) -> None:
    text = f"{victim} was trained again since and says nothing about these results: it is not queried."
    err.print(text, markup=False, highlight=False, soft_wrap=True)
