"""The band between certified and attacked accuracy, from rows that were certified or attacked at several budgets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from hammingbox.data.schema import Schema
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.rows import Rows
from hammingbox.types import RowMask


@dataclass(frozen=True, eq=False)
class CertifiedRates:
    """Certified and attacked accuracy by budget and class. A constant answer certifies its own class: look at classes.

    Attributes:
        rows: the rows of each budget; the same rows in the same order.
        schema: names the classes.
    """

    rows: Mapping[int, Rows]
    schema: Schema

    @staticmethod
    def of(rows: Mapping[int, Rows], schema: Schema) -> "CertifiedRates":
        """The rates of runs at several budgets."""
        return CertifiedRates(dict(sorted(rows.items())), schema)

    def certified(self, budget: int, label: int | None = None) -> Rate:
        """Rows that are right and cannot be broken within the budget, over all rows (of a class).

        A row that is not attacked, since the goal leaves its class alone or the threat leaves it no change, counts by
        its clean prediction.
        """
        rows = self.rows[budget]
        return self._rate(rows, rows.correct & (rows.proven | ~rows.attacked), label)

    def attacked(self, budget: int, label: int | None = None) -> Rate:
        """Rows that are right and that nothing has broken within the budget, over all rows (of a class)."""
        rows = self.rows[budget]
        return self._rate(rows, rows.correct & ~rows.success, label)

    def class_mean(self, budget: int) -> float:
        """The mean of the certified accuracies of the classes that occur."""
        found = [self.certified(budget, label).value for label in self._labels(budget)]
        return sum(found) / max(1, len(found))

    def summary(self) -> dict[str, Any]:
        """Everything as one JSON object."""
        last = list(self.rows.values())[-1]
        return {
            "rows": len(last),
            "correct": last.accuracy.hits,
            "by_budget": [self._line(budget) for budget in self.rows],
            "forward": sum(int(rows.forward.sum()) for rows in self.rows.values()),
        }

    def _line(self, budget: int) -> dict[str, Any]:
        rows, certified = self.rows[budget], self.certified(budget)
        return {
            "budget": budget,
            "certified": certified.value,
            "certified_interval": list(certified.interval),
            "attacked": self.attacked(budget).value,
            "class_mean": self.class_mean(budget),
            "proven": int((rows.proven & rows.attacked).sum()),
            "broken": int(rows.success.sum()),
            "unknown": int(rows.unknown.sum()),
            "not_attackable": int(rows.not_attackable.sum()),
            "classes": {
                self.schema.classes[label]: {
                    "rows": self.certified(budget, label).rows,
                    "certified": self.certified(budget, label).value,
                    "attacked": self.attacked(budget, label).value,
                }
                for label in self._labels(budget)
            },
        }

    def _labels(self, budget: int) -> list[int]:
        return [int(label) for label in self.rows[budget].labels.unique()]

    @staticmethod
    def _rate(rows: Rows, mask: RowMask, label: int | None) -> Rate:
        chosen = torch.ones_like(mask) if label is None else rows.labels == label
        return Rate(int((mask & chosen).sum()), int(chosen.sum()))
