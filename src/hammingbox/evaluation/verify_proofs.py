"""Proofs, proven again: the certificate that a run names is applied once more to the rows it claims as proven."""

import torch

from hammingbox.certificates.base import Certificate
from hammingbox.errors import HammingboxError
from hammingbox.threat.goal import RowGoals
from hammingbox.threat.space import Space
from hammingbox.types import Ids, RowMask
from hammingbox.victims.victim import Victim

_ROWS_AT_ONCE = 256


def proven_again(
    certificate: Certificate, victim: Victim, space: Space, clean: Ids, goals: RowGoals, budget: int, *, seed: int = 0
) -> RowMask:
    """Which rows a certificate proves at a budget.

    Raises:
        HammingboxError: the certificate does not apply to this victim.
    """
    method = certificate.chosen_for(victim, space)
    found = torch.zeros(len(clean), dtype=torch.bool, device="cpu")
    for rows in torch.arange(len(clean), device="cpu").split(_ROWS_AT_ONCE):
        x = clean[rows].to(victim.device)
        wins = RowGoals(goals.wins[rows].to(victim.device))
        found[rows] = method.certify(victim, space.slots_of(x), wins, budget, seed=seed).proven.cpu()
    return found


def refuted(
    certificate: Certificate,
    victim: Victim,
    space: Space,
    clean: Ids,
    goals: RowGoals,
    budget: int,
    *,
    seed: int = 0,
) -> tuple[RowMask, str]:
    """Rows whose proof does not hold any more, and what kept the certificate from running, if something did."""
    try:
        return ~proven_again(certificate, victim, space, clean, goals, budget, seed=seed), ""
    except HammingboxError as error:
        return torch.ones(len(clean), dtype=torch.bool, device="cpu"), str(error)
