"""Rows of a data set that the processes of a team compute together."""

from collections.abc import Callable

import torch
from jaxtyping import Shaped
from torch import Tensor

from hammingbox.data.dataset import Dataset
from hammingbox.training.team import Team


def computed_together(
    team: Team, data: Dataset, compute: Callable[[Dataset], Shaped[Tensor, "some ..."]]
) -> Shaped[Tensor, "rows ..."]:
    """One value per row of a data set, on the CPU. Every process computes a share of the rows, and all get all values.

    Args:
        team: who computes.
        data: at least one row.
        compute: the values of some rows.
    """
    if team.size == 1:
        return compute(data).cpu()
    places = torch.arange(team.rank, len(data), team.size, device="cpu")
    with team.in_step():
        told = team.exchange(compute(data.take(places)).cpu() if len(places) else None)
    parts = [part for part in told if part is not None]  # the last processes have none of very few rows
    values = torch.empty(len(data), *parts[0].shape[1:], dtype=parts[0].dtype, device="cpu")
    for rank, part in enumerate(parts):
        values[rank :: team.size] = part
    return values
