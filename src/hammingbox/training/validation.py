"""How good a victim is after an epoch: accuracies on clean and on attacked validation rows."""

from dataclasses import dataclass

from hammingbox.attacks.swap import Swap
from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.accuracy import clean_answers, rows_that_stay_right
from hammingbox.evaluation.confusion import confusion_of, mean_recall, recall_by_class
from hammingbox.evaluation.drawing import Draw, draw_rows
from hammingbox.threat.goal import Goal
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.shared_rows import computed_together
from hammingbox.training.team import Team
from hammingbox.victims.victim import Victim


@dataclass(frozen=True)
class Validation:
    """Accuracies on clean and on attacked validation rows; None if no rows are attacked."""

    clean: float
    balanced: float
    robust: float | None = None
    balanced_robust: float | None = None
    worst: float | None = None

    def judged_by(self, config: TrainConfig) -> tuple[float, float | None]:
        """The two numbers that the criterion compares."""
        if config.criterion == "worst_class":
            return self.balanced, self.worst
        return (self.balanced, self.balanced_robust) if config.is_balanced else (self.clean, self.robust)


def validate(
    victim: Victim, validation: Dataset, threat: ThreatModel, goal: Goal, config: TrainConfig, team: Team
) -> Validation:
    """Asks a victim about all validation rows, and attacks some of them."""
    victim.eval()
    answers = computed_together(team, validation, lambda part: clean_answers(victim, part))
    found = confusion_of(answers, validation)
    rows = min(config.robust_rows, len(validation))
    if not rows or threat.forbids_all:
        return Validation(found.accuracy, found.balanced_accuracy)
    # A criterion that counts classes needs rows of each; the first rows of a part may have none of a rare one.
    attacked = draw_rows(validation, Draw(rows, how="classes" if config.is_balanced else "first"))
    stays = computed_together(
        team, attacked, lambda part: rows_that_stay_right(victim, part, threat, Swap(), goal=goal)
    )  # fmt: skip
    recall = recall_by_class(stays, attacked.labels.long(), len(validation.schema.classes))
    worst = min(rate.value for rate in recall if rate.rows)
    robust = 1.0 - (~stays).float().mean().item()
    return Validation(found.accuracy, found.balanced_accuracy, robust, mean_recall(recall), worst)
