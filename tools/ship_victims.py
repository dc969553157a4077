"""Puts trained victims into the package, each with the whole record of its training.

    hammingbox --threads 1 reproduce defence-splice --preset cpu --out runs/cpu
    python tools/ship_victims.py runs/cpu --study defence-splice --preset cpu

The name of a victim follows from its label in the table: "PAdvT" or "LSTM, PAdvT" of Splice becomes splice/padvt, and
"LSTM" alone splice/standard. Of several trainings with different seeds the first one is taken (seed 0). Instead of a
study, a file with lines LABEL<TAB>FOLDER, or LABEL<TAB>FOLDER<TAB>LABEL OF ITS START, can be given, with the command
that trained them:

    python tools/ship_victims.py --list victims.tsv --made-by "hammingbox reproduce ..."

A victim is refused if its record is incomplete or names a path or this machine. Nothing is written if one of them is
refused or if all shipped victims together would be too large.
"""

import argparse
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hammingbox.errors import HammingboxError, InputError
from hammingbox.reproduction import choose_studies
from hammingbox.studies.recipe import Recipe
from hammingbox.victims import shipped
from hammingbox.victims.checkpoint import Checkpoint, load_checkpoint

LIMIT = 2_000_000
"""Bytes that all shipped victims may take together."""
REQUIRED = (
    "data", "data_sha256", "model", "defence", "budget", "config", "epochs", "best_epoch", "train_rows",
    "validation_accuracy", "test_accuracy", "history",
)  # fmt: skip
_NET = re.compile(r"^LSTM(, |$)")
_PATH = re.compile(r"(^|[\s'\"=(])(/|~/|[A-Za-z]:\\)")
"""An absolute path inside a text."""


def name_of(label: str, data: str) -> str:
    """The name of a victim: its data set, and its label without the net and without values of settings."""
    words = re.sub(_NET, "", label).replace(",", " ").split() or ["standard"]
    kept = "-".join(word for word in words if "=" not in word).lower()
    return f"{data}/{re.sub(r'[^a-z0-9.-]+', '', kept)}"


def texts_of(value: Any, place: str = "training") -> Iterator[tuple[str, str]]:
    """All texts in a JSON value, each with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from texts_of(part, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from texts_of(part, f"{place}[{number}]")


def check_record(name: str, training: Mapping[str, Any]) -> None:
    """Refuses a record that is incomplete or says something about a machine.

    Raises:
        InputError: it is or does.
    """
    missing = [key for key in REQUIRED if key not in training]
    if missing:
        raise InputError(f"expected a whole training record of {name}, got none of {', '.join(missing)}. Train again.")
    if len(training["history"]) != training["epochs"]:
        raise InputError(
            f"expected {training['epochs']} epochs in the record of {name}, got {len(training['history'])}."
        )
    for place, text in texts_of(training):
        if _PATH.search(text) or (platform.node() and platform.node() in text):
            raise InputError(f"expected no path and no machine in the record of {name}, got {text!r} in {place}.")


def victims_of_study(folder: Path, study: str, preset: str) -> dict[str, tuple[Path, dict[str, Any]]]:
    """The checkpoint folder of every line of a study, and what is recorded about its origin, by label.

    Raises:
        InputError: unknown study or preset.
    """
    (found,) = choose_studies([study])
    if preset not in found.sizes:
        raise InputError(f"expected a preset of {study} ({', '.join(found.sizes)}), got {preset!r}.")
    victims: dict[str, Recipe] = {victim.label: victim for victim in found.sizes[preset].victims}
    labels = {victim.folder: label for label, victim in victims.items()}
    return {
        label: (
            folder / "victims" / victim.folder,
            {
                "command": f"hammingbox --threads 1 reproduce {study} --preset {preset}",
                "label": label,
                "folder": victim.folder,
                "start": None if victim.start is None else labels.get(victim.start.folder, victim.start.folder),
            },
        )
        for label, victim in victims.items()
    }


def victims_of_list(file: Path, command: str) -> dict[str, tuple[Path, dict[str, Any]]]:
    """The same from a file with lines LABEL<TAB>FOLDER or LABEL<TAB>FOLDER<TAB>START.

    Raises:
        InputError: a line without a tab.
    """
    found: dict[str, tuple[Path, dict[str, Any]]] = {}
    for line in file.read_text().splitlines():
        if not line.strip():
            continue
        label, *places = line.split("\t")
        if len(places) not in (1, 2):
            raise InputError(f"expected LABEL<TAB>FOLDER or LABEL<TAB>FOLDER<TAB>START in {file}, got {line!r}.")
        folder, start = Path(places[0]), places[1] if len(places) == 2 else None
        found[label] = (folder, {"command": command, "label": label, "folder": folder.name, "start": start})
    return found


def ship(victims: Mapping[str, tuple[Path, dict[str, Any]]], *, limit: int = LIMIT) -> dict[str, int]:
    """Writes victims into the package; the bytes of each by its name.

    Raises:
        InputError: a record is not whole, two labels give the same name, or the victims are too large together.
        FileError: a checkpoint is missing or damaged.
    """
    checkpoints: dict[str, Checkpoint] = {}
    for label, (folder, origin) in victims.items():
        checkpoint = load_checkpoint(folder)
        name = name_of(label, str(checkpoint.training.get("data")))
        if name in checkpoints:
            raise InputError(f"expected labels that give different names, got {name} twice. Rename {label!r}.")
        training = checkpoint.training | {"origin": origin}
        check_record(name, training)
        checkpoints[name] = replace(checkpoint, training=training)
    kept = sum(_size(shipped.FILES / name) for name in shipped.shipped_names() if name not in checkpoints)
    needed = sum(_size(folder) for folder, _ in victims.values())
    if kept + needed > limit:
        raise InputError(
            f"expected at most {limit:,} bytes of shipped victims, got {kept + needed:,}. Ship fewer or smaller ones."
        )
    for name, checkpoint in checkpoints.items():
        checkpoint.save(shipped.FILES / name)
    return {name: _size(shipped.FILES / name) for name in checkpoints}


def _size(folder: Path) -> int:
    return sum((folder / name).stat().st_size for name in ("config.json", "model.safetensors"))


def main() -> None:
    """Ships what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="?", type=Path, help="results folder of `hammingbox reproduce`")
    parser.add_argument("--study", default="defence-splice")
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--list", type=Path, dest="listed", help="file with lines LABEL<TAB>FOLDER[<TAB>START]")
    parser.add_argument("--made-by", help="with --list: the command that trained the victims")
    given = parser.parse_args()
    if (given.results is None) == (given.listed is None):
        parser.error("expected a results folder or --list FILE")
    if given.listed is not None and not given.made_by:
        parser.error("expected --made-by COMMAND with --list")
    try:
        victims = (
            victims_of_study(given.results, given.study, given.preset)
            if given.listed is None
            else victims_of_list(given.listed, given.made_by)
        )
        written = ship(victims)
    except HammingboxError as error:
        sys.exit(f"error: {error}")
    for name, size in written.items():
        print(f"{name}  {size:,} bytes")
    total = sum(_size(shipped.FILES / name) for name in shipped.shipped_names())
    print(f"all shipped victims: {total:,} of {LIMIT:,} bytes")


if __name__ == "__main__":
    main()
