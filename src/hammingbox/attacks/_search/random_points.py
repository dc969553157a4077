"""Random points within the budget."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from hammingbox.attacks._search.knapsack import pack_samples
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots


def random_points(problem: Problem, random: RowRandom, samples: int) -> ManySlots:
    """Points with epsilon random features changed to random valid slots; fewer where fewer features can change.

    Where changes have prices, a random number of features changes, in random order, as long as they can be paid.
    """
    candidates = problem.candidates
    if problem.purse is not None:
        slots, key = random_changes(problem, random, samples)
        return pack_samples(candidates, problem.purse, random_counts(problem, random, samples), slots, key)
    batch, features = len(candidates), candidates.layout.features
    choices = (candidates.counts - 1)[:, None].expand(batch, samples, features)
    noise = random.uniform(samples, 2, features)
    key = noise[:, :, 0].masked_fill(choices == 0, -1.0)
    chosen = key.topk(problem.budget, dim=2).indices
    able = choices.gather(2, chosen) > 0
    count = choices.gather(2, chosen)
    digit = (noise[:, :, 1].gather(2, chosen) * count).long().minimum((count - 1).clamp(min=0)) + 1
    rows = torch.arange(batch, device=chosen.device)[:, None, None].expand_as(chosen)
    digit = torch.where(able, digit, 0)
    slot = candidates.nth_valid(rows.flatten(1), chosen.flatten(1), digit.flatten(1)).view_as(chosen)
    return torch.zeros(batch, samples, features, dtype=torch.int64, device=chosen.device).scatter_(2, chosen, slot)


def random_changes(
    problem: Problem, random: RowRandom, samples: int
) -> tuple[ManySlots, Float[Tensor, "batch samples features"]]:
    """A random valid change of every feature that can change, and a random order of features, the largest first."""
    candidates = problem.candidates
    batch, features = len(candidates), candidates.layout.features
    key, place = random.uniform(samples, 2, features).unbind(2)
    count = (candidates.counts - 1)[:, None].expand(batch, samples, features)
    digit = (place * count).long().minimum(count - 1) + 1  # 0 for a feature that cannot change
    rows = torch.arange(batch, device=key.device)[:, None].expand(batch, samples * features)
    feature = torch.arange(features, device=key.device).repeat(samples).expand(batch, -1)
    return candidates.nth_valid(rows, feature, digit.flatten(1)).view(batch, samples, features), key


def random_counts(problem: Problem, random: RowRandom, samples: int) -> Int64[Tensor, "batch samples"]:
    """Random numbers of changes, from 1 to the budget: a purse that pays for everything says nothing about them."""
    return 1 + (random.uniform(samples) * problem.budget).long().clamp(max=problem.budget - 1)
