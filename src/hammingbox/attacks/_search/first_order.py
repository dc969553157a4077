"""What one gradient promises for every single change."""

from torch import Tensor

from hammingbox.problem import Problem
from hammingbox.types import OptionFloat, Slots


def first_order_gain(problem: Problem, slots: Slots) -> tuple[Tensor, OptionFloat]:
    """Loss at discrete points, and the gain the gradient promises for changing each feature to each of its slots.

    Cost: one forward and one backward pass a row.
    """
    layout = problem.candidates.layout
    loss, gradient = problem.gradient(slots)
    present = gradient.gather(1, layout.starts + slots)
    return loss, gradient - layout.spread(present)
