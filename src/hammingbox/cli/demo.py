"""`hammingbox demo`: the main job on the shipped data, from training to the report."""

from pathlib import Path
from typing import Annotated

import typer

from hammingbox.cli.compare import AFFORDABLE, Job, run, table_of
from hammingbox.cli.console import out
from hammingbox.cli.options import first_rows
from hammingbox.cli.train import train_victim
from hammingbox.cli.verify import verify_all
from hammingbox.data.registry import source_named
from hammingbox.errors import FileError
from hammingbox.models.checkpoint import load_checkpoint
from hammingbox.space import MaskedSpace
from hammingbox.train import TrainConfig


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder for the victim, the results and the report.")] = Path(
        "runs/demo"
    ),
    rows: Annotated[int, typer.Option(min=1, help="Test rows attacked.")] = 100,
) -> None:
    """Trains the Splice LSTM, compares all attacks at budgets 1 to 5, verifies the results, writes a report."""
    source, victim = source_named("splice"), folder / "victim"
    splits = source.load()
    try:
        checkpoint = load_checkpoint(victim, schema=splits.schema)
    except FileError:
        train_victim("splice", "lstm", TrainConfig(), victim)
        checkpoint = load_checkpoint(victim, schema=splits.schema)
    training = checkpoint.training
    out.print(
        f"victim: LSTM, test accuracy {100 * training['test_accuracy']:.2f} %, trained in {training['seconds']:.0f} s"
    )
    job = Job(
        data="splice",
        rows=first_rows(splits.test, rows),
        space=MaskedSpace(splits.schema, forbidden=source.forbidden),
        checkpoint=checkpoint,
        victim=victim,
        attacks=AFFORDABLE,
        budgets=range(1, 6),
        seed=0,
        folder=folder,
        command=f"hammingbox demo --out {folder} --rows {rows}",
    )
    comparison = run(job)
    out.print(table_of(comparison))
    verify_all(folder, checkpoint.victim)
    out.print(f"report: {folder / 'report.html'}", highlight=False)
