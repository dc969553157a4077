"""A victim read as a network on one-hot rows: one term per category, added up, then dense layers with ReLUs between.

Every feature's vector depends on its own category only (`Victim.embed`), and a first layer that is linear adds up what
the features contribute. So a change of one feature moves the first layer by a difference of two vectors, whatever the
other features are: `Terms.delta`. Proofs are computed in float64; training on bounds takes the victim's own precision
and keeps gradients.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hammingbox.threat.candidates import Candidates
from hammingbox.types import Ids
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.total import Total

_HARMLESS = (nn.Dropout, nn.Identity)


@dataclass(frozen=True, eq=False)
class Dense:
    """A layer y = weight x + bias."""

    weight: Float[Tensor, "out into"]
    bias: Float[Tensor, "out"]


@dataclass(frozen=True, eq=False)
class OneHotNet:
    """A network on one-hot rows.

    Attributes:
        victim: gives the vectors of categories.
        mix: the weights of the first layer, feature by feature; None if it adds the vectors up as they are.
        bias: of the first layer.
        rest: the layers after it, with a ReLU before each of them.
        trained: keep the victim's precision and its gradients.
    """

    victim: Victim
    mix: Float[Tensor, "features out dim"] | None
    bias: Float[Tensor, "out"]
    rest: tuple[Dense, ...]
    trained: bool = False

    def contributions(self, ids: Ids) -> Float[Tensor, "batch features out"]:
        """What each feature of a row adds to the first layer."""
        vectors = _taken(self.victim.embed(ids.clone()), self.trained)
        return vectors if self.mix is None else torch.einsum("bfd,fod->bfo", vectors, self.mix)


@dataclass(frozen=True, eq=False)
class Terms:
    """The first layer of the clean rows of a batch, and what every option would move it by.

    Attributes:
        clean: first layer of the clean rows, before its ReLU.
        delta: what taking an option adds to it; 0 for slot 0 and for options that are not valid.
        candidates: S(x).
        magnitude: the sum of the absolute values of the terms, for `rounding`.
    """

    clean: Float[Tensor, "batch out"]
    delta: Float[Tensor, "batch options out"]
    candidates: Candidates
    magnitude: Float[Tensor, "batch out"]

    @cached_property
    def grid(self) -> tuple[Tensor, Tensor]:
        """Options as (features, slots), padded with each feature's slot 0, and which of them are valid moves.

        Returns:
            options: (features, slots) indices on the axis of options.
            moves: (batch, features, slots).
        """
        layout = self.candidates.layout
        slots = torch.arange(int(layout.widths.max()), device=layout.widths.device)
        exists = slots < layout.widths[:, None]
        options = layout.starts[:, None] + torch.where(exists, slots, 0)
        return options, self.candidates.moves[:, options] & exists

    @staticmethod
    def of(net: OneHotNet, candidates: Candidates) -> "Terms":
        """The terms of a batch."""
        layout, clean_ids = candidates.layout, candidates.clean
        own = net.contributions(clean_ids)
        if candidates.by_category:
            # All rows share one table of categories; a category outside it is that of a column that may not change.
            widest = int(layout.widths.max())
            numbers = torch.arange(widest, device=clean_ids.device)
            rows = torch.minimum(numbers[:, None], layout.widths - 1)  # row j: category j of every feature
            table = net.contributions(rows)
            known = candidates.ids.clamp(max=widest - 1)
            written = table[known, layout.feature_of]
        else:
            slots = torch.arange(int(layout.widths.max()), device=clean_ids.device)
            grid = layout.starts + torch.minimum(slots[:, None], layout.widths - 1)
            rows = candidates.ids[:, grid.flatten()].reshape(-1, layout.features)
            table = net.contributions(rows).unflatten(0, (len(clean_ids), len(slots)))
            written = table[:, layout.slot_of, layout.feature_of]
        delta = (written - own[:, layout.feature_of]).masked_fill(~candidates.moves[:, :, None], 0.0)
        largest = layout.reduce(delta.abs().transpose(1, 2), lambda rectangle: rectangle.amax(-1))
        magnitude = own.abs().sum(1) + largest.sum(-1) + net.bias.abs()
        return Terms(own.sum(1) + net.bias, delta, candidates, magnitude)


def one_hot_net(victim: Victim, features: int, *, trained: bool = False) -> OneHotNet | None:
    """A victim as a network on one-hot rows; None for any other victim.

    It reads `Victim.layers`: a first `Flatten` and `Linear` (or `Total`), then ReLUs and linear layers in turn.

    Args:
        victim: any.
        features: of its rows.
        trained: keep the victim's precision and its gradients.
    """
    layers = victim.layers()
    if layers is None or not victim.has_gradient:
        return None
    parts = [part for part in layers if not isinstance(part, _HARMLESS)]
    if not parts:
        return None
    if isinstance(parts[0], Total):
        mix, bias, parts = None, _taken(parts[0].bias, trained), parts[1:]
    elif len(parts) > 1 and _flattens(parts[0]) and type(parts[1]) is nn.Linear:
        first = _dense(parts[1], trained)
        if first.weight.shape[1] % features:
            return None
        mix, bias, parts = first.weight.unflatten(1, (features, -1)).transpose(0, 1), first.bias, parts[2:]
    else:
        return None
    if len(parts) % 2 or any(type(part) is not nn.ReLU for part in parts[::2]):
        return None
    dense = parts[1::2]
    if any(type(part) is not nn.Linear for part in dense):
        return None
    return OneHotNet(victim, mix, bias, tuple(_dense(part, trained) for part in dense), trained)


def _flattens(part: nn.Module) -> bool:
    return isinstance(part, nn.Flatten) and part.start_dim == 1 and part.end_dim == -1


def _dense(layer: nn.Module, trained: bool) -> Dense:
    weight = _taken(layer.get_parameter("weight"), trained)
    if layer.bias is None:
        return Dense(weight, torch.zeros(len(weight), dtype=weight.dtype, device=weight.device))
    return Dense(weight, _taken(layer.get_parameter("bias"), trained))


def _taken(values: Tensor, trained: bool) -> Tensor:
    return values if trained else values.detach().double()
