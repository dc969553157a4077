"""`hammingbox attack`: one attack at one budget."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from hammingbox.attacks import ATTACKS
from hammingbox.cli.console import out, plain, print_json, progress, say
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
    Protect,
    Rows,
    SchemaFile,
    Seed,
    Split,
    Task,
    VictimPath,
    attack_from,
)
from hammingbox.running.evaluate import evaluate
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import open_store
from hammingbox.threat.goal import goal_between
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import load_checkpoint


def attack(
    data: DataName,
    victim: VictimPath,
    name: Annotated[str, typer.Option("--attack", help=f"Attack: {', '.join(ATTACKS)}.")] = "pcaa",
    budget: Annotated[int, typer.Option(help="At most this many changed features.")] = 3,
    rows: Rows = 100,
    seed: Seed = 0,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Results folder; a run that was stopped goes on.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="A class to reach; any wrong one without it.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, a setting of the attack (repeatable).")
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
    batch_size: BatchSize = 256,
    memory: Memory = 512,
    json: Json = False,
) -> None:
    """Attacks rows of a data set and counts what falls."""
    chosen = attack_from(name, settings or ())
    opened = Task.of(data, label, schema_file, data_dir)
    schema = opened.splits.schema
    checkpoint = load_checkpoint(victim, schema=schema)
    part = opened.part(split, rows)
    space = opened.space(immutable=immutable, forbid=forbid, full=full_space, protect=protect, neighbours=neighbours)
    threat = ThreatModel(space, budget)
    goal = goal_between((), () if target is None else (target,))
    store = None if out_dir is None else open_store(out_dir, create=True)
    with progress() as bars:
        task = bars.add_task(f"{name}, budget {budget}", total=len(part))
        options: dict[str, Any] = {
            "goal": goal, "batch_size": batch_size, "seed": seed, "memory": memory * 2**20,
            "on_rows": lambda done, _fallen: bars.update(task, advance=done),
        }  # fmt: skip
        if store is None:
            result = evaluate(checkpoint.victim, part, threat, chosen, **options)
        else:
            with store:
                result = evaluate_into(
                    store, checkpoint, part, threat, chosen,
                    name=name, place=str(victim), source=data, split=split, **options,
                )  # fmt: skip
    facts = result.summary() | {"attack": name, "settings": repr(chosen)}
    if store is not None:
        facts["file"] = str(store.path)
    if json:
        print_json(facts)
        return
    low, high = facts["success_interval"]
    whom = "those" if target is None else f"the {facts['attacked']} of those that are of another class"
    table = Table(show_header=False, box=None)
    table.add_row("rows", f"{facts['rows']}, {facts['correct']} right before")
    table.add_row(
        "success rate",
        f"[bold]{100 * facts['success_rate']:.1f} %[/] of {whom} ({100 * low:.1f} to {100 * high:.1f} %)",
    )
    table.add_row("robust error", f"{100 * facts['robust_error']:.1f} % of all rows")
    table.add_row("mean distance", f"{facts['mean_distance']:.2f} changes in a row that fell")
    table.add_row("passes", f"{facts['forward']:,} forward, {facts['backward']:,} backward")
    table.add_row("time", f"{facts['seconds']:.2f} s")
    out.print(table)
    if "file" in facts:
        say(f"written to {plain(facts['file'])}")
