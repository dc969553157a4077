"""Fitted scikit-learn classifiers of trees: single trees, forests, gradient boosting and its histogram variant."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hammingbox.data.schema import Schema
from hammingbox.errors import InputError
from hammingbox.victims.trees.columns import Column, columns_of
from hammingbox.victims.trees.ensemble import IntArray, RawTree, TreeEnsemble
from hammingbox.victims.trees.splits import CategorySet, Split, Threshold


def read_estimator(model: Any, schema: Schema, columns: Sequence[Column] | None = None) -> TreeEnsemble:
    """The trees of a fitted classifier.

    Args:
        model: one of `SUPPORTED`.
        schema: what the ids mean. The classes of the model are those of the schema, in the order of `model.classes_`.
        columns: what the model's columns hold; read from their names or their number by default.

    Raises:
        InputError: another estimator, one that is not fitted, or one of other classes or columns.
    """
    reader = _READERS.get(type(model).__name__)
    if reader is None:
        raise InputError(
            f"expected one of {', '.join(SUPPORTED)}, got {type(model).__name__}. "
            "Use BlackBox to attack it, and enumeration to certify it."
        )
    if not hasattr(model, "classes_"):
        raise InputError(f"expected a fitted {type(model).__name__}, got one that is not fitted. Call fit first.")
    if columns is None:
        names = [str(name) for name in getattr(model, "feature_names_in_", ())]
        columns = columns_of(schema, int(model.n_features_in_), names, encoded_categories(model))
    return reader(model, schema, columns)


def _single_tree(model: Any, schema: Schema, columns: Sequence[Column]) -> TreeEnsemble:
    return TreeEnsemble.of(schema, columns, [_votes(model)], [0.0] * len(model.classes_), "probabilities")


def _forest(model: Any, schema: Schema, columns: Sequence[Column]) -> TreeEnsemble:
    if getattr(model, "n_outputs_", 1) != 1:
        raise InputError(f"expected a classifier of one label, got one of {model.n_outputs_} labels.")
    trees = (_votes(tree) for tree in model.estimators_)
    return TreeEnsemble.of(schema, columns, trees, [0.0] * len(model.classes_), "probabilities")


def _boosting(model: Any, schema: Schema, columns: Sequence[Column]) -> TreeEnsemble:
    if model.loss != "log_loss":
        raise InputError(f"expected gradient boosting with log_loss, got {model.loss!r}.")
    if type(model.init_).__name__ not in ("DummyClassifier", "str"):
        raise InputError("expected gradient boosting that starts from a constant, got init=... with a model.")
    start = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0]
    classes, binary = len(model.classes_), model.estimators_.shape[1] == 1
    trees = (
        _scores(tree.tree_, float(model.learning_rate), 1 if binary else k, classes)
        for stage in model.estimators_
        for k, tree in enumerate(stage)
    )
    return TreeEnsemble.of(schema, columns, trees, _base(start, binary), "scores")


def _histogram(model: Any, schema: Schema, columns: Sequence[Column]) -> TreeEnsemble:
    # Columns of categories are moved to the front before the trees see them.
    order = np.arange(len(columns))
    if model.is_categorical_ is not None:
        order = np.argsort(~model.is_categorical_, kind="stable")
    known, place = model._bin_mapper.make_known_categories_bitsets()
    classes, binary = len(model.classes_), len(model._predictors[0]) == 1
    trees = (
        _histogram_tree(tree, known, place, 1 if binary else k, classes)
        for stage in model._predictors
        for k, tree in enumerate(stage)
    )
    start = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    return TreeEnsemble.of(schema, [columns[int(i)] for i in order], trees, _base(start, binary), "scores")


def _votes(model: Any) -> RawTree:
    """A tree whose leaves hold the shares of the classes."""
    tree = model.tree_
    shares = tree.value[:, 0, :]
    values = shares / shares.sum(1, keepdims=True)
    return RawTree(_thresholds(tree), _ints(tree.children_left), _ints(tree.children_right), values)


def _scores(tree: Any, rate: float, own_class: int, classes: int) -> RawTree:
    values = np.zeros((tree.node_count, classes))
    values[:, own_class] = rate * tree.value[:, 0, 0]
    return RawTree(_thresholds(tree), _ints(tree.children_left), _ints(tree.children_right), values)


def _thresholds(tree: Any) -> list[tuple[int, Split] | None]:
    """Rows are float32, thresholds float64."""
    missing = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count))
    return [
        None
        if left == -1
        else (int(column), Threshold(float(value), inclusive=True, single=True, missing_left=bool(to_left)))
        for left, column, value, to_left in zip(tree.children_left, tree.feature, tree.threshold, missing, strict=True)
    ]


def _histogram_tree(tree: Any, known: Any, place: Any, own_class: int, classes: int) -> RawTree:
    splits: list[tuple[int, Split] | None] = []
    for node in tree.nodes:
        column, missing_left = int(node["feature_idx"]), bool(node["missing_go_to_left"])
        if node["is_leaf"]:
            splits.append(None)
        elif node["is_categorical"]:
            listed = _members(tree.raw_left_cat_bitsets[node["bitset_idx"]])
            rule = CategorySet(
                listed, listed_left=True, missing_left=missing_left, known=_members(known[place[column]])
            )
            splits.append((column, rule))
        else:
            limit = float(node["num_threshold"])
            splits.append((column, Threshold(limit, inclusive=True, single=False, missing_left=missing_left)))
    values = np.zeros((len(tree.nodes), classes))
    values[:, own_class] = tree.nodes["value"]
    return RawTree(splits, _ints(tree.nodes["left"]), _ints(tree.nodes["right"]), values)


def _base(start: Any, binary: bool) -> list[float]:
    """One score per class; binary models have one score, of the second class."""
    return [0.0, *map(float, start)] if binary else list(map(float, start))


def _ints(children: Any) -> IntArray:
    return np.asarray(children, dtype=np.int64)


def _members(bitset: Any) -> frozenset[int]:
    """The numbers in a set of eight words of 32 bits."""
    return frozenset(32 * w + b for w, word in enumerate(bitset) for b in range(32) if int(word) >> b & 1)


def encoded_categories(model: Any) -> dict[int, Any]:
    """The categories that histogram boosting codes itself, by column."""
    flags = getattr(model, "is_categorical_", None)
    if flags is None:
        return {}
    stored = [found.tolist() for found in model._preprocessor.named_transformers_["encoder"].categories_]
    return dict(zip(np.flatnonzero(flags).tolist(), stored, strict=True))


_READERS: dict[str, Callable[[Any, Schema, Sequence[Column]], TreeEnsemble]] = {
    "DecisionTreeClassifier": _single_tree,
    "ExtraTreeClassifier": _single_tree,
    "RandomForestClassifier": _forest,
    "ExtraTreesClassifier": _forest,
    "GradientBoostingClassifier": _boosting,
    "HistGradientBoostingClassifier": _histogram,
}

SUPPORTED = tuple(_READERS)
