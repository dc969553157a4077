"""Answers of a victim that are recorded: the same bits, whatever other rows are asked about at the same time."""

import torch

from hammingbox.types import Ids, Logits
from hammingbox.victims.victim import Victim, ask

BLOCK = 64
"""Rows in one call. A library of matrix products chooses its instructions by the shape of its input, and they differ in
the last bits of a logit; within one shape neither the place of a row nor its neighbours matter. Larger calls gain
little, and smaller ones cost more per row: 16 % with 32 rows of the Splice LSTM."""


def ask_alike(victim: Victim, ids: Ids) -> Logits:
    """A victim's answers to rows, in calls of one size: the last call is filled up with copies of the first row.

    A victim without gradients gets all rows in one call: such models (trees, services) are slow by the call, and most
    of them look at each row alone.

    Raises:
        VictimError: it does not return finite logits.
    """
    if not victim.has_gradient or not len(ids):
        return ask(victim, ids)
    missing = -len(ids) % BLOCK
    full = torch.cat([ids, ids[:1].expand(missing, -1)]) if missing else ids
    return torch.cat([ask(victim, part) for part in full.split(BLOCK)])[: len(ids)]
