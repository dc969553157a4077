"""SA, GA, GSA and GGA (appendix A.1 of the paper): choose epsilon features once, then search their categories."""

from dataclasses import dataclass, fields
from typing import Literal

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from hammingbox.attacks._search.combinations import mixed_radix
from hammingbox.attacks._search.first_order import first_order_gain
from hammingbox.attacks._search.incumbent import Incumbent, best_points
from hammingbox.attacks._search.knapsack import affordable_moves, most_features, tolls_of
from hammingbox.attacks._search.points import try_moves
from hammingbox.attacks.base import Attack
from hammingbox.attacks.cost import Passes, refuse_above
from hammingbox.errors import InputError
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import OptionFloat, RowFloat, Slots


@dataclass(frozen=True, kw_only=True)
class TwoStage(Attack):
    """The four search attacks that the paper compares with: two ways to rank features, two ways to search them.

    Stage 1 gives every feature an impact score, the best gain over its categories, and chooses the epsilon features
    with the highest scores. `guide="loss"` evaluates each change; `guide="gradient"` uses the first-order gain
    g_ij - g_i,clean from one backward pass. (The paper says "the gradient of each feature"; the first-order gain
    over *valid* changes is what that gradient estimates. `rank` chooses the rule of the released code.) Stage 2 tries
    all combinations of categories of the chosen features (`search="brute"`), or fixes one feature after the other, the
    one with the highest score first (`search="greedy"`).

    Forward passes per row, with d_i the valid categories of feature i, and j over the chosen features:

    ====  ===========================  ==============  =====================
    SA    1 + sum (d_i - 1)            + prod d_j      paper: nd + d^eps
    GA    1 + sum (d_i - 1)            + sum (d_j - 1) paper: nd + eps d
    GSA   2 (and 1 backward)           + prod d_j      paper: 1 + d^eps
    GGA   2 (and 1 backward)           + sum (d_j - 1) paper: 1 + eps d
    ====  ===========================  ==============  =====================

    Where changes have prices, stage 1 chooses features in the order of their scores as long as the cheapest change of
    each can be paid, and stage 2 leaves out the points that cannot be paid.

    Attributes:
        guide: how features are ranked.
        search: how the categories of the chosen features are searched.
        max_passes: refuses a brute search that needs more forward passes per row than this in stage 2.
        rank: what the gradient guide ranks features by. "gain": the largest first-order gain of a valid change.
            "gradient": the largest |g_ij| over the valid categories and the row's own, as in the released code. (On
            the authors' own nets only the row's own category has a gradient there, because their relu follows the
            product of one-hot vector and weights. On their Splice net that changes GGA's error by at most 1.3 points:
            319 rows, budgets 1 to 5.)
    """

    guide: Literal["loss", "gradient"]
    search: Literal["brute", "greedy"]
    max_passes: int = 20_000
    rank: Literal["gain", "gradient"] = "gain"

    def __repr__(self) -> str:
        # Runs are recorded under this text. Those from before the setting existed keep their key.
        shown = [field for field in fields(self) if field.name != "rank" or self.rank != "gain"]
        return f"TwoStage({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in shown)})"

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            InputError: a setting of the wrong type or out of range, or a rule for gradients without gradients.
        """
        super().__post_init__()
        if self.guide == "loss" and self.rank != "gain":
            raise InputError(f"expected rank 'gain' with the guide 'loss', got {self.rank!r}. It ranks by gradients.")

    @property
    def needs_gradient(self) -> bool:  # type: ignore[override]
        """True for the gradient guide."""
        return self.guide == "gradient"

    def run(self, problem: Problem, random: RowRandom) -> Slots:  # noqa: ARG002
        """Stage 1, then stage 2."""
        best = Incumbent(problem)
        chosen, able = self._stage_one(problem, best)
        if self.search == "brute":
            self._brute(problem, best, chosen, able)
        else:
            self._greedy(problem, best, chosen, able)
        return best.slots

    def run_passes(self, problem: Problem) -> Passes:
        """Exact if the cost does not depend on which features are chosen, as with equal numbers of categories."""
        counts, most = problem.candidates.counts, self._dearest_search(problem)
        loss = self.guide == "loss"
        stage_one = 1 + problem.candidates.moves.sum(1) if loss else 2
        if problem.purse is not None:
            return Passes.of(problem, stage_one + most, 0 if loss else 1)
        # Stage 1 chooses features that cannot change only where there are not enough others.
        last = torch.iinfo(counts.dtype).max
        cheapest = counts.masked_fill(counts == 1, last).topk(problem.budget, dim=1, largest=False).values
        least = self._search_passes(cheapest.masked_fill(cheapest == last, 1))
        return Passes.of(problem, stage_one + most, 0 if loss else 1, is_exact=bool((most == least).all()))

    def _dearest_search(self, problem: Problem) -> RowFloat:
        """Passes of stage 2 for the dearest choice of features.

        Raises:
            TooExpensiveError: a brute search of them is above the limit.
        """
        counts = problem.candidates.counts.topk(problem.budget, dim=1).values
        if problem.purse is not None:
            place = torch.arange(problem.budget, device=counts.device)
            counts = counts.masked_fill(place >= most_features(problem)[:, None], 1)
        passes = self._search_passes(counts)
        if self.search == "brute":
            refuse_above(self.max_passes, passes.max().item(), "the search of all combinations", "max_passes")
        return passes

    def _search_passes(self, counts: Int64[Tensor, "batch budget"]) -> RowFloat:
        """Passes of stage 2 for chosen features with these numbers of categories."""
        return counts.double().prod(1) if self.search == "brute" else (counts - 1).double().sum(1)

    def _stage_one(
        self, problem: Problem, best: Incumbent
    ) -> tuple[Int64[Tensor, "batch budget"], Bool[Tensor, "batch budget"]]:
        """The epsilon features with the highest impact, highest first, and which of them are searched: all."""
        candidates, layout = problem.candidates, problem.candidates.layout
        self._dearest_search(problem)  # refuses before stage 1 has cost anything
        if self.guide == "loss":
            gain, _ = try_moves(problem, best.slots, candidates.moves)
        else:
            gain = self._gradient_scores(problem, best.slots)
        impact = layout.reduce(gain, lambda rectangle: rectangle.amax(-1))
        chosen = impact.topk(problem.budget, dim=1).indices
        if problem.purse is None:
            return chosen, torch.ones_like(chosen, dtype=torch.bool)
        return chosen, _payable(problem, chosen)

    def _gradient_scores(self, problem: Problem, slots: Slots) -> OptionFloat:
        """What the rule of `rank` takes the maximum of, for every slot of a feature."""
        candidates, layout = problem.candidates, problem.candidates.layout
        if self.rank == "gain":
            return first_order_gain(problem, slots)[1].masked_fill(~candidates.moves, -torch.inf)
        size = problem.gradient(slots)[1].abs()
        counted = candidates.moves | (layout.slot_of == 0)
        # A feature that cannot change is not worth choosing, however large its gradient.
        changeable = layout.spread(candidates.counts > 1)
        return size.masked_fill(~(counted & changeable), -torch.inf)

    @staticmethod
    def _brute(
        problem: Problem, best: Incumbent, chosen: Int64[Tensor, "batch budget"], able: Bool[Tensor, "batch budget"]
    ) -> None:
        counts = problem.candidates.counts.gather(1, chosen).masked_fill(~able, 1)
        chunk = next(problem.micro_batches(1)).stop
        for rows, digits in mixed_radix(counts, chunk):
            features = chosen[rows]
            slot = problem.candidates.nth_valid(rows[:, None].expand_as(features), features, digits)
            slots = torch.zeros(len(rows), best.slots.shape[1], dtype=torch.int64, device=rows.device)
            slots.scatter_(1, features, slot)
            best.offer(rows, slots, *problem.score(rows, slots))

    @staticmethod
    def _greedy(
        problem: Problem, best: Incumbent, chosen: Int64[Tensor, "batch budget"], able: Bool[Tensor, "batch budget"]
    ) -> None:
        layout = problem.candidates.layout
        current = best.slots.clone()
        for feature, searched in zip(chosen.unbind(1), able.unbind(1), strict=True):
            moves = problem.candidates.moves & (layout.feature_of == feature[:, None]) & searched[:, None]
            if problem.purse is not None:
                moves &= affordable_moves(problem, current)
            loss, fooled = try_moves(problem, current, moves)
            rows, options = moves.nonzero().unbind(1)
            if len(rows) == 0:
                continue
            points, who = best_points(rows, loss[rows, options], len(problem))
            taken = options[points]
            slots = current[who].scatter(1, feature[who, None], layout.slot_of[taken][:, None])
            # A feature keeps its clean category if every change of it lowers the loss.
            best.offer(who, slots, loss[who, taken], fooled[who, taken])
            current = best.slots.clone()


def _payable(problem: Problem, chosen: Int64[Tensor, "batch budget"]) -> Bool[Tensor, "batch budget"]:
    """Which of the ranked features can be changed together, if each takes its cheapest change."""
    if problem.purse is None:
        return torch.ones_like(chosen, dtype=torch.bool)
    layout, tolls = problem.candidates.layout, tolls_of(problem.candidates)
    never = torch.iinfo(torch.int64).max // 4
    dear = [kind.masked_fill(~problem.candidates.moves, never) for kind in tolls.unbind(2)]
    cheapest = torch.stack([layout.reduce(kind, lambda rectangle: rectangle.amin(-1)) for kind in dear], 2)
    left, able = problem.purse, []
    for feature in chosen.unbind(1):
        price = cheapest.gather(1, feature[:, None, None].expand(-1, 1, 2))[:, 0]
        able.append((price <= left).all(1))
        left = left - price * able[-1][:, None]
    return torch.stack(able, 1)
