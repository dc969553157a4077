"""What is proven about the rows of a data set: radius, status and witness of each, and certified accuracy."""

from dataclasses import dataclass, field
from typing import Any

import torch

from hammingbox.certificates.base import Certificate
from hammingbox.certificates.result import CertificateResult
from hammingbox.data.dataset import Dataset
from hammingbox.errors import InputError
from hammingbox.evaluation.rates import Rate
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.types import Ids, RowFloat, RowInt, RowMask


@dataclass(frozen=True, eq=False)
class Certificates:
    """A certificate's result on a data set: certified <= true <= attacked, row by row.

    Attributes:
        data: the rows.
        threat: what the attacker may do; its budget is the largest radius that was asked about, in changes or ticks.
        method: how the rows were certified.
        correct: rows that the victim gets right before.
        result: what is known about each row.
        seconds: for all rows.
        victim_digest: hash of the victim's weights.
        goal: what counts as success.
    """

    data: Dataset
    threat: ThreatModel
    method: Certificate
    correct: RowMask
    result: CertificateResult
    seconds: float
    victim_digest: str
    goal: Goal = field(default_factory=AnyOther)

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def radius(self) -> RowInt:
        """The largest proven number of changes of each row (of ticks, where changes have prices), up to the budget.

        Rows that are wrong before have -1.
        """
        return torch.where(self.correct, self.result.radius, -1)

    @property
    def status(self) -> tuple[str, ...]:
        """Each row's status at the budget: "proven", "broken", "unknown" or "wrong before"."""
        pairs = zip(self.result.status, self.correct.tolist(), strict=True)
        return tuple(status if right else "wrong before" for status, right in pairs)

    @property
    def witness(self) -> Ids:
        """The row that breaks a row; the clean row elsewhere."""
        return self.result.ids

    @property
    def confidence(self) -> RowFloat:
        """The probability that each row's proof holds."""
        return self.result.confidence

    def certified(self, budget: int | None = None, label: int | None = None) -> Rate:
        """Certified accuracy: rows that are right, and proven to stay so within a budget, over all rows (of a class).

        Raises:
            InputError: the budget is above the one that was asked about.
        """
        return self._rate(self.radius >= self._budget(budget), label)

    def attacked(self, budget: int | None = None, label: int | None = None) -> Rate:
        """Rows that are right and for which no witness within a budget is known, over all rows (of a class)."""
        budget = self._budget(budget)
        fell = self.result.broken & (self.result.cost <= budget)
        return self._rate(self.correct & ~fell, label)

    def class_mean(self, budget: int | None = None) -> float:
        """The mean of the classes' certified accuracies: a constant answer has 1 / classes."""
        labels = self.data.labels.long().unique().tolist()
        return sum(self.certified(budget, label).value for label in labels) / len(labels)

    def summary(self) -> dict[str, Any]:
        """One JSON object: certified and attacked accuracy at every budget, for all rows and by class."""
        classes = self.data.schema.classes
        statuses = self.status
        return {
            "method": repr(self.method),
            "data": self.data.name,
            "budget": self.threat.budget,
            "goal": self.goal.to_json(),
            "rows": len(self),
            "correct": int(self.correct.sum()),
            **{name: statuses.count(name) for name in ("proven", "broken", "unknown")},
            "confidence": float(self.confidence.min()) if len(self) else 1.0,
            "by_budget": [self._line(budget, classes) for budget in self._budgets()],
            "forward": int(self.result.forward.sum()),
            "seconds": self.seconds,
        }

    def _line(self, budget: int, classes: tuple[str, ...]) -> dict[str, Any]:
        certified = self.certified(budget)
        present = self.data.labels.long().unique().tolist()
        return {
            "budget": budget,
            "certified": certified.value,
            "certified_interval": list(certified.interval),
            "attacked": self.attacked(budget).value,
            "class_mean": self.class_mean(budget),
            "classes": {
                classes[label]: {
                    "rows": self.certified(budget, label).rows,
                    "certified": self.certified(budget, label).value,
                    "attacked": self.attacked(budget, label).value,
                }
                for label in present
            },
        }

    def _budgets(self) -> list[int]:
        """Every number of changes up to the budget; with prices, what the rules propose, and the budget itself."""
        most, space = self.threat.budget, self.threat.space
        if space.unit is None:
            return list(range(most + 1))
        proposed = space.budgets if isinstance(space, RuledSpace) else ()
        return sorted({0, most, *(budget for budget in proposed if budget < most)})

    def _rate(self, rows: RowMask, label: int | None) -> Rate:
        chosen = torch.ones_like(rows)
        if label is not None:
            chosen = self.data.labels.to(rows.device).long().eq(label)
        return Rate(int((rows & chosen).sum()), int(chosen.sum()))

    def _budget(self, budget: int | None) -> int:
        if budget is None:
            return self.threat.budget
        if not 0 <= budget <= self.threat.budget:
            raise InputError(f"expected a budget of 0 to {self.threat.budget}, got {budget}. Certify a larger one.")
        return budget
