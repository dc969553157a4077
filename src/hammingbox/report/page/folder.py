"""From a results folder to its page: everything on it comes from the store, so it can be built at any time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hammingbox.evaluation.diagnose import Finding
from hammingbox.report.labels import attack_labels, space_in_words, victim_labels
from hammingbox.report.page.commands import commands
from hammingbox.report.page.page import Contents, write_page
from hammingbox.report.recorded_checks import doubts
from hammingbox.report.result_set import Study
from hammingbox.report.run import Facts
from hammingbox.running.store import FILE, Run, Store, open_store

PAGE = "report.html"


def write_report(folder: Path, *, asked: Mapping[str, Sequence[Finding]] | None = None) -> Path:
    """Builds the page of a results folder.

    Args:
        folder: where the store lies.
        asked: what `diagnose_victim` found, by the hash of the victim's weights; a store does not hold that.

    Returns:
        The page's path.

    Raises:
        FileError: no store there, a damaged one, or a page that cannot be written.
    """
    path = folder / PAGE
    write_page(read_contents(folder, asked=asked), path)
    return path


def read_contents(folder: Path, *, asked: Mapping[str, Sequence[Finding]] | None = None) -> Contents:
    """Everything the page of a results folder shows.

    Raises:
        FileError: no store there, or a damaged one.
    """
    with open_store(folder, readonly=True) as store, store.snapshot():
        groups: dict[tuple[str, ...], list[Run]] = {}
        for run in store.runs():
            if run.rows or run.refused:
                key = run.key
                groups.setdefault((key.data, key.split, key.schema_sha256, key.space_sha256), []).append(run)
        studies = [_study(store, runs) for runs in groups.values()]
        spaces = {runs[0].key.space_sha256: store.space(runs[0]) for runs in groups.values()}
        lines = [
            line
            for runs, study in zip(groups.values(), studies, strict=True)
            for line in commands(runs, spaces, study.schema.classes, folder)
        ]
        environments = _environments(store, [run for runs in groups.values() for run in runs])
    findings = [_findings(study, runs, asked or {}) for runs, study in zip(groups.values(), studies, strict=True)]
    return Contents(studies, findings, lines, environments, FILE)


def _study(store: Store, runs: Sequence[Run]) -> Study:
    schema, key = store.schema(runs[0]), runs[0].key
    part = "" if key.split == "test" else f" ({key.split} rows)"
    study = Study(Path(key.data).name + part, schema, space_in_words(store.space(runs[0])))
    attacks, victims = attack_labels(runs, schema.classes), victim_labels(runs)
    for run in runs:
        # A store does not say how many rows were asked for: the run with most of them does.
        planned = max(other.rows for other in runs if other.key.victim_sha256 == run.key.victim_sha256)
        facts = Facts(
            victim=victims[run.key.victim_sha256],
            attack=attacks[run.id],
            settings=run.key.attack,
            budget=run.key.budget,
            seed=run.key.seed,
            seconds=run.seconds,
            planned=planned,
            refused=run.refused or "",
            defence=run.key.defence,
            weights=run.key.victim_sha256,
        )
        study.add(facts, store.rows(run.id) if run.rows else None)
    return study


def _findings(study: Study, runs: Sequence[Run], asked: Mapping[str, Sequence[Finding]]) -> list[Finding]:
    """What each victim showed when it was asked, then what its rows say that it did not."""
    found = []
    names = victim_labels(runs)
    for digest, name in names.items():
        heard = asked.get(digest, ())
        known = {finding.check for finding in heard}
        mine = [*heard, *(finding for finding in doubts(study, name) if finding.check not in known)]
        found += [replace(f, seen=f"{name}: {f.seen}") if len(names) > 1 else f for f in mine]
    return found


def _environments(store: Store, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Each environment once; most stores have one."""
    found: list[dict[str, Any]] = []
    for run in runs:
        for session in store.sessions(run.id):
            if session.environment not in found:
                found.append(session.environment)
    return found
