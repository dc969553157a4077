"""Linear bounds (CROWN, Zhang et al. 2018) on a network of one-hot rows, under a budget of changed features.

A ReLU whose input lies between l < 0 < u is at most the line u (z - l) / (u - l) and at least the line a z for any
a in [0, 1]. Replacing every ReLU by the line on the safe side turns a difference of logits into a function that is
linear in the one-hot row, whose largest value within a budget is the sum of the r largest gains of single features.

A hidden unit relu(z) with weight 2, z = -1 on the clean row and two features that can add 1 and 3: at r = 1, z lies
between -1 and 2; the line is 2/3 (z + 1), so the bound is 2 * 2/3 * 3 = 4, which z = 2 attains.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from hammingbox.certificates._search.one_hot_net import OneHotNet, Terms
from hammingbox.threat.layout import Layout


class Interval(NamedTuple):
    """Bounds on the inputs of a layer's ReLUs."""

    low: Float[Tensor, "batch out"]
    high: Float[Tensor, "batch out"]


class Lines(NamedTuple):
    """The sum of weights times ReLUs is at most slope x input + offset."""

    slope: Float[Tensor, "batch bounds out"]
    offset: Float[Tensor, "batch bounds"]


def first_interval(terms: Terms, budget: int) -> Interval:
    """The first layer's inputs within the budget: for every unit, the `budget` largest changes either way."""
    layout, delta = terms.candidates.layout, terms.delta.transpose(1, 2)
    return Interval(terms.clean - top_gains(layout, -delta, budget), terms.clean + top_gains(layout, delta, budget))


def top_gains(layout: Layout, gains: Float[Tensor, "... options"], budget: int) -> Float[Tensor, "..."]:
    """The most that `budget` changes can add, where slot 0 of every feature adds 0."""
    by_feature = layout.reduce(gains, lambda rectangle: rectangle.amax(-1))
    return by_feature.topk(budget, dim=-1).values.sum(-1)


def relu_lines(weight: Float[Tensor, "batch bounds out"], interval: Interval) -> Lines:
    """Lines above a weighted sum of ReLUs: the upper line where the weight is positive, a lower one elsewhere."""
    low, high = interval.low[:, None], interval.high[:, None]
    crossing = (low < 0) & (high > 0)
    chord = torch.where(crossing, high / (high - low).clamp(min=1e-30), (low >= 0).to(low.dtype))
    below = torch.where(crossing, (high > -low).to(low.dtype), chord)
    slope = torch.where(weight > 0, weight * chord, weight * below)
    offset = (torch.where((weight > 0) & crossing, -weight * chord * low, 0.0)).sum(-1)
    return Lines(slope, offset)


def upper_line(
    net: OneHotNet,
    intervals: list[Interval],
    weight: Float[Tensor, "batch bounds out"],
    offset: Float[Tensor, "batch bounds"],
) -> Lines:
    """A function of the first layer that is above weight x relu(layer) + offset, for the layer after `intervals`."""
    for number in range(len(intervals) - 1, -1, -1):
        lines = relu_lines(weight, intervals[number])
        weight, offset = lines.slope, offset + lines.offset
        if number:
            layer = net.rest[number - 1]
            weight, offset = weight @ layer.weight, offset + weight @ layer.bias
    return Lines(weight, offset)


def largest(terms: Terms, lines: Lines, budget: int) -> Float[Tensor, "batch bounds"]:
    """The largest value of functions of the first layer within the budget."""
    gains = torch.einsum("bph,boh->bpo", lines.slope, terms.delta)
    at_clean = (lines.slope * terms.clean[:, None]).sum(-1) + lines.offset
    return at_clean + top_gains(terms.candidates.layout, gains, budget)


def intervals_of(net: OneHotNet, terms: Terms, budget: int) -> list[Interval]:
    """Bounds on the inputs of all ReLUs, layer by layer; each uses those before it."""
    intervals = [first_interval(terms, budget)]
    for layer in net.rest[:-1]:
        weight = layer.weight.expand(len(terms.clean), -1, -1)
        bias = layer.bias.expand(len(terms.clean), -1)
        high = largest(terms, upper_line(net, intervals, weight, bias), budget)
        low = -largest(terms, upper_line(net, intervals, -weight, -bias), budget)
        intervals.append(Interval(low, high))
    return intervals


def logit_bounds(
    net: OneHotNet,
    terms: Terms,
    weight: Float[Tensor, "batch bounds out"],
    offset: Float[Tensor, "batch bounds"],
    budget: int,
) -> Float[Tensor, "batch bounds"]:
    """Upper bounds on weight x (last hidden layer) + offset within the budget."""
    lines = upper_line(net, intervals_of(net, terms, budget), weight, offset)
    return largest(terms, lines, budget)
