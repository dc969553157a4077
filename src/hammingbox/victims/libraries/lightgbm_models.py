"""LightGBM: fitted classifiers, boosters, and their ``.txt`` files."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hammingbox.errors import FileError, InputError, missing_library
from hammingbox.files import damage_as_file_error, parse_json, sha256, shown
from hammingbox.victims.answers import Returns
from hammingbox.victims.frames import Array
from hammingbox.victims.libraries import estimator
from hammingbox.victims.libraries.facts import KnownType, ModelFacts
from hammingbox.victims.libraries.trial import check_opens

_RETURNS: dict[str, Returns] = {
    "binary": "positive",
    "cross_entropy": "positive",
    "multiclass": "probabilities",
    "multiclassova": "probabilities",
}
_TREE_LISTS = ("split_feature", "threshold", "decision_type", "left_child", "right_child", "leaf_value")


def facts_of(model: Any) -> ModelFacts:
    """A fitted ``LGBMClassifier`` or a ``Booster`` in memory. Its content names it."""
    booster = getattr(model, "booster_", model)
    text = booster.model_to_string()
    identity = sha256(text.encode())
    if booster is model:
        return _of_booster(booster, text, identity)
    own = estimator.facts_of(model, library="lightgbm", identity=identity)
    return replace(own, types=_types(booster, text, as_codes=False), tree_model=model)


def read(content: bytes, source: object) -> ModelFacts:
    """A model file.

    Raises:
        FileError: it is damaged.
        InputError: LightGBM is not installed, or the model is no classifier.
    """
    try:
        import lightgbm
    except ImportError as error:
        raise missing_library("lightgbm", "lightgbm", f"to read {source}", error) from error
    with damage_as_file_error(source, "a whole LightGBM model", "Save it again with `save_model`."):
        text = content.decode()
        _check_whole(text, source)
        check_opens("lightgbm", content, source)
        booster = lightgbm.Booster(model_str=text)
    return _of_booster(booster, text, sha256(content))


def _of_booster(booster: Any, text: str, identity: str) -> ModelFacts:
    header = _header(text)
    objective = header.get("objective", "none").split()[0]
    if objective not in _RETURNS:
        raise InputError(
            f"expected a LightGBM classifier ({', '.join(_RETURNS)}), got one with the objective {objective!r}."
        )
    names = header.get("feature_names", "").split(" ")
    unnamed = names == [f"Column_{place}" for place in range(len(names))]
    types = _types(booster, text, as_codes=True)
    guessed = [str(name) for name, known in types.items() if known.dtype == "codes" and known.categories is None]
    return ModelFacts(
        ask=partial(_ask, booster),
        library="lightgbm",
        container="array",
        names=None if unnamed else tuple(names),
        count=len(names),
        types={place if unnamed else name: KnownType("float64") for place, name in enumerate(names)} | types,
        returns=_RETURNS[objective],
        identity=identity,
        notes=(f"the file does not hold the categories of {', '.join(guessed[:6])}: codes follow the schema",)
        if guessed
        else (),
        tree_model=booster,
    )


def _ask(booster: Any, table: Any) -> Any:
    return booster.predict(np.asarray(table, dtype=np.float64))


def _types(booster: Any, text: str, *, as_codes: bool) -> dict[str | int, KnownType]:
    """The categorical columns, by name or place, with the categories that LightGBM keeps of a training frame."""
    names = _header(text).get("feature_names", "").split(" ")
    unnamed = names == [f"Column_{place}" for place in range(len(names))]
    found = re.search(r"^\[categorical_feature: ([\d,]+)\]$", text, re.MULTILINE)
    places = sorted(int(place) for place in found[1].split(",")) if found else []
    stored = booster.pandas_categorical or []
    known = [tuple(values) for values in stored] if len(stored) == len(places) else [None] * len(places)
    if not as_codes and None in known:
        return {}  # trained on an array: the numbers of the table are its codes
    kind = "codes" if as_codes else "category"
    return {
        place if unnamed else names[place]: KnownType(kind, values) for place, values in zip(places, known, strict=True)
    }


def _header(text: str) -> dict[str, str]:
    head = text[: max(0, text.find("tree_sizes"))].splitlines()
    return {name: value for name, _, value in (line.partition("=") for line in head)}


def _check_whole(text: str, source: object) -> None:
    """Checks a model before LightGBM reads it, which prints to the terminal and may die at a damaged file.

    Every tree is where ``tree_sizes`` says, its lists have the lengths that its number of leaves asks for, and a walk
    through it ends in a leaf. Every parameter is a name and a value in brackets.

    Raises:
        FileError: it is damaged.
    """
    damaged = FileError(
        f"expected a whole LightGBM model in {shown(source)}, got a damaged one. Save it again with `save_model`."
    )
    sizes = re.search(r"^tree_sizes=([\d ]+)\n\n", text, re.MULTILINE)
    if not text.startswith("tree\n") or sizes is None or "feature_names" not in _header(text):
        raise damaged
    start, columns = sizes.end(), len(_header(text)["feature_names"].split(" "))
    for number, size in enumerate(map(int, sizes[1].split())):
        tree = text[start : start + size]
        lines = dict(line.split("=", 1) for line in tree.splitlines() if "=" in line)
        if lines.get("Tree") != str(number) or not lines.get("num_leaves", "").isdigit():
            raise damaged
        leaves = int(lines["num_leaves"])
        lists = {name: np.array(lines.get(name, "").split(), dtype=np.float64) for name in _TREE_LISTS}
        if leaves > 1 and any(len(values) != leaves - (name != "leaf_value") for name, values in lists.items()):
            raise damaged
        if leaves > 1 and not _is_tree(lists, leaves, columns):
            raise damaged
        start += size
    rest, _, last = text[start:].rstrip().rpartition("\n")
    if not rest.lstrip().startswith("end of trees") or not last.startswith("pandas_categorical:"):
        raise damaged
    parameters = re.search(r"^parameters:\n(.*?)(^end of parameters$|\Z)", rest, re.MULTILINE | re.DOTALL)
    if parameters and not all(re.fullmatch(r"\[\w+: .*\]|", line) for line in parameters[1].splitlines()):
        raise damaged
    parse_json(last.partition(":")[2], source)


def _is_tree(lists: Mapping[str, Array], leaves: int, columns: int) -> bool:
    """Whether every node but the root, and every leaf (written as its complement), is the child of one node."""
    children = np.concatenate([lists["left_child"], lists["right_child"]])
    wanted = np.concatenate([np.arange(1, leaves - 1), ~np.arange(leaves)])
    split = lists["split_feature"]
    return bool(np.array_equal(np.sort(children), np.sort(wanted)) and (split >= 0).all() and (split < columns).all())
