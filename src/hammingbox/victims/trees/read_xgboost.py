"""XGBoost models: a `Booster`, an `XGBClassifier`, or what they write as JSON or UBJSON."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError, missing_library
from hammingbox.victims.trees.columns import Column, columns_of
from hammingbox.victims.trees.ensemble import RawTree, TreeEnsemble
from hammingbox.victims.trees.splits import CategorySet, Split, Threshold

_LOGISTIC = ("binary:logistic", "binary:logitraw", "reg:logistic")
_SOFTMAX = ("multi:softprob", "multi:softmax")


def read_booster(model: Any, schema: Schema, columns: Sequence[Column] | None = None) -> TreeEnsemble:
    """The trees of a `Booster` or of a fitted `XGBClassifier`, up to its best iteration if it stopped early."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    # A Booster predicts with all of its trees, a classifier of the scikit-learn interface with the best ones.
    best = _best_iteration(model) if booster is not model else None
    return read_document(json.loads(bytes(booster.save_raw("json"))), schema, columns, iterations=best)


def read_xgboost_file(path: Path, schema: Schema, columns: Sequence[Column] | None = None) -> TreeEnsemble:
    """The trees of a model file: JSON is read here, UBJSON by XGBoost.

    Raises:
        FileError: the file is missing or damaged.
        InputError: XGBoost is needed and not installed, or the model is not one that this package reads.
    """
    try:
        data = path.read_bytes()
        if path.suffix.lower() != ".json":
            return read_booster(_opened(data), schema, columns)
        document = json.loads(data)
    except OSError as error:
        raise FileError(f"expected an XGBoost model at {path}, got: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise FileError(f"expected an XGBoost model as JSON at {path}, got damaged JSON ({error}).") from error
    return read_document(document, schema, columns)


def read_document(
    document: Any, schema: Schema, columns: Sequence[Column] | None = None, *, iterations: int | None = None
) -> TreeEnsemble:
    """The trees of a model in XGBoost's JSON form.

    Args:
        document: the parsed JSON.
        schema: what the ids mean.
        columns: what the model's columns hold; read from the model by default.
        iterations: how many rounds of boosting to use; all by default.

    Raises:
        FileError: the document is damaged.
        InputError: a model that is no classifier of trees with one value per leaf, or of other classes or columns.
    """
    try:
        return _read(document["learner"], schema, columns, iterations)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise FileError(f"expected an XGBoost model, got a damaged document ({error!r:.120}).") from error


def _read(
    learner: Mapping[str, Any], schema: Schema, columns: Sequence[Column] | None, iterations: int | None
) -> TreeEnsemble:
    objective = learner["objective"]["name"]
    if objective not in (*_LOGISTIC, *_SOFTMAX):
        raise InputError(
            f"expected an XGBoost classifier ({', '.join((*_LOGISTIC, *_SOFTMAX))}), got the objective {objective!r}."
        )
    booster = learner["gradient_booster"]
    model, weights = booster.get("model"), None
    if booster["name"] == "dart":
        weights, model = booster["weight_drop"], booster["gbtree"]["model"]
    if model is None or "trees" not in model:
        raise InputError(f"expected a booster of trees, got {booster['name']!r}. Use an additive certificate for it.")
    parameters = learner["learner_model_param"]
    base = _base(parameters["base_score"], objective, int(parameters["num_class"]))
    if columns is None:
        names = learner.get("feature_names") or ()
        columns = columns_of(schema, int(parameters["num_feature"]), names, _categories(model.get("cats")))
    trees, classes = model["trees"], model["tree_info"]
    if iterations is not None:
        pointer = model.get("iteration_indptr")
        per_round = max(1, int(parameters["num_class"])) * int(model["gbtree_model_param"].get("num_parallel_tree", 1))
        stop = int(pointer[min(iterations, len(pointer) - 1)]) if pointer else iterations * per_round
        trees, classes = trees[:stop], classes[:stop]
    binary = objective in _LOGISTIC
    raw = (
        _tree(tree, 1 if binary else int(k), len(base), 1.0 if weights is None else float(weights[i]))
        for i, (tree, k) in enumerate(zip(trees, classes, strict=True))
    )
    return TreeEnsemble.of(schema, columns, raw, base, "scores")


def _base(text: str, objective: str, classes: int) -> list[float]:
    """The scores of a model without trees: one number, or one per class since version 3."""
    numbers = [float(np.float32(part)) for part in text.strip("[]").split(",")]
    if objective in _SOFTMAX:
        return numbers if len(numbers) == classes else numbers * classes
    if objective == "binary:logitraw":
        return [0.0, numbers[0]]
    one = np.float32(1)
    return [0.0, float(-np.log(one / np.float32(numbers[0]) - one))]  # in float32, as XGBoost does


def _tree(tree: Mapping[str, Any], own_class: int, classes: int, weight: float) -> RawTree:
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise InputError(
            "expected trees with one value per leaf, got vectors of values. "
            "Train with multi_strategy='one_output_per_tree'."
        )
    left, right = tree["left_children"], tree["right_children"]
    # Thresholds and leaves are float32 numbers; their shortest text must be rounded back to them.
    numbers = np.asarray(tree["split_conditions"], dtype=np.float32)
    kinds = tree.get("split_type") or [0] * len(left)
    sets = {
        int(node): frozenset(int(c) for c in tree["categories"][begin : begin + size])
        for node, begin, size in zip(
            tree.get("categories_nodes", ()),
            tree.get("categories_segments", ()),
            tree.get("categories_sizes", ()),
            strict=True,
        )
    }
    splits: list[tuple[int, Split] | None] = []
    for node, child in enumerate(left):
        missing_left = bool(tree["default_left"][node])
        if child == -1:
            splits.append(None)
        elif kinds[node] == 1:  # the listed categories go right
            rule = CategorySet(sets[node], listed_left=False, missing_left=missing_left)
            splits.append((int(tree["split_indices"][node]), rule))
        else:
            threshold = Threshold(float(numbers[node]), inclusive=False, single=True, missing_left=missing_left)
            splits.append((int(tree["split_indices"][node]), threshold))
    values = np.zeros((len(left), classes))
    values[:, own_class] = numbers.astype(np.float64) * weight
    return RawTree(splits, np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64), values)


def _categories(stored: Mapping[str, Any] | None) -> dict[int, list[Any]]:
    """The categories of each column that the model remembers, since version 3.1, in the order of their codes."""
    found: dict[int, list[Any]] = {}
    for column, entry in enumerate((stored or {}).get("enc", ())):
        values = entry["values"]
        if "offsets" in entry:
            text, cuts = bytes(v % 256 for v in values), entry["offsets"]
            values = [text[a:b].decode() for a, b in pairwise(cuts)]
        if values:
            found[column] = list(values)
    return found


def _best_iteration(model: Any) -> int | None:
    """How many rounds an early stop left; None without one."""
    try:
        return int(model.best_iteration) + 1
    except AttributeError:
        return None


def _opened(data: bytes) -> Any:
    try:
        import xgboost
    except ImportError as error:
        raise missing_library("xgboost", "xgboost", "to read a UBJSON model", error) from error
    booster = xgboost.Booster()
    try:
        booster.load_model(bytearray(data))
    except xgboost.core.XGBoostError as error:
        raise FileError(
            f"expected an XGBoost model, got a damaged file ({str(error).splitlines()[0]:.120})."
        ) from error
    return booster
