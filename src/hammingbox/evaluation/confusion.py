"""What a victim answers to clean rows of each class: recall, balanced accuracy, and whether it has given a class up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.accuracy import clean_answers, is_right
from hammingbox.evaluation.rates import Rate
from hammingbox.types import Labels, Logits, RowMask
from hammingbox.victims.victim import Victim

LEAST_RECALL = 0.1
"""Below this recall a model has given a class up."""

LEAST_SKILL = 0.1
"""Below this share of the way from guessing to being always right, by balanced accuracy, a model says nothing."""


@dataclass(frozen=True, eq=False)
class Confusion:
    """How often rows of each class got each answer.

    Attributes:
        classes: names.
        counts: (true class, answer); as in every rate, an exact tie counts for the victim.
    """

    classes: tuple[str, ...]
    counts: Int64[Tensor, "classes classes"]

    @property
    def recall(self) -> dict[str, Rate]:
        """Right answers over the rows of each class."""
        right, rows = self.counts.diagonal().tolist(), self.counts.sum(1).tolist()
        return {name: Rate(hits, of) for name, hits, of in zip(self.classes, right, rows, strict=True)}

    @property
    def predicted(self) -> dict[str, int]:
        """How often each class was the answer."""
        return dict(zip(self.classes, self.counts.sum(0).tolist(), strict=True))

    @property
    def accuracy(self) -> float:
        """Right answers over all rows."""
        return int(self.counts.diagonal().sum()) / max(1, int(self.counts.sum()))

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have rows."""
        return mean_recall(list(self.recall.values()))

    @property
    def majority_baseline(self) -> float:
        """The accuracy of always answering the largest class."""
        return int(self.counts.sum(1).max()) / max(1, int(self.counts.sum()))

    @property
    def given_up(self) -> tuple[str, ...]:
        """Classes that the model hardly ever gets right; where it only guesses, the class it is worst at."""
        seen = {name: rate.value for name, rate in self.recall.items() if rate.rows}
        lost = [name for name, value in seen.items() if value < LEAST_RECALL]
        chance = 1 / max(1, len(seen))
        if not lost and len(seen) > 1 and (self.balanced_accuracy - chance) / (1 - chance) < LEAST_SKILL:
            lost = [min(seen, key=lambda name: seen[name])]
        return tuple(lost)

    def to_json(self, prefix: str = "") -> dict[str, Any]:
        """Flat facts for the record of a training."""
        return {
            f"{prefix}balanced_accuracy": self.balanced_accuracy,
            f"{prefix}majority_baseline": self.majority_baseline,
            f"{prefix}recall": {name: rate.known for name, rate in self.recall.items()},
            f"{prefix}predicted": self.predicted,
        }


def confusion(victim: Victim, data: Dataset) -> Confusion:
    """Queries a victim about every row of a data set."""
    return confusion_of(clean_answers(victim, data), data)


def confusion_of(answers: Logits, data: Dataset) -> Confusion:
    """Counts a victim's answers to every row of a data set."""
    names = data.schema.classes
    _, labels = data.batch(slice(None), "cpu")
    answered = torch.where(is_right(answers, labels), labels, answers.argmax(1))
    counts = torch.bincount(labels * len(names) + answered, minlength=len(names) ** 2)
    return Confusion(tuple(names), counts.view(len(names), len(names)))


def recall_by_class(right: RowMask, labels: Labels, classes: int) -> list[Rate]:
    """Rows that are right, over the rows of each class."""
    hits, rows = (torch.bincount(part.cpu(), minlength=classes).tolist() for part in (labels[right], labels))
    return [Rate(*pair) for pair in zip(hits, rows, strict=True)]


def mean_recall(rates: Sequence[Rate]) -> float:
    """The mean over classes that have rows; 0 without any."""
    seen = [rate.value for rate in rates if rate.rows]
    return sum(seen) / len(seen) if seen else 0.0
