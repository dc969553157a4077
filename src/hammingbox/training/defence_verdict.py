"""Did a defence help? The model it started from and the defended one, side by side on test rows of every class.

A model that always answers one class cannot be broken, so robustness alone says nothing: balanced accuracy must be
kept, and the class that suffers most under attack must suffer less.
"""

from dataclasses import dataclass
from typing import Any

from hammingbox.attacks.swap import Swap
from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.accuracy import rows_that_stay_right
from hammingbox.evaluation.confusion import confusion, recall_by_class
from hammingbox.evaluation.drawing import Draw, draw_rows
from hammingbox.evaluation.rates import Rate
from hammingbox.threat.goal import Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.victim import Victim

MOST_LOST = 0.05
"""Balanced accuracy that a defence may cost."""


@dataclass(frozen=True)
class Standing:
    """How one model stands.

    Attributes:
        balanced_accuracy: mean recall on all test rows.
        attacked_error: of each class: rows wrong before or broken, over the rows that were drawn.
        given_up: classes that it hardly ever gets right, or at which it only guesses.
    """

    balanced_accuracy: float
    attacked_error: dict[str, Rate]
    given_up: tuple[str, ...]

    @property
    def worst(self) -> tuple[str, float]:
        """The class with the largest attacked error."""
        seen = {name: rate.value for name, rate in self.attacked_error.items() if rate.rows}
        name = max(seen, key=lambda each: seen[each])
        return name, seen[name]


@dataclass(frozen=True)
class Verdict:
    """A defended model beside its start.

    Attributes:
        start: before the defence.
        defended: after it.
        rows: test rows that were attacked, drawn by class.
        attack: how.
        budget: changed features at most.
    """

    start: Standing
    defended: Standing
    rows: int
    attack: str
    budget: int

    @property
    def keeps_accuracy(self) -> bool:
        """Balanced accuracy fell by no more than is allowed."""
        return self.defended.balanced_accuracy >= self.start.balanced_accuracy - MOST_LOST

    @property
    def lowers_error(self) -> bool:
        """The largest attacked error of a class is smaller than before."""
        return self.defended.worst[1] < self.start.worst[1]

    @property
    def helped(self) -> bool:
        """Both, and no class was given up that was known before."""
        return self.keeps_accuracy and self.lowers_error and not self.newly_given_up

    @property
    def newly_given_up(self) -> tuple[str, ...]:
        """Classes that the start knew and the defended model hardly ever gets right, or only guesses."""
        return tuple(name for name in self.defended.given_up if name not in self.start.given_up)

    @property
    def reasons(self) -> list[str]:
        """Why it did not help."""
        before, after = self.start, self.defended
        found = []
        if not self.keeps_accuracy:
            found.append(
                f"balanced accuracy fell from {_percent(before.balanced_accuracy)} to "
                f"{_percent(after.balanced_accuracy)}"
            )
        if not self.lowers_error:
            found.append(
                f"the worst class's error under attack is {_percent(after.worst[1])} ({after.worst[0]}), "
                f"it was {_percent(before.worst[1])} ({before.worst[0]})"
            )
        if self.newly_given_up:
            found.append(f"it hardly ever gets {', '.join(self.newly_given_up)} right, or only guesses")
        return found

    def to_json(self) -> dict[str, Any]:
        """One record."""
        return {
            "helped": self.helped, "reasons": self.reasons, "attack": self.attack, "budget": self.budget,
            "rows": self.rows,
            **{
                name: {
                    "balanced_accuracy": one.balanced_accuracy,
                    "attacked_error": {label: rate.known for label, rate in one.attacked_error.items()},
                    "worst_class": one.worst[0], "worst_attacked_error": one.worst[1], "given_up": list(one.given_up),
                }
                for name, one in (("start", self.start), ("defended", self.defended))
            },
        }  # fmt: skip


def defence_verdict(
    start: Victim, defended: Victim, test: Dataset, threat: ThreatModel, *, rows: int = 200, goal: Goal | None = None
) -> Verdict:
    """Attacks test rows of every class on both models with a swap search.

    Args:
        start: the model before the defence.
        defended: the model after it.
        test: rows that neither was trained on, nor chosen by.
        threat: what the attacker may do.
        rows: test rows that are attacked, as many of each class as possible; all where there are fewer.
        goal: what counts as success; any class but the true one by default.
    """
    drawn = draw_rows(test, Draw(min(rows, len(test))))
    before, after = (_standing(victim, test, drawn, threat, goal) for victim in (start, defended))
    return Verdict(before, after, len(drawn), "swap", threat.budget)


def _standing(victim: Victim, test: Dataset, rows: Dataset, threat: ThreatModel, goal: Goal | None) -> Standing:
    found = confusion(victim, test)
    stays = rows_that_stay_right(victim, rows, threat, Swap(), goal=goal)
    kept = recall_by_class(stays, rows.labels.long().to(stays.device), len(test.schema.classes))
    errors = {name: Rate(rate.rows - rate.hits, rate.rows) for name, rate in zip(found.classes, kept, strict=True)}
    return Standing(found.balanced_accuracy, errors, found.given_up)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
