"""The runs of a store as claims, re-checked against the victims and the data they name."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.registry import DATASETS, source_named
from hammingbox.data.schema import Schema
from hammingbox.errors import FileError
from hammingbox.evaluation.verify import Claims, Verification, verify_claims
from hammingbox.running.store import Run, Store, open_store
from hammingbox.threat.goal import Goal, goal_from_json
from hammingbox.threat.space import Space
from hammingbox.threat.space_json import space_from_json
from hammingbox.victims.checkpoint import load_checkpoint
from hammingbox.victims.shipped import checkpoint_folder
from hammingbox.victims.victim import Victim


def verify_run(
    store: Store,
    run: int,
    victim: Victim,
    *,
    data: Dataset | None = None,
    space: Space | None = None,
    goal: Goal | None = None,
) -> Verification:
    """Re-checks every adversarial row of a run, see `verify_claims`.

    Args:
        store: read from disk.
        run: the run's number.
        victim: the model that was attacked; its weights must have the hash the run names.
        data: when given, the clean rows and labels are compared with it.
        space: S(x), needed when the run's space held a Python rule.
        goal: needed when the run's goal is the user's own.
    """
    facts, rows = store.run(run), store.rows(run)
    claims = Claims(
        victim_sha256=facts.key.victim_sha256,
        space=space or space_from_json(store.space(facts), store.schema(facts)),
        goal=goal or goal_from_json(store.goal(facts)),
        budget=facts.key.budget,
        numbers=rows.numbers,
        labels=rows.labels,
        clean=rows.clean,
        adversarial=rows.adversarial,
        success=rows.success,
        distance=rows.distance,
    )
    return verify_claims(claims, victim, data=data)


def verify_store(
    path: Path,
    *,
    victim: Path | None = None,
    run: int | None = None,
    data_dir: Path | None = None,
    device: torch.device | None = None,
) -> Verification:
    """Verifies one run of a store, or all, each against the checkpoint and the data it names.

    Args:
        path: the store's file or folder.
        victim: the checkpoint, if it has moved.
        run: one run; all of them without it.
        data_dir: folder that holds data files.
        device: where victims are queried; the CPU by default.

    Raises:
        FileError: a checkpoint or the data is not where the store says.
    """
    victims = cache(checked_victim)
    data = cache(all_rows)
    parts = []
    with open_store(path, readonly=True) as store:
        runs = store.runs() if run is None else [store.run(run)]
        for each in (each for each in runs if each.rows):  # a refused run claims nothing
            model = victims(victim or Path(each.victim or "."), store.schema(each), device)
            parts.append(_Named(_name(each), verify_run(store, each.id, model, data=data(each.key.data, data_dir))))
    return _together(parts)


@dataclass(frozen=True)
class _Named:
    name: str
    found: Verification


def _name(run: Run) -> str:
    return f"run {run.id} ({run.name}, budget {run.key.budget}, seed {run.key.seed})"


def _together(parts: Iterable[_Named]) -> Verification:
    parts = list(parts)
    return Verification(
        rows=sum(part.found.rows for part in parts),
        claimed=sum(part.found.claimed for part in parts),
        confirmed=sum(part.found.confirmed for part in parts),
        ties=sum(part.found.ties for part in parts),
        problems=tuple(f"{part.name}: {problem}" for part in parts for problem in part.found.problems),
    )


def checked_victim(place: Path, schema: Schema, device: torch.device | None = None) -> Victim:
    """The victim of a checkpoint, on a device.

    Raises:
        FileError: there is no checkpoint, a damaged one, or one of another schema.
    """
    if not checkpoint_folder(place).exists():
        raise FileError(f"expected the victim's checkpoint at {place}, got nothing there. Name it with --victim.")
    victim = load_checkpoint(place, schema=schema).victim
    return victim if device is None else victim.to(device)


def all_rows(name: str, data_dir: Path | None = None) -> Dataset | None:
    """The data set a result names, all parts together, to compare clean rows with; None for a user's own file."""
    if name not in DATASETS:
        return None
    splits = source_named(name).load(data_dir=data_dir)
    return Dataset.join([splits.train, splits.validation, splits.test])
