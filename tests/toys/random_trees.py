"""Tiny random ensembles over tiny random spaces, small enough to try every row."""

from itertools import product
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from hammingbox.data.schema import Feature, Schema
from hammingbox.threat.candidates import Candidates
from hammingbox.victims.trees.columns import codes
from hammingbox.victims.trees.ensemble import RawTree, TreeEnsemble
from hammingbox.victims.trees.splits import CategorySet
from hammingbox.victims.trees.tree_victim import TreeVictim


def random_schema(seed: int, features: int = 5, classes: int = 3) -> Schema:
    generator = np.random.default_rng(seed)
    widths = generator.integers(2, 5, features)
    return Schema(
        tuple(Feature(f"f{i}", tuple("abcd"[:width])) for i, width in enumerate(widths)), tuple("xyz"[:classes])
    )


def random_victim(
    schema: Schema,
    seed: int,
    trees: int = 6,
    depth: int = 3,
    *,
    whole: bool = False,
    link: Literal["scores", "probabilities"] = "scores",
    groups: list[list[int]] | None = None,
) -> TreeVictim:
    """Trees of random splits. Leaves that are `whole` make many rows tie. Each tree uses one group."""
    generator = np.random.default_rng(seed)
    classes = len(schema.classes)

    def leaf() -> list[float]:
        if link == "probabilities":
            shares = np.eye(classes)[generator.integers(classes)] if whole else generator.dirichlet(np.ones(classes))
            return [float(share) for share in shares]
        return [float(v) for v in (generator.integers(-2, 3, classes) if whole else generator.normal(size=classes))]

    def tree(number: int) -> RawTree:
        inner = 2**depth - 1
        own = groups[number % len(groups)] if groups else list(range(len(schema.features)))
        splits: list[tuple[int, CategorySet] | None] = []
        for _ in range(inner):
            feature = int(generator.choice(own))
            width = schema.cardinalities[feature]
            listed = frozenset(generator.choice(width, int(generator.integers(1, width)), replace=False).tolist())
            splits.append((feature, CategorySet(listed, listed_left=bool(generator.integers(2)), missing_left=False)))
        values = np.array([[0.0] * classes] * inner + [leaf() for _ in range(inner + 1)])
        left = np.array([2 * i + 1 for i in range(inner)] + [0] * (inner + 1))
        return RawTree([*splits, *[None] * (inner + 1)], left, left + 1, values)

    return TreeVictim(TreeEnsemble.of(schema, codes(schema), [tree(i) for i in range(trees)], [0.0] * classes, link))


def all_points(candidates: Candidates, row: int, budget: int) -> Tensor:
    """Every point of S(x) within the budget, as slots."""
    layout = candidates.layout
    choices = []
    for feature in range(layout.features):
        begin, width = int(layout.starts[feature]), int(layout.widths[feature])
        choices.append([s for s in range(width) if bool(candidates.valid[row, begin + s])])
    return torch.tensor([p for p in product(*choices) if sum(s != 0 for s in p) <= budget])
