"""Differential evolution over sets of changes, for black boxes."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from hammingbox.attacks._search.changes import Genes, gene_priority, read_changes, write_changes
from hammingbox.attacks._search.combinations import points_within
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.knapsack import pack_samples
from hammingbox.attacks._search.points import try_points
from hammingbox.attacks._search.search import Search
from hammingbox.attacks._search.visited import Visited, first_in_row
from hammingbox.attacks.cost import Passes
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots


@dataclass(frozen=True, kw_only=True)
class Evolution(Search):
    """Differential evolution (Storn and Price 1997) over individuals of epsilon (feature, slot) pairs.

    The idea is that of the one-pixel attack (Su et al. 2019). Each gene of a child is, at random, its parent's, the
    best individual's, or base + weight (a - b) of three other individuals, wrapped at the ends of its range. A child
    replaces its parent if its loss is larger. A child that was tried before is replaced by a random individual, so no
    query is spent twice. A row leaves as soon as it is broken. Where changes have prices, an individual makes the
    changes of its genes in order, as long as they can be paid.

    Cost: at most 1 + (1 + generations) population forward passes per row, and no more than there are points within the
    budget.

    Attributes:
        population: individuals per row.
        generations: rounds of children.
        weight: F, the factor of the difference.
        keep: share of genes that a child takes from its parent.
        follow: share of genes that a child takes from the best individual.
    """

    randomised: ClassVar[bool] = True
    may_be_zero: ClassVar[tuple[str, ...]] = ("generations", "weight", "keep", "follow")

    population: int = 40
    generations: int = 24
    weight: float = 0.5
    keep: float = 0.3
    follow: float = 0.3

    def search(self, problem: Problem, random: RowRandom, best: Incumbent) -> None:
        """Breeds until a row is broken, or its generations or queries are used up."""
        problem.candidates.prepare()
        visited = Visited(problem.candidates.layout, len(problem))
        genes = random.uniform(self.population, problem.budget, 2)
        fitness = torch.full(genes.shape[:2], -torch.inf, device=genes.device)
        part, streams = problem, random
        for generation in range(1 + self.generations):
            rows = best.open_rows()
            if len(rows) == 0:
                break
            if len(rows) < len(part):  # rows leave and never come back
                part, streams = problem.take(rows), random.select(rows)
            parents, known_loss = genes.index_select(0, rows), fitness.index_select(0, rows)
            if generation == 0:
                children = parents
                points = _decode(part, children)
                new = visited.visit(rows, points)
            else:
                children = self._children(parents, known_loss, streams)
                fresh = streams.uniform(self.population, problem.budget, 2)
                decoded = _decode(part, torch.cat([children, fresh], 1))
                decoded_keys = visited.keys(decoded)
                (points, instead), (keys, other_keys) = decoded.chunk(2, 1), decoded_keys.chunk(2, 1)
                known, other_known = visited.knows(rows, decoded_keys).chunk(2, 1)
                children = torch.where(known[..., None, None], fresh, children)
                points = torch.where(known[..., None], instead, points)
                keys = torch.where(known, other_keys, keys)
                new = first_in_row(keys) & ~(known & other_known)
                visited.add(rows, keys)
            loss = try_points(problem, best, rows, points, new)
            better = loss > known_loss
            genes.index_copy_(0, rows, torch.where(better[..., None, None], children, parents))
            fitness.index_copy_(0, rows, torch.where(better, loss, known_loss))

    def search_passes(self, problem: Problem) -> Passes:
        """Every individual once, and no point twice."""
        points = points_within(problem.candidates.counts, problem.budget) - 1
        return Passes.of(problem, points.clamp(max=(1 + self.generations) * self.population))

    def _children(self, parents: Genes, fitness: Float[Tensor, "batch population"], random: RowRandom) -> Genes:
        size, budget = parents.shape[1:3]
        noise = random.uniform(size, 4, budget)
        # Each gene has its own partners: a set of changes has no order, so gene 1 need not be combined with gene 1.
        base, plus, minus = (
            parents.gather(1, (noise[:, :, i] * size).long()[..., None].expand(-1, -1, -1, 2)) for i in range(3)
        )
        difference = (base + self.weight * (plus - minus)).remainder(1.0)
        # The remainder of a tiny negative number rounds up to 1, which is no gene.
        difference = difference.masked_fill(difference >= 1.0, 0.0)
        top = parents.gather(1, fitness.argmax(1)[:, None, None, None].expand(-1, 1, budget, 2))
        coin = noise[:, :, 3, :, None]
        child = torch.where(coin < self.keep + self.follow, top.expand_as(parents), difference)
        return torch.where(coin < self.keep, parents, child)


def _decode(problem: Problem, genes: Genes) -> ManySlots:
    """The points that genes stand for. Where changes have prices, the first genes are paid first."""
    feature, slot = read_changes(problem, genes)
    points = write_changes(problem, feature, slot)
    if problem.purse is None:
        return points
    return pack_samples(problem.candidates, problem.purse, problem.budget, points, gene_priority(feature, points))
