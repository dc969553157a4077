"""CatBoost: fitted classifiers and their ``.cbm`` files."""

from dataclasses import replace
from typing import Any

from hammingbox.errors import InputError, missing_library
from hammingbox.files import damage_as_file_error, sha256
from hammingbox.victims.libraries import estimator
from hammingbox.victims.libraries.facts import KnownType, ModelFacts
from hammingbox.victims.libraries.trial import check_opens


def facts_of(model: Any, *, identity: str = "") -> ModelFacts:
    """A fitted ``CatBoostClassifier``.

    Raises:
        InputError: it is no classifier.
    """
    classes = [] if getattr(model, "classes_", None) is None else list(model.classes_)
    if len(classes) < 2 or not hasattr(model, "predict_proba"):
        raise InputError(f"expected a fitted CatBoost classifier, got a {type(model).__name__} without classes.")
    names = tuple(model.feature_names_)
    unnamed = names == tuple(str(place) for place in range(len(names)))
    categorical = model.get_cat_feature_indices()
    own = estimator.facts_of(model, library="catboost", identity=identity)
    return replace(
        own,
        container="frame",
        names=None if unnamed else names,
        count=len(names),
        # CatBoost hashes the text of a category: the number 1 and the text "1" are the same category there.
        types={(place if unnamed else names[place]): KnownType("text") for place in categorical},
        classes=tuple(classes),
    )


def read(path: Any, content: bytes) -> ModelFacts:
    """A model file.

    Raises:
        FileError: it is damaged.
        InputError: CatBoost is not installed, or the model is no classifier.
    """
    try:
        import catboost
    except ImportError as error:
        raise missing_library("catboost", "catboost", f"to read {path}", error) from error
    check_opens("catboost", content, path)
    with damage_as_file_error(path, "a whole CatBoost model", "Save it again."):
        model = catboost.CatBoostClassifier()
        model.load_model(str(path))  # not from memory: CatBoost reads beyond the end of a truncated blob
    return facts_of(model, identity=sha256(content))
