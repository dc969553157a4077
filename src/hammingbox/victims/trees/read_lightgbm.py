"""LightGBM models: a `Booster`, an `LGBMClassifier`, or the text file that they write."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError, missing_library
from hammingbox.victims.trees.columns import Column, columns_of
from hammingbox.victims.trees.ensemble import RawTree, TreeEnsemble
from hammingbox.victims.trees.splits import CategorySet, Split, Threshold

_MISSING: dict[str, Literal["nan", "zero", "nothing"]] = {"NaN": "nan", "Zero": "zero", "None": "nothing"}


def read_booster(model: Any, schema: Schema, columns: Sequence[Column] | None = None) -> TreeEnsemble:
    """The trees of a `Booster` or of a fitted `LGBMClassifier`, up to its best iteration if it stopped early."""
    booster = getattr(model, "booster_", model)
    return read_document(booster.dump_model(), schema, columns)


def read_lightgbm_file(path: Path, schema: Schema, columns: Sequence[Column] | None = None) -> TreeEnsemble:
    """The trees of a model's text file, read by LightGBM.

    Raises:
        FileError: the file is missing or damaged.
        InputError: LightGBM is not installed, or the model is not one that this package reads.
    """
    try:
        import lightgbm
    except ImportError as error:
        raise missing_library("lightgbm", "lightgbm", f"to read {path.name}", error) from error
    try:
        text = path.read_text()
        booster = lightgbm.Booster(model_str=text)
    except (OSError, UnicodeDecodeError, lightgbm.basic.LightGBMError) as error:
        raise FileError(f"expected a LightGBM model at {path}, got: {error}.") from error
    return read_booster(booster, schema, columns)


def read_document(document: Any, schema: Schema, columns: Sequence[Column] | None = None) -> TreeEnsemble:
    """The trees of a model in the form of `Booster.dump_model()`.

    Raises:
        FileError: the document is damaged.
        InputError: a model that is no classifier of plain trees, or of other classes or columns than the schema.
    """
    try:
        return _read(document, schema, columns)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise FileError(f"expected a LightGBM model, got a damaged document ({error!r:.120}).") from error


def _read(document: Mapping[str, Any], schema: Schema, columns: Sequence[Column] | None) -> TreeEnsemble:
    kind, *settings = document.get("objective", "none").split()
    if kind not in ("binary", "multiclass"):
        raise InputError(f"expected a LightGBM classifier (binary or multiclass), got the objective {kind!r}.")
    if columns is None:
        names = document["feature_names"]
        columns = columns_of(schema, len(names), names, _categories(document))
    binary, per_round, info = kind == "binary", int(document["num_tree_per_iteration"]), document["tree_info"]
    classes = 2 if binary else int(document["num_class"])
    # The probability of a class is the sigmoid of `sigmoid` times the score.
    scale = next((float(s.split(":")[1]) for s in settings if s.startswith("sigmoid:")), 1.0)
    if document.get("average_output"):
        scale /= len(info) // per_round
    raw = (_tree(tree["tree_structure"], 1 if binary else i % per_round, classes, scale) for i, tree in enumerate(info))
    return TreeEnsemble.of(schema, columns, raw, [0.0] * classes, "scores")


def _tree(root: Mapping[str, Any], own_class: int, classes: int, scale: float) -> RawTree:
    splits: list[tuple[int, Split] | None] = []
    left: list[int] = []
    right: list[int] = []
    leaves: list[float] = []
    waiting: list[tuple[Mapping[str, Any], list[int] | None, int]] = [(root, None, 0)]
    while waiting:  # leaf-wise growth makes trees deeper than Python's stack
        node, children, parent = waiting.pop()
        index = len(splits)
        if children is not None:
            children[parent] = index
        left.append(index)
        right.append(index)
        if "split_feature" not in node:
            if "leaf_coeff" in node or "leaf_const" in node:
                raise InputError("expected trees with constant leaves, got linear trees. Train with linear_tree=False.")
            splits.append(None)
            leaves.append(scale * float(node["leaf_value"]))
            continue
        splits.append((int(node["split_feature"]), _split(node)))
        leaves.append(0.0)
        waiting += [(node["right_child"], right, index), (node["left_child"], left, index)]
    values = np.zeros((len(splits), classes))
    values[:, own_class] = leaves
    return RawTree(splits, np.array(left, dtype=np.int64), np.array(right, dtype=np.int64), values)


def _split(node: Mapping[str, Any]) -> Split:
    if node["decision_type"] == "==":  # the listed categories go left, a missing one goes right
        listed = frozenset(int(code) for code in str(node["threshold"]).split("||"))
        return CategorySet(listed, listed_left=True, missing_left=False)
    return Threshold(
        float(node["threshold"]),
        inclusive=True,
        single=False,
        missing_left=bool(node["default_left"]),
        missing=_MISSING[node["missing_type"]],
    )


def _categories(document: Mapping[str, Any]) -> dict[int, list[Any]]:
    """The categories of each pandas column of categories, in the order of their codes."""
    stored, infos = document.get("pandas_categorical") or [], document.get("feature_infos", {})
    listed = [i for i, name in enumerate(document["feature_names"]) if infos.get(name, {}).get("values")]
    if not stored:
        return {}
    if len(listed) != len(stored):
        raise InputError(
            f"expected {len(stored)} columns with categories, got {len(listed)}: LightGBM dropped a constant one. "
            "Pass columns=..., or train without the constant column."
        )
    return dict(zip(listed, stored, strict=True))
