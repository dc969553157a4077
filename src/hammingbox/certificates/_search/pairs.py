"""Pairs of a winning and a losing class: the goal is met if one winning class is above every losing one."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from hammingbox.threat.goal import RowGoals


class Pairs(NamedTuple):
    """All (row, winning class, losing class) of a batch.

    Attributes:
        rows: number of the row.
        wins: a class that counts as success.
        loses: a class that does not.
    """

    rows: Int64[Tensor, "pairs"]
    wins: Int64[Tensor, "pairs"]
    loses: Int64[Tensor, "pairs"]

    @staticmethod
    def of(goals: RowGoals) -> "Pairs":
        """The pairs of a batch, row by row."""
        both = goals.wins[:, :, None] & ~goals.wins[:, None, :]
        return Pairs(*both.nonzero().unbind(1))

    def difference(self, logits: Float[Tensor, "batch ... classes"]) -> Float[Tensor, "pairs ..."]:
        """Winning minus losing value of each pair."""
        own = logits[self.rows]
        pick = (slice(None), *(None,) * (own.dim() - 1))
        shape = (*own.shape[:-1], 1)
        wins = own.gather(-1, self.wins[pick].expand(shape))
        return (wins - own.gather(-1, self.loses[pick].expand(shape))).squeeze(-1)

    def worst(
        self, bounds: Float[Tensor, "pairs budgets"], batch: int
    ) -> tuple[Float[Tensor, "batch budgets"], Int64[Tensor, "batch budgets"]]:
        """Bounds on the margin of each row, from bounds on the difference of each pair.

        A winning class must be above all losing ones, so its bound is the smallest of its pairs; any winning class
        will do, so a row's bound is the largest of its classes. With one losing class the bound is as tight as that of
        the pairs.

        Returns:
            The bounds, and the pair that each comes from.
        """
        classes = int(max(self.wins.max(), self.loses.max())) + 1
        shape = (batch * classes, bounds.shape[1])
        group = (self.rows * classes + self.wins)[:, None].expand_as(bounds)
        least = torch.full(shape, torch.inf, dtype=bounds.dtype, device=bounds.device)
        least = least.scatter_reduce(0, group, bounds, "amin").view(batch, classes, -1)
        worst, winner = least.masked_fill(least == torch.inf, -torch.inf).max(1)
        # The pair behind a bound: of the chosen winning class, the losing class with the smallest difference.
        chosen = winner[self.rows] == self.wins[:, None]
        tight = chosen & (bounds == worst[self.rows])
        number = torch.where(tight, torch.arange(len(self.rows), device=bounds.device)[:, None], len(self.rows))
        index = self.rows[:, None].expand_as(bounds)
        pair = torch.full_like(winner, len(self.rows)).scatter_reduce(0, index, number, "amin")
        return worst, pair.clamp(max=len(self.rows) - 1)
