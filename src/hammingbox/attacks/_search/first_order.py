"""The first-order gain of every single change, from one gradient."""

from torch import Tensor

from hammingbox.problem import Problem
from hammingbox.types import OptionFloat, Slots


def first_order_gain(problem: Problem, slots: Slots) -> tuple[Tensor, OptionFloat]:
    """Loss at discrete points, and the first-order gain of changing each feature to each of its slots.

    Cost: one forward and one backward pass per row.
    """
    layout = problem.candidates.layout
    loss, gradient = problem.gradient(slots)
    present = gradient.gather(1, layout.starts + slots)
    return loss, gradient - layout.spread(present)
