"""Which rows are wrong: every row of a line of a table, for every training of its victim and every attack seed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from jaxtyping import Bool, Float, Int64
from numpy import ndarray

from hammingbox.evaluation.rates import Rate
from hammingbox.studies.grid import GridCell
from hammingbox.studies.run_facts import RunFacts

CLEAN = "none"
STRONGEST, WORST_OF_PAPER, WORST = "strongest of the paper's", "worst of the paper's", "worst of all"
"""The single attack of the paper with the highest error; rows broken by any attack of the paper; by any attack."""
WORST_ON_ALL_ROWS = "worst of all, on all rows"
"""Rows broken by any attack that ran on all rows: only where an attack ran on fewer."""
BEYOND_PAPER = ("auto", "swap")
"""Attacks that the paper does not have. `WORST` includes them; numbers to compare with the paper leave them out."""


@dataclass(frozen=True, eq=False)
class LineErrors:
    """The rows of one line of a table that are wrong under one attack, or under any of several.

    Attributes:
        trainings: seed of each training.
        numbers: number of each row in its source.
        wrong: the row is wrong before the attack, or broken by it, for each training and each seed of the attack.
    """

    trainings: tuple[int, ...]
    numbers: Int64[ndarray, "rows"]
    wrong: Bool[ndarray, "trainings seeds rows"]

    @property
    def shares(self) -> Float[ndarray, "trainings rows"]:
        """How often each row is wrong, over the seeds of the attack."""
        return self.wrong.mean(1)

    @property
    def of_trainings(self) -> list[float]:
        """The error of each training, averaged over the seeds of the attack."""
        return self.wrong.mean((1, 2)).tolist()

    @property
    def of_seeds(self) -> list[float]:
        """The error with each seed of the attack, averaged over trainings."""
        return self.wrong.mean((0, 2)).tolist()

    @property
    def rates(self) -> list[Rate]:
        """One rate per training and seed of the attack."""
        return [Rate(int(rows.sum()), len(rows)) for training in self.wrong for rows in training]

    def on_rows(self, numbers: Int64[ndarray, "some"]) -> "LineErrors":
        """The same on some of the rows, in the order of their numbers."""
        order = np.argsort(self.numbers)
        kept = order[np.isin(self.numbers[order], numbers)]
        return replace(self, numbers=self.numbers[kept], wrong=self.wrong[:, :, kept])

    def of(self, trainings: Sequence[int]) -> "LineErrors":
        """The same for some of the trainings."""
        places = [self.trainings.index(seed) for seed in trainings]
        return replace(self, trainings=tuple(trainings), wrong=self.wrong[places])


def paired(first: LineErrors, second: LineErrors) -> tuple[LineErrors, LineErrors] | None:
    """Two lines on the training seeds and rows that both have; None if they share none."""
    trainings = [seed for seed in first.trainings if seed in second.trainings]
    rows = np.intersect1d(first.numbers, second.numbers)
    if not trainings or not len(rows):
        return None
    return first.of(trainings).on_rows(rows), second.of(trainings).on_rows(rows)


def line_errors(cells: Sequence[GridCell], attack: str) -> LineErrors | None:
    """The rows that are wrong in one line of a table; None when nothing ran.

    Args:
        cells: of one victim at one budget, all trainings.
        attack: name of an attack, or one of the words above. Attacks on fewer rows than others restrict a union to the
            rows that all its attacks share.
    """
    attacks = list(dict.fromkeys(cell.attack for cell in cells if cell.runs))
    if not attacks:
        return None
    if attack == CLEAN:
        most = max(attacks, key=lambda name: len(_of_attack(cells, name).numbers))
        return _of_attack(cells, most, clean=True)
    of = {name: _of_attack(cells, name) for name in attacks}
    of_paper = {name: found for name, found in of.items() if name not in BEYOND_PAPER}
    if attack == WORST:
        return _of_any(list(of.values()))
    if attack == WORST_ON_ALL_ROWS:
        return _of_any(_on_most_rows(list(of.values())))
    if attack == WORST_OF_PAPER:
        return _of_any(list(of_paper.values()))
    if attack == STRONGEST:
        return _strongest(list(of_paper.values()))
    return of.get(attack)


def differ_in_rows(cells: Sequence[GridCell]) -> bool:
    """Whether some attacks ran on fewer rows than others."""
    return len({len(cell.runs[0]) for cell in cells if cell.runs}) > 1


def _of_attack(cells: Sequence[GridCell], attack: str, *, clean: bool = False) -> LineErrors:
    """The rows that are wrong under one attack, or before it."""
    ran = [cell for cell in cells if cell.attack == attack and cell.runs]
    wrong = [[_wrong(run, clean=clean) for run in cell.runs[: 1 if clean else None]] for cell in ran]
    return LineErrors(tuple(cell.recipe.seed for cell in ran), ran[0].runs[0].numbers, np.array(wrong))


def _wrong(run: RunFacts, *, clean: bool) -> Bool[ndarray, "rows"]:
    return run.wrong_before if clean else run.wrong_after


def _of_any(attacks: Sequence[LineErrors]) -> LineErrors | None:
    """The rows that are wrong, or broken by any of these attacks with any seed.

    Only rows and trainings that all attacks share: some attacks may not have run on every training yet.
    """
    trainings = (
        [seed for seed in attacks[0].trainings if all(seed in found.trainings for found in attacks)] if attacks else []
    )
    if not trainings:
        return None
    shared = reduce(np.intersect1d, (found.numbers for found in attacks))
    here = [found.of(trainings).on_rows(shared) for found in attacks]
    return replace(here[0], wrong=np.logical_or.reduce([found.wrong.any(1, keepdims=True) for found in here]))


def _on_most_rows(attacks: Sequence[LineErrors]) -> list[LineErrors]:
    most = max(len(found.numbers) for found in attacks)
    return [found for found in attacks if len(found.numbers) == most]


def _strongest(attacks: Sequence[LineErrors]) -> LineErrors | None:
    """The attack with the highest error on the rows that all of them share, on all of its own rows."""
    if not attacks:
        return None
    shared = reduce(np.intersect1d, (found.numbers for found in attacks))
    return max(attacks, key=lambda found: found.on_rows(shared).wrong.mean())
