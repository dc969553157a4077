"""Differential evolution over sets of changes, for black boxes."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from hammingbox.attacks._search.incumbent import Incumbent, Search
from hammingbox.attacks._search.points import try_points
from hammingbox.attacks._search.visited import Visited
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots

Genes = Float[Tensor, "batch population budget 2"]
"""Epsilon (feature, slot) pairs an individual, both as a place in [0, 1)."""

Changes = Int64[Tensor, "batch population budget"]
"""A feature, or a slot, for each pair."""


@dataclass(frozen=True, kw_only=True)
class Evolution(Search):
    """Differential evolution (Storn and Price 1997) over epsilon (feature, slot) pairs an individual.

    The idea is that of the one-pixel attack (Su et al. 2019). Each gene of a child is, at random, its parent's, the
    best individual's, or base + weight (a - b) of three other individuals, wrapped at the ends of its range; a child
    takes its parent's place when its loss is larger. A child that was tried before gives way to a random individual,
    so no query is spent twice. Rows that fall leave.

    Cost: at most 1 + (1 + generations) population forward passes.

    Attributes:
        population: individuals a row.
        generations: rounds of children.
        weight: F, how far a difference carries.
        keep: share of genes a child has from its parent.
        follow: share of genes a child has from the best individual.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("generations", "weight", "keep", "follow")

    population: int = 40
    generations: int = 24
    weight: float = 0.5
    keep: float = 0.3
    follow: float = 0.3

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Breeds until a row falls, or its generations or queries are over."""
        visited = Visited(problem.candidates.layout, len(problem))
        genes = random.uniform(self.population, problem.budget, 2)
        fitness = torch.full(genes.shape[:2], -torch.inf, device=genes.device)
        for generation in range(1 + self.generations):
            rows = best.standing()
            if len(rows) == 0:
                break
            part, parents = problem.take(rows), genes[rows]
            children = parents if generation == 0 else self._children(parents, fitness[rows], random.select(rows))
            points = decode(part, children)
            if generation > 0:
                fresh = random.select(rows).uniform(self.population, problem.budget, 2)
                known = visited.knows(rows, visited.keys(points))
                children = torch.where(known[..., None, None], fresh, children)
                points = decode(part, children)
            loss = try_points(part, best, rows, points, visited.visit(rows, points))
            better = loss > fitness[rows]
            genes[rows] = torch.where(better[..., None, None], children, parents)
            fitness[rows] = torch.where(better, loss, fitness[rows])

    def _children(self, parents: Genes, fitness: Float[Tensor, "batch population"], random: RowRandom) -> Genes:
        size, budget = parents.shape[1:3]
        noise = random.uniform(size, 4, budget)
        # Each gene has partners of its own: sets of changes have no order that would tie gene 1 to gene 1.
        base, plus, minus = (
            parents.gather(1, (noise[:, :, i] * size).long()[..., None].expand(-1, -1, -1, 2)) for i in range(3)
        )
        difference = (base + self.weight * (plus - minus)).remainder(1.0)
        top = parents.gather(1, fitness.argmax(1)[:, None, None, None].expand(-1, 1, budget, 2))
        coin = noise[:, :, 3, :, None]
        child = torch.where(coin < self.keep + self.follow, top.expand_as(parents), difference)
        return torch.where(coin < self.keep, parents, child)


def decode(problem: Problem, genes: Genes) -> ManySlots:
    """The points that genes stand for."""
    return write(problem, *read(problem, genes))


def read(problem: Problem, genes: Genes) -> tuple[Changes, Changes]:
    """The features and slots that genes name."""
    candidates = problem.candidates
    choices = candidates.counts - 1
    # Features that can change, in order, before those that cannot.
    able = (choices > 0).long().argsort(dim=1, descending=True, stable=True)
    place = (genes[..., 0] * (choices > 0).sum(1)[:, None, None]).long()
    batch, size, budget = place.shape
    feature = able.gather(1, place.flatten(1))
    count = choices.gather(1, feature)
    digit = 1 + (genes[..., 1].flatten(1) * count).long()
    rows = torch.arange(batch, device=feature.device)[:, None].expand_as(feature)
    slot = candidates.nth_valid(rows, feature, torch.where(count > 0, digit, 0))
    return feature.view(batch, size, budget), slot.view(batch, size, budget)


def write(problem: Problem, feature: Changes, slot: Changes) -> ManySlots:
    """Clean rows with changes written into them. Where two changes name one feature the later one counts."""
    points = problem.clean_slots[:, None].repeat(1, feature.shape[1], 1)
    for where, what in zip(feature.split(1, 2), slot.split(1, 2), strict=True):
        points.scatter_(2, where, what)
    return points
