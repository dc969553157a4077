"""`hammingbox certify`: what no attack within a budget can break."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from hammingbox.certificates import CERTIFICATES
from hammingbox.cli.completion import one_of
from hammingbox.cli.console import out, plain, print_json, progress, say
from hammingbox.cli.options import (
    BatchSize,
    DataDir,
    DataName,
    Device,
    Forbid,
    From,
    FullSpaceFlag,
    Functions,
    Immutable,
    Json,
    Label,
    Memory,
    ModelName,
    ModelSpec,
    Neighbours,
    Plausible,
    Protect,
    SchemaFile,
    Seed,
    Split,
    Task,
    ThreatFile,
    To,
    VictimPath,
    budgets_from,
    changes_from,
    goal_from,
    made_from,
    model_from,
)
from hammingbox.cli.own_file import reads_own_file
from hammingbox.cli.sampling import DrawHow, Rows, RowsPerClass, RowsSeed, sample_from
from hammingbox.cli.workers import RayAddress, Workers, driver_device, executor_from
from hammingbox.data.reading import Reading
from hammingbox.evaluation.certified_rates import CertifiedRates
from hammingbox.running.certify import certify_into
from hammingbox.running.store import MemoryStore, open_store
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.ablated import Ablated
from hammingbox.victims.checkpoint import Checkpoint

_BATCH_SIZE = 64
"""Rows of a batch at most, unless the user says otherwise: a certificate holds much for each row."""


@reads_own_file
def certify(
    data: DataName,
    *,
    reading: Reading,
    victim: VictimPath = None,
    model: ModelSpec = None,
    model_name: ModelName = "",
    method: Annotated[
        str, typer.Option(help=f"Certificate: {', '.join(CERTIFICATES)}.", autocompletion=one_of(CERTIFICATES))
    ] = "auto",
    budgets: Annotated[
        str | None,
        typer.Option(help="Budgets, such as 1-3 or 1,2 (1-2); with --threat, amounts of money such as 1,10."),
    ] = None,
    rows: Rows = None,
    rows_per_class: RowsPerClass = None,
    draw: DrawHow = None,
    rows_seed: RowsSeed = 0,
    seed: Seed = 0,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Results folder, also of attacks; a run that was stopped resumes.")
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(min=1, help="Certify votes over random subsets of this many features in place of the model."),
    ] = None,
    mask: Annotated[
        int | None, typer.Option(min=0, help="With --keep: the category written over hidden features (text).")
    ] = None,
    sources: From = None,
    targets: To = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, a setting of the certificate (repeatable).")
    ] = None,
    split: Split = "test",
    label: Label = None,
    schema_file: SchemaFile = None,
    data_dir: DataDir = None,
    immutable: Immutable = None,
    forbid: Forbid = None,
    full_space: FullSpaceFlag = False,
    protect: Protect = None,
    neighbours: Neighbours = None,
    threat_file: ThreatFile = None,
    function: Functions = None,
    plausible: Plausible = False,
    batch_size: BatchSize = None,
    memory: Memory = 512,
    device: Device = "cpu",
    workers: Workers = None,
    ray: RayAddress = None,
    json: Json = False,
) -> None:
    """Proves which rows of a data set cannot be broken, and breaks others."""
    chosen = made_from("certificate", CERTIFICATES, method, settings or ())
    task = Task.of(data, label, schema_file, data_dir, reading=reading)
    checkpoint, place = model_from(victim, model, task.splits.schema, model_name, label=label)
    checkpoint.victim.to(driver_device(device, ray))
    if keep is not None:
        voting = Ablated(checkpoint.victim, keep, mask=mask)
        checkpoint = Checkpoint(
            voting, f"{voting.described} {checkpoint.model}", {}, checkpoint.schema, checkpoint.training
        )
    part, reference = sample_from(task, split, rows, rows_per_class, draw, rows_seed)
    space = task.space(
        changes_from(immutable, forbid, full_space, protect, neighbours, threat_file, function, plausible)
    )
    asked = sorted(set(budgets_from(budgets, space, (1, 2))))
    threat = ThreatModel(space, asked[-1])
    goal = goal_from(sources, targets)
    applied = chosen.chosen_for(checkpoint.victim, threat.space)
    with progress() as bars, executor_from(workers, ray, device) as executor, ExitStack() as stack:
        store = stack.enter_context(MemoryStore() if out_dir is None else open_store(out_dir, create=True))
        bar = bars.add_task(f"certify {method}", total=len(part) * len(asked))
        found = certify_into(
            store, checkpoint, part, threat, chosen, name=method, budgets=asked, goal=goal, place=place,
            source=reference, split=split, seed=seed, memory=memory * 2**20, executor=executor,
            batch_size=batch_size or executor.batch_size(len(part), _BATCH_SIZE),
            on_rows=lambda _budget, done, _broken: bars.update(bar, advance=done),
        )  # fmt: skip
    rates = CertifiedRates.of({budget: result.rows for budget, result in found.items()}, part.schema)
    facts: dict[str, Any] = {
        "data": part.name, "method": method, "settings": repr(chosen), "confidence": applied.confidence, "seed": seed,
        "goal": goal.to_json(), **rates.summary(), "seconds": sum(result.seconds for result in found.values()),
    }  # fmt: skip
    if space.unit is not None:
        for line in facts["by_budget"]:
            line["amount"] = space.unit.text(line["budget"])
    if store.path is not None:
        facts["file"] = str(store.path)
    if json:
        print_json(facts)
        return
    _print(facts)
    if "file" in facts:
        say(f"written to {plain(facts['file'])}")


def _print(facts: dict[str, Any]) -> None:
    table = Table(title=f"{facts['rows']} rows, {facts['correct']} right before", title_justify="left")
    for name in ("budget", "certified", "attacked", "proven", "broken", "unknown", "class mean"):
        table.add_column(name, justify="right")
    for line in facts["by_budget"]:
        table.add_row(
            plain(str(line.get("amount", line["budget"]))),
            f"[bold]{100 * line['certified']:.1f} %[/]",
            f"{100 * line['attacked']:.1f} %",
            *(str(line[name]) for name in ("proven", "broken", "unknown")),
            f"{100 * line['class_mean']:.1f} %",
        )
    out.print(table)
    if fixed := facts["by_budget"][-1]["not_attackable"]:
        say(f"not attackable, since the threat leaves them no change: {fixed} rows")
    if facts["confidence"] < 1:
        say(f"each proof holds with probability {100 * facts['confidence']:.1f} % over the method's own randomness")
    for line in facts["by_budget"][-1:]:
        parts = (
            f"{plain(name)} {100 * of['certified']:.1f} of {100 * of['attacked']:.1f} %"
            for name, of in line["classes"].items()
        )
        asked = plain(str(line.get("amount", line["budget"])))
        say(f"budget {asked}, certified of attacked accuracy by class: {', '.join(parts)}")
    say(f"{facts['forward']:,} forward passes, {facts['seconds']:.2f} s")
