"""`hammingbox report`: the page of a results folder, built from its store at any time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from hammingbox.cli.console import err, plain, say
from hammingbox.data.schema import Dataset
from hammingbox.evaluation.diagnose import Finding, diagnose_victim
from hammingbox.report.page.folder import write_report
from hammingbox.running.store import FILE, Store
from hammingbox.threat.space_json import space_from_json
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import load_checkpoint, weights_digest


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder, or its results.sqlite.")],
    diagnose: Annotated[
        bool,
        typer.Option("--diagnose", help="Also query the victims and check their gradients; needs their checkpoints."),
    ] = False,
) -> None:
    """Builds DIR/report.html from DIR/results.sqlite alone, of a finished run or of one that is still going on."""
    if folder.name == FILE:  # as `results` and `verify` take it
        folder = folder.parent
    page = write_report(folder, queried=_query_victims(folder) if diagnose else None)
    say(f"report: {plain(page)}")


def _query_victims(folder: Path) -> dict[str, Sequence[Finding]]:
    """What `diagnose_victim` finds on each victim's recorded clean rows, at the largest budget it was attacked with."""
    found: dict[str, Sequence[Finding]] = {}
    gone: set[str] = set()
    with Store.open(folder, readonly=True) as store:
        for run in sorted(store.runs(), key=lambda run: -run.key.budget):
            if run.key.victim_sha256 in found or run.key.victim_sha256 in gone or not run.rows:
                continue
            schema, rows = store.schema(run), store.rows(run.id)
            victim = load_checkpoint(Path(run.victim), schema=schema).victim
            if weights_digest(victim) != run.key.victim_sha256:
                gone.add(run.key.victim_sha256)
                anew = f"{run.victim} was trained anew since and says nothing about these results: it is not queried."
                err.print(anew, markup=False, highlight=False, soft_wrap=True)
                continue
            threat = ThreatModel(space_from_json(store.space(run), schema), run.key.budget)
            found[run.key.victim_sha256] = diagnose_victim(victim, Dataset(schema, rows.clean, rows.labels), threat)
    return found
