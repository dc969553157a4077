"""Any tree model as a `TreeEnsemble`; the library is recognised by the model's own module and is not imported."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.victims.trees import read_lightgbm, read_sklearn, read_xgboost
from hammingbox.victims.trees.columns import Column, Encoder, probed
from hammingbox.victims.trees.ensemble import TreeEnsemble

_READERS: dict[str, Callable[..., TreeEnsemble]] = {
    "xgboost": read_xgboost.read_booster,
    "lightgbm": read_lightgbm.read_booster,
    "sklearn": read_sklearn.read_estimator,
}
_FILES: dict[str, Callable[..., TreeEnsemble]] = {
    ".json": read_xgboost.read_xgboost_file,
    ".ubj": read_xgboost.read_xgboost_file,
    ".txt": read_lightgbm.read_lightgbm_file,
}


def is_tree_model(model: Any) -> bool:
    """Whether `read_model` knows this kind of model."""
    library = type(model).__module__.partition(".")[0]
    if library == "sklearn":
        return type(model).__name__ in read_sklearn.SUPPORTED
    return hasattr(model, "get_booster") or hasattr(model, "booster_") or type(model).__name__ == "Booster"


def read_model(
    model: Any,
    schema: Schema,
    *,
    columns: Sequence[Column] | None = None,
    encode: Encoder | None = None,
) -> TreeEnsemble:
    """The trees of a model.

    Args:
        model: of XGBoost, LightGBM or scikit-learn, or the path of a model file (.json or .ubj of XGBoost, .txt of
            LightGBM).
        schema: what the ids mean; its classes are those of the model, in the model's order.
        columns: what the model's columns hold for each category; read from the model by default.
        encode: instead of `columns`, the function that encodes rows of ids for the model.

    Raises:
        InputError: the model is of another kind, or does not fit the schema.
        FileError: the file is missing or damaged.
    """
    if columns is not None and encode is not None:
        raise InputError("expected either columns or encode, got both. Leave one out.")
    found = probed(schema, encode) if encode is not None else columns
    if isinstance(model, str | Path):
        path = Path(model)
        if path.suffix.lower() not in _FILES:
            raise InputError(f"expected a model file ({', '.join(_FILES)}), got {path.name!r}.")
        return _FILES[path.suffix.lower()](path, schema, found)
    library = type(model).__module__.partition(".")[0]
    if library not in _READERS:
        raise InputError(
            f"expected a model of {', '.join(_READERS)}, got {type(model).__module__}.{type(model).__name__}. "
            "Use BlackBox to attack other models."
        )
    return _READERS[library](model, schema, found)
