"""Weights of classes in the training loss, and when an imbalanced table gets them by default."""

import math
from collections.abc import Sequence

from hammingbox.data.dataset import Dataset
from hammingbox.errors import InputError, unknown_name
from hammingbox.evaluation.drawing import population_of

AUTO, BALANCED, NONE = "auto", "balanced", "none"

IMBALANCED = 1.5
"""A table is imbalanced where its largest class has more than this many times the rows of its smallest."""


def is_imbalanced(train: Dataset) -> bool:
    """Whether the sizes of the classes that occur differ so much that an average loss neglects one."""
    counts = [count for count in population_of(train) if count]
    return len(counts) > 1 and max(counts) > IMBALANCED * min(counts)


def balanced_weights(train: Dataset) -> tuple[float, ...]:
    """Weights with which every class that occurs has the same sum; their mean over the training rows is 1."""
    counts = population_of(train)
    present = sum(count > 0 for count in counts)
    return tuple(len(train) / (present * count) if count else 1.0 for count in counts)


def class_weights_from(words: Sequence[str], train: Dataset, *, own: bool) -> tuple[float, ...] | None:
    """The weights that a user's words mean.

    Args:
        words: "auto", "balanced" or "none", alone; or CLASS=WEIGHT for some classes, 1 for the others.
        train: training rows.
        own: whether the data is a table of the user: "auto" then balances an imbalanced one. Built-in data is never
            weighted unless asked.

    Raises:
        InputError: other words, an unknown class, or a weight that is no number above 0.
    """
    if not words or list(words) == [AUTO]:
        return balanced_weights(train) if own and is_imbalanced(train) else None
    if list(words) == [BALANCED]:
        return balanced_weights(train)
    if list(words) == [NONE]:
        return None
    classes = train.schema.classes
    weights = dict.fromkeys(classes, 1.0)
    for word in words:
        name, separator, text = word.rpartition("=")
        if not separator:
            raise InputError(f"expected --class-weights balanced, none or CLASS=WEIGHT, got {word!r}.")
        if name not in weights:
            raise unknown_name("class", name, classes)
        weights[name] = _weight(text)
    return tuple(weights.values())


def _weight(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (0 < value < math.inf):
        raise InputError(f"expected the weight of a class as a number above 0, got {text!r}.")
    return value
