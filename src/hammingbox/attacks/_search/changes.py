"""Points as lists of epsilon changes, each a (feature, slot) pair, and pairs as places in [0, 1)."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from hammingbox.problem import Problem
from hammingbox.types import ManySlots

Genes = Float[Tensor, "batch population budget 2"]
"""Epsilon (feature, slot) pairs per point, both as a place in [0, 1)."""

Changes = Int64[Tensor, "batch population budget"]
"""The feature, or the slot, of each pair."""


def read_changes(problem: Problem, genes: Genes) -> tuple[Changes, Changes]:
    """The features and slots that genes stand for.

    A place is scaled by the number of choices: among 4 features that can change, 0.6 is the third one (0.6 * 4 = 2.4).
    """
    candidates = problem.candidates
    able, count = candidates.able_features
    place = (genes[..., 0] * count[:, None, None]).long()
    batch, size, budget = place.shape
    feature = able.gather(1, place.flatten(1))
    count = candidates.counts.gather(1, feature) - 1
    place = genes[..., 1].flatten(1)
    # Where changes have prices, a point has as many pairs as features, and some of them must be able to change nothing.
    digit = 1 + (place * count).long() if problem.purse is None else (place * (count + 1)).long().minimum(count)
    rows = torch.arange(batch, device=feature.device)[:, None].expand_as(feature)
    slot = candidates.nth_valid(rows, feature, torch.where(count > 0, digit, 0))
    return feature.view(batch, size, budget), slot.view(batch, size, budget)


def write_changes(problem: Problem, feature: Changes, slot: Changes) -> ManySlots:
    """Clean rows with changes written into them. Where two changes have the same feature, the later one counts."""
    points = problem.clean_slots[:, None].repeat(1, feature.shape[1], 1)
    for where, what in zip(feature.split(1, 2), slot.split(1, 2), strict=True):
        points.scatter_(2, where, what)
    return points


def gene_priority(feature: Changes, points: ManySlots) -> Float[Tensor, "batch population features"]:
    """An order of features: that of the pair that wrote each one first, so that the first pairs are paid first."""
    place = -torch.arange(feature.shape[2], device=feature.device, dtype=torch.float32).expand(feature.shape)
    lowest = torch.full(points.shape, -torch.inf, device=points.device)
    return lowest.scatter_reduce_(2, feature, place, "amax")
