"""What fell at which budget: every attack by itself, and the worst case over all of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from jaxtyping import Bool

from hammingbox.evaluation.rates import Rate
from hammingbox.report.result_set import Study
from hammingbox.report.run import Run

LIMITS = ("oracle", "exhaustive")
"""Attacks that decide which rows can fall at all: what others miss is measured against them."""


@dataclass(frozen=True)
class Cell:
    """An attack at a budget on one victim, over its seeds."""

    attack: str
    budget: int
    runs: tuple[Run, ...]
    refused: str = ""
    missed: int | None = None
    """Rows that enumeration breaks and this attack does not, a seed; None where nothing was enumerated."""

    @property
    def rate(self) -> float:
        """Success rate; the mean over seeds."""
        return fmean(run.success_rate.value for run in self.runs)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson interval; the mean of the seeds' intervals, which is wide enough: seeds share their rows."""
        ends = [run.success_rate.interval for run in self.runs]
        return fmean(low for low, _ in ends), fmean(high for _, high in ends)

    @property
    def attacked(self) -> int:
        """Rows that were attacked, over all seeds."""
        return sum(run.success_rate.rows for run in self.runs)

    @property
    def fell(self) -> int:
        """Rows that fell, over all seeds."""
        return sum(run.success_rate.hits for run in self.runs)

    @property
    def passes(self) -> float:
        """Passes a row; the mean over seeds."""
        return fmean(run.passes for run in self.runs)

    @property
    def seconds(self) -> float:
        """Seconds a row; the mean over seeds."""
        return fmean(run.seconds for run in self.runs)

    @property
    def distance(self) -> float:
        """Mean number of changes of the rows that fell."""
        return float(sum(int(run.distance[run.success].sum()) for run in self.runs)) / max(1, self.fell)

    @property
    def waiting(self) -> int:
        """Rows that are still to come."""
        return sum(max(0, run.facts.planned - len(run)) for run in self.runs)


@dataclass(frozen=True)
class Worst:
    """The worst case over the rows of a budget: one falls when any run with this or a smaller budget broke it."""

    budget: int
    success: Rate
    robust_error: Rate
    clean_error: Rate
    strongest: str
    """The single attack that broke most rows at just this budget."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What some runs say about each clean row: was it asked about, was it right, was it attacked, did it fall."""

    asked: Bool[np.ndarray, "places"]
    correct: Bool[np.ndarray, "places"]
    attacked: Bool[np.ndarray, "places"]
    fell: Bool[np.ndarray, "places"]

    def among(self, places: Bool[np.ndarray, "places"]) -> "Seen":
        """The same about some rows, nothing about the others."""
        return Seen(self.asked & places, self.correct & places, self.attacked & places, self.fell & places)


def seen_by(places: int, runs: Iterable[Run]) -> Seen:
    """Joins runs."""
    seen = Seen(*(np.zeros(places, np.bool_) for _ in range(4)))
    for run in runs:
        seen.asked[run.place] = True
        seen.correct[run.place[run.correct]] = True
        seen.attacked[run.place[run.attacked]] = True
        seen.fell[run.place[run.success]] = True
    return seen


def seen_at(study: Study, victim: str) -> dict[int, Seen]:
    """What is known of a victim's rows at each budget it was attacked with.

    A row that fell with a smaller budget falls here too, but only rows that were tried with this very budget count:
    of others it is not known that they stand.
    """
    found, places = {}, len(study.clean)
    for budget in study.budgets:
        here = seen_by(places, study.select(victim=victim, budget=budget)).asked
        if here.any():
            up_to = (run for run in study.select(victim=victim) if run.facts.budget <= budget)
            found[budget] = seen_by(places, up_to).among(here)
    return found


def cells(study: Study, victim: str) -> dict[tuple[str, int], Cell]:
    """Every attack and budget of a victim."""
    table = {}
    for budget in study.budgets:
        limit = next(
            (run for name in LIMITS for run in study.select(victim=victim, attack=name, budget=budget) if len(run)),
            None,
        )
        for attack in study.attacks:
            runs = tuple(study.select(victim=victim, attack=attack, budget=budget))
            if runs:
                refused = "; ".join(dict.fromkeys(run.facts.refused for run in runs if run.facts.refused))
                made = tuple(run for run in runs if len(run))
                table[attack, budget] = Cell(attack, budget, made, refused, _missed(made, limit))
    return table


def _missed(runs: Sequence[Run], limit: Run | None) -> int | None:
    if limit is None or not runs:
        return None
    return round(
        fmean(
            np.setdiff1d(np.intersect1d(limit.place[limit.success], run.place), run.place[run.success]).size
            for run in runs
        )
    )


def worst_case(study: Study, victim: str) -> list[Worst]:
    """The worst case of a victim at each of its budgets."""
    lines = []
    for budget, seen in seen_at(study, victim).items():
        here = [run for run in study.select(victim=victim, budget=budget) if len(run)]
        asked = int(seen.asked.sum())
        wrong = int((seen.asked & ~seen.correct).sum())
        lines.append(
            Worst(
                budget,
                Rate(int(seen.fell.sum()), int(seen.attacked.sum())),
                Rate(wrong + int(seen.fell.sum()), asked),
                Rate(wrong, asked),
                max(here, key=lambda run: run.success_rate.value).facts.attack,
            )
        )
    return lines
