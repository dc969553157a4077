"""`hammingbox demo`: the main job on the shipped data, from training to the report."""

from pathlib import Path
from typing import Annotated

import typer

from hammingbox.cli.compare import run_comparison
from hammingbox.cli.comparison_tables import show
from hammingbox.cli.console import plain, say
from hammingbox.cli.options import Task
from hammingbox.cli.training_progress import training_progress
from hammingbox.errors import FileError
from hammingbox.report.comparison import ComparisonJob
from hammingbox.report.page.folder import write_report
from hammingbox.running.verify_store import verify_store
from hammingbox.settings import MOST_ROWS
from hammingbox.training.standard_job import train_standard
from hammingbox.victims.checkpoint import load_checkpoint


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder for the victim, results and report.")] = Path(
        "runs/demo"
    ),
    rows: Annotated[int, typer.Option(min=1, max=MOST_ROWS, help="Test rows attacked.")] = 60,
) -> None:
    """Trains the Splice LSTM, compares attacks at budgets 1 to 5, verifies the results, writes a report."""
    task, victim = Task.of("splice"), folder / "victim"
    schema = task.splits.schema
    try:
        checkpoint = load_checkpoint(victim, schema=schema)
    except FileError:  # the first time, or damaged
        train_standard(
            task.splits, task.source, victim, data=task.name, model="lstm", overwrite=True, watch=training_progress
        )
        checkpoint = load_checkpoint(victim, schema=schema)
    training = checkpoint.training
    accuracy, seconds = training.get("test_accuracy", 0.0), training.get("seconds", 0.0)
    say(f"victim: LSTM, test accuracy {100 * accuracy:.2f} %, trained in {seconds:.0f} s")
    job = ComparisonJob(data="splice", rows=task.part("test", rows), space=task.space())
    comparison = run_comparison(job, checkpoint, victim, folder)
    page = write_report(folder, queried={comparison.weights: comparison.queried})
    show(comparison.summary, comparison.findings)
    checked = verify_store(folder)
    if not checked.ok:
        raise FileError(f"expected every result to hold, got: {checked.problems[0]}. See `hammingbox verify {folder}`.")
    say(f"verified from disk: {checked.confirmed:,} adversarial rows, none rejected")
    say(f"report: {plain(page)}")
