"""Answers of a victim to a row: the same bits, whatever other rows are asked about at the same time."""

import torch
from torch import Tensor

from hammingbox.types import Ids, Logits
from hammingbox.victims.victim import Victim, ask

BLOCK = 64
"""Rows in one call. A library of matrix products chooses its instructions by the shape of its input, and they differ in
the last bits of a logit; within one shape neither the place of a row nor its neighbours matter. Larger calls gain
little, and smaller ones cost more per row: 16 % with 32 rows of the Splice LSTM."""
LEAST = 8
"""Rows in the smallest call of a search. Calls of one size would cost a search too much, and products of few rows are
the ones with instructions of their own: those of 1 to 3 rows, for every net of the package on one machine. On another
one, convolutions differ at larger sizes, too."""


def enough_rows(rows: Tensor) -> Tensor:
    """Rows for a call of a search: copies of the first are added to fewer than `LEAST`. Nobody is charged for them."""
    return _filled(rows, LEAST) if len(rows) else rows


def ask_alike(victim: Victim, ids: Ids) -> Logits:
    """A victim's answers to rows, in calls of one size: the last call is filled up with copies of the first row.

    A victim without gradients gets all rows in one call: such models (trees, services) are slow by the call, and most
    of them look at each row alone.

    Raises:
        VictimError: it does not return finite logits.
    """
    if not victim.has_gradient or not len(ids):
        return ask(victim, ids)
    full = _filled(ids, len(ids) + -len(ids) % BLOCK)
    return torch.cat([ask(victim, part) for part in full.split(BLOCK)])[: len(ids)]


def _filled(rows: Tensor, size: int) -> Tensor:
    missing = size - len(rows)
    return torch.cat([rows, rows[:1].expand(missing, *rows.shape[1:])]) if missing > 0 else rows
