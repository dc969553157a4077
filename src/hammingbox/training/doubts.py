"""What is doubtful about a trained model and the data it was trained on, for its record and for whoever trained it."""

from typing import Any

from hammingbox.data.dataset import Splits
from hammingbox.evaluation.diagnose import diagnose_classes, diagnose_data
from hammingbox.types import Logits


def training_doubts(answers: Logits, splits: Splits) -> list[dict[str, Any]]:
    """Findings as JSON: of the data, and of a model's answers to the test part.

    Args:
        answers: to the rows of the test part.
        splits: the data.
    """
    _, labels = splits.test.batch(slice(None), "cpu")
    findings = [*diagnose_classes(answers, labels, splits.schema), *diagnose_data(splits)]
    return [finding.to_json() for finding in findings]
