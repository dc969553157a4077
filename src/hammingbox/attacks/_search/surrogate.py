"""An additive model of the victim, learned from its answers: what guides a search that has no gradient."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.attacks._search.tabu_search import Answers, Gains, Guide
from hammingbox.attacks._search.visited import Visited, first_in_row
from hammingbox.attacks.evolution import read, write
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots, Slots

_POOL = 256
_NOISE = 1e-4


class Additive(Guide):
    """Logits that add up over options: the clean row's + the sum of the worth of a row's changes.

    Logits and not the loss: the loss follows the class that is nearest now, so a change towards any other class cannot
    be seen in it, however much it would give together with a second one.

    Every answer corrects the model: what it missed is shared among the changes of the row asked about (a step of
    Kaczmarz' method). A row with one change therefore teaches that option's worth exactly.
    """

    def __init__(self, problem: Problem, best: Incumbent, visited: Visited, random: RowRandom) -> None:
        self.layout = problem.candidates.layout
        self.best, self.visited = best, visited
        self.clean = best.clean_logits.float()
        # A little noise: options nothing is known of are tried in random order, not in that of their numbers.
        noise = random.uniform(self.layout.options, self.clean.shape[1])
        self.worth = (_NOISE * noise).masked_fill_((self.layout.slot_of == 0)[:, None], 0.0)
        self.turn = torch.zeros_like(problem.rows)

    def gain(self, problem: Problem, rows: Int64[Tensor, "batch"], here: Slots) -> Gains:  # noqa: ARG002
        """What taking each option adds to each logit."""
        worth = self.worth[rows]
        present = worth.gather(1, (self.layout.starts + here)[..., None].expand(-1, -1, worth.shape[2]))
        return worth - present.index_select(1, self.layout.feature_of)

    def promise(
        self,
        problem: Problem,
        rows: Int64[Tensor, "batch"],
        here: Slots,
        gain: Float[Tensor, "batch *moves parts"],
    ) -> Float[Tensor, "batch *moves"]:
        """The loss that the model expects after moves of such gains."""
        known = self._logits(rows, (self.layout.starts + here)[:, None])[:, 0]  # (batch, classes)
        logits = gain + known.view(len(rows), *(1,) * (gain.dim() - 2), -1)
        moves = logits[0, ..., 0].numel()
        owner = torch.arange(len(rows), device=rows.device).repeat_interleave(moves)
        return problem.judge(owner, logits.flatten(0, -2)).loss.view(logits.shape[:-1])

    def _logits(
        self, rows: Int64[Tensor, "batch"], options: Int64[Tensor, "batch sets some"]
    ) -> Float[Tensor, "batch sets classes"]:
        """What the model expects of sets of options."""
        return self.clean[rows][:, None] + self.worth[rows[:, None, None], options].sum(2)

    def starts(
        self, problem: Problem, rows: Int64[Tensor, "batch"], random: RowRandom, count: int
    ) -> tuple[ManySlots, Bool[Tensor, "batch count"]]:
        """The most promising of many random points, without those that were tried before.

        Every other time they keep epsilon - 1, epsilon - 2, ... random ones of the best row's changes and fill the
        budget. The other times half the budget is spent on random changes: room to add more leads out of plateaus,
        which trees have.
        """
        time, odd = self.turn[rows] // 2, self.turn[rows] % 2
        keep = torch.where(odd == 0, problem.budget - 1 - time % max(1, problem.budget - 1), 0)
        self.turn[rows] += 1
        noise = random.uniform(_POOL, problem.budget, 3)
        feature, slot = read(problem, noise[..., :2])  # (batch, pool, budget)
        place = torch.arange(problem.budget, device=rows.device)
        slot = torch.where((keep > 0)[:, None, None] | (2 * place < problem.budget), slot, 0)
        known = self.best.slots[rows]
        changed, where = (known != 0).long().topk(problem.budget)
        kept = (noise[..., 2].argsort(dim=2).argsort(dim=2) < keep[:, None, None]) & (changed != 0)[:, None]
        feature = torch.where(kept, where[:, None], feature)
        slot = torch.where(kept, known.gather(1, where)[:, None], slot)
        options = self.layout.starts[feature] + slot
        owner = torch.arange(len(rows), device=rows.device).repeat_interleave(_POOL)
        expected = problem.judge(owner, self._logits(rows, options).flatten(0, 1)).loss.view(len(rows), _POOL)
        keys = self.visited.key_of[options].sum(2)
        new = ~self.visited.knows(rows, keys) & first_in_row(keys)
        top = expected.masked_fill(~new, -torch.inf).topk(count).indices[..., None].expand(-1, -1, problem.budget)
        points = write(problem, feature.gather(1, top), slot.gather(1, top))
        return points, self.visited.visit(rows, points)

    def learn(self, rows: Int64[Tensor, "batch"], points: ManySlots, logits: Answers) -> None:
        """One step of Kaczmarz' method a point."""
        for options, answer in zip((self.layout.starts + points).unbind(1), logits.unbind(1), strict=True):
            changed = (self.layout.slot_of[options] != 0)[..., None]
            worth = self.worth[rows[:, None], options]  # (batch, features, classes)
            missed = (answer - self.clean[rows])[:, None] - worth.sum(1, keepdim=True)
            step = missed / changed.sum(1, keepdim=True).clamp(min=1)
            asked = changed & answer.isfinite().all(1)[:, None, None]
            self.worth[rows[:, None], options] = torch.where(asked, worth + step, worth)
