"""XGBoost models with a larger certified radius: trees in groups that share no feature, fitted to worst-case rows.

A change to a feature touches the trees of its group only (large-spread ensembles: Calzavara et al., CCS 2023; here a
group may hold several trees, as XGBoost's interaction constraints build them). The worst case within r changes then has
a closed form (`certificates/_trees/groups.py`), so it is cheap enough to be computed for every training row before
every round: each round is fitted to the rows as the strongest attacker would write them for the model so far, which
takes influence away from single features. It is adversarial training with an exact attack.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from hammingbox.certificates._trees.groups import MOST_POINTS, GroupPoints, GroupTables, worst_cases
from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError, missing_library
from hammingbox.threat.space import Space
from hammingbox.victims.trees.columns import codes, encoded
from hammingbox.victims.trees.ensemble import IntArray, TreeEnsemble
from hammingbox.victims.trees.read_xgboost import read_booster

_KINDS = {"number": "q", "date": "q"}
"""How XGBoost sees a column: a quantity, or a category."""


def fit_robust_trees(
    data: Dataset,
    space: Space,
    *,
    radius: int = 1,
    groups: Sequence[Sequence[str]] | int = 1,
    rounds: int = 60,
    learning_rate: float = 1.0,
    depth: int = 2,
    parallel: int = 10,
    column_share: float = 0.1,
    clean_share: float = 0.25,
    seed: int = 0,
) -> Any:
    """Trains an XGBoost classifier whose trees share no feature beyond their group.

    The model is given category codes (or the numbers of number columns): :func:`hammingbox.tree_victim` reads it, and
    `TreeSearch` certifies it in closed form. It can be saved with `save_model`.

    Args:
        data: training rows.
        space: what the attacker may write.
        radius: how many changes the worst-case rows hold; 0 trains on clean rows only.
        groups: the features that may meet in a tree, by name, each in one group; or how many neighbouring features
            form a group. Groups of one make an additive model.
        rounds: rounds of boosting.
        learning_rate: of a round; the trees of a round share it. Above 1 it may diverge, because all trees of a round
            correct the frequencies of the classes.
        depth: of the trees.
        parallel: trees per round and class. One tree answers an attacker by using the attacked feature the other way
            round, and the attack moves on: the model oscillates (Splice, validation rows, 60 rounds: 78.8 % clean).
            Many trees over random columns make a small step in all features at once.
        column_share: the share of the columns that each of several trees sees.
        clean_share: the weight of the clean rows; the rest is that of the worst-case rows.
        seed: of XGBoost.

    Returns:
        The `xgboost.Booster`.

    Raises:
        InputError: XGBoost is not installed, groups that overlap or are too large, or settings out of range.
    """
    try:
        import xgboost
    except ImportError as error:
        raise missing_library("xgboost", "xgboost", "to train trees", error) from error
    if radius < 0 or rounds < 1 or depth < 1 or not 0 <= clean_share <= 1:
        raise InputError(
            "expected a radius of 0 or more, at least one round, a depth of at least 1 and a clean share of 0 to 1, "
            f"got {radius}, {rounds}, {depth} and {clean_share}."
        )
    schema, classes = data.schema, len(data.schema.classes)
    features = _feature_groups(schema, groups)
    ids, labels = (part.cpu().numpy() for part in data.batch(slice(None)))
    worst = _WorstRows(schema, features, space, data, radius)
    settings = {
        "objective": "binary:logistic" if classes == 2 else "multi:softprob",
        **({} if classes == 2 else {"num_class": classes}),
        "base_score": 0.5,
        "max_depth": depth,
        "learning_rate": learning_rate,
        "num_parallel_tree": parallel,
        "colsample_bytree": 1.0 if parallel == 1 else column_share,
        "interaction_constraints": str([list(group) for group in features]),
        "max_cat_to_onehot": 1,
        "seed": seed,
        "nthread": 1,
    }
    kinds = [_KINDS.get(getattr(feature, "kind", "category"), "c") for feature in schema.features]
    weight = np.ones(len(ids)) if radius == 0 else np.repeat([clean_share, 1 - clean_share], len(ids))
    booster: Any = None
    for number in range(rounds):
        rows, target = ids, labels
        if radius:
            rows, target = np.concatenate([ids, worst.rows()]), np.concatenate([labels, labels])
        matrix = xgboost.DMatrix(
            encoded(codes(schema), rows), target, weight=weight, feature_types=kinds, enable_categorical=True
        )
        if booster is None:  # it takes the number of columns from its first matrix
            booster = xgboost.Booster(settings, [matrix])
        booster.update(matrix, number)
        if radius:
            worst.add(read_booster(booster[number : number + 1], schema, codes(schema)))
    return booster


class _WorstRows:
    """The training rows as the strongest attacker would write them for the trees so far."""

    def __init__(
        self, schema: Schema, groups: Sequence[Sequence[int]], space: Space, data: Dataset, radius: int
    ) -> None:
        ids, labels = data.batch(slice(None))
        self._ids, self._labels, self._radius = ids.cpu().numpy(), labels.cpu().numpy(), radius
        self._tables = GroupTables(schema.cardinalities, groups, len(schema.classes))
        self._candidates = space.candidates(ids)
        if self._candidates.tolls is not None:
            raise InputError(
                "expected a space without prices and relations for robust trees, got one with some: their worst rows "
                "count changes. Use fit_monotone_trees, which knows prices."
            )
        self._points = GroupPoints.of(self._candidates, self._tables, radius)

    def add(self, trees: TreeEnsemble) -> None:
        """Takes the trees of another round into account."""
        self._tables.add(trees)

    def rows(self) -> IntArray:
        """The worst rows within the radius, for the rival that comes closest to winning or wins by most."""
        every = np.arange(len(self._ids))
        sums = np.zeros((len(every), self._tables.values[0].shape[1]))
        for table, place in zip(self._tables.values, self._points.place, strict=True):
            sums += table[place[:, 0]]
        leads = sums - sums[every, self._labels][:, None]
        found = worst_cases(self._tables, self._points, leads, self._labels, self._radius)
        leads = found.leads.copy()
        leads[every, self._labels] = -np.inf
        rival, changes = np.unravel_index(leads.reshape(len(every), -1).argmax(1), leads.shape[1:])
        slots = np.zeros_like(self._ids)
        chosen = found.slots(self._tables, self._points, rival, changes)
        slots[:, : chosen.shape[1]] = chosen
        return self._candidates.select(torch.from_numpy(slots)).numpy()


def _feature_groups(schema: Schema, groups: Sequence[Sequence[str]] | int) -> list[list[int]]:
    """The groups as places of features; features that no group names stand alone.

    Raises:
        InputError: a feature is in two groups, or a group has too many combinations of categories.
    """
    every = range(len(schema.features))
    if isinstance(groups, int):
        if groups < 1:
            raise InputError(f"expected groups of at least one feature, got {groups}.")
        found = [list(every[i : i + groups]) for i in range(0, len(every), groups)]
    else:
        found = [[schema.feature_index(name) for name in group] for group in groups if group]
        named = [feature for group in found for feature in group]
        if len(set(named)) != len(named):
            raise InputError("expected each feature in one group, got one in two groups. Join the two groups.")
        found += [[feature] for feature in every if feature not in named]
    if not GroupTables.fits(schema.cardinalities, found):
        raise InputError(
            f"expected groups of at most {MOST_POINTS:,} combinations of categories, got a larger one. "
            "Use smaller groups."
        )
    return found
