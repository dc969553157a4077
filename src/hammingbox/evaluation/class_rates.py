"""What an attack does to each class: recall, success and direction, and totals weighted by the population.

A headline over all rows hides a rare class. Here every class has its own rates, a class without attacked rows has no
success rate, and totals are given for the rows that were drawn and, where the sizes of the classes in the whole split
are known, for the split.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64

from hammingbox.errors import unknown_name
from hammingbox.evaluation.rates import Rate, WeightedRate
from hammingbox.evaluation.rows import Rows


@dataclass(frozen=True)
class ClassRate:
    """A true class.

    Attributes:
        name: of the class.
        rows: rows of this class that were looked at.
        correct: those that the victim got right before.
        attacked: those that were attacked.
        broken: those that an attack broke.
        population: rows of this class in the whole split; None if unknown.
        becomes: what broken rows are predicted as, with their number, the most frequent first.
    """

    name: str
    rows: int
    correct: int
    attacked: int
    broken: int
    population: int | None = None
    becomes: tuple[tuple[str, int], ...] = ()

    @property
    def recall(self) -> Rate:
        """Rows right before, over the rows of the class."""
        return Rate(self.correct, self.rows)

    @property
    def success(self) -> Rate:
        """Broken rows, over attacked rows."""
        return Rate(self.broken, self.attacked)

    @property
    def robust_error(self) -> Rate:
        """Rows wrong before or broken, over the rows of the class."""
        return Rate(self.rows - self.correct + self.broken, self.rows)

    def to_json(self) -> dict[str, Any]:
        """One flat record; None for a rate of no rows."""
        return {
            "class": self.name, "population": self.population, "rows": self.rows, "correct": self.correct,
            "attacked": self.attacked, "success": self.broken, "recall": self.recall.known,
            "success_rate": self.success.known, "success_interval": self.success.known_interval,
            "robust_error": self.robust_error.known, "robust_error_interval": self.robust_error.known_interval,
            "becomes": dict(self.becomes),
        }  # fmt: skip


@dataclass(frozen=True)
class ClassRates:
    """All classes of a schema; the positive class first where one is named.

    Attributes:
        lines: one for each class, also for those without rows.
        positive: the class whose rows an attacker wants to be taken for others.
    """

    lines: tuple[ClassRate, ...]
    positive: str | None = None

    @property
    def seen(self) -> tuple[ClassRate, ...]:
        """Classes with rows."""
        return tuple(line for line in self.lines if line.rows)

    @property
    def missing(self) -> tuple[str, ...]:
        """Classes that the split has and that no row was drawn of."""
        return tuple(line.name for line in self.lines if not line.rows and line.population)

    @property
    def of_positive(self) -> ClassRate | None:
        """The positive class, if one is named and was seen."""
        return next((line for line in self.seen if line.name == self.positive), None)

    @property
    def worst(self) -> ClassRate | None:
        """The class with the highest robust error; of equal ones that with the highest success."""
        return max(self.seen, key=lambda line: (line.robust_error.value, line.success.known or 0.0), default=None)

    @property
    def worst_alike(self) -> tuple[ClassRate, ...]:
        """The classes whose robust error is the highest: the worst one, and those that are as bad."""
        worst = self.worst
        return tuple(line for line in self.seen if worst and line.robust_error.value == worst.robust_error.value)

    @property
    def of_headline(self) -> ClassRate | None:
        """The class that a headline is about: the positive one, or else the worst."""
        return self.of_positive or self.worst

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean recall of the classes that were seen."""
        return _mean([line.recall.value for line in self.seen])

    @property
    def balanced_robust_accuracy(self) -> float | None:
        """The mean over classes of the share that is right and stays right."""
        return _mean([1 - line.robust_error.value for line in self.seen])

    @property
    def majority(self) -> tuple[str, float] | None:
        """The largest class and the accuracy of always answering it: in the split if known, or in the rows."""
        known = all(line.population is not None for line in self.lines) and any(line.population for line in self.lines)
        sizes = [(line.population or 0) if known else line.rows for line in self.lines]
        if not sum(sizes):
            return None
        return self.lines[int(np.argmax(sizes))].name, max(sizes) / sum(sizes)

    @property
    def weighted_success(self) -> WeightedRate | None:
        """Success over the attacked rows of the whole split; None where a class of the split was not attacked.

        A class weighs as much as it has attacked rows in the split, which is estimated from its drawn rows.
        """
        if not self._weighted:
            return None
        weights = [(line.population or 0) * line.attacked / line.rows for line in self.seen]
        return WeightedRate.of([(w, line.success) for w, line in zip(weights, self.seen, strict=True)])

    @property
    def weighted_robust_error(self) -> WeightedRate | None:
        """Rows wrong before or broken, over all rows of the whole split; None where a class was not seen."""
        return WeightedRate.of([(float(line.population or 0), line.robust_error) for line in self.lines])

    @property
    def weighted_accuracy(self) -> WeightedRate | None:
        """Rows right before, over all rows of the whole split; None where a class was not seen."""
        return WeightedRate.of([(float(line.population or 0), line.recall) for line in self.lines])

    @property
    def _weighted(self) -> bool:
        return not self.missing and any(line.population for line in self.lines)

    def to_json(self) -> dict[str, Any]:
        """Classes, directions and totals; None for what is not known."""
        majority = self.majority
        return {
            "positive": self.positive,
            "balanced_accuracy": self.balanced_accuracy,
            "balanced_robust_accuracy": self.balanced_robust_accuracy,
            "majority_baseline": None if majority is None else majority[1],
            "population_accuracy": _json(self.weighted_accuracy),
            "population_success_rate": _json(self.weighted_success),
            "population_robust_error": _json(self.weighted_robust_error),
            "classes_without_rows": list(self.missing),
            "classes": [line.to_json() for line in self.lines if line.rows or line.population],
        }


def class_rates(
    classes: Sequence[str],
    labels: Int64[np.ndarray, "rows"],
    *,
    correct: Bool[np.ndarray, "rows"],
    attacked: Bool[np.ndarray, "rows"],
    broken: Bool[np.ndarray, "rows"],
    predicted: Int64[np.ndarray, "rows"],
    population: Sequence[int] | None = None,
    positive: str | None = None,
) -> ClassRates:
    """Counts rows by true class.

    Args:
        classes: names of all classes.
        labels: true classes.
        correct: the victim was right before.
        attacked: the row was attacked.
        broken: an attack met its goal.
        predicted: the class after the attack.
        population: rows of each class in the whole split.
        positive: the class that comes first.

    Raises:
        InputError: no such class.
    """
    own = [labels == number for number in range(len(classes))]
    rows, right, tried, lost = (
        [int((mine if mask is None else mine & mask).sum()) for mine in own]
        for mask in (None, correct, attacked, broken)
    )
    becomes = np.stack([np.bincount(predicted[mine & broken], minlength=len(classes)) for mine in own])
    return lines_of(classes, rows, right, tried, lost, becomes, population=population, positive=positive)


def lines_of(
    classes: Sequence[str],
    rows: Sequence[int],
    correct: Sequence[int],
    attacked: Sequence[int],
    broken: Sequence[int],
    becomes: Int64[np.ndarray, "classes classes"],
    *,
    population: Sequence[int] | None = None,
    positive: str | None = None,
) -> ClassRates:
    """The same from counts.

    Args:
        classes: names of all classes.
        rows: of each class.
        correct: those that the victim got right before.
        attacked: those that were attacked.
        broken: those that an attack broke.
        becomes: those, by the class they are taken for.
        population: rows of each class in the whole split.
        positive: the class that comes first.

    Raises:
        InputError: no such class.
    """
    if positive is not None and positive not in classes:
        raise unknown_name("positive class", positive, classes)
    lines = []
    for number, name in enumerate(classes):
        became = becomes[number]
        order = np.argsort(-became, kind="stable")
        lines.append(
            ClassRate(
                name,
                rows[number],
                correct[number],
                attacked[number],
                broken[number],
                None if population is None else population[number],
                tuple((classes[k], int(became[k])) for k in order if became[k]),
            )
        )
    return ClassRates(tuple(sorted(lines, key=lambda line: line.name != positive)), positive)


def class_rates_of(
    rows: Rows, classes: Sequence[str], *, population: Sequence[int] | None = None, positive: str | None = None
) -> ClassRates:
    """The same from the rows of one run."""
    return class_rates(
        classes,
        rows.labels.numpy(),
        correct=rows.correct.numpy(),
        attacked=rows.attacked.numpy(),
        broken=rows.success.numpy(),
        predicted=rows.logits.argmax(1).numpy(),
        population=population,
        positive=positive,
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _json(rate: WeightedRate | None) -> dict[str, Any] | None:
    return None if rate is None else {"value": rate.value, "interval": list(rate.interval)}
