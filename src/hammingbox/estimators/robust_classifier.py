"""A classifier for scikit-learn that is trained to resist changes of a few columns.

This module imports scikit-learn; `hammingbox.RobustClassifier` imports it when it is first used.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Int64

from hammingbox.data.dataset import Dataset, Splits
from hammingbox.data.schema import Schema
from hammingbox.defences import DEFENCES, Standard
from hammingbox.errors import InputError, missing_library, unknown_name
from hammingbox.estimators.row_encoder import MISSING, RowEncoder, Unknown, Values
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import Criterion, TrainConfig
from hammingbox.training.loop import fit
from hammingbox.victims.frozen import frozen_eval
from hammingbox.victims.zoo.registry import build

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_random_state, column_or_1d
    from sklearn.utils.class_weight import compute_class_weight
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as missing:
    raise missing_library("sklearn", "sklearn", "for RobustClassifier", missing) from missing

if TYPE_CHECKING:
    from sklearn.utils import Tags

_LEAST_ROWS_TO_VALIDATE = 40
"""With fewer rows, the rows that are trained on also choose the best epoch."""
_ROWS_AT_ONCE = 1024
_SEEDS = 2**22
"""A training makes the seeds of its steps from its own, which must be small for that."""
_ROBUST_ROWS = 200
"""Validation rows that are attacked after each epoch."""


class RobustClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A network over categories that is trained against an attacker who changes at most `budget` columns.

    It takes frames (pandas, polars) and arrays. Columns of numbers are cut into bins; every other column is
    categories; missing values are a category of their own, which no attacker may write.

    Args:
        defence: name of a defence (see `hammingbox.DEFENCES`); "standard" trains on clean rows only.
        budget: columns an attacker may change; at most as many as there are.
        model: name of a network (see `hammingbox.VICTIMS`).
        immutable: columns an attacker cannot change.
        forbidden: for a column (or "*"), categories an attacker cannot write.
        bins: number of bins of a column of numbers.
        unknown: what a category does that no training row had: "error", or "commonest" to read it as the commonest
            category of its column.
        epochs: most passes over the training rows: of the clean training, and again of the defence after it.
        batch_size: rows per step.
        learning_rate: of AdamW.
        validation_fraction: share of the rows, drawn within each class, that chooses the best epoch.
        class_weight: as in scikit-learn: "balanced", a weight for each class, or None for rows that weigh the same.
            With "balanced" the best epoch is that with the best mean recall of the classes, too.
        random_state: an int for the same network again.

    Attributes:
        classes_: the labels, in the order of the columns of `predict_proba`.
        n_features_in_: number of columns.
        feature_names_in_: their names, where `fit` got a frame.
        schema_: what ids mean.
        threat_: what the attacker may do.
        victim_: the trained network, for `hammingbox.evaluate`.
        history_: one line per epoch; the clean training first.
    """

    def __init__(
        self,
        defence: str = "padvt",
        budget: int = 1,
        model: str = "mlp",
        *,
        immutable: Sequence[str] = (),
        forbidden: Mapping[str, Sequence[str]] | None = None,
        bins: int = 10,
        unknown: str = "error",
        epochs: int = 25,
        batch_size: int = 64,
        learning_rate: float = 3e-3,
        validation_fraction: float = 0.1,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.defence = defence
        self.budget = budget
        self.model = model
        self.immutable = immutable
        self.forbidden = forbidden
        self.bins = bins
        self.unknown = unknown
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "RobustClassifier":  # noqa: N803
        """Trains on clean rows, then against the attacker.

        Args:
            X: rows: a frame, or an array of numbers or objects.
            y: their classes.

        Raises:
            InputError: an unknown name, a setting that is out of range, or rows that cannot be trained on. It is a
                ValueError, as scikit-learn expects.
        """
        self._check_settings()
        columns = self._columns(X, y, reset=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"expected at least two classes to train RobustClassifier, got one class: {y[0]!r}.")
        names = [str(name) for name in getattr(self, "feature_names_in_", [f"x{i}" for i in range(len(columns))])]
        self._encoder = RowEncoder.of(names, columns, self.bins)
        self.schema_ = Schema(self._encoder.features, tuple(map(str, self.classes_)))
        rows = Dataset(self.schema_, torch.from_numpy(self._ids(columns)), torch.from_numpy(labels), "rows")
        forbidden = dict(self.forbidden or {})
        forbidden["*"] = [MISSING, *forbidden.get("*", ())]  # whatever a user forbids, a missing value is no value
        space = MaskedSpace(self.schema_, immutable=self.immutable, forbidden=forbidden)
        self.threat_ = ThreatModel(space, min(self.budget, len(columns)))
        seed = int(check_random_state(self.random_state).randint(_SEEDS))
        self._train(_split(rows, self.validation_fraction, seed), seed, self._weights(y))
        return self

    def predict_proba(self, X: Any) -> np.ndarray[Any, np.dtype[np.float64]]:  # noqa: N803
        """The probability of each class of `classes_`, one line per row."""
        check_is_fitted(self)
        ids = torch.from_numpy(self._ids(self._columns(X)))
        with frozen_eval(self.victim_), torch.no_grad():
            logits = [self.victim_(part).double() for part in ids.split(_ROWS_AT_ONCE)]
        return torch.cat(logits).softmax(1).numpy()

    def predict(self, X: Any) -> Values:  # noqa: N803
        """The likeliest class of each row."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(1)]

    def encode(self, X: Any, y: Any) -> Dataset:  # noqa: N803
        """Rows and labels for `hammingbox.evaluate(self.victim_, rows, self.threat_, attack)`.

        Raises:
            InputError: a class that `fit` did not see, or rows that do not fit.
        """
        check_is_fitted(self)
        known = {name: place for place, name in enumerate(self.classes_.tolist())}
        values = np.asarray(y).tolist()
        if (odd := next((value for value in values if value not in known), None)) is not None:
            raise unknown_name("class", str(odd), map(str, known))
        ids = self._ids(self._columns(X))
        return Dataset(
            self.schema_, torch.from_numpy(ids), torch.tensor([known[v] for v in values], device="cpu"), "rows"
        )

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _check_settings(self) -> None:
        if self.defence not in DEFENCES:
            raise unknown_name("defence", str(self.defence), DEFENCES)
        if self.unknown not in ("error", "commonest"):
            raise unknown_name("way to read unknown categories", str(self.unknown), ("error", "commonest"))
        for name, least in (("budget", 0), ("bins", 2)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
                raise InputError(f"expected {name} as a whole number of at least {least}, got {value!r}.")
        share = self.validation_fraction
        if not isinstance(share, Real) or not 0 < share < 1:
            raise InputError(f"expected validation_fraction between 0 and 1, got {share!r}.")

    def _ids(self, columns: list[Values]) -> Int64[np.ndarray, "rows features"]:
        unknown: Unknown = "commonest" if self.unknown == "commonest" else "error"
        return self._encoder.ids(columns, unknown)

    def _columns(self, X: Any, y: Any = "no_validation", *, reset: bool = False) -> list[Values]:  # noqa: N803
        """Columns of a frame with their own types, or of an array."""
        if hasattr(X, "columns") and hasattr(X, "shape"):  # a frame; an array of it would lose the types
            validate_data(self, X, skip_check_array=True, reset=reset)
            if len(X) == 0:
                raise InputError("expected at least one row, got 0 sample(s) in the frame.")
            if not isinstance(y, str) and len(y) != len(X):
                raise InputError(f"expected one class per row, got {len(X)} rows and {len(y)} classes.")
            return [np.asarray(X[name]) for name in X.columns]
        options: dict[str, Any] = {"dtype": None, "ensure_all_finite": "allow-nan", "reset": reset}
        found = validate_data(self, X, y, **options)
        rows = found if isinstance(y, str) else found[0]
        return list(rows.T)

    def _weights(self, y: Values) -> tuple[float, ...] | None:
        """The weight of each class of `classes_`; None where all rows weigh the same.

        Raises:
            InputError: scikit-learn does not know such weights.
        """
        if self.class_weight is None:
            return None
        try:
            found = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(
                f"expected class_weight as None, 'balanced' or a weight for each class, got {self.class_weight!r:.80}."
            ) from error
        return tuple(float(weight) for weight in found)

    def _train(self, splits: Splits, seed: int, weights: tuple[float, ...] | None) -> None:
        """Standard training, then the defence from its best epoch."""
        settings: dict[str, Any] = {
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "seed": seed,
            "class_weights": weights,
        }
        balanced = self.class_weight == "balanced"
        self.victim_ = build(self.model, self.schema_, seed=seed)
        self.history_ = fit(
            self.victim_, splits, TrainConfig(**settings, criterion="balanced" if balanced else "clean")
        )
        defence = DEFENCES[self.defence]()
        if isinstance(defence, Standard) or self.threat_.forbids_all:
            return
        criterion: Criterion = "balanced_mean" if balanced else "mean"
        config = TrainConfig(**settings, criterion=criterion, robust_rows=_ROBUST_ROWS)
        self.history_ += fit(self.victim_, splits, config, defence=defence, threat=self.threat_)


def _split(rows: Dataset, share: float, seed: int) -> Splits:
    """Training and validation rows, drawn within each class; every class keeps a training row."""
    if len(rows) < _LEAST_ROWS_TO_VALIDATE:
        return Splits(rows, rows, rows)
    random, labels = np.random.default_rng(seed), rows.labels.numpy()
    chosen = np.zeros(len(rows), dtype=bool)
    for label in np.unique(labels):
        places = random.permutation(np.flatnonzero(labels == label))
        chosen[places[: min(round(share * len(places)), len(places) - 1)]] = True
    if not chosen.any():
        return Splits(rows, rows, rows)
    validation = rows.take(chosen)
    return Splits(rows.take(~chosen), validation, validation)
