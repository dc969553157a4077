"""Random changes: the attack every other one must beat."""

from dataclasses import dataclass

import torch

from hammingbox.attacks._search.incumbent import Incumbent, Search
from hammingbox.problem import Problem, all_points
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots


@dataclass(frozen=True, kw_only=True)
class Random(Search):
    """Tries rows with epsilon random changes and keeps the best. Rows that fall leave.

    Cost: 1 + draws forward passes.

    Attributes:
        draws: random rows tried.
        batch: how many are tried at once.
    """

    draws: int = 300
    batch: int = 50

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Draws, tries, keeps the best."""
        for start in range(0, self.draws, self.batch):
            rows = best.standing()
            if len(rows) == 0:
                break
            part = problem.take(rows)
            owner, slots = all_points(random_slots(part, random.select(rows), min(self.batch, self.draws - start)))
            best.offer(rows[owner], slots, *part.score(owner, slots))


def random_slots(problem: Problem, random: RowRandom, samples: int) -> ManySlots:
    """Points with epsilon changes of random features to random valid slots (fewer where fewer features can change)."""
    candidates = problem.candidates
    batch, features = candidates.clean.shape
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
