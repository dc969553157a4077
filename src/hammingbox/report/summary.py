"""The one aggregation of results, for the terminal, the page and files: each attack alone, and the worst case."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

import numpy as np

from hammingbox.evaluation.class_rates import ClassRates
from hammingbox.evaluation.rates import Rate
from hammingbox.report.class_budgets import classes_of_run, worst_case_classes
from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunRows
from hammingbox.report.status import statuses_by_budget


@dataclass(frozen=True)
class Cell:
    """An attack at a budget on one victim, over its seeds.

    Attributes:
        attack: the name shown for it.
        budget: changed features at most.
        runs: one for each seed; none where the attack refused to run.
        refused: why it refused, or "".
        missed: rows per seed that an exact attack breaks and this one does not; None where no exact attack was run.
    """

    attack: str
    budget: int
    runs: tuple[RunRows, ...]
    refused: str = ""
    missed: int | None = None

    @property
    def rate(self) -> float:
        """Success rate; the mean over seeds. NaN where no row was attacked."""
        return fmean(run.success_rate.value for run in self.runs)

    @property
    def interval(self) -> tuple[float, float]:
        """The mean of the seeds' Wilson intervals. Seeds share their rows, so more seeds make it no narrower."""
        ends = [run.success_rate.interval for run in self.runs]
        return fmean(low for low, _ in ends), fmean(high for _, high in ends)

    @property
    def robust_error(self) -> float:
        """Rows that are wrong with or without the attack, over all rows; the mean over seeds."""
        return fmean(run.summary["robust_error"] for run in self.runs)

    @property
    def attacked(self) -> int:
        """Attacked rows, over all seeds."""
        return sum(run.success_rate.rows for run in self.runs)

    @property
    def broken(self) -> int:
        """Broken rows, over all seeds."""
        return sum(run.success_rate.hits for run in self.runs)

    @property
    def proven(self) -> Rate:
        """Rows proven unbreakable within the budget, over attacked rows, both over all seeds."""
        return Rate(sum(run.summary["proven"] for run in self.runs), self.attacked)

    @property
    def passes(self) -> float:
        """Victim passes per row; the mean over seeds."""
        return fmean(run.passes for run in self.runs)

    @property
    def seconds(self) -> float:
        """Seconds per row; the mean over seeds."""
        return fmean(run.seconds for run in self.runs)

    @property
    def distance(self) -> float:
        """Mean number of changes in a broken row."""
        return float(sum(run.changed for run in self.runs)) / max(1, self.broken)

    @property
    def gap(self) -> float | None:
        """Missed rows over attacked rows: the distance to the best success possible."""
        return None if self.missed is None else self.missed * len(self.runs) / max(1, self.attacked)

    @property
    def lacking(self) -> int:
        """Rows that other runs on this victim have and these do not."""
        return sum(max(0, run.facts.planned - run.rows) for run in self.runs)


@dataclass(frozen=True)
class WorstCase:
    """The worst case over all attacks: a row is broken when any run with this or a smaller budget broke it.

    Attributes:
        budget: changed features at most.
        success: broken rows, over attacked rows.
        robust_error: rows wrong before or broken, over all rows.
        clean_error: rows wrong before, over all rows.
        strongest: the single attack that broke most rows at exactly this budget.
        proven: attacked rows that are not broken and proven unbreakable within this or a larger budget.
        not_attackable: rows that were right before and that the threat leaves no change.
    """

    budget: int
    success: Rate
    robust_error: Rate
    clean_error: Rate
    strongest: str
    proven: int
    not_attackable: int = 0

    @property
    def unknown(self) -> int:
        """Attacked rows that are neither broken nor proven."""
        return self.success.rows - self.success.hits - self.proven


@dataclass(frozen=True)
class VictimSummary:
    """Everything about one victim of a result set."""

    results: ResultSet
    name: str

    @cached_property
    def cells(self) -> dict[tuple[str, int], Cell]:
        """Every attack and budget that was tried on it."""
        table = {}
        for budget in self.results.budgets:
            limit = exact_run(list(self.results.select(victim=self.name, budget=budget)))
            for attack in self.results.attacks:
                runs = tuple(self.results.select(victim=self.name, attack=attack, budget=budget))
                if runs:
                    refused = "; ".join(dict.fromkeys(run.facts.refused for run in runs if run.facts.refused))
                    done = tuple(run for run in runs if run.rows)
                    table[attack, budget] = Cell(attack, budget, done, refused, self._missed(done, limit))
        return table

    def _missed(self, runs: Sequence[RunRows], limit: RunRows | None) -> int | None:
        if limit is None or not runs:
            return None
        if self.name in self.results.whole:
            known = self.results.whole[self.name].missed
            return round(fmean(known[run.facts] for run in runs))
        return round(fmean(missed_by(run, limit) for run in runs))

    @cached_property
    def worst(self) -> list[WorstCase]:
        """The worst case at each of its budgets."""
        if self.name in self.results.whole:
            return list(self.results.whole[self.name].worst)
        lines = []
        for budget, rows in statuses_by_budget(self.results, self.name).items():
            here = [run for run in self.results.select(victim=self.name, budget=budget) if run.rows]
            seen, wrong, broken = (int(mask.sum()) for mask in (rows.seen, rows.seen & ~rows.correct, rows.broken))
            lines.append(
                WorstCase(
                    budget=budget,
                    success=Rate(broken, int(rows.attacked.sum())),
                    robust_error=Rate(wrong + broken, seen),
                    clean_error=Rate(wrong, seen),
                    strongest=max(here, key=lambda run: run.success_rate.known or 0.0).facts.attack,
                    proven=int((rows.proven & rows.attacked & ~rows.broken).sum()),
                    not_attackable=int((rows.proven & ~rows.attacked).sum()),
                )
            )
        return lines

    @cached_property
    def classes(self) -> dict[int, ClassRates]:
        """Every class in the worst case at each of its budgets."""
        return worst_case_classes(self.results, self.name)

    @property
    def attacks(self) -> list[str]:
        """Attacks that were tried on it, in the order they were added."""
        return [name for name in self.results.attacks if any(attack == name for attack, _ in self.cells)]

    @property
    def budgets(self) -> list[int]:
        """Budgets that were tried on it, in rising order."""
        return sorted({budget for _, budget in self.cells})

    @property
    def clean_error(self) -> Rate | None:
        """Rows wrong before any attack, over all rows; None where every attack refused to run."""
        return self.worst[-1].clean_error if self.worst else None

    @property
    def has_proofs(self) -> bool:
        """Whether any row is proven unbreakable at any budget."""
        return any(line.proven for line in self.worst)

    def ran(self, attack: str, budget: int) -> Cell | None:
        """The cell of an attack at a budget, unless it was not run or refused."""
        cell = self.cells.get((attack, budget))
        return cell if cell is not None and cell.runs else None

    def best(self, budget: int) -> float:
        """The highest success rate of one attack at a budget; 0 where nothing was attacked."""
        cells = [cell for (_, at), cell in self.cells.items() if at == budget and cell.attacked]
        return max((cell.rate for cell in cells), default=0.0)

    @property
    def refused(self) -> list[tuple[str, list[int], str]]:
        """Attacks that refused: their budgets, and the reason at the smallest of them."""
        found: dict[str, list[Cell]] = {}
        for cell in self.cells.values():
            if cell.refused and not cell.runs:
                found.setdefault(cell.attack, []).append(cell)
        return [(name, [cell.budget for cell in some], some[0].refused) for name, some in found.items()]

    def records(self) -> list[dict[str, Any]]:
        """One flat record per cell and seed, in the order the attacks were added, with the gap to an exact attack."""
        found = []
        for attack in self.attacks:
            for budget in self.budgets:
                cell = self.cells.get((attack, budget))
                if cell is None:
                    continue
                facts = {"data": self.results.data, "attack": attack, "budget": budget}
                gap = {} if cell.gap is None else {"optimality_gap": cell.gap}
                for run in cell.runs:
                    cost = {"seed": run.facts.seed, **run.summary, "seconds": run.facts.seconds}
                    classes = classes_of_run(self.results, run).to_json()
                    found.append(facts | cost | gap | {"refused": None} | classes)
                if not cell.runs:
                    found.append(facts | {"refused": cell.refused})
        return found


def exact_run(runs: Sequence[RunRows]) -> RunRows | None:
    """The run of an exact attack with the most rows, if there is any."""
    exact = [run for run in runs if run.rows and (attack := run.facts.known_attack) is not None and attack.exact]
    return max(exact, key=lambda run: run.rows, default=None)


def missed_by(run: RunRows, limit: RunRows) -> int:
    """Rows of a run that an exact attack breaks and the run does not."""
    breakable = limit.place[limit.broken]
    return int(np.setdiff1d(np.intersect1d(breakable, run.place), run.place[run.broken]).size)
