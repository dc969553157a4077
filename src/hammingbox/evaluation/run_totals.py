"""What the rows of a run add up to, class by class: the same rates as `Rows` has, without holding the rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int64

from hammingbox.evaluation.class_rates import ClassRates, lines_of
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.rows import Rows

COUNTS = (
    "rows", "correct", "attacked", "broken", "proven", "not_attackable", "wrong", "distance", "forward", "backward",
)  # fmt: skip
"""What is added up by class: `wrong` are rows wrong with or without the attack, `distance` is that of broken rows."""


class RunTotals:
    """Sums over rows, one per true class.

    Attributes:
        counts: by class, in the order of `COUNTS`.
        becomes: rows of each class that were broken, by the class they are taken for.
        answers: rows by the class that the victim answered before the attack, and by their true class.

    Args:
        classes: how many there are.
    """

    def __init__(self, classes: int) -> None:
        self.counts: Int64[np.ndarray, "classes counts"] = np.zeros((classes, len(COUNTS)), np.int64)
        self.becomes: Int64[np.ndarray, "classes classes"] = np.zeros((classes, classes), np.int64)
        self.answers: Int64[np.ndarray, "classes classes"] = np.zeros((classes, classes), np.int64)

    def add(self, rows: Rows) -> None:
        """Adds rows."""
        labels, broken, classes = rows.labels.numpy(), rows.success.numpy(), len(self.counts)
        values = (
            np.ones(len(rows), np.int64), rows.correct, rows.attacked, broken,
            rows.proven & rows.attacked, rows.not_attackable,
            ~rows.correct | rows.success, rows.distance.numpy() * broken, rows.forward, rows.backward,
        )  # fmt: skip
        np.add.at(self.counts, labels, np.stack([np.asarray(part).astype(np.int64) for part in values], 1))
        taken_for = rows.logits.argmax(1).numpy()[broken]
        self.becomes += _pairs(labels[broken], taken_for, classes)
        self.answers += _pairs(rows.clean_logits.argmax(1).numpy(), labels, classes)

    def column(self, name: str) -> Int64[np.ndarray, "classes"]:
        """A sum for each class."""
        return self.counts[:, COUNTS.index(name)]

    def __getitem__(self, name: str) -> int:
        """A sum over all classes."""
        return int(self.column(name).sum())

    @property
    def success_rate(self) -> Rate:
        """Broken rows, over attacked rows."""
        return Rate(self["broken"], self["attacked"])

    def success_on(self, label: int) -> Rate:
        """The same for the rows of one class."""
        return Rate(int(self.column("broken")[label]), int(self.column("attacked")[label]))

    def summary(self) -> dict[str, Any]:
        """As `Rows.summary`."""
        success, error = self.success_rate, Rate(self["wrong"], self["rows"])
        return {
            "rows": self["rows"],
            "correct": self["correct"],
            "attacked": success.rows,
            "success": success.hits,
            "proven": self["proven"],
            "not_attackable": self["not_attackable"],
            "success_rate": success.known,
            "success_interval": success.known_interval,
            "robust_error": error.known,
            "robust_error_interval": error.known_interval,
            "mean_distance": self["distance"] / success.hits if success.hits else 0.0,
            "forward": self["forward"],
            "backward": self["backward"],
        }

    def classes(
        self, names: Sequence[str], *, population: Sequence[int] | None = None, positive: str | None = None
    ) -> ClassRates:
        """The rates of each class.

        Args:
            names: of the classes.
            population: rows of each class in the whole split.
            positive: the class that comes first.

        Raises:
            InputError: no such class.
        """
        rows, right, tried, lost = (self.column(name).tolist() for name in COUNTS[:4])
        return lines_of(names, rows, right, tried, lost, self.becomes, population=population, positive=positive)


def _pairs(
    one: Int64[np.ndarray, "rows"], two: Int64[np.ndarray, "rows"], classes: int
) -> Int64[np.ndarray, "classes classes"]:
    """How often each pair of classes occurs."""
    return np.bincount(one * classes + two, minlength=classes * classes).reshape(classes, classes)
