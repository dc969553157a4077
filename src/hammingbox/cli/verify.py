"""`hammingbox verify`: re-checks every adversarial row of a result file or a store from disk."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from hammingbox.cli.console import plain, print_json, say
from hammingbox.cli.options import DataDir, Json
from hammingbox.data.registry import DATASETS, source_named
from hammingbox.data.schema import Dataset, Schema
from hammingbox.errors import FileError
from hammingbox.evaluation.result_files import read_results, verify
from hammingbox.evaluation.verify import Verification
from hammingbox.running.store import open_store
from hammingbox.running.verify_store import verify_run
from hammingbox.victims.checkpoint import load_checkpoint
from hammingbox.victims.victim import Victim


def verify_file(
    file: Annotated[Path, typer.Argument(help="A results folder, its results.sqlite, or a result file (.json).")],
    victim: Annotated[Path | None, typer.Option(help="The victim's checkpoint, if it has moved.")] = None,
    run: Annotated[int | None, typer.Option(help="One run of a store; all of them without it.")] = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Checks that every row claimed as broken is in S(x), within the budget and really misclassified."""
    if file.is_dir() or file.suffix == ".sqlite":
        found = verify_store(file, victim=victim, run=run, data_dir=data_dir)
    else:
        stored = read_results(file)
        model = _victim(victim or Path(stored.header["victim"] or "."), stored.schema)
        found = verify(file, model, data=_all_rows(stored.header["data"], data_dir))
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


def verify_store(
    path: Path, *, victim: Path | None = None, run: int | None = None, data_dir: Path | None = None
) -> Verification:
    """Verifies one run of a store, or all, each against the checkpoint and the data it names.

    Raises:
        FileError: a checkpoint or the data is not where the store says.
    """
    victims: dict[tuple[Path, str], Victim] = {}
    data = cache(_all_rows)
    parts = []
    with open_store(path, readonly=True) as store:
        runs = store.runs() if run is None else [store.run(run)]
        for each in (each for each in runs if each.rows):  # a refused run claims nothing
            where = victim or Path(each.victim or ".")
            if (where, each.key.schema_sha256) not in victims:
                victims[where, each.key.schema_sha256] = _victim(where, store.schema(each))
            model = victims[where, each.key.schema_sha256]
            found = verify_run(store, each.id, model, data=data(each.key.data, data_dir))
            parts.append(_Named(f"run {each.id} ({each.name}, budget {each.key.budget}, seed {each.key.seed})", found))
    return _together(parts)


@dataclass(frozen=True)
class _Named:
    name: str
    found: Verification


def _together(parts: Sequence[_Named]) -> Verification:
    return Verification(
        rows=sum(part.found.rows for part in parts),
        claimed=sum(part.found.claimed for part in parts),
        confirmed=sum(part.found.confirmed for part in parts),
        ties=sum(part.found.ties for part in parts),
        problems=tuple(f"{part.name}: {problem}" for part in parts for problem in part.found.problems),
    )


def _victim(where: Path, schema: Schema) -> Victim:
    if not where.exists():
        raise FileError(f"expected the victim's checkpoint at {where}, got nothing there. Name it with --victim.")
    return load_checkpoint(where, schema=schema).victim


def _all_rows(name: str, data_dir: Path | None = None) -> Dataset | None:
    """The data set a result names, all parts together, to compare clean rows with; None for a user's own file."""
    if name not in DATASETS:
        return None
    splits = source_named(name).load(data_dir=data_dir)
    return Dataset.join([splits.train, splits.validation, splits.test])
