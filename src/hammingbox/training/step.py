"""One training step: a defence's loss of a batch, and the victim's parameters one step down its gradient."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LRScheduler

from hammingbox.defences.base import Batch, Defence, Step
from hammingbox.errors import VictimError
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.victims.victim import Victim


def finite_step(defence: Defence, victim: Victim, batch: Batch, threat: ThreatModel) -> Step:
    """A defence's loss of a batch.

    Raises:
        VictimError: the loss or the victim's logits are not finite.
    """
    remedy = "got NaN or infinity. Lower the learning rate."
    try:
        step = defence(victim, batch, threat)
    except VictimError as error:
        # Inner attacks refuse logits that are not finite. If the weights are already NaN, report that instead.
        with torch.no_grad():
            if victim(batch.x).isfinite().all():
                raise
        raise VictimError(f"expected finite logits in training, {remedy}") from error
    if not step.loss.isfinite():
        raise VictimError(f"expected a finite training loss, {remedy}")
    return step


def descend(victim: Victim, optimiser: torch.optim.Optimizer, loss: Float[Tensor, ""], clip: float) -> None:
    """One optimiser step on a loss, with the gradient clipped to a maximum norm."""
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(victim.parameters(), clip)
    optimiser.step()


class Descent:
    """AdamW on a victim's parameters with a scheduled learning rate.

    Args:
        victim: its parameters are changed.
        config: learning rate, schedule, weight decay and clipping.
        steps: of the whole training.
    """

    def __init__(self, victim: Victim, config: TrainConfig, steps: int) -> None:
        trained = [p for p in victim.parameters() if p.requires_grad]
        self._victim, self._clip = victim, config.clip
        self._optimiser = torch.optim.AdamW(trained, lr=config.learning_rate, weight_decay=config.weight_decay)
        self._schedule: LRScheduler = (
            CosineAnnealingLR(self._optimiser, steps)
            if config.schedule == "cosine"
            else ConstantLR(self._optimiser, factor=1.0)
        )

    def step(self, loss: Float[Tensor, ""]) -> None:
        """One step on a loss."""
        descend(self._victim, self._optimiser, loss, self._clip)
        self._schedule.step()

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The optimiser's moments, by the number of the parameter and the name of the moment."""
        return {
            f"{number}.{name}": value
            for number, values in self._optimiser.state_dict()["state"].items()
            for name, value in values.items()
        }

    @property
    def numbers(self) -> dict[str, Any]:
        """The state of the schedule, and the current learning rates."""
        return {
            "schedule": self._schedule.state_dict(),
            "learning_rate": [group["lr"] for group in self._optimiser.param_groups],
        }

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Restores what `tensors` and `numbers` gave; the optimiser moves the moments to its parameters' device."""
        moments: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            number, name = key.split(".")
            moments.setdefault(int(number), {})[name] = value
        state = self._optimiser.state_dict()
        for group, rate in zip(state["param_groups"], numbers["learning_rate"], strict=True):
            group["lr"] = rate
        self._optimiser.load_state_dict(state | {"state": moments})
        self._schedule.load_state_dict(numbers["schedule"])
