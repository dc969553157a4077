"""XGBoost: fitted classifiers, boosters, and their ``.json`` and ``.ubj`` files."""

import json
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from hammingbox.errors import FileError, InputError, missing_library
from hammingbox.files import damage_as_file_error, parse_json, sha256, shown
from hammingbox.victims.answers import Returns
from hammingbox.victims.libraries import estimator
from hammingbox.victims.libraries.facts import KnownType, ModelFacts
from hammingbox.victims.libraries.trial import check_opens
from hammingbox.victims.libraries.ubjson import is_whole

_RETURNS: dict[str, Returns] = {
    "binary:logistic": "positive",
    "binary:logitraw": "logits",
    "multi:softprob": "probabilities",
    "multi:softmax": "labels",
}
_TYPES = {"c": "category", "i": "bool", "int": "int64", "float": "float64"}
"""XGBoost's names of column types; a quantitative one ("q") may be any number."""


def facts_of(model: Any) -> ModelFacts:
    """A fitted ``XGBClassifier`` or a ``Booster`` in memory. Its content names it."""
    if not hasattr(model, "get_booster"):
        return _of_booster(model, sha256(bytes(model.save_raw("ubj"))))
    booster = model.get_booster()
    own = estimator.facts_of(model, library="xgboost", identity=sha256(bytes(booster.save_raw("ubj"))))
    return replace(own, types=_types(booster), tree_model=model)


def read(content: bytes, source: object) -> ModelFacts:
    """A model file.

    Raises:
        FileError: it is damaged.
        InputError: XGBoost is not installed, or the model is no classifier.
    """
    try:
        import xgboost
    except ImportError as error:
        raise missing_library("xgboost", "xgboost", f"to read {source}", error) from error
    if content.lstrip()[:2] in (b'{"', b"{\n", b"{ "):
        try:
            parse_json(content, source)
        except FileError as error:
            raise FileError(f"{error} Save it again.") from error
    elif not is_whole(content):
        raise FileError(f"expected a whole XGBoost model in {shown(source)}, got a damaged one. Save it again.")
    check_opens("xgboost", content, source)
    with damage_as_file_error(source, "a whole XGBoost model", "Save it again."):
        booster = xgboost.Booster()
        booster.load_model(bytearray(content))
    return _of_booster(booster, sha256(content))


def _of_booster(booster: Any, identity: str) -> ModelFacts:
    """A booster gets an array of float32, with the codes of categories: four times as fast as a frame."""
    config = json.loads(booster.save_config())
    objective = config["learner"]["objective"]["name"]
    if objective not in _RETURNS:
        raise InputError(
            f"expected an XGBoost classifier ({', '.join(_RETURNS)}), got one with the objective {objective!r}."
        )
    returns = _RETURNS[objective]
    types = {
        name: replace(known, dtype="codes" if known.dtype == "category" else "float32")
        for name, known in _types(booster).items()
    }
    places = range(booster.num_features())
    names = booster.feature_names
    best = booster.attributes().get("best_iteration")  # predict_proba of the classifier stops there too
    rounds = (0, 0) if best is None else (0, int(best) + 1)
    guessed = [str(name) for name, known in types.items() if known.dtype == "codes" and known.categories is None]
    return ModelFacts(
        ask=partial(_ask, booster, rounds, returns == "labels"),
        library="xgboost",
        container="array",
        names=None if names is None else tuple(names),
        count=len(places),
        types={place if names is None else names[place]: KnownType("float32") for place in places} | types,
        classes=tuple(range(int(config["learner"]["learner_model_param"]["num_class"]))) or None,
        returns=returns,
        identity=identity,
        notes=(f"the file does not hold the categories of {', '.join(guessed[:6])}: codes follow the schema",)
        if guessed
        else (),
        tree_model=booster if best is None else booster[: int(best) + 1],
    )


def _ask(booster: Any, rounds: tuple[int, int], names_class: bool, table: Any) -> Any:
    answers = booster.inplace_predict(table.astype(np.float32), iteration_range=rounds, missing=np.nan)
    return answers.astype(np.int64) if names_class else answers


def _types(booster: Any) -> dict[str | int, KnownType]:
    """Column types by name. Boosters since 3.1 hold the categories of columns that came from a frame."""
    kinds, names = booster.feature_types, booster.feature_names
    if kinds is None:
        return {}
    stored = _categories(booster) if "c" in kinds else {}
    return {
        (place if names is None else names[place]): KnownType(_TYPES[kind], stored.get(place))
        for place, kind in enumerate(kinds)
        if kind in _TYPES
    }


def _categories(booster: Any) -> dict[int, tuple[Any, ...]]:
    """The categories of each categorical column, as the model's JSON form holds them.

    Texts are stored as the bytes of all categories after one another, with the place where each ends.
    """
    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]
    coded = (model.get("model") or model.get("gbtree", {}).get("model", {})).get("cats", {}).get("enc", [])
    found: dict[int, tuple[Any, ...]] = {}
    for place, column in enumerate(coded):
        values, ends = column.get("values", []), column.get("offsets")
        if not values:
            continue
        if ends is None:
            found[place] = tuple(values)
        else:
            text = bytes(value % 256 for value in values)
            found[place] = tuple(text[a:b].decode() for a, b in pairwise(ends))
    return found
