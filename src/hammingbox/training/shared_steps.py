"""Training steps that several processes share: each attacks and learns from its rows, and gradients are averaged.

The batches are those of one process. A step's rows are dealt out in turn, every row keeps its own noise, and what a
defence decides about a batch as a whole (which rows stay clean, the penalty) it decides from all rows. So a step trains
on the same adversarial rows for any number of processes. Dropout is drawn by each process for its own rows.
"""

from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from hammingbox.defences.base import Batch, Defence, Share
from hammingbox.seeding import process_seed, set_generators
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.step import finite_step
from hammingbox.training.team import Team
from hammingbox.victims.victim import Victim


@dataclass(frozen=True, eq=False)
class SharedStep:
    """What a step gives.

    Attributes:
        loss: whose gradient this process has to take, together with all others.
        value: the loss of all rows.
        notes: the defence's own numbers, for all rows.
    """

    loss: Float[Tensor, ""]
    value: float
    notes: dict[str, float]


class SharedSteps:
    """Computes the steps of a training: whole ones in a team of one, a share of each in a larger one.

    Args:
        team: who computes.
        victim: in train mode; the same weights in every process.
        defence: whose loss is minimised.
    """

    def __init__(self, team: Team, victim: Victim, defence: Defence) -> None:
        self._team, self._victim, self._defence = team, victim, defence
        self._parallel: DistributedDataParallel | None = None

    def __call__(self, whole: Batch, threat: ThreatModel) -> SharedStep:
        """The loss of a batch.

        Raises:
            VictimError: the loss or the victim's logits are not finite, in whichever process.
            WorkerError: a process is gone.
        """
        if self._team.size == 1:
            step = finite_step(self._defence, self._victim, whole, threat)
            return SharedStep(step.loss, step.loss.item(), step.notes)
        device, team = self._victim.device, self._team
        self._parallel = parallel = self._parallel or _parallel(_Loss(self._victim, self._defence))
        with team.in_step():
            rows, share = _dealt(whole, team)
            # Each process draws its own dropout. Seeded anew for every step, it needs no state of its own on disk.
            set_generators(device, process_seed(whole.seed, team.rank), {})
            own = parallel(share, threat)
            notes = parallel.module.notes
            told = team.exchange((rows, own.item(), notes))
        # DistributedDataParallel averages over processes, but rows are to weigh alike.
        loss = own * (team.size * rows / len(whole))
        value = sum(rows * loss for rows, loss, _ in told) / len(whole)
        return SharedStep(loss, value, _mean_notes([(rows, notes) for rows, _, notes in told]))


class _Loss(nn.Module):
    """A defence's loss as the output of a module, as DistributedDataParallel needs it."""

    def __init__(self, victim: Victim, defence: Defence) -> None:
        super().__init__()
        self.victim, self.defence = victim, defence
        # Torch warns on standard error if all parameters are used where one may be unused: this one is.
        self.unused = nn.Parameter(torch.zeros(1, device=victim.device))
        self.notes: dict[str, float] = {}

    def forward(self, batch: Batch, threat: ThreatModel) -> Float[Tensor, ""]:
        """The loss of the own rows; the defence's numbers are in `notes`."""
        step = finite_step(self.defence, self.victim, batch, threat)
        self.notes = step.notes
        return step.loss


def _parallel(loss: "_Loss") -> DistributedDataParallel:
    """Averages gradients over processes. Buffers are left alone: they are the same everywhere, and may be large.

    Some defences leave parameters out of a step. As a parameter may be unused, buckets of gradients stay as they are at
    first: sums have one order, and a resumed training ends with the same weights.
    """
    # The setting has another name since torch 2.13.
    known = signature(DistributedDataParallel.__init__).parameters
    buffers = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"
    settings: dict[str, Any] = {buffers: False}
    return DistributedDataParallel(loss, find_unused_parameters=True, **settings)


def _dealt(whole: Batch, team: Team) -> tuple[int, Batch]:
    """The rows of a batch that this process computes, and how many of them count."""
    places = torch.arange(team.rank, len(whole), team.size, device=whole.x.device)
    rows = len(places)
    if not rows:  # all processes make the same passes: this one repeats the first row, with the weight 0
        places = torch.zeros(1, dtype=torch.int64, device=whole.x.device)
    own = whole.take(places)
    return rows, Batch(own.rows, own.x, own.y, own.seed, own.goal, own.weights, Share(whole, places, team.exchange))


def _mean_notes(told: list[tuple[int, dict[str, float]]]) -> dict[str, float]:
    """Means over the rows of the processes that have a number."""
    names = dict.fromkeys(name for rows, notes in told if rows for name in notes)
    return {
        name: sum(rows * notes[name] for rows, notes in told if name in notes)
        / sum(rows for rows, notes in told if name in notes)
        for name in names
    }
