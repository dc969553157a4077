"""A training as a program under Ray Train has it, and what it leads to. Ray's workers import it by this name."""

from pathlib import Path
from typing import Any

import torch

from hammingbox import Dataset, FullSpace, Splits, ThreatModel, Torchrun, TrainConfig, fit
from hammingbox.training.team import Team
from hammingbox.victims.zoo.registry import build
from toys import toy_schema
from toys.teams import WatchedPAdvT


def trained(team: Team) -> dict[str, Any]:
    """The adversarial rows of every step, and the weights at the end."""
    torch.set_num_threads(1)
    schema = toy_schema((4,) * 12)
    ids = torch.randint(0, 4, (64, 12), generator=torch.Generator().manual_seed(0))
    data = Dataset(schema, ids, (ids[:, :3].sum(1) // 4).clamp(max=2))
    splits = Splits(data.take(slice(0, 33)), data.take(slice(33, 50)), data.take(slice(50, 64)))
    victim, defence = build("cnn", schema, seed=0, dropout=0.0), WatchedPAdvT(warm=2, ascent="steepest")
    config = TrainConfig(epochs=2, batch_size=16, robust_rows=9, criterion="mean")
    fit(victim, splits, config, defence=defence, threat=ThreatModel(FullSpace(schema), 2), team=team)
    return {"rows": defence.steps_seen, "weights": torch.cat([part.flatten() for part in victim.parameters()]).detach()}


def train(settings: dict[str, Any]) -> None:
    """What Ray Train calls in every worker; the first one says what it found."""
    with Torchrun() as team:
        found = trained(team)
        if team.rank == 0:
            torch.save(found, Path(settings["out"]))
