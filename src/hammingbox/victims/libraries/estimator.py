"""scikit-learn estimators and whatever behaves like one: ``predict_proba``, ``decision_function`` or ``predict``."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hammingbox.errors import InputError
from hammingbox.victims.answers import NAMES_ONLY, Returns
from hammingbox.victims.libraries.facts import KnownType, ModelFacts
from hammingbox.victims.trees.read_model import is_tree_model


def facts_of(model: Any, *, library: str = "scikit-learn", identity: str = "") -> ModelFacts:
    """What an estimator says about itself.

    Raises:
        InputError: it cannot predict, or is not fitted.
    """
    if (
        not hasattr(model, "predict_proba")
        and not hasattr(model, "decision_function")
        and not callable(getattr(model, "predict", None))
    ):
        raise InputError(f"expected a model with `predict_proba` or `predict`, got {type(model).__name__}.")
    if getattr(model, "_estimator_type", None) == "regressor" or _is_regressor(model):
        raise InputError(f"expected a classifier, got the regressor {type(model).__name__}.")
    ask, returns, notes = _question(model)
    names = getattr(model, "feature_names_in_", None)
    count = getattr(model, "n_features_in_", None)
    if hasattr(model, "get_params") and count is None and not hasattr(model, "classes_"):
        raise InputError(f"expected a fitted model, got a {type(model).__name__} that was never fitted.")
    classes = getattr(model, "classes_", None)
    trees, encode = _trees_in(model)
    return ModelFacts(
        ask=ask,
        library=library,
        container="array" if names is None and count is not None else "frame",
        names=None if names is None else tuple(str(name) for name in names),
        count=None if count is None else int(count),
        types={name: KnownType(dtype) for name, dtype in _encoder_types(model)},
        classes=None if classes is None or np.ndim(classes) != 1 else tuple(np.asarray(classes).tolist()),
        returns=returns,
        identity=identity,
        notes=notes,
        tree_model=trees,
        encode=encode,
    )


def _trees_in(model: Any) -> tuple[Any, Callable[[Any], Any] | None]:
    """The trees of a model or of the last step of a pipeline, and what the steps before do to a table."""
    steps = getattr(model, "steps", None)
    if steps and len(steps) > 1:
        last = steps[-1][1]
        return (last, model[:-1].transform) if is_tree_model(last) else (None, None)
    return (model, None) if is_tree_model(model) else (None, None)


def facts_of_function(function: Callable[[Any], Any]) -> ModelFacts:
    """A function that takes a frame and returns answers; it says nothing about itself."""
    return ModelFacts(ask=function, library=getattr(function, "__name__", type(function).__name__))


def _question(model: Any) -> tuple[Callable[[Any], Any], Returns | None, tuple[str, ...]]:
    """The best answer that a model gives: probabilities, else scores, else the name of a class."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba, "probabilities", ()
    if hasattr(model, "decision_function"):
        return model.decision_function, "logits", ("answers with scores (`decision_function`), not probabilities",)
    return model.predict, "labels", (NAMES_ONLY,)


def _is_regressor(model: Any) -> bool:
    tags = getattr(model, "__sklearn_tags__", None)
    try:
        return tags is not None and tags().estimator_type == "regressor"
    except Exception:  # an estimator of another version of scikit-learn
        return False


def _encoder_types(model: Any) -> Iterator[tuple[str, str]]:
    """Columns whose encoder holds their categories, and whether these are text or numbers.

    An encoder that ignores unknown values would silently encode the number 1 as nothing where it knows the text "1".
    """
    for encoder, columns in _fitted_on(model, None):
        known = getattr(encoder, "categories_", None)
        if known is None or columns is None or len(known) != len(columns):
            continue
        for name, values in zip(columns, known, strict=True):
            kind = np.asarray(values).dtype.kind
            texts = [value for value in np.asarray(values).tolist() if isinstance(value, str)]
            if kind in "OU" and texts:
                yield name, "str"
            elif kind in "iuf":
                yield name, str(np.asarray(values).dtype)


def _fitted_on(model: Any, columns: list[str] | None) -> Iterator[tuple[Any, list[str] | None]]:
    """The parts of a pipeline that see columns of the table as they are, with the names of these columns."""
    steps = getattr(model, "steps", None)
    if steps:
        yield from _fitted_on(steps[0][1], columns)
        return
    for _, part, chosen in getattr(model, "transformers_", ()):
        if not isinstance(part, str) and isinstance(chosen, list) and all(isinstance(name, str) for name in chosen):
            yield from _fitted_on(part, chosen)
    names = getattr(model, "feature_names_in_", None)
    yield model, columns if names is None else [str(name) for name in names]
