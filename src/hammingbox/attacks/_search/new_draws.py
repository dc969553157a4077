"""Draws from pi that no earlier draw has tried."""

import torch
from jaxtyping import Int64
from torch import Tensor

from hammingbox.attacks._search.knapsack import pack_samples
from hammingbox.attacks._search.visited import Visited, first_in_row
from hammingbox.attacks.distribution import Distribution
from hammingbox.seeding import RowRandom
from hammingbox.threat.candidates import Purse
from hammingbox.types import ManySlots, Slots

_SPARE = 6
"""Rows drawn for each one that is kept. A draw costs little beside a pass of the victim."""


def new_draws(
    pi: Distribution,
    random: RowRandom,
    count: int,
    budget: int,
    visited: Visited,
    rows: Int64[Tensor, "batch"],
    *,
    here: Slots | None = None,
    purse: Purse | None = None,
) -> ManySlots:
    """The mode of pi, then the likeliest of many draws that have not been tried.

    Always `count` rows: where too few are new, tried ones fill up, so that the cost is known beforehand.

    Args:
        pi: to draw from.
        random: one stream per row.
        count: draws per row.
        budget: number of changes. A draw spends it.
        visited: the points tried before; those returned are added.
        rows: numbers of these rows in `visited`.
        purse: what each row may spend, where changes have prices.
        here: if given, each draw differs from this row of the batch by one change, see `exchanges`.
    """
    many = _SPARE * count
    if here is None:
        drawn = pi.draw(random, many, budget=budget, purse=purse, spend=True)
    elif purse is None:
        drawn = exchanges(pi, random, many, budget, here)
    else:
        drawn = paid_exchanges(pi, random, many, budget, here, purse)
    drawn = torch.cat([pi.mode(budget, purse)[:, None], drawn], 1)
    keys = visited.keys(drawn)
    rank = pi.log_chance(drawn)
    rank[:, 0] = torch.inf
    rank.masked_fill_(visited.knows(rows, keys) | ~first_in_row(keys), -torch.inf)
    chosen = rank.argsort(dim=1, descending=True, stable=True)[:, :count]
    visited.add(rows, keys.gather(1, chosen))
    return drawn.gather(1, chosen[:, :, None].expand(-1, -1, drawn.shape[2]))


def exchanges(pi: Distribution, random: RowRandom, samples: int, budget: int, here: Slots) -> ManySlots:
    """Draws from pi, cut down to one change from the current row: its likeliest news, and what remains of the row.

    A draw gives every feature noisy log-odds and a slot. The feature with the largest log-odds that is not already so
    in the current row is taken, and the current row keeps its other changes; if that exceeds the budget, it gives back
    the one with the smallest log-odds.

    Example: at budget 2 the row has changed features 0 and 3. A draw in which feature 5 comes first, then 0, then 3,
    gives the row with features 5 and 0 changed.
    """
    score, drawn = pi.noisy_changes(random, samples)
    present = here[:, None].expand_as(drawn)
    taken = score.masked_fill(drawn == present, -torch.inf).argmax(2, keepdim=True)
    points = torch.zeros_like(drawn)
    if budget > 1:
        kept = score.masked_fill(present == 0, -torch.inf).scatter(2, taken, -torch.inf).topk(budget - 1, dim=2)
        points.scatter_(2, kept.indices, present.gather(2, kept.indices))
    return points.scatter(2, taken, drawn.gather(2, taken))


def paid_exchanges(
    pi: Distribution, random: RowRandom, samples: int, budget: int, here: Slots, purse: Purse
) -> ManySlots:
    """`exchanges` where changes have prices: the news is paid first, then what remains of the row, then other news.

    A dear change makes the row give several cheap ones back. Where all changes together are cheap, nothing would ever
    have to be given back: the row therefore keeps only the changes that the draw makes too, and gets the other changes
    that the draw makes.
    """
    score, drawn = pi.noisy_changes(random, samples)
    present = here[:, None].expand_as(drawn)
    taken = score.masked_fill(drawn == present, -torch.inf).argmax(2, keepdim=True)
    wanted = torch.where(score > 0, torch.where(present != 0, present, drawn), 0)
    wanted = wanted.scatter(2, taken, drawn.gather(2, taken))
    # Scores are log-odds with noise: far below 1e4.
    priority = (score + 1e4 * (present != 0)).scatter(2, taken, torch.inf)
    return pack_samples(pi.candidates, purse, budget, wanted, priority)
