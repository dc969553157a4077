"""Population search (Alzantot et al. 2018), on slots and under an L0 budget."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from hammingbox.attacks._search.incumbent import Incumbent, Search, best_points
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots, SampleFloat


@dataclass(frozen=True, kw_only=True)
class Genetic(Search):
    """Breeds rows: parents by fitness, children by uniform crossover, each child mutated in one feature.

    A mutation tries a few slots of a random feature and keeps the best, as Alzantot et al. do with a word's
    neighbours. A row with more than epsilon changes gives random ones back; at the full budget a mutation of an
    unchanged feature takes the place of another change. The fittest member lives on. Rows that fall leave.

    Cost: at most 1 + (1 + generations) population tries forward passes.

    Attributes:
        population: members a row.
        generations: rounds of breeding.
        tries: slots a mutation tries, all of them where a feature has fewer.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("generations",)

    population: int = 20
    generations: int = 10
    tries: int = 4

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Breeds until a row falls or the generations are over."""
        members = best.slots[:, None].repeat(1, self.population, 1)
        fitness = best.loss[:, None].repeat(1, self.population)
        for generation in range(1 + self.generations):
            rows = best.standing()
            if len(rows) == 0:
                break
            part, noise = problem.take(rows), random.select(rows)
            parents = members[rows]
            children = parents if generation == 0 else self._breed(parents, fitness[rows], problem.budget, noise)
            children, loss, fooled = self._mutate(part, children, noise)
            owner = rows.repeat_interleave(self.population)
            best.offer(owner, children.flatten(0, 1), loss.flatten(), fooled.flatten())
            children[:, 0], loss[:, 0] = best.slots[rows], best.loss[rows]  # the elite
            members[rows], fitness[rows] = children, loss

    def _breed(self, members: ManySlots, fitness: SampleFloat, budget: int, random: RowRandom) -> ManySlots:
        """Children of two parents each, chosen in proportion to the softmax of standardised fitness."""
        size, features = members.shape[1:]
        finite = fitness.nan_to_num(neginf=0.0)
        score = (fitness - finite.mean(1, keepdim=True)) / finite.std(1, keepdim=True).clamp(min=1e-6)
        parent = (score[:, None, None] + random.gumbel(size, 2, size)).argmax(3)  # (batch, child, 2)
        index = parent[..., None].expand(-1, -1, -1, features)
        mother, father = members[:, None].expand(-1, size, -1, -1).gather(2, index).unbind(2)
        coin = random.uniform(size, features) < 0.5
        return give_back(torch.where(coin, mother, father), budget, random)

    def _mutate(
        self, problem: Problem, members: ManySlots, random: RowRandom
    ) -> tuple[ManySlots, SampleFloat, torch.Tensor]:
        """Changes one feature of every member to the best of a few slots tried."""
        batch, size, features = members.shape
        choices = (problem.candidates.counts - 1)[:, None].expand(-1, size, -1)
        able = choices > 0
        noise = random.uniform(size, features + 1)
        feature = noise[..., 1:].masked_fill(~able, -1.0).argmax(2)
        # Room for the mutation: of the other features at most epsilon - 1 stay changed.
        others = members.scatter(2, feature[..., None], 0)
        members = give_back(others, problem.budget - 1, random)
        count = choices.gather(2, feature[..., None])[..., 0]
        # Consecutive slots from a random start are distinct and random enough.
        start = (noise[..., 0] * count).long()
        tries = torch.arange(self.tries, device=members.device)
        digit = 1 + (start[..., None] + tries) % count.clamp(min=1)[..., None]
        member, attempt = (
            ((tries < count[..., None]) & able.any(2)[..., None]).view(batch * size, -1).nonzero().unbind(1)
        )
        rows = torch.div(member, size, rounding_mode="floor")
        flat_feature, flat_digit = feature.flatten()[member], digit.view(batch * size, -1)[member, attempt]
        slot = problem.candidates.nth_valid(rows[:, None], flat_feature[:, None], flat_digit[:, None])
        points = members.flatten(0, 1)[member].scatter(1, flat_feature[:, None], slot)
        scores = problem.score(rows, points)
        chosen, who = best_points(member, scores.loss, batch * size)
        loss = torch.full((batch * size,), -torch.inf, device=members.device)
        fooled = torch.zeros(batch * size, dtype=torch.bool, device=members.device)
        mutated = members.flatten(0, 1).clone()
        mutated[who], loss[who], fooled[who] = points[chosen], scores.loss[chosen], scores.fooled[chosen]
        return mutated.view_as(members), loss.view(batch, size), fooled.view(batch, size)


def give_back(slots: ManySlots, budget: int, random: RowRandom) -> ManySlots:
    """Returns random changes to the clean category until the budget holds."""
    changed = slots != 0
    key = random.uniform(slots.shape[1], slots.shape[2]).masked_fill(~changed, -1.0)
    kept = torch.zeros_like(changed).scatter_(2, key.topk(budget, dim=2).indices, True)
    return torch.where(kept, slots, 0)
