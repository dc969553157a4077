"""`hb.victim`: a victim of whatever a user calls a model."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError, unknown_name
from hammingbox.victims.answers import RETURNS, Returns
from hammingbox.victims.frame_model import model_victim
from hammingbox.victims.frames import CONTAINERS, Container
from hammingbox.victims.libraries.estimator import facts_of, facts_of_function
from hammingbox.victims.libraries.facts import ModelFacts
from hammingbox.victims.torch_table import Encode, torch_victim
from hammingbox.victims.victim import Victim


def victim(
    model: Any,
    schema: Schema,
    *,
    like: Any = None,
    hint: Any = None,
    classes: Sequence[Any] | None = None,
    takes: Container | None = None,
    returns: Returns | None = None,
    name: str = "",
    categorical: Sequence[str] | None = None,
    numeric: Sequence[str] | None = None,
    codes: Mapping[str, Mapping[str, int]] | None = None,
    scale: Any = None,
    encode: Encode | None = None,
    call: Callable[..., Any] | None = None,
    missing: float | None = None,
) -> Victim:
    """Makes a victim of a model. The model is asked about a few rows, so that a misfit shows here.

    Args:
        model: a torch module, a fitted classifier (scikit-learn, XGBoost, LightGBM, CatBoost), a function that takes a
            frame, a `Victim`, or what `--model` takes: a file, a folder, a URL, ``package.module:object``.
        schema: of the table.
        like: a pandas frame with the types of the training, or a mapping from columns to types. Without it the model is
            asked what it knows, and other columns have the types that ``pandas.read_csv`` would give them.
        hint: the same for columns about which neither the model nor `like` says anything.
        classes: the classes of the table in the order of the model's answers, if the model does not know them.
        takes: "frame", "array" or "codes" (ids of the schema); what it was trained on by default.
        returns: "probabilities", "positive" (of the last class alone), "logits" or "labels"; by default what the
            answers look like. A torch module returns logits unless this says otherwise.
        name: identifies a model in a store that has neither weights nor a file, such as a function.
        categorical: of a torch module: the columns of its ids, in its order; by default all that are not numbers.
        numeric: of a torch module: the columns of its numbers, in its order; by default all of that kind.
        codes: of a torch module: the id of each category, by column, where the module uses others than the schema.
        scale: of a torch module: what was done to numbers before (a fitted scaler, or a function of a frame).
        encode: of a torch module that takes encoded rows: "one_hot" (columns in the order of the schema), a fitted
            transformer such as a ``ColumnTransformer``, or a function from a frame to an array.
        call: of a torch module: ``call(module, ids, numbers)`` returns its output; by default the module is called with
            the ids, the numbers or both, as the table has them.
        missing: of a torch module: the number it gets for a missing number.

    Raises:
        InputError: model and table do not fit, or this is no model.
        VictimError: the model cannot answer rows of the table.
    """
    if takes is not None and takes not in CONTAINERS:
        raise unknown_name("container for `takes`", str(takes), CONTAINERS)
    if returns is not None and returns not in RETURNS:
        raise unknown_name("answer for `returns`", str(returns), RETURNS)
    if isinstance(model, Victim):
        return model
    if isinstance(model, str | Path):
        from hammingbox.victims.open_model import open_model  # it makes victims of what it opens

        return open_model(str(model), schema, name=name, like=like, hint=hint).victim
    if isinstance(model, nn.Module):
        found = torch_victim(
            model, schema, categorical=categorical, numeric=numeric, codes=codes, scale=scale, encode=encode, call=call,
            missing=missing, returns=returns, like=like if like is not None else hint,
        )  # fmt: skip
        found.name = name
        return found
    given = {"categorical": categorical, "numeric": numeric, "codes": codes, "scale": scale, "encode": encode,
             "call": call, "missing": missing}  # fmt: skip
    foreign = [option for option, value in given.items() if value is not None]
    if foreign:
        raise InputError(f"expected {foreign[0]!r} with a torch module only, got it with a {type(model).__name__}.")
    facts = _facts_of(model)
    return model_victim(facts, schema, like=like, hint=hint, classes=classes, takes=takes, returns=returns, name=name)


def _facts_of(model: Any) -> ModelFacts:
    """What a model's library says about it. A library is imported by its models, never here."""
    library = type(model).__module__.split(".")[0]
    if library == "xgboost":
        from hammingbox.victims.libraries import xgboost_models

        return xgboost_models.facts_of(model)
    if library == "lightgbm":
        from hammingbox.victims.libraries import lightgbm_models

        return lightgbm_models.facts_of(model)
    if library == "catboost":
        from hammingbox.victims.libraries import catboost_models

        return catboost_models.facts_of(model)
    if any(hasattr(model, method) for method in ("predict_proba", "decision_function", "predict")):
        return facts_of(model)
    if callable(model):
        return facts_of_function(model)
    raise InputError(
        f"expected a model (a torch module, a classifier, a function, a file or a URL), got {type(model).__name__}."
    )
