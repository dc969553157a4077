"""What a model returns, as log-probabilities in the order of the schema's classes.

Models answer in five ways: a column of probabilities per class, one column for the positive class, scores, one score,
or the name of a class. All become logits here. An exact tie is decided as the model's own ``predict`` decides it: the
first of its classes wins.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError, VictimError
from hammingbox.victims.frames import Array, text_of

Returns = Literal["probabilities", "positive", "logits", "labels"]
"""A column per class; the probability of the second class alone; scores; names of classes."""
RETURNS: tuple[str, ...] = get_args(Returns)

_NUDGE = 4e-6
"""Decides a tie. Records hold float32, and this is above the rounding of any log-probability that can win."""
_LEAST = 1e-300
"""Probabilities below this count as this. In float32 all confident rows would tie and a search would be blind."""


@dataclass(frozen=True)
class Answers:
    """Reads what a model returns.

    Attributes:
        schema: its classes are the columns of the result.
        order: for each class of the schema, the column of the model; None if they are in the same order.
        returns: what the model returns; None to tell from the shape and the type.
        labels: the model's own names of its classes, for a model that answers with names.
    """

    schema: Schema
    order: tuple[int, ...] | None = None
    returns: Returns | None = None
    labels: tuple[str, ...] | None = None

    def read(self, returned: Any, rows: int) -> Array:
        """Logits in float64, (rows, classes), in the order of the schema.

        Raises:
            VictimError: anything else than answers to these rows.
        """
        found = _as_array(returned, rows)
        if found.ndim == 2 and found.shape[1] == 1:
            found = found[:, 0]
        if found.ndim not in (1, 2) or len(found) != rows:
            raise VictimError(
                f"expected the model to return ({rows}, {len(self.schema.classes)}) probabilities, "
                f"got shape {found.shape}."
            )
        kind = self.returns or _kind_of(found)
        if kind == "labels":
            return self._of_labels(found)
        try:
            numbers = found.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise VictimError(f"expected the model to return numbers, got {found.dtype}.") from error
        # A sum of finite numbers may overflow, but no sum with NaN or infinite ones is finite.
        if not np.isfinite(numbers.sum()) and not np.isfinite(numbers).all():
            raise VictimError(
                "expected the model to return finite numbers, got NaN or infinite values. "
                "Let it answer every row of the table, also those with missing values."
            )
        if kind == "logits":
            logits = np.stack([np.zeros(rows), numbers], 1) if numbers.ndim == 1 else numbers
        else:
            logits = _logs(np.stack([1 - numbers, numbers], 1) if numbers.ndim == 1 else numbers)
        self._check_classes(logits.shape[1])
        logits = decided(logits)
        return logits if self.order is None else logits[:, list(self.order)]

    def kind_of(self, returned: Any, rows: int) -> Returns:
        """Which of the ways a model answers in this is.

        Raises:
            VictimError: it is none.
        """
        found = _as_array(returned, rows)
        return self.returns or _kind_of(found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found)

    def _of_labels(self, found: Array) -> Array:
        """Scores of a model that only names a class: 0 for that class, -1 for the others."""
        names = self.labels or self.schema.classes
        texts, places = np.unique([text_of(value) for value in found.ravel().tolist()], return_inverse=True)
        known = {name: place for place, name in enumerate(names)}
        strange = [text for text in texts.tolist() if text not in known]
        if strange or found.ndim != 1:
            raise VictimError(
                f"expected the model to answer with one of the classes {', '.join(names[:12])}, "
                f"got {strange[0]!r}. Pass `classes` with the names the model uses, in the order of the schema."
                if strange
                else f"expected one class per row, got shape {found.shape}."
            )
        winner = np.array([known[text] for text in texts.tolist()], dtype=np.int64)[places]
        logits = np.full((len(found), len(names)), -1.0)
        logits[np.arange(len(found)), winner] = 0.0
        self._check_classes(len(names))
        return logits if self.order is None else logits[:, list(self.order)]

    def _check_classes(self, count: int) -> None:
        if count != len(self.schema.classes):
            raise VictimError(
                f"expected answers for the {len(self.schema.classes)} classes of the table "
                f"({', '.join(self.schema.classes[:12])}), got {count}. "
                "Name the label column the model was trained on, or a model of these classes."
            )


NAMES_ONLY = "answers with the name of a class only: an attack sees whether it broke a row, not how close it came"
"""The note about a model with hard labels."""


def classes_not_named(schema: Schema) -> str:
    """The note about a model that does not say which of its columns stands for which class."""
    return f"the model does not name its classes: its answers are taken as {', '.join(schema.classes[:12])}"


def class_order(
    own: Sequence[Any] | None, schema: Schema, given: Sequence[Any] | None = None
) -> tuple[int, ...] | None:
    """For each class of the schema, the column of the model that answers for it.

    Args:
        own: the classes as the model names them, in the order of its columns; None if it does not say.
        schema: of the table.
        given: the classes of the table in the order of the model's columns, as its owner says; it overrules `own`.

    Returns:
        None if nobody says: the columns are then taken in the order of the schema.

    Raises:
        InputError: another number of classes, or other classes.
    """
    names = list(schema.classes)
    for source, said in (("`classes`", given), ("the model", own)):
        if said is None:
            continue
        texts = [text_of(value) for value in said]
        if len(texts) != len(names):
            raise InputError(
                f"expected {len(names)} classes as in the table ({', '.join(names[:12])}), got {len(texts)} from "
                f"{source} ({', '.join(texts[:12])}). Name the label column the model was trained on."
            )
        if set(texts) == set(names):
            return tuple(texts.index(name) for name in names)
        if source == "`classes`":
            raise InputError(
                f"expected the classes of the table ({', '.join(names[:12])}) in the model's order, "
                f"got {', '.join(texts[:12])}."
            )
        if texts != [str(place) for place in range(len(names))] and texts != ["False", "True"]:
            raise InputError(
                f"expected a model of the classes {', '.join(names[:12])}, got one of {', '.join(texts[:12])}. "
                "Let both have the same names, or pass `classes` in Python: the classes of the table in the order of "
                "the model's columns."
            )
    return None


def _as_array(returned: Any, rows: int) -> Array:
    if hasattr(returned, "detach"):  # a tensor
        returned = returned.detach().cpu()
    if hasattr(returned, "to_numpy"):  # a frame or a series
        returned = returned.to_numpy()
    try:
        return np.asarray(returned)
    except (TypeError, ValueError) as error:
        raise VictimError(
            f"expected the model to return an array of ({rows}, classes), got {type(returned).__name__}."
        ) from error


def _kind_of(found: Array) -> Returns:
    if found.ndim == 2:
        return "probabilities"
    return "positive" if found.dtype.kind == "f" else "labels"


def _logs(probabilities: Array) -> Array:
    # Two columns are added, and compared below, in a third of the time of a reduction over them.
    sums = probabilities[:, 0] + probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities.sum(1)
    if (probabilities < -1e-6).any() or (abs(sums - 1) > 1e-3).any():
        raise VictimError(
            "expected the model to return probabilities (not negative, rows summing to 1), got other numbers. "
            "If they are scores, turn them into probabilities, or pass returns='logits' in Python."
        )
    return np.log(probabilities.clip(min=_LEAST))


def decided(logits: Array) -> Array:
    """Lifts the first of several largest scores a little: a model's own ``predict`` decides a tie like this."""
    if logits.shape[1] == 2:
        tied = (logits[:, 0] == logits[:, 1]).nonzero()[0]
    else:
        tied = ((logits == logits.max(1, keepdims=True)).sum(1) > 1).nonzero()[0]
    if len(tied):
        logits = logits.copy()
        logits[tied, logits[tied].argmax(1)] += _NUDGE
    return logits
