"""Convolution nets: two changes that are near each other, computed on the few positions that they touch.

Before its ReLU, the first convolution moves by the sum of what both changes do to it, and only at positions i - h to
j + h, where h is half a kernel. The second convolution moves at i - 2 h to j + 2 h, and the dense layer by the weights
of these positions. With 60 positions, kernels of 7 and changes 1 to 12 apart, that is a quarter of a pass.

All pairs with the same first position are computed together, because they share their part of the dense weights.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn import functional

from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.certificates._search.far_pairs import Singles, ask_where_in_doubt
from hammingbox.certificates._search.option_grid import OptionGrid
from hammingbox.problem import Problem
from hammingbox.types import PointSlots
from hammingbox.victims.zoo.cnn import ConvNet

_ROWS_AT_ONCE = 16
"""Rows whose pairs of one position are computed together: their windows then fit into the CPU's caches."""

_DISTANCES_AT_ONCE = 4
"""Pairs 1 to 4 apart share one length of window, pairs 5 to 8 the next one: few calls, and little padding."""


def try_near_pairs(victim: ConvNet, problem: Problem, best: Incumbent, singles: Singles) -> None:
    """Tries every pair of changes of features that are near each other.

    Cost: counted as one pass per pair, although it takes a quarter of it, and one where the victim is asked itself.
    """
    # Rows with the same number of options, because every feature is padded to the largest one.
    widest = problem.candidates.counts.amax(1)
    for options in widest.unique().tolist():
        waiting = ((widest == options) & ~best.fooled & ~best.settled).nonzero()[:, 0]
        for rows in waiting.split(_ROWS_AT_ONCE):
            local = _Local.of(victim, problem.take(rows))
            # Positions that matter come first, so that rows that break leave early.
            for first in singles.impact[rows].nan_to_num(neginf=-1e6).mean(0).argsort(descending=True).tolist():
                _from_position(first, local, rows, problem, best, singles)


def _from_position(
    first: int, local: "_Local", rows: Int64[Tensor, "some"], problem: Problem, best: Incumbent, singles: Singles
) -> None:
    """All pairs whose first change is at one position, of the rows that are not broken yet."""
    last = min(local.victim.reach * 2, problem.candidates.layout.features - 1 - first)
    for begin in range(1, last + 1, _DISTANCES_AT_ONCE):
        open_ = (~best.fooled[rows]).nonzero()[:, 0]
        if not len(open_):
            return
        seconds = range(first + begin, first + min(begin + _DISTANCES_AT_ONCE - 1, last) + 1)
        found = local.pairs(first, seconds, open_, singles.hidden[rows[open_]])
        who, one, second, two = found.valid.nonzero().unbind(1)
        if not len(who):  # a feature that may not change
            continue
        owner = rows[open_[who]]
        problem.meter.charge(problem.rows[owner])

        def slots(
            part: Int64[Tensor, "some"],
            who: Tensor = open_[who],
            one: Tensor = one + 1,
            second: Tensor = second + seconds.start,
            two: Tensor = two + 1,
        ) -> PointSlots:
            written = torch.zeros(len(part), problem.candidates.layout.features, dtype=torch.int64, device=part.device)
            written[:, first] = local.grid.slots[who[part], first, one[part]]
            at = second[part, None]
            return written.scatter_(1, at, local.grid.slots[who[part], at[:, 0], two[part]][:, None])

        ask_where_in_doubt(problem, best, singles, owner, found.logits[found.valid], slots)


@dataclass(frozen=True, eq=False)
class _Found:
    """Logits of all pairs of changes: of the first feature, of a second feature, and of that one's options."""

    logits: Float[Tensor, "batch moves seconds moves classes"]
    valid: Bool[Tensor, "batch moves seconds moves"]


@dataclass(frozen=True, eq=False)
class _Local:
    """Convolutions of clean rows, and what every option does to the first one.

    Attributes:
        victim: whose convolutions they are.
        half: half a kernel.
        first: output of the first convolution before its ReLU. Index i is position i - half; 0 outside of the row.
        second: output of the second one. Index i is position i - 2 half.
        dense: weights of the dense layer, likewise; 0 outside of the row, so that what is there does not count.
        moves: what each change adds to `first` at the positions i - half to i + half.
        grid: the options, the clean one first.
    """

    victim: ConvNet
    half: int
    first: Float[Tensor, "batch channels first_positions"]
    second: Float[Tensor, "batch channels second_positions"]
    dense: Float[Tensor, "hidden channels second_positions"]
    moves: Float[Tensor, "batch features moves channels kernel"]
    grid: OptionGrid

    @staticmethod
    def of(victim: ConvNet, problem: Problem) -> "_Local":
        """Of all rows of a problem."""
        grid, clean = OptionGrid.of(problem.candidates), problem.candidates.clean
        batch, features, places = grid.ids.shape
        first, second, dense = victim.convolutions[0], victim.convolutions[2], victim.output[2]
        assert isinstance(first, nn.Conv1d)
        assert isinstance(dense, nn.Linear)
        half = first.kernel_size[0] // 2
        own = victim.embed(clean)
        one = first(own.transpose(1, 2))
        two = second(functional.relu(one))
        written = victim.embed(grid.ids[:, :, 1:].transpose(1, 2).reshape(-1, features))
        steps = written.unflatten(0, (batch, places - 1)) - own[:, None]  # (batch, moves, features, dim)
        # A change at i meets the last weight of the kernel at position i - half.
        moves = torch.einsum("bmfd,cdk->bfmck", steps, first.weight.flip(2))
        offset = torch.arange(-half, half + 1, device=clean.device)
        position = torch.arange(features, device=clean.device)[:, None] + offset
        moves = moves * ((position >= 0) & (position < features))[:, None, None, :]
        # The longest windows begin at the last position.
        weights = functional.pad(dense.weight.unflatten(1, (-1, features)), (2 * half, 6 * half))
        return _Local(
            victim,
            half,
            functional.pad(one, (half, 5 * half)),
            functional.pad(two, (2 * half, 6 * half)),
            weights,
            moves,
            grid,
        )

    def pairs(
        self, first: int, seconds: range, rows: Int64[Tensor, "some"], hidden: Float[Tensor, "some hidden"]
    ) -> _Found:
        """Logits of all pairs of changes of one feature and of some later ones.

        Args:
            first: the feature.
            seconds: the later ones, one after the other.
            rows: of these rows.
            hidden: their clean dense layers.
        """
        kernel = 2 * self.half + 1
        length = seconds[-1] - first + kernel
        clean = self.first[rows, :, first : first + length]
        moves = self.moves.shape[2]
        # (rows, moves of the first, seconds, moves of the second, channels, positions)
        one = clean[:, None].repeat(1, moves, 1, 1)
        one[..., :kernel] += self.moves[rows, first]
        changed = one[:, :, None, None].repeat(1, 1, len(seconds), moves, 1, 1)
        for number, second in enumerate(seconds):
            changed[:, :, number, :, :, second - first : second - first + kernel] += self.moves[rows, second][:, None]
        delta = functional.relu_(changed).sub_(functional.relu(clean)[:, None, None, None])
        shape = delta.shape[:4]
        kernels = self.victim.convolutions[2].get_parameter("weight")
        moved = functional.conv1d(delta.flatten(0, 3), kernels, padding=2 * self.half)
        before = self.second[rows, :, first : first + moved.shape[2]]
        after = functional.relu_(moved.view(len(rows), -1, *moved.shape[1:]).add_(before[:, None]))
        after.sub_(functional.relu(before)[:, None])
        weights = self.dense[:, :, first : first + moved.shape[2]].flatten(1)
        changed_hidden = (after.flatten(2) @ weights.T).add_(hidden[:, None])
        logits = self.victim.dense_output(changed_hidden.flatten(0, 1))
        valid = self.grid.valid[:, :, 1:]
        both = valid[rows, first][:, :, None, None] & valid[rows][:, None, seconds.start : seconds.stop]
        return _Found(logits.view(*shape, -1), both)
