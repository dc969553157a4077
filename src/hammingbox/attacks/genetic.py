"""Population search (Alzantot et al. 2018) on slots, with an L0 budget."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from hammingbox.attacks._search.incumbent import Incumbent, best_points
from hammingbox.attacks._search.knapsack import pack_problem, pack_samples
from hammingbox.attacks._search.search import Search
from hammingbox.attacks.cost import Passes
from hammingbox.errors import InputError
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots, SampleFloat


@dataclass(frozen=True, kw_only=True)
class Genetic(Search):
    """Breeds rows: parents are chosen by fitness, children are made by uniform crossover and mutated in one feature.

    A mutation tries a few slots of a random feature and keeps the best, as Alzantot et al. do with the neighbours of a
    word. A child with more than epsilon changes loses random ones. At the full budget, the mutation of an unchanged
    feature replaces another change. The fittest member survives. A row leaves as soon as it is broken. Where changes
    have prices, a mutation is paid first, and random ones of the other changes are kept as long as they can be paid.

    Cost: at most 1 + (1 + generations) population tries forward passes per row.

    Attributes:
        population: members per row.
        generations: rounds of breeding.
        tries: slots that a mutation tries; all of them where a feature has fewer.
    """

    randomised: ClassVar[bool] = True
    may_be_zero: ClassVar[tuple[str, ...]] = ("generations",)

    population: int = 20
    generations: int = 10
    tries: int = 4

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            InputError: a setting does not fit, or a population of one, among which nobody can be chosen.
        """
        super().__post_init__()
        if self.population < 2:
            raise InputError(f"expected a population of at least 2 members, got {self.population}.")

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Breeds until a row is broken, or its generations or queries are used up."""
        members = best.slots[:, None].repeat(1, self.population, 1)
        fitness = best.loss[:, None].repeat(1, self.population)
        for generation in range(1 + self.generations):
            rows = best.open_rows()
            if len(rows) == 0:
                break
            part, noise = problem.take(rows), random.select(rows)
            parents = members[rows]
            children = parents if generation == 0 else self._breed(part, parents, fitness[rows], noise)
            children, loss, fooled = self._mutate(part, children, noise)
            owner = rows.repeat_interleave(self.population)
            best.offer(owner, children.flatten(0, 1), loss.flatten(), fooled.flatten())
            children[:, 0], loss[:, 0] = best.slots[rows], best.loss[rows]  # the elite
            members[rows], fitness[rows] = children, loss

    def search_passes(self, problem: Problem) -> Passes:
        """Every mutation of every member, with as many tries as the feature with the most slots allows."""
        tries = (problem.candidates.counts - 1).amax(1).clamp(max=self.tries)
        return Passes.of(problem, (1 + self.generations) * self.population * tries)

    def _breed(self, problem: Problem, members: ManySlots, fitness: SampleFloat, random: RowRandom) -> ManySlots:
        """Children of two parents each, drawn with probabilities from the softmax of standardised fitness."""
        size, features = members.shape[1:]
        finite = fitness.nan_to_num(neginf=0.0)
        score = (fitness - finite.mean(1, keepdim=True)) / finite.std(1, keepdim=True).clamp(min=1e-6)
        parent = (score[:, None, None] + random.gumbel(size, 2, size)).argmax(3)  # (batch, child, 2)
        index = parent[..., None].expand(-1, -1, -1, features)
        mother, father = members[:, None].expand(-1, size, -1, -1).gather(2, index).unbind(2)
        coin = random.uniform(size, features) < 0.5
        return _drop_changes(problem, torch.where(coin, mother, father), random)

    def _mutate(
        self, problem: Problem, members: ManySlots, random: RowRandom
    ) -> tuple[ManySlots, SampleFloat, torch.Tensor]:
        """Changes one feature of every member to the best of a few slots."""
        batch, size, features = members.shape
        choices = (problem.candidates.counts - 1)[:, None].expand(-1, size, -1)
        able = choices > 0
        noise = random.uniform(size, features + 1)
        feature = noise[..., 1:].masked_fill(~able, -1.0).argmax(2)
        # Room for the mutation: at most epsilon - 1 of the other features stay changed.
        others = members.scatter(2, feature[..., None], 0)
        members = _drop_changes(problem.within(problem.budget - 1), others, random)
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
        if problem.purse is not None:  # the mutation is paid first
            priority = random.uniform(size, features).flatten(0, 1)[member].scatter(1, flat_feature[:, None], 2.0)
            points = pack_problem(problem, rows, points, priority)
        scores = problem.score(rows, points)
        chosen, who = best_points(member, scores.loss, batch * size)
        loss = torch.full((batch * size,), -torch.inf, device=members.device)
        fooled = torch.zeros(batch * size, dtype=torch.bool, device=members.device)
        mutated = members.flatten(0, 1).clone()
        mutated[who], loss[who], fooled[who] = points[chosen], scores.loss[chosen], scores.fooled[chosen]
        return mutated.view_as(members), loss.view(batch, size), fooled.view(batch, size)


def _drop_changes(problem: Problem, slots: ManySlots, random: RowRandom) -> ManySlots:
    """Changes random features back to their clean category until each point is within the budget."""
    changed = slots != 0
    key = random.uniform(slots.shape[1], slots.shape[2]).masked_fill(~changed, -1.0)
    if problem.purse is not None:
        return pack_samples(problem.candidates, problem.purse, problem.budget, slots, key)
    kept = torch.zeros_like(changed).scatter_(2, key.topk(problem.budget, dim=2).indices, True)
    return torch.where(kept, slots, 0)
