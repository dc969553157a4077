"""Success against plausibility: what is left of it when rows that look odd do not count."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool

from hammingbox.evaluation.plausibility import NORMAL
from hammingbox.evaluation.rates import Rate
from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunRows

LIMITS = (0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
"""Anomalies up to which rows count; at 1 all do."""


@dataclass(frozen=True)
class PlausibleLine:
    """Success at a budget, with this or a smaller one, by any attack.

    Attributes:
        budget: of the attacker.
        of: the class whose rows count; "" for all.
        all_rows: every broken row counts.
        seen: only rows count whose every pair of values occurs in the data.
        typical: only rows count that are at least as typical as one in twenty of the class they are taken for.
        both: only rows count that are both.
        by_limit: success for each of `LIMITS`, of rows whose every pair of values occurs.
    """

    budget: int
    of: str
    all_rows: Rate
    seen: Rate
    typical: Rate
    both: Rate
    by_limit: tuple[Rate, ...]

    def to_json(self) -> dict[str, Any]:
        """As it is printed: broken and attacked rows."""
        rates = {"all": self.all_rows, "seen": self.seen, "typical": self.typical, "both": self.both}
        return {"class": self.of} | {name: [rate.hits, rate.rows] for name, rate in rates.items()}


def plausible_success(results: ResultSet, victim: str) -> list[PlausibleLine]:
    """One line per budget of a victim; empty where nobody noted how plausible its broken rows are.

    Where a positive class is named, only its rows count: they are what an attacker wants to hide.
    """
    runs = [run for run in results.select(victim=victim) if len(run)]
    if results.rare is None or not runs or any((run.unseen_pairs[run.broken] < 0).any() for run in runs):
        return []
    return [_line(results, runs, budget) for budget in sorted({run.facts.budget for run in runs})]


def _line(results: ResultSet, runs: Sequence[RunRows], budget: int) -> PlausibleLine:
    places, of = len(results.clean), results.positive or ""
    attacked = np.zeros(places, np.bool_)
    for run in runs:
        if run.facts.budget == budget:
            attacked[run.place[run.attacked]] = True
    if of:
        attacked &= np.array(results.labels) == results.schema.classes.index(of)
    within = [run for run in runs if int(run.facts.budget) <= int(budget)]

    def rate(counts: Sequence[Bool[np.ndarray, "_"]]) -> Rate:
        """Attacked rows with an evasion that counts, found by any of the runs."""
        broken = np.zeros(places, np.bool_)
        for run, count in zip(within, counts, strict=True):
            broken[run.place[run.broken & count]] = True
        return Rate(int((broken & attacked).sum()), int(attacked.sum()))

    everything = [np.ones(len(run), np.bool_) for run in within]
    seen = [run.unseen_pairs == 0 for run in within]
    # What is not known does not count against a row: a class of few rows says nothing about what is normal.
    typical = [~(run.anomaly >= NORMAL) for run in within]

    def both(limit: float) -> Rate:
        return rate([a & ~(run.anomaly > limit) for a, run in zip(seen, within, strict=True)])

    return PlausibleLine(
        budget,
        of,
        rate(everything),
        rate(seen),
        rate(typical),
        rate([a & b for a, b in zip(seen, typical, strict=True)]),
        tuple(both(limit) for limit in LIMITS),
    )
