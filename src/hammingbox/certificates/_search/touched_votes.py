"""The largest total weight of votes that see one of r features: a maximum coverage problem, exact for one and two."""

import torch
from jaxtyping import Float64
from torch import Tensor


def most_touched(
    subsets: Float64[Tensor, "votes features"], weight: Float64[Tensor, "votes"], budget: int
) -> Float64[Tensor, "budgets"]:
    """The weight of the votes whose subset holds one of the worst 1, 2, ..., `budget` features.

    Three votes of weight 1 that see the features {a, b}, {b, c} and {c, d} have the values 2 (b), 3 (b and c), 3.

    At r = 3 it is an upper bound: a third feature h adds at most its own weight minus what it shares with one of the
    other two. The weight that a set touches is submodular, so that of r > 3 features is at most r / 3 times that of
    the worst three (Han's inequality), and never more than all votes have.

    Args:
        subsets: 1 where a vote sees a feature; columns of features that may not change are left out.
        weight: of each vote.
        budget: the largest number of features.
    """
    every, features = weight.sum(), subsets.shape[1]
    found = torch.zeros(budget, dtype=torch.float64, device=subsets.device)
    if features == 0:
        return found
    shared = subsets.T @ (subsets * weight[:, None])
    single = shared.diagonal()
    found[:] = single.max()
    if budget == 1 or features == 1:
        return found
    pairs = single[:, None] + single - shared
    found[1:] = torch.maximum(found[0], pairs.fill_diagonal_(0.0).max())
    if budget == 2 or features == 2:
        return found
    third = torch.stack(
        [(pairs + (single[h] - torch.maximum(shared[h], shared[h][:, None]))).max() for h in range(features)]
    )
    found[2:] = torch.minimum(every, torch.minimum(torch.maximum(found[1], third.max()), 1.5 * found[1]))
    for r in range(4, budget + 1):
        found[r - 1] = torch.minimum(every, r / 3 * found[2])
    return found
