"""A walk from row to row by the most promising moves: what swap search and local search have in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from hammingbox.attacks._search.incumbent import Incumbent, Search
from hammingbox.attacks._search.points import ask_points
from hammingbox.attacks._search.visited import Visited
from hammingbox.attacks.random import random_slots
from hammingbox.problem import Problem
from hammingbox.seeding import RowRandom
from hammingbox.types import ManySlots, RowFloat, Slots

_BARREN = 20
"""New starts that find nothing new before a row is given up: its space is used up."""

Answers = Float[Tensor, "batch points classes"]

Gains = Float[Tensor, "batch options parts"]
"""What options add, in parts that are summed over the options of a move before they are turned into one number."""


class Guide(ABC):
    """Promises gains and may learn from what came of them."""

    @abstractmethod
    def gain(self, problem: Problem, rows: Int64[Tensor, "batch"], here: Slots) -> Gains:
        """What taking each option adds where each row stands.

        Args:
            problem: of these rows alone.
            rows: their numbers in the whole batch.
            here: where they stand.
        """

    def promise(
        self,
        problem: Problem,  # noqa: ARG002
        rows: Int64[Tensor, "batch"],  # noqa: ARG002
        here: Slots,  # noqa: ARG002
        gain: Float[Tensor, "batch *moves parts"],
    ) -> Float[Tensor, "batch *moves"]:
        """The worth of moves of such gains: here their only part."""
        return gain[..., 0]

    def starts(
        self,
        problem: Problem,
        rows: Int64[Tensor, "batch"],  # noqa: ARG002
        random: RowRandom,
        count: int,
    ) -> tuple[ManySlots, Bool[Tensor, "batch count"]]:
        """Points to start again from, and which of them to try: random ones with half the budget spent."""
        points = random_slots(problem.within((problem.budget + 1) // 2), random, count)
        return points, torch.ones_like(points[..., 0], dtype=torch.bool)

    def learn(self, rows: Int64[Tensor, "batch"], points: ManySlots, logits: Answers) -> None:  # noqa: B027
        """Hears the victim's logits of points; not a number for a point that was not tried."""


@dataclass(frozen=True, kw_only=True)
class Walk(Search):
    """Tries the moves a guide ranks best and goes to the best row tried, also downhill.

    Below the budget a move adds a change, re-chooses a changed feature or gives it back; at the budget it may also give
    one feature back for another. No row is tried twice, so the walk cannot circle (tabu search, Glover 1989). A row
    that has not improved for `patience` steps starts again from the best of a few rows the guide proposes. Rows that
    fall leave.

    Attributes:
        steps: moves a row makes at most.
        tries: moves tried for real at each step.
        patience: steps without a better row before a new start.
        starts: rows tried at a new start.
        fresh: begin with a new start, not with the best row known, where an earlier search has been.
    """

    may_be_zero: ClassVar[tuple[str, ...]] = ("steps",)

    steps: int = 12
    tries: int = 16
    patience: int = 6
    starts: int = 8
    fresh: bool = False

    def walk(self, problem: Problem, random: RowRandom, guide: Guide, best: Incumbent, visited: Visited) -> None:
        """Walks until every row has fallen, or its steps or queries are over."""
        here, climbed = best.slots.clone(), best.loss.clone()  # where each row stands; its best loss since its start
        waited = torch.full_like(problem.rows, self.patience if self.fresh else 0)
        barren = torch.zeros_like(waited)  # steps since anything new was in reach
        for _ in range(self.steps):
            rows = best.standing()
            rows = rows[barren[rows] < _BARREN]
            stuck = rows[waited[rows] >= self.patience]
            if len(stuck):
                self._start(problem, random, guide, best, stuck, here, climbed)
                waited[stuck] = 0
                rows = rows[torch.isin(rows, best.standing())]
            if len(rows) == 0:
                break
            part = problem.take(rows)
            points, keys = best_moves(part, guide, here[rows], visited, rows, self.tries)
            loss, logits = ask_points(part, best, rows, points, keys != 0)
            guide.learn(rows, points, logits)
            there, value = best_of(points, loss)
            moved = value > -torch.inf
            here[rows] = torch.where(moved[:, None], there, here[rows])
            barren[rows] = torch.where(moved, 0, barren[rows] + 1)
            # A row with nothing new in reach is stuck at once.
            waited[rows] = torch.where(value > climbed[rows], 0, torch.where(moved, waited[rows] + 1, self.patience))
            climbed[rows] = torch.maximum(climbed[rows], value)

    def _start(
        self,
        problem: Problem,
        random: RowRandom,
        guide: Guide,
        best: Incumbent,
        rows: Int64[Tensor, "some"],
        here: Slots,
        climbed: RowFloat,
    ) -> None:
        """Puts rows on the best of some new points, or lets them go on where none is new."""
        part = problem.take(rows)
        points, wanted = guide.starts(part, rows, random.select(rows), self.starts)
        loss, logits = ask_points(part, best, rows, points, wanted)
        guide.learn(rows, points, logits)
        there, value = best_of(points, loss)
        here[rows] = torch.where((value > -torch.inf)[:, None], there, here[rows])
        climbed[rows] = value


def best_of(
    points: Int64[Tensor, "some points features"], loss: Float[Tensor, "some points"]
) -> tuple[Int64[Tensor, "some features"], Float[Tensor, "some"]]:
    """The best point of every row, and its loss."""
    value, chosen = loss.max(1)
    return points.gather(1, chosen[:, None, None].expand(-1, 1, points.shape[2]))[:, 0], value


def best_moves(
    problem: Problem,
    guide: Guide,
    here: Slots,
    visited: Visited,
    rows: Int64[Tensor, "batch"],
    tries: int,
) -> tuple[ManySlots, Int64[Tensor, "batch tries"]]:
    """The most promising moves from `here` that no row has tried before.

    A move takes one option, and at the full budget may give one changed feature back for it; the gain of such an
    exchange is taken to be the sum of its two parts.

    Args:
        problem: says what is valid and how many changes are.
        guide: says what is promising.
        here: where each row stands.
        visited: what has been tried; the moves returned are added to it.
        rows: numbers of these rows in `visited`.
        tries: moves a row, fewer where fewer are left.

    Returns:
        The points moved to, and their keys; key 0 where a row has no move left.
    """
    layout = problem.candidates.layout
    changed = here != 0
    full = (changed.sum(1) >= problem.budget)[:, None]
    present = layout.starts + here  # the option each feature holds
    gain = guide.gain(problem, rows, here)
    able = problem.candidates.valid.scatter(1, present, False)
    alone = guide.promise(problem, rows, here, gain).masked_fill(~able, -torch.inf)
    # Exchanges are formed from the best options only: all options times the budget need not fit the memory.
    alone, option = alone.topk(min(layout.options, max(256, 4 * tries)))
    feature = layout.feature_of[option]
    touched = changed.gather(1, feature)
    # Giving a feature back; the budget's worth of changed features is all there can be.
    real, back = changed.long().topk(problem.budget)
    of_option, of_back = (_take(gain, options) for options in (option, layout.starts[back]))
    exchange = guide.promise(problem, rows, here, of_option[:, :, None] + of_back[:, None])  # (batch, option, budget)
    refused = (~full | touched | (alone == -torch.inf))[..., None] | (real == 0)[:, None]
    alone = alone.masked_fill(full & ~touched, -torch.inf)
    value = torch.cat([alone[..., None], exchange.masked_fill(refused, -torch.inf)], 2)  # (batch, option, 1 + budget)

    key_of, held = visited.key_of, visited.key_of[present]
    key = held.sum(1, keepdim=True) - held.gather(1, feature) + key_of[option]
    keys = torch.cat([key[..., None], key[..., None] - held.gather(1, back)[:, None]], 2).flatten(1)
    value = value.flatten(1).masked_fill(visited.knows(rows, keys), -torch.inf)
    value, chosen = value.topk(min(tries, value.shape[1]))
    keys = keys.gather(1, chosen).masked_fill(value == -torch.inf, 0)
    visited.add(rows, keys)

    taken, column = chosen // (1 + problem.budget), chosen % (1 + problem.budget)
    option = option.gather(1, taken)
    points = here[:, None].repeat(1, chosen.shape[1], 1)
    # Column 0 gives nothing back: it writes slot 0 where its own option is written next.
    given = torch.where(column > 0, back.gather(1, (column - 1).clamp(min=0)), layout.feature_of[option])
    points.scatter_(2, given[..., None], 0)
    points.scatter_(2, layout.feature_of[option][..., None], layout.slot_of[option][..., None])
    return points, keys


def _take(gain: Gains, options: Int64[Tensor, "batch some"]) -> Float[Tensor, "batch some parts"]:
    """The gains of some options of every row."""
    return gain.gather(1, options[..., None].expand(-1, -1, gain.shape[2]))
