"""Robust trees: groups that share no feature, worst rows that are really the worst, and a larger certified radius."""

import numpy as np
import pytest
import torch
import xgboost

from hammingbox.attacks import Exhaustive
from hammingbox.certificates import TreeSearch
from hammingbox.certificates._trees.groups import feature_groups
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.errors import InputError
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.space import FullSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.robust_trees import _WorstRows, fit_robust_trees
from hammingbox.victims.trees.tree_victim import tree_victim
from toys.public_tables import nursery
from toys.random_trees import random_schema, random_victim


def test_worst_rows_are_the_worst() -> None:
    schema = random_schema(4)
    victim = random_victim(schema, 4, trees=10, groups=[[0], [1, 2], [3, 4]])
    generator = torch.Generator().manual_seed(0)
    x = torch.stack([torch.randint(0, d, (20,), generator=generator) for d in schema.cardinalities], 1)
    y = torch.randint(0, 3, (20,), generator=generator)
    space = MaskedSpace(schema, forbidden={"*": ["b"]})
    worst = _WorstRows(schema, [[0], [1, 2], [3, 4]], space, Dataset(schema, x, y), 2)
    worst.add(victim.ensemble)
    found = torch.from_numpy(worst.rows())
    assert bool(space.candidates(x).contains(found).all())
    assert int((found != x).sum(1).max()) <= 2

    def margins(rows: torch.Tensor) -> torch.Tensor:
        logits = victim(rows)
        own = logits.gather(1, y[:, None])[:, 0]
        return logits.scatter(1, y[:, None], -torch.inf).amax(1) - own

    best = Exhaustive()(victim, x, y, ThreatModel(space, 2))
    assert torch.allclose(margins(found), torch.maximum(margins(best.ids), margins(x)))


def test_groups_hold_and_the_radius_grows(splice_splits: Splits) -> None:
    """Few rounds: the point is the order, not the height."""
    schema = splice_splits.schema
    space = MaskedSpace(schema, forbidden={"*": ["N"]})
    rows, (x, y) = splice_splits.train.take(slice(0, 700)), splice_splits.test.batch(slice(0, 150))
    held = []
    for radius in (0, 1):
        victim = tree_victim(
            fit_robust_trees(rows, space, radius=radius, rounds=12, learning_rate=1.5, groups=2), schema
        )
        assert all(len({f // 2 for f in group}) == 1 for group in feature_groups(victim.ensemble))
        result = TreeSearch()(victim, x, y, ThreatModel(space, 1))
        assert not bool(result.unknown.any())
        held.append(float(result.proven.double().mean()))
    assert held[1] > held[0] + 0.05


def test_two_classes_and_named_groups() -> None:
    table = nursery().take(slice(0, 2000, 4))
    schema = type(table.schema)(table.schema.features, ("no", "yes"))
    data = Dataset(schema, table.ids, (table.labels > 1).long())
    booster = fit_robust_trees(data, FullSpace(schema), rounds=3, groups=[["c0", "c7"], ["c1", "c2"]])
    groups = [set(group) for group in feature_groups(tree_victim(booster, schema).ensemble)]
    assert all(any(group <= whole for whole in ({0, 7}, {1, 2}, {3}, {4}, {5}, {6})) for group in groups)
    answers = booster.predict(xgboost.DMatrix(data.ids.numpy(), feature_types=["c"] * 8, enable_categorical=True))
    assert np.allclose(tree_victim(booster, schema)(data.ids).softmax(1)[:, 1], answers, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": [["c0"], ["c0", "c1"]]}, "two groups"),
        ({"groups": 8}, "smaller groups"),
        ({"groups": 0}, "at least one feature"),
        ({"groups": [["nobody"]]}, "name of a feature"),
        ({"radius": -1}, "radius"),
        ({"clean_share": 1.5}, "clean share"),
    ],
)
def test_settings_are_checked(settings: dict, message: str) -> None:
    data = nursery().take(slice(0, 50))
    with pytest.raises(InputError, match=message):
        fit_robust_trees(data, FullSpace(data.schema), **settings)


def test_spaces_with_rules_are_refused() -> None:
    schema = random_schema(4)
    rows = torch.zeros(4, len(schema.features), dtype=torch.int64)
    space = RuledSpace(FullSpace(schema), Rules(schema, changes=1))
    with pytest.raises(InputError, match=r"without prices and relations for robust trees, .* Use fit_monotone_trees"):
        fit_robust_trees(Dataset(schema, rows, torch.arange(4) % 2), space, rounds=1)
