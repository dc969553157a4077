"""From a results folder to its page: everything on it comes from the store, so it can be built at any time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import HammingboxError
from hammingbox.evaluation.diagnose import Finding
from hammingbox.evaluation.drawing import Sample
from hammingbox.report.comparison import ComparisonJob
from hammingbox.report.labels import attack_labels, goal_in_words, space_in_words, victim_labels
from hammingbox.report.large_results import LARGE, StoredRun, add_large, totals_among
from hammingbox.report.measured_what_if import read_measured
from hammingbox.report.page.commands import commands
from hammingbox.report.page.page import Contents, write_page
from hammingbox.report.plausible_success import PlausibleLine, plausible_success
from hammingbox.report.recorded_checks import findings_of
from hammingbox.report.recorded_plausibility import PlausibilityNotes, read_notes
from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunFacts
from hammingbox.running.data_reference import DataReference
from hammingbox.running.store import FILE, Run, Store, goal_digest, open_store, space_digest
from hammingbox.threat.amount import amount_of
from hammingbox.threat.goal import Goal, goal_from_json
from hammingbox.threat.rules.function import Function
from hammingbox.threat.rules.rules import Rules
from hammingbox.types import RowInt

PAGE = "report.html"


@dataclass(frozen=True, eq=False)
class Chosen:
    """The rows of one audit. A store may hold more of the same table, from audits that drew others.

    Attributes:
        split: the part of the table.
        documents: digests of schema, S(x) and goal.
        numbers: of the rows, in rising order.
    """

    split: str
    documents: tuple[str, str, str]
    numbers: RowInt

    @staticmethod
    def of(job: ComparisonJob) -> "Chosen":
        """The rows of a comparison."""
        digests = (job.space.schema.digest, space_digest(job.space), goal_digest(job.goal))
        return Chosen(job.split, digests, job.rows.numbers.cpu().sort().values)

    def among(self, runs: Sequence[Run]) -> RowInt | None:
        """The numbers of its rows if these comparable runs are its own; None for other runs."""
        key = runs[0].key
        mine = (key.schema_sha256, key.space_sha256, key.goal_sha256) == self.documents and key.split == self.split
        return self.numbers if mine else None


def write_report(
    folder: Path, *, queried: Mapping[str, Sequence[Finding]] | None = None, chosen: Chosen | None = None
) -> Path:
    """Builds the page of a results folder.

    Args:
        folder: holds the store.
        queried: what `diagnose_victim` found, by the hash of the victim's weights; a store does not hold that.
        chosen: of its runs, show these rows only; all that the store holds by default.

    Returns:
        The page's path.

    Raises:
        FileError: no store there, a damaged one, or a page that cannot be written.
    """
    path = folder / PAGE
    write_page(read_contents(folder, queried=queried, chosen=chosen), path)
    return path


def read_contents(
    folder: Path, *, queried: Mapping[str, Sequence[Finding]] | None = None, chosen: Chosen | None = None
) -> Contents:
    """Everything the page of a results folder shows, as `write_report` says.

    Raises:
        FileError: no store there, or a damaged one.
    """
    with open_store(folder, readonly=True) as store, store.snapshot():
        parts = [(runs, None if chosen is None else chosen.among(runs)) for runs in _comparable(store)]
        parts = [(found, some) for runs, some in parts if (found := _with_rows(store, runs, some))]
        groups, notes = [runs for runs, _ in parts], read_notes(folder)
        result_sets = [_result_set(store, runs, notes, some) for runs, some in parts]
        spaces = {runs[0].key.space_sha256: store.space(runs[0]) for runs in groups}
        measured = [read_measured(_folder_of(folder), store, runs, some) for runs, some in parts]
        lines = [
            line
            for runs, again in zip(groups, measured, strict=True)
            for line in commands(runs, spaces, store.goal(runs[0]), folder, again)
        ]
        environments = _environments(store, [run for runs in groups for run in runs])
    findings = [_findings(results, runs, queried or {}) for runs, results in zip(groups, result_sets, strict=True)]
    return Contents(result_sets, findings, lines, environments, FILE, measured)


def plausible_results(folder: Path, chosen: Chosen, weights: str) -> list[PlausibleLine]:
    """What is left of a victim's success on the rows of an audit when rows that look odd do not count.

    Args:
        folder: holds the store, and the notes about plausibility.
        chosen: the rows.
        weights: hash of the victim's weights.

    Raises:
        FileError: no store there, or a damaged one.
    """
    with open_store(folder, readonly=True) as store, store.snapshot():
        runs = [
            run
            for run in store.runs()
            if run.rows and run.key.victim_sha256 == weights and chosen.among([run]) is not None
        ]
        if not runs or len(runs) * len(chosen.numbers) > LARGE:
            return []
        results = _result_set(store, runs, read_notes(folder), chosen.numbers)
    return plausible_success(results, results.victims[0])


def _folder_of(place: Path) -> Path:
    return place.parent if place.is_file() else place


def _comparable(store: Store) -> list[list[Run]]:
    """The runs of a store in groups of the same data, allowed changes and goal."""
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in store.runs():
        if run.rows or run.refused:
            key = run.key
            group = (key.data, key.split, key.schema_sha256, key.space_sha256, key.goal_sha256)
            groups.setdefault(group, []).append(run)
    return list(groups.values())


def _with_rows(store: Store, runs: Sequence[Run], among: RowInt | None) -> list[Run]:
    """The runs that hold some of these rows, or were refused: others are of another draw altogether."""
    if among is None or len(among) > LARGE:
        return list(runs)
    return [run for run in runs if run.refused or store.recorded(run.id, among.tolist())]


def _result_set(store: Store, runs: Sequence[Run], notes: PlausibilityNotes, among: RowInt | None = None) -> ResultSet:
    schema, key = store.schema(runs[0]), runs[0].key
    rows_of = {run.id: run.rows if among is None else min(run.rows, len(among)) for run in runs}
    is_large = sum(rows_of.values()) > LARGE
    noted = DataReference.from_text(key.data, runs[0].source) if runs[0].source else DataReference(key.data)
    results = ResultSet(
        data=noted.rows_of(key.split),
        schema=schema,
        space=space_in_words(store.space(runs[0])),
        goal=goal_in_words(store.goal(runs[0])),
        sample=_sample(runs),
        aim=_aim(store, runs[0], schema),
        rules=_rules(store, runs[0], schema),
        # Nobody notes how plausible the broken rows of millions are, see `note_plausibility`.
        rare=None if is_large else notes.rare.get(key.schema_sha256),
    )
    attacks, victims = attack_labels([(run.name, run.key.attack, "") for run in runs]), victim_labels(runs)
    stored: list[StoredRun] = []
    for run, attack in zip(runs, attacks, strict=True):
        # A store does not say how many rows a run is to have: as many as the longest run on its victim.
        planned = max(rows_of[other.id] for other in runs if other.key.victim_sha256 == run.key.victim_sha256)
        facts = RunFacts(
            victim=victims[run.key.victim_sha256],
            attack=attack,
            name=run.name,
            settings=run.key.attack,
            budget=amount_of(run.key.budget, results.unit),
            seed=run.key.seed,
            seconds=run.seconds * rows_of[run.id] / max(1, run.rows),
            planned=planned,
            refused=run.refused or "",
            defence=run.key.defence,
            weights=run.key.victim_sha256,
        )
        if is_large:
            stored.append(StoredRun(facts, run.id if run.rows else None, totals_among(store, run, among)))
        else:
            rows = store.rows(run.id, None if among is None else among.tolist()) if run.rows else None
            results.add(facts, rows, None if rows is None else notes.of(rows, key.schema_sha256))
    if is_large:
        add_large(results, store, stored, among)
    return results


def _sample(runs: Sequence[Run]) -> Sample | None:
    """How the rows were drawn, as the last run that noted it says."""
    noted = [DataReference.from_text(run.key.data, run.source).sample for run in runs if run.source]
    return next((sample for sample in reversed(noted) if sample is not None), None)


def _rules(store: Store, run: Run, schema: Schema) -> Rules | None:
    """The rules of a run's space; None if it has none."""
    document = store.space(run)
    if document.get("kind") != "ruled":
        return None
    # A bill needs no function of the user's own, and no file runs one.
    stored = document["rules"]
    kept = [part for part in stored.get("relations", ()) if part.get("kind") != Function.kind]
    return Rules.from_json({**stored, "relations": kept}, schema)


def _aim(store: Store, run: Run, schema: Schema) -> Goal | None:
    """The goal of a run; None if it is a user's own, which a store cannot hold, or damaged."""
    try:
        goal = goal_from_json(store.goal(run))
        goal.of(torch.arange(len(schema.classes)), schema)
    except HammingboxError:
        return None
    return goal


def _findings(results: ResultSet, runs: Sequence[Run], queried: Mapping[str, Sequence[Finding]]) -> list[Finding]:
    """The findings of each victim, with its name where there are several."""
    names = victim_labels(runs)
    return [
        replace(finding, seen=f"{name}: {finding.seen}") if len(names) > 1 else finding
        for digest, name in names.items()
        for finding in findings_of(results, name, queried.get(digest, ()))
    ]


def _environments(store: Store, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Each environment once; most stores have one."""
    found: list[dict[str, Any]] = []
    for run in runs:
        for session in store.sessions(run.id):
            if session.environment not in found:
                found.append(session.environment)
    return found
