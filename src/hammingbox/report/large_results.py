"""Results of millions of rows: everything is counted block by block, and a sample of the rows is held for browsing.

Every number of a report is a sum over rows, or follows from such sums. So the rows are read in blocks, the numbers of
each block are computed as those of a small result set, and added up. Prices of evasion and the rows that a page shows
are those of the sample, which is the same whenever the page is built.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Bool, Int64

from hammingbox.evaluation.accuracy import is_right
from hammingbox.evaluation.class_rates import ClassRate, ClassRates
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.rows import Rows
from hammingbox.evaluation.run_totals import RunTotals
from hammingbox.report.band import BandLine, added_lines, band_lines
from hammingbox.report.breakdown import ChangeCounts, WhatIf, count_changes, strongest_run, what_if
from hammingbox.report.class_budgets import worst_case_classes
from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunFacts
from hammingbox.report.status import both_by_budget
from hammingbox.report.summary import VictimSummary, WorstCase, exact_run, missed_by
from hammingbox.running.store import Run, Store

LARGE = 200_000
"""Records from which a result set is not held as a whole, and records of its sample at most."""
_BLOCK = 32_768
"""Records of a block, over all runs."""


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A run of a store.

    Attributes:
        facts: what it is.
        id: its number in the store; None for a run that was refused.
        totals: what its rows add up to.
    """

    facts: RunFacts
    id: int | None
    totals: RunTotals


@dataclass
class VictimTotals:
    """What all rows of a victim add up to.

    Attributes:
        rows: distinct clean rows.
        worst: the worst case at each budget.
        classes: the same for every class.
        band: certified and attacked accuracy.
        what_if: what freezing a column could do at most, by the class whose rows are counted.
        changes: how often its strongest run made each change, by the class whose rows are counted.
        both: rows that are broken and proven, which cannot be, at each budget.
        missed: rows that an exact attack breaks and a run does not.
        answers: clean rows by the class that the victim answers, and by their true class.
        right: clean rows of each class that it gets right.
    """

    rows: int = 0
    worst: list[WorstCase] = field(default_factory=list)
    classes: dict[int, ClassRates] = field(default_factory=dict)
    band: list[BandLine] = field(default_factory=list)
    what_if: dict[str, WhatIf] = field(default_factory=dict)
    changes: dict[str, ChangeCounts] = field(default_factory=dict)
    both: dict[int, int] = field(default_factory=dict)
    missed: dict[RunFacts, int] = field(default_factory=dict)
    answers: Int64[np.ndarray, "classes classes"] = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    right: Int64[np.ndarray, "classes"] = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, block: ResultSet, victim: str) -> None:
        """Adds the rows of a block; its runs know what all their rows add up to."""
        runs = list(block.select(victim=victim))
        self.rows += len(np.unique(np.concatenate([run.place for run in runs])))
        self.worst = _added_worst(self.worst, VictimSummary(block, victim).worst)
        self.classes = _added_classes(self.classes, worst_case_classes(block, victim), block.schema.classes)
        self.band = added_lines(self.band, band_lines(block, victim), block.schema.classes)
        if block.form == "columns":
            for of in {"", block.positive or ""}:
                found = what_if(block, victim, of=of)
                self.what_if[of] = self.what_if[of] + found if of in self.what_if else found
        strongest = strongest_run(block, victim)
        if strongest is not None:
            for of in {"", block.positive or ""}:
                counts = count_changes(block, strongest, of)
                self.changes[of] = self.changes[of] + counts if of in self.changes else counts
        for budget, both in both_by_budget(block, victim).items():
            self.both[budget] = self.both.get(budget, 0) + both
        for budget in block.budgets:
            here = [run for run in runs if run.facts.budget == budget]
            limit = exact_run(here)
            for run in here if limit is not None else ():
                self.missed[run.facts] = self.missed.get(run.facts, 0) + missed_by(run, limit or run)
        self._add_answers(block, victim)

    def _add_answers(self, block: ResultSet, victim: str) -> None:
        classes = len(block.schema.classes)
        if not len(self.right):
            self.answers, self.right = np.zeros((classes, classes), np.int64), np.zeros(classes, np.int64)
        before = block.before[victim]
        logits, labels = torch.from_numpy(before.logits()), torch.tensor(block.labels)[before.places]
        pairs = torch.bincount(logits.argmax(1) * classes + labels, minlength=classes * classes)
        self.answers += pairs.reshape(classes, classes).numpy()
        self.right += torch.bincount(labels[is_right(logits, labels)], minlength=classes).numpy()


def add_large(
    results: ResultSet, store: Store, runs: Sequence[StoredRun], among: Int64[torch.Tensor, "_"] | None = None
) -> None:
    """Fills an empty result set: a sample of the rows of the runs, and what all rows add up to.

    Args:
        results: without runs.
        store: that holds the runs.
        runs: with their totals.
        among: count only rows with these numbers, in rising order; all rows by default.

    Raises:
        FileError: a record is damaged.
    """
    there = [run for run in runs if run.id is not None]
    share = LARGE / max(1, sum(run.totals["rows"] for run in there))
    whole: dict[str, VictimTotals] = {}
    distinct = 0
    sampled: list[list[Rows]] = [[] for _ in there]
    exact = [RunTotals(len(results.schema.classes)) for _ in there]
    for parts in _blocks(store, [run.id or 0 for run in there], max(1, _BLOCK // max(1, len(there)))):
        block = results.empty()
        for i, (run, part) in enumerate(zip(there, parts, strict=True)):
            rows = part if among is None else rows_among(part, among)
            exact[i].add(rows)
            sampled[i].append(rows.take(torch.from_numpy(_is_sampled(rows.numbers.numpy(), share))))
            block.add(run.facts, rows, totals=run.totals)
        distinct += len(block.clean)
        for victim in block.victims:
            if any(len(run) for run in block.select(victim=victim)):
                whole.setdefault(victim, VictimTotals()).add(block, victim)
    held = zip(sampled, exact, strict=True)
    for run in runs:
        parts, totals = next(held) if run.id is not None else ([], None)
        results.add(run.facts, Rows.join(parts) if parts else None, totals=totals)
    results.whole, results.distinct = whole, distinct


def _blocks(store: Store, runs: Sequence[int], size: int) -> Iterator[list[Rows]]:
    """The rows of several runs in the order of their numbers, those of one number always together."""
    above = -1
    while True:
        parts = [store.rows(run, above=above, most=size) for run in runs]
        if not any(map(len, parts)):
            return
        # Further rows of a run that has more than these come later, and so do the same rows of other runs.
        last = min((int(part.numbers[-1]) for part in parts if len(part) == size), default=2**62)
        yield [part.take(part.numbers <= last) for part in parts]
        above = last


def rows_among(rows: Rows, numbers: Int64[torch.Tensor, "_"]) -> Rows:
    """Those of some rows that have these numbers, which are in rising order."""
    at = torch.searchsorted(numbers, rows.numbers).clamp(max=len(numbers) - 1)
    return rows.take(numbers[at] == rows.numbers)


def totals_among(store: Store, run: Run, among: Int64[torch.Tensor, "_"] | None) -> RunTotals:
    """What the rows of a run with these numbers add up to; all its rows by default.

    Raises:
        FileError: a record is damaged.
    """
    if among is None:
        return store.totals(run.id)
    found = RunTotals(len(store.schema(run).classes))
    for rows in store.blocks(run.id):
        found.add(rows_among(rows, among))
    return found


def _is_sampled(numbers: Int64[np.ndarray, "rows"], share: float) -> Bool[np.ndarray, "rows"]:
    """Rows by a hash of their number (SplitMix64): the same rows of every run, whatever their order."""
    with np.errstate(over="ignore"):
        mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed >> np.uint64(40)).astype(np.float64) < share * 2**24


def _added_worst(one: Sequence[WorstCase], two: Sequence[WorstCase]) -> list[WorstCase]:
    found = {line.budget: line for line in one}
    for line in two:
        known = found.get(line.budget)
        found[line.budget] = line if known is None else replace(
            line,
            success=_sum(known.success, line.success),
            robust_error=_sum(known.robust_error, line.robust_error),
            clean_error=_sum(known.clean_error, line.clean_error),
            proven=known.proven + line.proven,
            not_attackable=known.not_attackable + line.not_attackable,
        )  # fmt: skip
    return [found[budget] for budget in sorted(found)]


def _sum(one: Rate, two: Rate) -> Rate:
    return Rate(one.hits + two.hits, one.rows + two.rows)


def _added_classes(
    one: dict[int, ClassRates], two: dict[int, ClassRates], classes: Sequence[str]
) -> dict[int, ClassRates]:
    found, place = dict(one), {name: i for i, name in enumerate(classes)}
    for budget, rates in two.items():
        known = found.get(budget)
        if known is None:
            found[budget] = rates
        else:
            lines = zip(known.lines, rates.lines, strict=True)
            found[budget] = replace(rates, lines=tuple(_added_class(a, b, place) for a, b in lines))
    return {budget: found[budget] for budget in sorted(found)}


def _added_class(one: ClassRate, two: ClassRate, place: Mapping[str, int]) -> ClassRate:
    becomes = dict(one.becomes)
    for name, count in two.becomes:
        becomes[name] = becomes.get(name, 0) + count
    ordered = sorted(becomes.items(), key=lambda item: (-item[1], place[item[0]]))
    counts = {name: getattr(one, name) + getattr(two, name) for name in ("rows", "correct", "attacked", "broken")}
    return replace(two, **counts, becomes=tuple(ordered))
