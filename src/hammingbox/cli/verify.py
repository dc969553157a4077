"""`hammingbox verify`: re-checks every adversarial row of a result file from disk."""

from pathlib import Path
from typing import Annotated

import typer

from hammingbox.cli.console import out, print_json
from hammingbox.cli.options import DataDir, Json
from hammingbox.data.registry import DATASETS, source_named
from hammingbox.data.schema import Dataset
from hammingbox.errors import FileError
from hammingbox.models.checkpoint import load_checkpoint
from hammingbox.models.victim import Victim
from hammingbox.results import read_results, verify


def verify_file(
    file: Annotated[Path, typer.Argument(help="A result file (.json, or its .csv).")],
    victim: Annotated[Path | None, typer.Option(help="The victim's checkpoint, if it has moved.")] = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Checks that every row claimed as broken is in S(x), within the budget and really misclassified."""
    stored = read_results(file)
    where = victim if victim is not None else Path(stored.header["victim"] or ".")
    if not where.exists():
        raise FileError(f"expected the victim's checkpoint at {where}, got nothing there. Name it with --victim.")
    model = load_checkpoint(where, schema=stored.schema).victim
    found = verify(file, model, data=_all_rows(stored.header["data"], data_dir))
    if json:
        print_json({
            "file": str(file), "ok": found.ok, "rows": found.rows, "claimed": found.claimed,
            "confirmed": found.confirmed, "ties": found.ties, "problems": list(found.problems),
        })  # fmt: skip
    elif found.ok:
        out.print(f"[bold green]verified[/]: {found.confirmed} of {found.claimed} claimed rows hold, {found.ties} ties")
    else:
        out.print(f"[bold red]rejected[/]: {found.confirmed} of {found.claimed} claimed rows hold")
        for problem in found.problems[:20]:
            out.print(f"  {problem}", highlight=False)
    if not found.ok:
        raise typer.Exit(1)


def verify_all(folder: Path, victim: Victim) -> None:
    """Verifies every result file of a folder and says so.

    Raises:
        FileError: a file was rejected.
    """
    paths = sorted(folder.glob("*-seed*.json"))
    data = _all_rows(read_results(paths[0]).header["data"]) if paths else None
    found = [verify(path, victim, data=data) for path in paths]
    rejected = [path.name for path, result in zip(paths, found, strict=True) if not result.ok]
    if rejected:
        raise FileError(
            f"expected every result to hold, got rejected ones: {', '.join(rejected)}. See `hammingbox verify`."
        )
    confirmed = sum(result.confirmed for result in found)
    out.print(
        f"verified from disk: {confirmed:,} adversarial rows in {len(paths)} files, none rejected", highlight=False
    )


def _all_rows(name: str, data_dir: Path | None = None) -> Dataset | None:
    """The data set a result names, all parts together, to compare clean rows with; None for a user's own file."""
    if name not in DATASETS:
        return None
    splits = source_named(name).load(data_dir=data_dir)
    return Dataset.join([splits.train, splits.validation, splits.test])
