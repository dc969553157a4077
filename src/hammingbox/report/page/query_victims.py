"""What the victims of a results folder show when they are queried again; a store does not hold that."""

from collections.abc import Callable
from pathlib import Path

from hammingbox.data.dataset import Dataset
from hammingbox.errors import InputError
from hammingbox.evaluation.diagnose import Finding, diagnose_victim
from hammingbox.running.data_reference import DataReference
from hammingbox.running.store import open_store
from hammingbox.threat.goal import goal_from_json
from hammingbox.threat.space_json import space_from_json
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.open_model import open_model


def query_victims(
    folder: Path, on_changed: Callable[[str], None] = lambda _: None, *, model: str | None = None
) -> dict[str, list[Finding]]:
    """Findings on each victim's recorded clean rows, at the largest budget it was attacked with, by its hash.

    Args:
        folder: holds the store.
        on_changed: called with the place of a victim that was trained again since, which is not queried.
        model: query this one only, as the user names it, wherever its runs say it was.

    Raises:
        FileError: no store there, a damaged one, or a checkpoint that is missing.
        InputError: the store has no runs of the model.
    """
    found: dict[str, list[Finding]] = {}
    changed: set[str] = set()
    with open_store(folder, readonly=True) as store:
        known = {run.key.victim_sha256 for run in store.runs()}
        for run in sorted(store.runs(), key=lambda run: -run.key.budget):
            digest = run.key.victim_sha256
            if digest in found or digest in changed or not run.rows:
                continue
            schema, rows = store.schema(run), store.rows(run.id)
            name = DataReference.from_text(run.key.data, run.source).model_name if run.source else ""
            victim = open_model(
                model or run.victim, schema, name="" if model else name, named_by_user=model is not None
            ).victim
            # The model that the user names may be that of other runs. Otherwise these know theirs by its name alone.
            if model is not None and name and weights_digest(victim) not in known:
                victim = open_model(model, schema, name=name).victim
            if weights_digest(victim) != digest:
                changed.add(digest)
                if model is None:
                    on_changed(run.victim)
                continue
            threat = ThreatModel(space_from_json(store.space(run), schema), run.key.budget)
            data, goal = Dataset(schema, rows.clean, rows.labels), goal_from_json(store.goal(run))
            found[digest] = diagnose_victim(victim, data, threat, goal=goal)
    if model is not None and changed and not found:
        raise InputError(f"expected a model that {folder} has runs of, got {model}, which none of them was made with.")
    return found
