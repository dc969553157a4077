"""`hammingbox verify`: re-checks every adversarial row of a result file or a store from disk."""

from pathlib import Path
from typing import Annotated

import typer

from hammingbox.cli.console import plain, print_json, say
from hammingbox.cli.options import DataDir, Device, Json, device_from
from hammingbox.evaluation.result_files import read_results
from hammingbox.evaluation.verify import verify_claims
from hammingbox.running.verify_store import all_rows, checked_victim, verify_store


def verify_file(
    file: Annotated[Path, typer.Argument(help="A results folder, its results.sqlite, or a result file (.json).")],
    victim: Annotated[
        Path | None, typer.Option(help="The victim: its checkpoint, if that has moved, or the name of a shipped one.")
    ] = None,
    run: Annotated[int | None, typer.Option(help="One run of a store; all of them without it.")] = None,
    data_dir: DataDir = None,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Checks that every row claimed as broken is in S(x), within the budget and really meets the goal."""
    if file.is_dir() or file.suffix == ".sqlite":
        found = verify_store(file, victim=victim, run=run, data_dir=data_dir, device=device_from(device))
    else:
        stored = read_results(file)
        model = checked_victim(victim or Path(stored.header["victim"] or "."), stored.schema, device_from(device))
        found = verify_claims(stored.claims(), model, data=all_rows(stored.header["data"], data_dir))
    if json:
        print_json({
            "file": str(file), "ok": found.ok, "rows": found.rows, "claimed": found.claimed,
            "confirmed": found.confirmed, "ties": found.ties, "problems": list(found.problems),
        })  # fmt: skip
    elif found.ok:
        say(f"[bold green]verified[/]: {found.confirmed} of {found.claimed} claimed rows hold, {found.ties} ties")
    else:
        say(f"[bold red]rejected[/]: {found.confirmed} of {found.claimed} claimed rows hold")
        for problem in found.problems[:20]:
            say(f"  {plain(problem)}")
    if not found.ok:
        raise typer.Exit(1)
