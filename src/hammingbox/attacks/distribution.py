"""One categorical distribution per feature, which PCAA optimises and draws from."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from hammingbox.attacks._search.knapsack import pack_samples
from hammingbox.seeding import RowRandom
from hammingbox.threat.candidates import Candidates, Purse
from hammingbox.types import ManySlots, OptionFloat, RowFloat, SampleFloat, Slots


@dataclass(frozen=True, eq=False)
class Distribution:
    """The output of Algorithm 1: one unnormalised categorical distribution per feature.

    Attributes:
        candidates: S(x) of the rows.
        log_pi: log of the paper's pi, one number per option.
    """

    candidates: Candidates
    log_pi: OptionFloat

    @property
    def pi(self) -> OptionFloat:
        """The paper's pi, in (0, C]; 0 where an option is not valid."""
        return self.log_pi.exp().masked_fill(~self.candidates.valid, 0.0)

    @property
    def log_probabilities(self) -> OptionFloat:
        """Normalised over the slots of each feature."""
        masked = self.log_pi.masked_fill(~self.candidates.valid, -torch.inf)
        return self.candidates.layout.map(masked, lambda rectangle: rectangle.log_softmax(-1))

    @property
    def cross_entropy(self) -> RowFloat:
        """sum_i CE(x_i, pi_i) = -log P(x' = x), which bounds the expected number of changes from above."""
        return -self.candidates.layout.first(self.log_probabilities).sum(-1)

    @property
    def change_log_odds(self) -> Float[Tensor, "batch features"]:
        """Log-odds that each feature changes; CE(x_i, pi_i) is their softplus."""
        layout, log_p = self.candidates.layout, self.log_probabilities
        change = log_p.masked_fill(layout.slot_of == 0, -torch.inf)
        return layout.reduce(change, lambda rectangle: rectangle.logsumexp(-1)) - layout.first(log_p)

    @property
    def option_log_odds(self) -> OptionFloat:
        """Log-odds of each change against its feature staying clean; minus infinity for an option that is no change."""
        layout, log_p = self.candidates.layout, self.log_probabilities
        return (log_p - layout.spread(layout.first(log_p))).masked_fill(~self.candidates.moves, -torch.inf)

    def soft_samples(
        self, noise: Float[Tensor, "batch samples options"], tau: float
    ) -> Float[Tensor, "batch samples options"]:
        """Relaxed samples of Eq. 4."""
        masked = self.log_pi.masked_fill(~self.candidates.valid, -torch.inf)
        return self.candidates.layout.map((masked[:, None] + noise) / tau, lambda rectangle: rectangle.softmax(-1))

    def log_chance(self, slots: ManySlots) -> SampleFloat:
        """Log P(x') of discrete rows."""
        options = self.candidates.layout.starts + slots
        return self.log_probabilities[:, None].expand(-1, slots.shape[1], -1).gather(2, options).sum(2)

    def mode(self, budget: int, purse: Purse | None = None) -> Slots:
        """The likeliest row with as many changes as the budget allows.

        With prices, all features together may be cheap, so only changes that are likelier than not are made, as far as
        the purse can pay for them, and one at least.
        """
        layout, odds = self.candidates.layout, self.option_log_odds
        if purse is not None:
            largest = layout.reduce(odds, lambda rectangle: rectangle.amax(-1))
            likely = (largest > 0).scatter(1, largest.argmax(1, keepdim=True), True)
            wanted = torch.where(likely, layout.argmax(odds), 0)
            return pack_samples(self.candidates, purse, budget, wanted[:, None], largest[:, None])[:, 0]
        best = layout.reduce(odds, lambda rectangle: rectangle.amax(-1)).topk(min(budget, layout.features))
        chosen = torch.zeros(len(self.candidates), layout.features, dtype=torch.int64, device=self.log_pi.device)
        # The best slot of a feature that cannot change is slot 0.
        return chosen.scatter(1, best.indices, layout.argmax(odds).gather(1, best.indices))

    def weighted_cross_entropy(self, weights: OptionFloat | None) -> RowFloat:
        """sum_i w_i CE(x_i, pi_i), with w_i the mean weight of a change of feature i under pi.

        Without weights, and where all of them are 1, it is `cross_entropy`.
        """
        if weights is None:
            return self.cross_entropy
        return (self.mean_weight(weights) * -self.candidates.layout.first(self.log_probabilities)).sum(1)

    def mean_weight(self, weights: OptionFloat) -> Float[Tensor, "batch features"]:
        """The mean weight of a change of each feature; 0 for a feature that cannot change."""
        layout, moves = self.candidates.layout, self.candidates.moves
        # Finite, so that gradients of features that cannot change are 0 and not undefined.
        change = self.log_pi.masked_fill(~moves, torch.finfo(self.log_pi.dtype).min)
        share = layout.map(change, lambda rectangle: rectangle.softmax(-1)) * moves
        return layout.reduce(share * weights, lambda rectangle: rectangle.sum(-1))

    def draw(
        self,
        random: RowRandom,
        samples: int,
        *,
        budget: int | None = None,
        purse: Purse | None = None,
        spend: bool = False,
    ) -> ManySlots:
        """Discrete rows x' ~ pi.

        Args:
            random: one stream per row.
            samples: draws per row.
            budget: if given, each draw is projected to it: the changes with the largest noisy log-odds are kept.
            purse: what each row may spend. Projection is then a knapsack: changes are kept in the same order, and one
                that cannot be paid any more is skipped.
            spend: a draw with fewer changes than the budget allows gets the next ones in this order; with a purse, only
                a draw without any change gets one.
        """
        score, drawn = self.noisy_changes(random, samples)
        changed = score > 0
        if budget is not None and purse is not None:
            if spend:
                changed = changed.scatter(2, score.argmax(2, keepdim=True), True)
            wanted = torch.where(changed, drawn, 0)
            return pack_samples(self.candidates, purse, budget, wanted, score)
        if budget is not None:
            kept = torch.zeros_like(changed).scatter_(2, score.topk(budget, dim=2).indices, True)
            changed = kept if spend else changed & kept
        return torch.where(changed, drawn, 0)

    def noisy_changes(
        self, random: RowRandom, samples: int
    ) -> tuple[Float[Tensor, "batch samples features"], ManySlots]:
        """For each draw and feature: noisy log-odds of a change, above 0 if it changes, and the slot it changes to.

        Whether a feature changes, and to which slot, are two separate draws. A feature needs two uniform numbers,
        however many categories it has. A feature with P(change) = q changes when logit(q) + logistic noise > 0. The
        slot of a feature that cannot change is 0.
        """
        layout = self.candidates.layout
        change = self.log_probabilities.masked_fill(layout.slot_of == 0, -torch.inf)
        log_odds = self.change_log_odds
        noise = random.uniform(samples, 2, layout.features).clamp_(1e-7, 1 - 1e-7)
        score = log_odds[:, None] + noise[:, :, 0].logit()  # (batch, samples, features)
        slots = [
            torch.searchsorted(rectangle.softmax(-1).cumsum(-1).nan_to_num(0.0), u)
            .clamp(max=block.width - 1)
            .transpose(1, 2)
            for rectangle, block, u in (
                (r, b, noise[:, :, 1].index_select(2, b.features).transpose(1, 2).contiguous())
                for r, b in zip(layout.split(change), layout.blocks, strict=True)
            )
        ]
        drawn = torch.cat(slots, dim=2)
        drawn = drawn if layout.rank is None else drawn.index_select(2, layout.rank)
        options = layout.starts + drawn
        valid = self.candidates.valid[:, None].expand(-1, samples, -1).gather(2, options)
        return score, torch.where(valid, drawn, 0)


def initial_log_pi(candidates: Candidates, changes: float | RowFloat) -> OptionFloat:
    """Log pi under which about this many changes are expected, however many options there are."""
    expected = changes[:, None] if isinstance(changes, Tensor) else changes
    clean = (candidates.layout.slot_of == 0).expand_as(candidates.ids)
    # n (d - 1) exp(-log-odds) changes are expected, as long as that is well below n.
    log_odds = (candidates.moves.sum(1, keepdim=True).clamp(min=1) / expected).log()
    return torch.where(clean, 0.0, -log_odds)
