"""Randomized ablation (Levine and Feizi 2020): a new classifier that votes over rows of which it sees k features."""

import re
from itertools import combinations
from math import comb

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn import functional

from hammingbox.errors import InputError, VictimError
from hammingbox.seeding import torch_generator
from hammingbox.settings import whole_number
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim

_MOST_VOTES = 1_000_000
_ROWS_AT_ONCE = 512

Kept = Bool[Tensor, "votes features"]
"""Which features are seen; the others are ablated."""


class Ablated(Victim):
    """Votes over random subsets of k features; the other features are hidden from the model.

    A hidden feature has the zero vector in place of its category's vector, or the category `mask` (a word such as
    <unknown> for text, and always for a black box). What the model sees of a hidden feature does not depend on its
    category, so a change of r features leaves every vote alone whose subset has none of them: that is what the
    certificate `ablation` counts. The model must have been trained on ablated rows (the defence `ablation`).

    The subsets are the same for every row: all C(n, k) of them, if there are at most `votes`, or else `votes` that are
    drawn once. So answers are a function of the row, and `ablation` certifies these very answers. Drawn subsets show
    every feature equally often (up to one), because the certificate counts the votes that the most frequent features
    reach.

    Args:
        victim: the model that votes.
        k: features that it sees.
        votes: subsets for an answer.
        mask: the category that is written over hidden features; the zero vector without it.
        seed: of the subsets.
        balanced: False draws the subsets independently, as before version 0.4.

    Raises:
        InputError: k or votes are out of range, or a black box without a mask.
    """

    has_gradient = False

    def __init__(
        self,
        victim: Victim,
        k: int,
        *,
        votes: int = 1000,
        mask: int | None = None,
        seed: int = 0,
        balanced: bool = True,
    ) -> None:
        super().__init__()
        if isinstance(victim, Ablated):
            raise InputError("expected a model to ablate, got an Ablated one. Pass the model inside it.")
        if mask is None and not victim.has_gradient:
            raise InputError(
                f"expected a category to write over hidden features of {type(victim).__name__}, got none. Pass mask=..."
            )
        self.victim = victim
        self.k = whole_number("k", k)
        self.votes = whole_number("votes", votes, most=_MOST_VOTES)
        self.mask = None if mask is None else whole_number("mask", mask, least=0)
        self.seed, self.balanced = seed, balanced
        self.name = f"{self.described} {victim.name}".strip()
        setting = [k, votes, -1 if mask is None else mask, seed, *([1] if balanced else [])]
        self.register_buffer("setting", torch.tensor(setting, device="cpu"))
        self._designs: dict[int, Kept] = {}

    @property
    def described(self) -> str:
        """Its settings in words, from which `ablated_as` makes the same classifier again."""
        balanced = ", balanced" if self.balanced else ""
        return f"ablated(k={self.k}, votes={self.votes}, mask={self.mask}, seed={self.seed}{balanced})"

    @property
    def device(self) -> torch.device:
        """That of the model."""
        return self.victim.device

    def subsets(self, features: int) -> Kept | None:
        """All subsets of k features, if there are at most `votes`.

        Raises:
            InputError: rows have fewer than k features.
        """
        if self.k > features:
            raise InputError(f"expected k of at most the {features} features, got {self.k}.")
        if comb(features, self.k) > self.votes:
            return None
        chosen = torch.tensor(list(combinations(range(features), self.k)), device=self.device)
        kept = torch.zeros(len(chosen), features, dtype=torch.bool, device=self.device)
        return kept.scatter_(1, chosen, True)

    def design(self, features: int) -> Kept:
        """The subsets that vote, the same for every row."""
        if features not in self._designs:
            every = self.subsets(features)
            if every is None and self.balanced:
                every = balanced_subsets(features, self.k, self.votes, self.seed)
            elif every is None:
                every = self.random_subsets(features, self.votes, self.seed)
            self._designs[features] = every
        return self._designs[features].to(self.device)

    def random_subsets(self, features: int, count: int, seed: int) -> Kept:
        """Subsets of k features, drawn uniformly and independently."""
        noise = torch.rand(count, features, generator=torch_generator(seed), device="cpu")
        kept = torch.zeros(count, features, dtype=torch.bool, device="cpu")
        return kept.scatter_(1, noise.topk(self.k, dim=1).indices, True).to(self.device)

    def answers_to_ablated(self, ids: Ids, kept: Bool[Tensor, "batch features"]) -> Logits:
        """The model's logits for rows of which it sees the kept features."""
        return ablated_logits(self.victim, ids, kept, self.mask)

    def counts(self, ids: Ids, kept: Kept) -> Int64[Tensor, "batch classes"]:
        """How many subsets vote for each class, row by row."""
        chosen, classes = self.cast(ids, kept)
        return functional.one_hot(chosen, classes).sum(1)

    def cast(self, ids: Ids, kept: Kept) -> tuple[Int64[Tensor, "batch votes"], int]:
        """The class that each subset votes for, row by row, and the number of classes.

        Of equal logits the first class has the vote.
        """
        rows, votes = len(ids), len(kept)
        parts, classes = [], 0
        for place in torch.arange(rows * votes, device=ids.device).split(_ROWS_AT_ONCE):
            logits = self.answers_to_ablated(ids[place // votes], kept[place % votes])
            classes = logits.shape[1]
            parts.append(logits.argmax(1))
        return torch.cat(parts).view(rows, votes), classes

    def forward(self, ids: Ids) -> Logits:
        """Votes for each class."""
        return self.counts(ids, self.design(ids.shape[1])).double()

    def embed(self, ids: Ids) -> Embedded:  # noqa: ARG002
        """Raises VictimError: votes have no gradient."""
        raise VictimError("expected a victim with gradients, got votes over ablations. Use a black-box attack.")

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """Raises VictimError: votes have no gradient."""
        raise VictimError("expected a victim with gradients, got votes over ablations. Use a black-box attack.")


_DESCRIBED = re.compile(
    r"ablated\(k=(\d{1,9}), votes=(\d{1,9}), mask=(None|\d{1,9}), seed=(\d{1,18})(, balanced)?\)( |$)", re.ASCII
)


def ablated_as(text: str, victim: Victim) -> Victim:
    """The `Ablated` classifier of a model that a recorded name describes; the model itself for any other name."""
    match = _DESCRIBED.match(text)
    if match is None:
        return victim
    mask = None if match[3] == "None" else int(match[3])
    return Ablated(
        victim, int(match[1]), votes=int(match[2]), mask=mask, seed=int(match[4]), balanced=match[5] is not None
    )


def balanced_subsets(features: int, k: int, count: int, seed: int) -> Kept:
    """Random subsets of k features in which all features occur equally often, up to one.

    Each subset takes the k features that occurred least so far, at random among equals.
    """
    noise = torch.rand(count, features, generator=torch_generator(seed), device="cpu")
    occurred = torch.zeros(features, device="cpu")
    kept = torch.zeros(count, features, dtype=torch.bool, device="cpu")
    for subset, order in zip(kept, noise, strict=True):
        subset[(occurred + order).topk(k, largest=False).indices] = True
        occurred += subset
    return kept


def ablated_logits(victim: Victim, ids: Ids, kept: Bool[Tensor, "batch features"], mask: int | None = None) -> Logits:
    """A model's logits for rows of which it sees the kept features only.

    Neither the vectors nor the ids that the model gets depend on a hidden feature's category.
    """
    if mask is not None:
        return victim(torch.where(kept, ids, mask))
    shown = torch.where(kept, ids, 0)
    embedded = victim.embed(shown)
    return victim.head(embedded * kept[:, :, None].to(embedded.dtype), shown)


def kept_at_random(
    shape: tuple[int, int], k: int, noise: Float[Tensor, "batch features"]
) -> Bool[Tensor, "batch features"]:
    """One subset of k features for each row, from uniform noise."""
    kept = torch.zeros(shape, dtype=torch.bool, device=noise.device)
    return kept.scatter_(1, noise.topk(min(k, shape[1]), dim=1).indices, True)
