"""The runs of a store as claims, each recomputed from the victim and the data it names.

A run is *verified*, *rejected* with the reasons, or *could not be compared* because something is missing; the other
runs are looked at all the same. Checksums notice whatever was edited, deleted, added or copied after it was recorded,
see `hammingbox.running.store.seals`. The rest is recomputed, see `hammingbox.evaluation.verify`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.registry import DATASETS
from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, HammingboxError, InputError
from hammingbox.evaluation.environment import environment
from hammingbox.evaluation.known_attack import attack_from_repr, certificate_from_repr
from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.verify import ELSEWHERE, TIE, Claims, Verification, verify_claims
from hammingbox.running.data_reference import DataReference
from hammingbox.running.store import Run, Store, document_digest, open_store
from hammingbox.threat.goal import Goal, goal_from_json
from hammingbox.threat.rules.function import Keeps
from hammingbox.threat.space import Space
from hammingbox.threat.space_json import space_from_json
from hammingbox.victims.ablated import ablated_as
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.open_model import open_model
from hammingbox.victims.victim import Victim


@dataclass(frozen=True)
class VerifiedRun:
    """A run, and what `verify` found about it.

    Attributes:
        run: its number; 0 for what all runs share.
        name: what it is, in words.
        found: what was found.
    """

    run: int
    name: str
    found: Verification


@dataclass(frozen=True)
class VerifiedStore:
    """What `verify` found about the runs of a store."""

    runs: tuple[VerifiedRun, ...]

    @property
    def ok(self) -> bool:
        """Every run is verified."""
        return all(part.found.ok for part in self.runs)

    @property
    def rows(self) -> int:
        """Rows that were looked at."""
        return sum(part.found.rows for part in self.runs)

    @property
    def claimed(self) -> int:
        """Rows claimed as broken."""
        return sum(part.found.claimed for part in self.runs)

    @property
    def confirmed(self) -> int:
        """Of those, rows that hold."""
        return sum(part.found.confirmed for part in self.runs)

    @property
    def ties(self) -> int:
        """Of those, rows whose margin is 0 up to noise."""
        return sum(part.found.ties for part in self.runs)

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that did not hold, or could not be compared, with the run."""
        return tuple(
            f"{part.name}: {problem}" for part in self.runs for problem in (*part.found.problems, *part.found.missing)
        )


def verify_run(
    store: Store,
    run: int,
    victim: Victim | None,
    *,
    data: Dataset | None = None,
    space: Space | None = None,
    goal: Goal | None = None,
    functions: Mapping[str, Keeps] | None = None,
) -> Verification:
    """Recomputes what a run claims, see `verify_claims`, and compares its records with their checksums.

    Args:
        store: read from disk.
        run: the run's number.
        victim: the model that was attacked; its weights must have the hash the run names.
        data: clean rows and labels are compared with it.
        space: S(x), needed when the run's space held a Python rule.
        goal: needed when the run's goal is the user's own.
        functions: the code of functions that the run's rules name.

    Raises:
        FileError: a record is damaged.
        InputError: the space or the goal cannot be rebuilt.
    """
    facts = store.run(run)
    schema = store.schema(facts)
    sealed = [*store.damage(run), *_documents(store, facts, schema)]
    known = [session.environment for session in store.sessions(run)]
    with _rebuilding("S(x)"):
        space = space or space_from_json(store.space(facts), schema, functions)
    with _rebuilding("the goal"):
        goal = goal or goal_from_json(store.goal(facts))
        goal.of(torch.arange(len(schema.classes), device="cpu"), schema)
    found = Verification(0, 0, 0, 0, ())
    for rows in store.blocks(run):
        found += verify_claims(_claims(facts, rows, space, goal, known), victim, data=data)
    notes = ["sealed at migration: its checksums say nothing about the time before"] if store.is_migrated(run) else []
    return replace(found, problems=(*sealed, *found.problems), notes=(*found.notes, *notes))


@contextmanager
def _rebuilding(what: str) -> Iterator[None]:
    """Names what cannot be rebuilt from a damaged document.

    Raises:
        FileError: the document is damaged.
    """
    try:
        yield
    except HammingboxError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise FileError(f"expected {what} of the run in the store, got a damaged document ({error!r}).") from error


def _claims(facts: Run, rows: Rows, space: Space, goal: Goal, known: Sequence[Any]) -> Claims:
    here = environment()
    return Claims(
        victim_sha256=facts.key.victim_sha256,
        space=space,
        goal=goal,
        budget=facts.key.budget,
        numbers=rows.numbers,
        labels=rows.labels,
        clean=rows.clean,
        adversarial=rows.adversarial,
        correct=rows.correct,
        success=rows.success,
        proven=rows.proven,
        distance=rows.distance,
        margin=rows.margin,
        forward=rows.forward,
        backward=rows.backward,
        attacked=rows.attacked,
        clean_logits=rows.clean_logits,
        logits=rows.logits,
        attack=attack_from_repr(facts.key.attack),
        certificate=certificate_from_repr(facts.key.attack),
        seed=facts.key.seed,
        exact_passes=_all_have(known, here, "hammingbox"),
        bounded_passes=_all_have(known, here, "hammingbox", "git"),
        tolerance=TIE if _all_have(known, here, "torch", "platform") else ELSEWHERE,
    )


def _all_have(known: Sequence[Any], here: dict[str, Any], *names: str) -> bool:
    """Whether all sessions ran in an environment that agrees with this one."""
    return bool(known) and all(
        isinstance(session, dict) and all(session.get(name) == here[name] for name in names) for session in known
    )


def _documents(store: Store, facts: Run, schema: Schema) -> list[str]:
    """Compares the documents that a run's key names with their digests."""
    key = facts.key
    found = (
        ("schema", schema.digest, key.schema_sha256),
        ("space", document_digest(store.space(facts)), key.space_sha256),
        ("goal", document_digest(store.goal(facts)), key.goal_sha256),
    )
    return [f"expected the {what} whose digest the run names, got another" for what, now, then in found if now != then]


def verify_store(
    path: Path,
    *,
    victim: Path | str | None = None,
    name: str = "",
    run: int | None = None,
    data: str | None = None,
    label: str | None = None,
    schema: Path | None = None,
    data_dir: Path | None = None,
    device: torch.device | None = None,
    functions: Mapping[str, Keeps] | None = None,
) -> VerifiedStore:
    """Verifies one run of a store, or all, each against the checkpoint and the data it names.

    Args:
        path: the store's file or folder.
        victim: the checkpoint or model, if it has moved. A Python object or a service is used only if it is named
            here, never because the store names it.
        name: of the model, where its runs do not note it; one that they note is used by itself.
        run: one run; all of them without it.
        data: the own file, if it has moved.
        label: the label column of the own file, if it was not noted.
        schema: the schema.toml of the own file, if it was not noted.
        data_dir: folder that holds data files.
        device: where victims are queried; the CPU by default.
        functions: the code of functions that rules name; it is used only if it is passed here.

    Raises:
        FileError: the store itself cannot be read.
        InputError: it has no such run.
    """
    victims, read, attacked = cache(checked_victim), cache(_read), cache(_attacked)
    parts = []
    with open_store(path, readonly=True) as store, store.snapshot():
        shared = _damage(store)
        if shared:
            parts.append(VerifiedRun(0, "the store", _nothing(problems=shared)))

        def model_of(facts: Run) -> Victim:
            noted = name
            if facts.source and not name:
                noted = DataReference.from_text(facts.key.data, facts.source).model_name

            def opened(place: Path | str, called: str, *, by_user: bool) -> Victim:
                found = victims(place, store.schema(facts), device, named_by_user=by_user, name=called)
                return ablated_as(facts.model, found)

            if victim is None:
                return opened(facts.victim, noted, by_user=False)
            found = opened(victim, "", by_user=True)
            digest = weights_digest(found)
            if digest == facts.key.victim_sha256:
                return found
            if digest not in attacked(store):
                return opened(victim, noted, by_user=True) if noted else found
            # The model that the user names is that of other runs: this one is compared with the one it names itself.
            return opened(facts.victim, noted, by_user=False)

        def data_of(facts: Run) -> Splits:
            return read(_reference(facts, data, label, schema), data_dir, facts.key.schema_sha256)

        for number in store.run_numbers() if run is None else [run]:
            try:
                facts = store.run(number)
            except FileError as error:  # its own values are damaged; the other runs are looked at all the same
                problems = (str(error), *_damage(store, number))
                parts.append(VerifiedRun(number, f"run {number}", _nothing(problems=problems)))
            else:
                parts.append(VerifiedRun(number, _name(facts), _verified(store, facts, model_of, data_of, functions)))
    return VerifiedStore(tuple(parts))


def _attacked(store: Store) -> frozenset[str]:
    """The hashes of all victims of a store; none where its runs cannot be read."""
    try:
        return frozenset(run.key.victim_sha256 for run in store.runs())
    except FileError:
        return frozenset()


def _verified(
    store: Store,
    run: Run,
    victim_of: Callable[[Run], Victim],
    data_of: Callable[[Run], Splits],
    functions: Mapping[str, Keeps] | None = None,
) -> Verification:
    """One run, whatever is wrong with it or missing for it."""
    missing: list[str] = []
    victim, data = None, None
    try:
        if run.rows == 0:  # a refused run claims nothing
            return _nothing(problems=(*_damage(store, run.id), *_documents(store, run, store.schema(run))))
        try:
            victim = victim_of(run)
        except HammingboxError as error:
            missing.append(f"the victim: {error}")
        try:
            splits = data_of(run)
            data = _in_schema(splits.numbered(run.key.split), store.schema(run))
        except HammingboxError as error:
            missing.append(f"the data: {error}")
        found = verify_run(store, run.id, victim, data=data, functions=functions)
    except FileError as error:
        return _nothing(rows=run.rows, problems=(str(error), *_damage(store, run.id)))
    except HammingboxError as error:
        return _nothing(rows=run.rows, problems=_damage(store, run.id), missing=(str(error),))
    return replace(found, missing=tuple(missing))


def _in_schema(data: Dataset, schema: Schema) -> Dataset:
    """The data under the schema of a run, which may know more numbers; as it is where that cannot be."""
    try:
        return data.in_schema(schema)
    except InputError:  # another table: the comparison says so
        return data


def _damage(store: Store, run: int | None = None) -> tuple[str, ...]:
    """What does not fit the checksums; damage that hinders even this, such as text that is none, is a problem too."""
    try:
        return tuple(store.damage(run))
    except FileError as error:
        return (str(error),)


def _nothing(rows: int = 0, problems: tuple[str, ...] = (), missing: tuple[str, ...] = ()) -> Verification:
    return Verification(rows, 0, 0, 0, problems, missing)


def _reference(run: Run, data: str | None, label: str | None, schema: Path | None) -> DataReference:
    """Where the data of a run is, or where the user says it is now."""
    noted = DataReference.from_text(run.key.data, run.source)
    if noted.name in DATASETS:
        return noted
    return replace(
        noted,
        path=data or noted.path or noted.name,
        label=label or noted.label,
        schema=str(schema) if schema is not None else noted.schema,
        sha256=run.data_sha256,
    )


def _read(reference: DataReference, data_dir: Path | None, schema_digest: str) -> Splits:
    return reference.load(data_dir, schema_digest=schema_digest)


def _name(run: Run) -> str:
    return f"run {run.id} ({run.name}, budget {run.key.budget}, seed {run.key.seed})"


def checked_victim(
    place: Path | str,
    schema: Schema,
    device: torch.device | None = None,
    *,
    named_by_user: bool = True,
    name: str = "",
) -> Victim:
    """The victim of a checkpoint or a model file, on a device.

    Args:
        place: where it is.
        schema: of the table.
        device: where it is queried; as it was opened by default.
        named_by_user: whether the user named it, see `open_model`.
        name: identifies the model in place of its content.

    Raises:
        FileError: there is none, a damaged one, or one of another schema.
        InputError: model and table do not fit.
    """
    if not str(place):
        raise FileError("expected the place of the victim in the record, got none. Name it with --victim or --model.")
    victim = open_model(str(place), schema, name=name, named_by_user=named_by_user).victim
    return victim if device is None else victim.to(device)
